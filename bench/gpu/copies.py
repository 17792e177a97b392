"""Part `copies`: the bandwidth of our copies to the device, by the events around each, beside PyTorch's from pinned
memory of the same length on a stream of its own, in interleaved rounds."""
import torch

import tarflume


def torchs(x, source, count):
    """GB/s of each of `count` copies."""
    goal, times = torch.empty(source.numel(), dtype=torch.uint8, device=x.place.device), []
    with x.place.stream():
        goal.copy_(source, non_blocking=True)
        for _ in range(count):
            begin, end = x.place.event(), x.place.event()
            begin.record()
            goal.copy_(source, non_blocking=True)
            end.record()
            times.append((begin, end))
        times[-1][1].synchronize()
        x.place.wait()
    return [source.numel() / 1e6 / max(begin.elapsed_time(end), 1e-6) for begin, end in times]


def ours(x, deliver, count):
    """GB/s over `count` copies, the loader's warning about pinning, and the bytes of one copy."""
    column = tarflume.Raw("bin", shape=(x.sizes["wide_bytes"],))
    batch = x.sizes["wide_batch"]
    loader = x.place.batches(x.data["wide"], deliver, batch_size=batch, shuffle="full", seed=1, columns={"bin": column},
                             repeat=2 + batch * (count + 4) // x.sizes["wide_rows"])
    for _, _ in zip(range(count), loader, strict=False):
        pass
    x.place.wait()
    said = loader.stats()
    loader.close()
    upload = said["stages"]["upload"]
    rate = upload["bytes"] / 1e9 / max(upload["busy_s"], 1e-9)
    return rate, said["warning"] or "", upload["bytes"] // max(1, upload["items"])


def part(x, say):
    count, length = x.sizes["copies"], x.sizes["wide_batch"] * x.sizes["wide_bytes"]
    pinned, plain = x.place.pinned(length), torch.empty(length, dtype=torch.uint8)
    for memory in (pinned, plain):
        memory.fill_(7)
    rates = {"pinned": [], "plain": [], "ring": [], "torch": []}
    for _ in range(x.sizes["rounds"]):
        rates["pinned"].append(sorted(torchs(x, pinned, count))[count // 2])
        rates["plain"].append(sorted(torchs(x, plain, max(2, count // 4)))[max(2, count // 4) // 2])
        for deliver in ("ring", "torch"):
            rate, warning, size = ours(x, deliver, count)
            rates[deliver].append(rate)
    names = {"pinned": "PyTorch, pinned memory", "plain": "PyTorch, memory that is not pinned",
             "ring": 'tarflume, deliver="ring"', "torch": 'tarflume, deliver="torch"'}
    for key, name in names.items():
        against = [a / b for a, b in zip(rates[key], rates["pinned"], strict=True)]
        said = {"copied_bytes": size, "warning": warning} if key in ("ring", "torch") else {"copied_bytes": length}
        say(name, gb_s=rates[key], of_pinned=against, **said)
