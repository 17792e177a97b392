"""Part `pixels`: pictures of each way to the GPU beside those that the CPU's decoder and resizing give, picture by
picture: to the byte where that is promised, within the bound of docs/GPU.md elsewhere.

Differences are in steps of 255. Of each way the largest one, the mean and the share of bytes that differ are kept,
whether they are within the bound or not.
"""
import tarflume
import tarflume.torch
import torch

SEED = 11
#: Two decoders, the resizing of either side, and chroma that a decoder does not smooth.
DECODED = (14.0, 1.5)
#: The device's resizer has the weights of the host's, and rounds where it does.
RESIZED = (0.0, 0.0)
#: Color at half its resolution: at sharp edges of color that alone is up to 146 in these photographs, computed with
#: Pillow. The brightness shows whether the right pixels are in the right place.
PLANES = (160.0, 2.5)
PLANES_LUMA = 24.0
LUMA = (0.299, 0.587, 0.114)
#: Batches that are compared when several are under way.
IN_FLIGHT = 8


def ways(side, most):
    """By name: what the picture and the loader are given, and the bound: largest and mean difference."""
    image = {"transform": tarflume.RandomResizedCrop(side, flip=0.5)}
    # The host decodes at a smaller scale where a crop allows it; a resident picture is stored before its crop is known.
    whole = image | {"reducing_gap": None}
    return {
        "bytes, cut and resized on the host": (image, {}, (0.0, 0.0)),
        f"resize_on_device={most}": (image | {"resize_on_device": most}, {}, RESIZED),
        "device_decoder=1.0": (image | {"device_decoder": 1.0}, {}, DECODED),
        "device_decoder=1.0, gray": (image | {"device_decoder": 1.0, "channels": "gray"}, {}, DECODED),
        "device_decoder=1.0, no smaller decoding": (whole | {"device_decoder": 1.0}, {}, DECODED),
        "device_decoder=kernels": (image | {"device_decoder": "kernels"}, {}, (0.0, 0.0)),
        "device_decoder=kernels, gray": (image | {"device_decoder": "kernels", "channels": "gray"}, {}, (0.0, 0.0)),
        "resident, rgb": (whole, {"resident": tarflume.Resident("4GiB", side=most, format="rgb")}, RESIZED),
        "resident, yuv420": (whole, {"resident": tarflume.Resident("4GiB", side=most, format="yuv420")}, PLANES),
        "resident, jpeg": (whole, {"resident": tarflume.Resident("4GiB", side=most, format="jpeg")}, DECODED),
    }


class Difference:
    """How far pictures are apart from others."""

    def __init__(self):
        self.largest, self.luma, self.sum, self.bytes, self.differ = 0.0, 0.0, 0.0, 0, 0

    def add(self, one, other):
        apart = (one.to(torch.int16) - other.to(torch.int16)).abs()
        self.largest = max(self.largest, float(apart.max()))
        if one.shape[-1] == 3:
            weights = torch.tensor(LUMA, device=one.device)
            self.luma = max(self.luma, float(((one.float() - other.float()) @ weights).abs().max()))
        self.sum += float(apart.sum(dtype=torch.int64))
        self.differ += int((apart > 0).sum())
        self.bytes += apart.numel()

    @property
    def mean(self):
        return self.sum / max(self.bytes, 1)

    def figures(self):
        return {"largest": self.largest, "largest_of_luma": round(self.luma, 2), "mean": round(self.mean, 4),
                "bytes_that_differ_percent": round(100 * self.differ / max(self.bytes, 1), 3)}

    def within(self, bound):
        return self.bytes > 0 and self.largest <= bound[0] and self.mean <= bound[1]


def loaders(x, image, settings):
    """The host's, and the way's; both in one order."""
    common = {"batch_size": x.sizes["finished_batch"], "shuffle": "full", "seed": SEED}
    plain = {key: value for key, value in image.items() if key not in ("resize_on_device", "device_decoder")}
    host = tarflume.Loader(x.data["small"], columns={"image": tarflume.Image(**plain)}, **common)
    there = tarflume.Loader(x.data["small"], columns={"image": tarflume.Image(**image)}, device=x.place.name, **common,
                            **settings)
    return host, there


def decoded(loader):
    """Number of JPEGs that the GPU decoded and refused, and the decoder's name or the reason for its absence."""
    stats = loader.stats()
    decoder = stats["decoder"] or {}
    return decoder.get("decoded") or 0, decoder.get("refused"), decoder.get("about") or stats["warning"] or ""


def compare(x, name, image, settings, bound):
    """Two epochs of a way beside the host's; the figures of a row. A way that asks for the GPU's decoder is compared only
    if that decoded: where it can't, the CPU does it all, and would be compared with itself."""
    host, there = loaders(x, image, settings)
    apart, batches, keys = Difference(), 0, True
    for epoch in range(2):
        for right, ours in zip(host.epoch(epoch), there.epoch(epoch), strict=True):
            column = x.place.columns(ours, True)["image"]
            same = tarflume.torch.tensor(right["image"]).to(x.place.device)
            keys &= ours["key"] == right["key"] and column.shape == same.shape
            apart.add(column, same)
            ours.release()
            batches += 1
    asks = "device_decoder" in image or "jpeg" in name
    luma = apart.luma <= (PLANES_LUMA if bound == PLANES else bound[0])
    count, refused, said = decoded(there)
    host.close()
    there.close()
    return {"batches": batches, **apart.figures(), "bound_largest": bound[0], "bound_mean": bound[1],
            "decoded_there": count if asks else None, "refused": refused, "said": said,
            **verdict(keys and luma and apart.within(bound), count if asks else None, said)}


def verdict(right, count, said):
    """Whether a row is right; or that nothing was compared, because a decoder was asked for and decoded nothing."""
    return {"missing": said or "the GPU decoded nothing"} if count == 0 else {"right": right}


def in_flight(x, decoder):
    """Pictures decoded by the GPU while earlier batches of the same decoder are under way and its stream is held up, and
    the same ones decoded one batch at a time: equal to the byte, or batches get in each other's way."""
    image = tarflume.Image(tarflume.Resize(x.sizes["side"]), device_decoder=decoder)
    batch = max(1, min(512, x.data["picture_count"] // IN_FLIGHT))

    def epoch(slots, linger):
        loader = tarflume.Loader(x.data["pictures"], columns={"image": image}, device=x.place.name, batch_size=batch,
                                 device_slots=slots, shuffle="full", seed=SEED)
        made = []
        for _, ours in zip(range(IN_FLIGHT), loader.epoch(0), strict=False):
            if linger:
                x.place.linger(3_000)
            made.append(x.place.columns(ours, True)["image"].cpu())
            if not linger:
                x.place.wait()
            ours.release()
        count, _, said = decoded(loader)
        loader.close()
        return made, count, said

    (alone, first, said), (together, second, _) = epoch(1, False), epoch(3, True)
    wrong = sum(not torch.equal(one, other) for one, other in zip(alone, together, strict=True))
    count = min(first, second)
    return {"batches": len(alone), "wrong": wrong, "decoded_there": count, "said": said,
            **verdict(bool(alone) and not wrong, count, said)}


def part(x, say):
    for name, (image, settings, bound) in ways(x.sizes["side"], x.sizes["small_side"]).items():
        attempt(say, name, lambda n=name, i=image, s=settings, b=bound: compare(x, n, i, s, b))
    for decoder in (1.0, "kernels"):
        attempt(say, f"device_decoder={decoder}, several batches in flight beside one at a time",
                lambda decoder=decoder: in_flight(x, decoder))


def attempt(say, name, run):
    """A row; an exception is a failure, because every way must work. Only a decoder may be missing on a machine."""
    try:
        say(name, **run())
    except Exception as error:
        text = f"{type(error).__name__}: {error}"[:300]
        say(name, batches=0, **({"missing": text} if "cannot be used" in text else {"right": False, "failed": text}))
