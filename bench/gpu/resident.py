"""Part `resident`: epochs of a data set that stays in the GPU's memory, beside the bandwidth of that memory, as a copy
within it measures it."""
import time

import torch

import tarflume

#: What `Loader(resident=)` is given: the most memory it may take.
BUDGET = "8GiB"


def within(x):
    """GB/s of copies within the device: bytes read and bytes written."""
    source = torch.ones(x.sizes["copy_bytes"], dtype=torch.uint8, device=x.place.device)
    goal, rates = torch.empty_like(source), []
    goal.copy_(source)
    for _ in range(8):
        begin, end = x.place.event(), x.place.event()
        begin.record()
        goal.copy_(source)
        end.record()
        end.synchronize()
        rates.append(2 * source.numel() / 1e6 / max(begin.elapsed_time(end), 1e-6))
    return rates


def epochs(x):
    """Seconds and images of each epoch; the first one fills."""
    image = tarflume.Image(tarflume.RandomResizedCrop(x.sizes["side"], flip=0.5))
    loader = x.place.batches(x.data["pictures"], "ring", batch_size=x.sizes["batch"], shuffle="full", seed=3,
                             columns={"image": image}, resident=BUDGET)
    runs = []
    for _ in range(x.sizes["resident_epochs"]):
        count, begun = 0, time.perf_counter()
        for batch in loader:
            count += len(batch["image"])
        x.place.wait()
        runs.append((time.perf_counter() - begun, count))
    loader.close()
    return runs


def part(x, say):
    rates = within(x)
    say("a copy within the device's memory, bytes read and written", gb_s=rates)
    try:
        (first_s, first), *later = epochs(x)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"[:300]
        lacks = "takes no resident" in text or "unexpected keyword" in text
        say("tarflume, resident", **({"skipped": text} if lacks else {"failed": text}))
        return
    say("tarflume, resident: the first epoch, which fills", images_s=[first / first_s])
    size = 3 * x.sizes["side"] ** 2
    say("tarflume, resident: later epochs", images_s=[count / s for s, count in later],
        gb_s=[2 * size * count / 1e9 / s for s, count in later],
        of_copy=[2 * size * count / 1e9 / s / sorted(rates)[len(rates) // 2] for s, count in later])
