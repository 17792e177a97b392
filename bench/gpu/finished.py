"""Part `finished`: pictures that the device finishes (type, layout, mean and deviation) are those that the host
finishes, to the bit."""
import torch

import tarflume
import tarflume.torch

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def images(side):
    """By name: each type in both layouts."""
    crop, made = tarflume.RandomResizedCrop(side, flip=0.5), {}
    for dtype in ("uint8", "float32", "float16", "bfloat16"):
        for layout in ("hwc", "chw"):
            norm = {} if dtype == "uint8" else {"mean": MEAN, "std": STD}
            made[f"{dtype} {layout}"] = tarflume.Image(crop, dtype=dtype, layout=layout, **norm)
    return made


def part(x, say):
    batch, most = x.sizes["finished_batch"], x.sizes["finished_batches"]
    repeat = 1 + batch * most // x.data["picture_count"]
    settings = {"batch_size": batch, "shuffle": "full", "seed": 7, "repeat": repeat}
    for name, image in images(x.sizes["side"]).items():
        host = tarflume.Loader(x.data["pictures"], columns={"image": image}, **settings)
        there = tarflume.Loader(x.data["pictures"], columns={"image": image}, device=x.place.name, **settings)
        wrong = checked = 0
        for _, ours, right in zip(range(most), there.epoch(0), host.epoch(0), strict=False):
            column = x.place.columns(ours, True)["image"]
            same = tarflume.torch.tensor(right["image"]).to(x.place.device)
            checked += 1
            alike = column.shape == same.shape and column.dtype == same.dtype and ours["key"] == right["key"]
            wrong += not (alike and torch.equal(column.view(torch.uint8), same.view(torch.uint8)))
            ours.release()
        host.close()
        there.close()
        say(name, batches=checked, wrong=wrong, right=checked == most and not wrong)
