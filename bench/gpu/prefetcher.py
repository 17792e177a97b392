"""Part `prefetcher`: `tarflume.torch.Prefetcher` around loaders that are not ours. Each row has the checksum on the device
that its bytes have on the host, with fast and slow consumers, in several streams, and where the loader writes its memory again.

Nothing is waited for on the device: sums stay there and are compared at the end. Controls are prefetchers that leave a call
out; their batches must be found to be wrong. Beside it, the prefetcher that tutorials have: how many of its batches are
wrong, and how long a step with a batch takes.
"""
import contextlib
import time

import numpy as np
import torch
import torch.utils.data

import tarflume.torch
from checksum import Checksum
from data import contents
from pixels import attempt
from tarflume.torch.prefetch import prefetcher as ours
from tarflume.torch.prefetch.devices import Accelerator

#: Microseconds for which a slow stream does nothing before it looks at a batch.
SLOW_US = 2_000
#: Cycles for which the copy stream does nothing before a late copy: about 0.1 ms.
LATE_CYCLES = 200_000


class Forgetful(Accelerator):
    """A control: memory may be used again at once."""

    def deliver(self, mark, tensors):
        super().deliver(mark, [])


class Late(Accelerator):
    """Copies begin some time after they were asked for, so that memory that is not waited for is written before."""

    def copy(self, target, source, *, waits=False):
        torch.cuda._sleep(LATE_CYCLES)
        super().copy(target, source, waits=waits)


class Hasty(Late):
    """A control: the host waits for no copy."""

    def wait(self, mark):
        pass


class Naive:
    """The prefetcher of many tutorials: it copies one batch ahead on a side stream, and does not wait before the loader writes its memory again."""

    def __init__(self, loader, device):
        self.loader, self.device = loader, device

    def __iter__(self):
        side, batches = torch.cuda.Stream(self.device), iter(self.loader)

        def load():
            batch = next(batches, None)
            if batch is None:
                return None
            with torch.cuda.stream(side):
                return {name: value.to(self.device, non_blocking=True) for name, value in batch.items()}

        ahead = load()
        while ahead is not None:
            torch.cuda.current_stream(self.device).wait_stream(side)
            batch = ahead
            for value in batch.values():
                value.record_stream(torch.cuda.current_stream(self.device))
            ahead = load()
            yield batch


class Rows(torch.utils.data.Dataset):
    """Samples of a DataLoader."""

    def __init__(self, held, count):
        self.held, self.count = held, count

    def __len__(self):
        return self.count

    def __getitem__(self, n):
        return {"bin": self.held[n % len(self.held)], "n": n % len(self.held)}


class Check:
    def __init__(self, x):
        self.x, self.place, sizes = x, x.place, x.sizes
        self.rows, self.length = sizes["rows_batch"], sizes["row_bytes"]
        self.sums = Checksum(self.length, self.place.device)
        self.held = np.stack(list(contents(sizes["rows"], self.length)))
        self.right = self.sums.host(self.held)

    def rewritten(self, batches, memory):
        """Batches of a loader that writes each into the memory of the last one."""
        numbers = torch.empty(self.rows, dtype=torch.int64)
        for n in range(batches):
            torch.add(torch.arange(self.rows), n * self.rows, out=numbers).remainder_(len(self.held))
            memory.copy_(torch.from_numpy(self.held[numbers.numpy()]))
            # On the CPU batches are delivered as they are, so there they are copies.
            yield {"bin": memory.clone(), "n": numbers.clone()} if self.x.dry else {"bin": memory, "n": numbers}

    def loaders(self, batches):
        """By name."""
        shape, words = (self.rows, self.length), {"batch_size": self.rows, "num_workers": 1 if self.x.dry else 4}
        rows = Rows(torch.from_numpy(self.held), batches * self.rows)
        pinned = self.place.pinned(self.rows * self.length).view(shape)
        return {
            "memory written again": lambda: self.rewritten(batches, torch.empty(shape, dtype=torch.uint8)),
            "pinned memory written again": lambda: self.rewritten(batches, pinned),
            "DataLoader": lambda: torch.utils.data.DataLoader(rows, **words),
            "DataLoader, pin_memory": lambda: torch.utils.data.DataLoader(rows, pin_memory=not self.x.dry, **words),
        }

    def run(self, batches, consumer, spoilt=None):
        """Batches, and those of them that differ from what their numbers give."""
        most = self.x.sizes["prefetched"] + 1
        there = torch.empty((most, self.rows), dtype=torch.int64, device=self.place.device)
        asked = torch.empty((most, self.rows), dtype=torch.int64, device=self.place.device)
        self.place.wait()
        streams = [self.place.stream() for _ in range(3 if consumer == "three streams" else 1)]
        count, kept = 0, []
        with contextlib.ExitStack() as stack:
            if consumer != "three streams":
                stack.enter_context(streams[0])
            batches = iter(batches)
            while True:
                with streams[count % 3] if consumer == "three streams" else contextlib.nullcontext():
                    batch = next(batches, None)
                    if batch is None:
                        break
                    if consumer != "fast":
                        self.place.linger(SLOW_US if consumer == "slow device" else SLOW_US // 8)
                    if spoilt == count:
                        batch["bin"] = batch["bin"].clone()
                        batch["bin"][0, 0] += 1
                    there[count], asked[count] = self.sums.there(batch["bin"]), batch["n"]
                    kept.append(batch)
                    del batch, kept[:-8 if consumer == "keeps 8" else len(kept)]
                count += 1
        self.place.wait()
        right = self.right[asked[:count].cpu().numpy()]
        return count, int((there[:count].cpu().numpy() != right).any(axis=1).sum())


@contextlib.contextmanager
def with_device(kind):
    """Prefetchers that are made here copy by `kind`."""
    before, ours.Accelerator = ours.Accelerator, kind
    try:
        yield
    finally:
        ours.Accelerator = before


def controls(x, check, say):
    """Prefetchers that must be found to be wrong."""
    count = min(200, x.sizes["prefetched"])
    loader = check.loaders(count)["memory written again"]
    checked, wrong = check.run(tarflume.torch.Prefetcher(loader(), x.place.device), "fast", spoilt=5)
    say("control: one byte of one batch is changed on the device", batches=checked, wrong=wrong, right=wrong == 1)
    if x.dry:
        say("control: calls that are left out", skipped="PyTorch is on the CPU")
        return
    for kind, name, word in ((Forgetful, "memory is used again too early", "memory written again"),
                             (Hasty, "the loader's memory is not waited for", "pinned memory written again")):
        with with_device(kind):
            batches = tarflume.torch.Prefetcher(check.loaders(count)[word](), x.place.device)
        checked, wrong = check.run(batches, "slow device")
        # The device may be faster than the host, so that one is right by luck: that shows nothing.
        say(f"control: {name}", batches=checked, wrong=wrong, **({"right": True} if wrong else {"skipped": "it was not seen"}))


def late(x, check, say):
    """Copies that begin late, of memory that the loader writes again."""
    count = x.sizes["prefetched"]
    for word, loader in [*check.loaders(count).items()][:2]:
        with with_device(Late):
            batches = tarflume.torch.Prefetcher(loader(), x.place.device)
        checked, wrong = check.run(batches, "fast")
        say(f"{word}, late copies", batches=checked, wrong=wrong, right=checked == count and not wrong)


def captured(x, check):
    """CUDA graphs that are captured in the strictest mode while the thread copies; replayed, they are right. A batch that
    is asked for during a capture is an error, after which the capture goes on."""
    graphs, refused, wrong = x.sizes["graphs"], 0, 0
    endless = check.loaders(10**6)["memory written again"]
    held = torch.ones(1 << 20, device=x.place.device)
    with tarflume.torch.Prefetcher(endless(), x.place.device, depth=8) as prefetcher:
        batches = iter(prefetcher)
        for n in range(graphs):
            for _ in range(8):
                next(batches)
            graph, made = torch.cuda.CUDAGraph(), torch.empty_like(held)
            x.place.wait()
            with torch.cuda.graph(graph, capture_error_mode="global"):
                for _ in range(50):
                    torch.add(held, n, out=made)
                try:
                    next(batches)
                except tarflume.errors.UsageError:
                    refused += 1
            graph.replay()
            x.place.wait()
            wrong += not bool((made == 1 + n).all())
    return {"batches": 8 * graphs, "wrong": wrong + graphs - refused, "right": not wrong and refused == graphs}


def steps(x, batches):
    """Milliseconds of a step that keeps the device busy, with a batch that is read by one kernel."""
    begun, count = None, 0
    for batch in batches:
        if count == 4:
            x.place.wait()
            begun = time.perf_counter()
        x.place.linger(SLOW_US)
        batch["bin"].sum()
        count += 1
    x.place.wait()
    return 1e3 * (time.perf_counter() - begun) / (count - 4)


def speed(x, say):
    """Batches of `wide_batch` pictures, copied while a step keeps the device busy."""
    shape = (x.sizes["wide_batch"], x.sizes["wide_bytes"])
    pinned, count = x.place.pinned(shape[0] * shape[1]).view(shape), x.sizes["copies"] + 4
    plain = torch.empty(shape, dtype=torch.uint8)
    for word, memory in (("pinned", pinned), ("not pinned", plain)):
        batches = [{"bin": memory}] * count
        say(f"no prefetcher, {word}", step_ms=[steps(x, ({"bin": one["bin"].to(x.place.device, non_blocking=True)} for one in batches))
                                               for _ in range(x.sizes["rounds"])])
        if not x.dry:
            say(f"as in tutorials, {word}", step_ms=[steps(x, Naive(batches, x.place.device)) for _ in range(x.sizes["rounds"])])
        made = tarflume.torch.Prefetcher(batches, x.place.device)
        figures = [steps(x, made) for _ in range(x.sizes["rounds"])]
        told = made.stats()
        say(f"Prefetcher, {word}", step_ms=figures, copied_bytes=told["bytes"], said=told["warning"] or "", raw=told)


def part(x, say):
    check, count = Check(x), x.sizes["prefetched"]
    controls(x, check, say)
    for number, (name, loader) in enumerate(check.loaders(count).items()):
        for consumer in ("fast", "slow device", "three streams", "keeps 8")[:4 if number < 2 else 2]:
            begun = time.perf_counter()
            batches = tarflume.torch.Prefetcher(loader(), x.place.device)
            checked, wrong = check.run(batches, consumer)
            say(f"{name}, {consumer}", batches=checked, wrong=wrong, s=time.perf_counter() - begun,
                right=checked == count and not wrong)
        if not x.dry:
            checked, wrong = check.run(Naive(loader(), x.place.device), "slow device")
            say(f"{name}, as in tutorials", batches=checked, wrong=wrong)
    if x.dry:
        say("late copies, CUDA graphs", skipped="PyTorch is on the CPU")
    else:
        attempt(say, "CUDA graphs captured beside a Prefetcher", lambda: captured(x, check))
        late(x, check, say)
    speed(x, say)
