"""Part `beside`: a loader that runs beside what a training does with the GPU: it records a CUDA graph, computes in a
stream of its own with a backward pass, has another device current, and ends with a loader that is still alive."""
import subprocess
import sys

import tarflume
import torch
from pixels import attempt, decoded, verdict

#: A program that ends while batches are still prepared. What its interpreter does at the end must be quiet.
ENDS = """
import sys
import tarflume
loader = tarflume.Loader(sys.argv[1], device=sys.argv[2], batch_size=8, shuffle="full", repeat=1000,
                         columns={"image": tarflume.Image(tarflume.Resize(64))})
batches = iter(loader)
kept = [next(batches) for _ in range(2)]
print("ends")
"""


def running(x, **settings):
    """A loader over the pictures, endless for the purpose."""
    image = tarflume.Image(tarflume.RandomResizedCrop(x.sizes["side"], flip=0.5), **settings)
    return x.place.batches(x.data["pictures"], "ring", batch_size=x.sizes["finished_batch"], shuffle="full", seed=5,
                           repeat=1000, columns={"image": image})


def captured(x, **settings):
    """CUDA graphs that are recorded while the loader uploads, in the strictest mode; replayed, they are right. Where
    the GPU's decoder is asked for, nothing is shown unless it decoded."""
    loader = running(x, **settings)
    batches, wrong, graphs = iter(loader), 0, x.sizes["graphs"]
    held = torch.ones(1 << 20, device=x.place.device)
    for n in range(graphs):
        next(batches)
        graph, made = torch.cuda.CUDAGraph(), torch.empty_like(held)
        x.place.wait()
        with torch.cuda.graph(graph, capture_error_mode="global"):
            for _ in range(50):
                torch.add(held, n, out=made)
        next(batches)
        graph.replay()
        x.place.wait()
        wrong += not bool((made == 1 + n).all())
    del batches
    count, _, said = decoded(loader)
    loader.close()
    asks = "device_decoder" in settings
    return {"batches": 2 * graphs, "wrong": wrong, "decoded_there": count if asks else None, "said": said,
            **verdict(not wrong, count if asks else None, said)}


def backward(x):
    """Batches used in a stream of their own by a forward and a backward pass, whose results arrive late; the gradient is
    that of the host's pictures."""
    common = {"batch_size": x.sizes["finished_batch"], "shuffle": "full", "seed": 6}
    columns = {"image": tarflume.Image(tarflume.RandomResizedCrop(x.sizes["side"]), dtype="float32", layout="chw")}
    host = tarflume.Loader(x.data["small"], columns=columns, **common)
    there = tarflume.Loader(x.data["small"], columns=columns, device=x.place.name, device_slots=2, **common)
    gradients, expected = [], []
    with x.place.stream():
        for ours, right in zip(there.epoch(0), host.epoch(0), strict=True):
            pixels = x.place.columns(ours, False)["image"]
            x.place.linger(2_000)
            gradients.append(gradient(pixels))
            del pixels
            ours.release()
            expected.append(gradient(tarflume.torch.tensor(right["image"]).to(x.place.device)))
    x.place.wait()
    wrong = sum(not torch.allclose(one, other, rtol=1e-4) for one, other in zip(gradients, expected, strict=True))
    host.close()
    there.close()
    return {"batches": len(gradients), "wrong": wrong, "right": bool(gradients) and not wrong}


def gradient(pixels):
    """The gradient of a weight for each channel, of a sum of squares."""
    weight = torch.ones((1, 3, 1, 1), device=pixels.device, requires_grad=True)
    (pixels * weight).square().sum().backward()
    return weight.grad.flatten()


def current(x):
    """The device that is PyTorch's current one stays so, when a loader on another one is made and dropped."""
    if torch.cuda.device_count() < 2:
        return {"skipped": "one GPU"}
    before, other = torch.cuda.current_device(), (x.number + 1) % torch.cuda.device_count()
    loader = tarflume.Loader(x.data["small"], columns={"image": tarflume.Image(tarflume.Resize(32))},
                             device=f"cuda:{other}", batch_size=4)
    between = torch.cuda.current_device()
    next(iter(loader)).release()
    loader.close()
    del loader
    right = before == between == torch.cuda.current_device()
    return {"batches": 1, "right": right}


def ends(x):
    """The interpreter ends while a loader is alive: exit code 0, nothing on stderr."""
    done = subprocess.run([sys.executable, "-c", ENDS, x.data["pictures"], x.place.name], text=True,
                          capture_output=True, check=False, timeout=60)
    right = done.returncode == 0 and done.stdout == "ends\n" and not done.stderr
    return {"batches": 2, "said": f"exit {done.returncode}: {done.stderr.strip()[-200:]}" * (not right), "right": right}


def part(x, say):
    attempt(say, "the interpreter ends with a loader alive", lambda: ends(x))
    attempt(say, "forward and backward in a side stream", lambda: backward(x))
    if x.dry:
        say("CUDA graphs, and a second device", skipped="PyTorch is on the CPU")
        return
    attempt(say, "CUDA graphs recorded beside the loader", lambda: captured(x))
    attempt(say, "CUDA graphs recorded beside the loader, device_decoder=1.0", lambda: captured(x, device_decoder=1.0))
    attempt(say, "the current device stays", lambda: current(x))
