"""Part `training`: ResNet-50 in bf16 takes steps on batches of each loader, in interleaved rounds.

Busy is the time of the steps by events on the GPU over the time from the first to the last: what is missing, the GPU
stood and waited for a batch or for the host. The host runs at most two steps ahead, as a loop that reads its loss now
and then. The wait is the host's, in `next`, of each step. Labels are drawn once: no loader has to bring them.
"""
import contextlib
import itertools
import os
import time

import torch

import resnet
import tarflume
from busy import Nvml, Sampled, processor_seconds

AHEAD = 2
BOUND = "no loader: one batch that stays"


def network(x):
    if x.place.dry:
        return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, 2), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                   torch.nn.Linear(8, 1000))
    torch.backends.cudnn.benchmark = True
    return resnet.resnet50().to(x.place.device, memory_format=torch.channels_last)


class Step:
    """One step of SGD on a batch of uint8 [rows, side, side, 3] or [rows, 3, side, side]."""

    def __init__(self, x):
        self.place, self.net = x.place, network(x)
        self.sgd = torch.optim.SGD(self.net.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
        self.loss = torch.nn.CrossEntropyLoss()
        self.labels = torch.randint(0, 1000, (x.sizes["batch"],), device=x.place.device)
        at = {"device": x.place.device, "dtype": torch.bfloat16}
        self.mean = torch.tensor([123.675, 116.28, 103.53], **at).view(1, 3, 1, 1)
        self.scale = 1 / torch.tensor([58.395, 57.12, 57.375], **at).view(1, 3, 1, 1)

    def __call__(self, images):
        if images.shape[-1] == 3:
            images = images.permute(0, 3, 1, 2)
        images = images.to(torch.bfloat16, memory_format=torch.channels_last)
        with self.place.autocast():
            loss = self.loss(self.net((images - self.mean) * self.scale), self.labels)
        self.sgd.zero_grad(set_to_none=True)
        loss.backward()
        self.sgd.step()


def walk(x, step, batches, nvml):
    """Steps over an iterator of batches; figures of those after the warm-up."""
    warm, total = x.sizes["warm"], x.sizes["warm"] + x.sizes["steps"]
    begins, ends, waits = [], [], []
    with contextlib.ExitStack() as stack:
        for n in range(total):
            if n == warm:
                sampled, used, since = stack.enter_context(Sampled(nvml)), processor_seconds(), time.perf_counter()
            asked = time.perf_counter()
            images = next(batches)
            waits.append(1e3 * (time.perf_counter() - asked))
            begins.append(x.place.event())
            ends.append(x.place.event())
            begins[-1].record()
            step(images)
            ends[-1].record()
            del images
            if n >= AHEAD:
                ends[n - AHEAD].synchronize()
        ends[-1].synchronize()
        used, host_s = processor_seconds() - used, time.perf_counter() - since
    stepped = [begin.elapsed_time(end) for begin, end in zip(begins[warm:], ends[warm:], strict=True)]
    whole_ms = begins[warm].elapsed_time(ends[-1])
    return {"images": len(stepped) * x.sizes["batch"], "whole_ms": whole_ms, "step_ms": stepped,
            "waits_ms": waits[warm:], "nvml": sampled.mean(), "cpu_s": used, "host_s": host_s}


def ours(x, deliver, batches):
    """Batches of the loader, and what closes it."""
    image = tarflume.RandomResizedCrop(x.sizes["side"], flip=0.5)
    loader = x.place.batches(x.data["pictures"], deliver, batch_size=x.sizes["batch"], shuffle="full", seed=5,
                             columns={"image": tarflume.Image(image)},
                             repeat=1 + x.sizes["batch"] * batches // x.data["picture_count"])
    return (batch["image"] for batch in loader), loader.close


def alone(x, batches):
    """Images a second of our loader without a training step: whether more pictures could be decoded."""
    made, close = ours(x, "ring", batches)
    for _ in range(max(1, batches // 4)):
        next(made)
    count, begun = batches - max(1, batches // 4), time.perf_counter()
    for _ in range(count):
        next(made)
    x.place.wait()
    rate = count * x.sizes["batch"] / (time.perf_counter() - begun)
    made.close()
    close()
    return rate


def cases(x):
    """Name to what gives an iterator of batches and what ends it."""
    side, batch = x.sizes["side"], x.sizes["batch"]
    held = torch.randint(0, 256, (batch, side, side, 3), dtype=torch.uint8, device=x.place.device)
    need = x.sizes["warm"] + x.sizes["steps"] + 8
    made = {BOUND: lambda: (itertools.repeat(held), lambda: None),
            'tarflume, deliver="torch"': lambda: ours(x, "torch", need),
            'tarflume, deliver="ring"': lambda: ours(x, "ring", need)}
    try:
        import rivals
    except ImportError:
        return made
    workers = 1 if x.place.dry else len(os.sched_getaffinity(0))
    word = f"DataLoader, {workers} workers"
    made[f"{word}, pin_memory"] = lambda: (rivals.dataloader(x, need, workers), lambda: None)
    made[f"{word}, and a naive prefetcher"] = lambda: (rivals.Prefetcher(x, need, workers), lambda: None)
    return made


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def tell(say, name, runs):
    """A row: rates by round; waits over all rounds."""
    waits = [wait for run in runs for wait in run["waits_ms"]]
    busy = [sum(run["step_ms"]) / run["whole_ms"] for run in runs]
    seen = [run["nvml"] for run in runs if run["nvml"] is not None]
    say(name, images_s=[1e3 * run["images"] / run["whole_ms"] for run in runs],
        gpu_busy_percent=[100 * share for share in busy], nvml_percent=seen or None,
        wait_p50_ms=percentile(waits, 0.5), wait_p99_ms=percentile(waits, 0.99),
        wait_max_ms=max(waits), cpu_s_per_1000=[1e3 * run["cpu_s"] / run["images"] for run in runs],
        steps=len(waits), raw=runs)


def part(x, say):
    step, nvml, runs = Step(x), Nvml(x.place), {}
    told = set()
    every = cases(x)
    say("tarflume, no training step", images_s=[alone(x, x.sizes["steps"] + 4) for _ in range(2)])
    for round_ in range(x.sizes["train_rounds"]):
        at = round_ % len(every)  # each round begins one case later, so that noise hits all alike
        for name in [*every][at:] + [*every][:at]:
            if name in told:
                continue
            try:
                batches, close = every[name]()
                runs.setdefault(name, []).append(walk(x, step, batches, nvml))
                del batches
                close()
            except Exception as error:  # the others go on
                told.add(name)
                say(name, failed=f"{type(error).__name__}: {error}"[:300])
        for name in every:  # what a part has said is kept when its time is up: the last word of a name counts
            if name in runs and name not in told:
                tell(say, name, runs[name])
    if len(every) == 3:
        say("DataLoader", skipped="torchvision is not there")
