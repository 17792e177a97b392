"""Part `nvjpeg`: pictures decoded on the GPU, beside torchvision's `decode_jpeg(list, device="cuda")`, which is nvJPEG,
too. JPEGs of torchvision's cases lie in memory; ours reads them from shards."""
import pathlib
import time

import torch

import tarflume

#: What `tarflume.Image(device_decoder=)` is given: all that the device takes, as many as make both sides finish at once,
#: and all that tarflume's own kernels take.
SHARES = (1.0, "auto", "kernels")


def torchvisions(x, whole):
    """Images/s of each call: decoded alone, or cut and flipped, too, as ours does."""
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2
    cut = v2.Compose([v2.RandomResizedCrop(x.sizes["side"], antialias=True), v2.RandomHorizontalFlip(0.5)])
    paths = sorted(pathlib.Path(x.data["files"]).glob("*.jpg"))[:x.sizes["batch"]]
    encoded, rates = [read_file(str(path)) for path in paths], []
    for _ in range(x.sizes["decoded"] + 1):
        x.place.wait()  # it writes memory that the caller's stream may still use
        begun = time.perf_counter()
        made = decode_jpeg(encoded, mode=ImageReadMode.RGB, device=x.place.device)
        if not whole:
            made = torch.stack([cut(picture) for picture in made])
        x.place.wait()
        rates.append(len(made) / (time.perf_counter() - begun))
        del made
    return {"images_s": rates[1:]}


def ours(x, **decoder):
    """Images/s of each round and the loader's statistics: read, decoded, cut, flipped, on the device."""
    image = tarflume.Image(tarflume.RandomResizedCrop(x.sizes["side"], flip=0.5), **decoder)
    batch, rates = x.sizes["batch"], []
    loader = x.place.batches(x.data["pictures"], "ring", batch_size=batch, shuffle="full", seed=9,
                             columns={"image": image},
                             repeat=2 + 5 * x.sizes["decoded"] * batch // x.data["picture_count"])
    batches = iter(loader)
    for round_ in range(5):
        begun = time.perf_counter()
        for _ in range(x.sizes["decoded"]):
            next(batches)
        x.place.wait()
        rates.append(x.sizes["decoded"] * batch / (time.perf_counter() - begun))
    del batches
    stats = loader.stats()
    loader.close()
    if "device_decoder" in decoder and stats["warning"]:
        raise RuntimeError(f"CPU alone: {stats['warning']}")
    return {"images_s": rates[1:], "raw": stats}


def tried(say, name, run, lacking=()):
    """A row, or the reason for its absence: skipped if something is missing, failed if something goes wrong."""
    try:
        say(name, **run())
    except Exception as error:
        text = f"{type(error).__name__}: {error}"[:300]
        missing = isinstance(error, ImportError) or any(word in text for word in lacking)
        say(name, **({"skipped": text} if missing else {"failed": text}))


def part(x, say):
    tried(say, "torchvision, decode_jpeg(list), pictures as they are", lambda: torchvisions(x, True))
    tried(say, "torchvision, decode_jpeg(list), then RandomResizedCrop and flip, one by one",
          lambda: torchvisions(x, False))
    tried(say, "tarflume, decoded on the host, RandomResizedCrop and flip", lambda: ours(x))
    for share in SHARES:
        tried(say, f"tarflume, device_decoder={share}, RandomResizedCrop and flip",
              lambda share=share: ours(x, device_decoder=share), ("unexpected keyword", "CPU alone"))
    tried(say, "tarflume, decoded on the host, resize_on_device=448",
          lambda: ours(x, resize_on_device=448), ("unexpected keyword",))
