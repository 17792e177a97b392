#!/usr/bin/env python3
"""One recipe of a rival, as its users write it, over the shards of a folder: prints images/s.

    python3 bench/transforms/rivals.py SHARDS RIVAL RECIPE [--samples N] [--batch 64]

RIVAL is torchvision, timm, albumentations or dali; RECIPE is a name of `RECIPES`. All but DALI read with webdataset
in two worker processes. The decoded pictures are counted from the fourth batch on, when the workers have started.
"""
import argparse
import io
import os
import pathlib
import sys
import time

RECIPES = ("crop", "classification", "deit", "simclr", "dino")
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
FIRST = 4


def times(recipe, n):
    """A list of `n` results of the recipe, each drawn anew."""
    return lambda picture: [recipe(picture) for _ in range(n)]


def both(*recipes):
    return lambda picture: [view for recipe in recipes for view in recipe(picture)]


def of_torchvision(name):
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms import v2

    finish = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    cubic = v2.InterpolationMode.BICUBIC

    def crop(size, **more):
        return v2.RandomResizedCrop(size, antialias=True, **more)

    def jitter(a, b, c, d):
        return v2.RandomApply([v2.ColorJitter(a, b, c, d)], 0.8)

    def dino(size, scale, blur, solarize, n):
        steps = [crop(size, scale=scale, interpolation=cubic), v2.RandomHorizontalFlip(), jitter(0.4, 0.4, 0.2, 0.1),
                 v2.RandomGrayscale(0.2), v2.RandomApply([v2.GaussianBlur(9, (0.1, 2.0))], blur)]
        return times(v2.Compose([*steps, v2.RandomSolarize(128, solarize), *finish]), n)

    made = {
        "crop": lambda: v2.Compose([crop(224), v2.RandomHorizontalFlip()]),
        "classification": lambda: v2.Compose([crop(224), v2.RandomHorizontalFlip(), v2.TrivialAugmentWide(), *finish,
                                              v2.RandomErasing(0.1)]),
        "deit": lambda: v2.Compose([crop(224, interpolation=cubic), v2.RandomHorizontalFlip(), v2.RandAugment(), *finish,
                                    v2.RandomErasing(0.25, value="random")]),
        "simclr": lambda: times(v2.Compose([
            crop(224), v2.RandomHorizontalFlip(), jitter(0.8, 0.8, 0.8, 0.2), v2.RandomGrayscale(0.2),
            v2.RandomApply([v2.GaussianBlur(23, (0.1, 2.0))], 0.5), *finish]), 2),
        "dino": lambda: both(dino(224, (0.32, 1.0), 1.0, 0.0, 1), dino(224, (0.32, 1.0), 0.1, 0.2, 1),
                             dino(96, (0.05, 0.32), 0.5, 0.0, 8)),
    }[name]()

    def one(data):
        return made(decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8), ImageReadMode.RGB))
    return one


def of_timm(name):
    from PIL import Image
    from timm.data import create_transform

    settings = {
        "crop": {"interpolation": "bilinear", "color_jitter": None},
        "deit": {"interpolation": "bicubic", "auto_augment": "rand-m9-mstd0.5-inc1", "re_prob": 0.25, "re_mode": "pixel"},
    }[name]
    made = create_transform(224, is_training=True, **settings)
    return lambda data: made(Image.open(io.BytesIO(data)).convert("RGB"))


def of_albumentations(name):
    import albumentations as A
    import cv2
    import numpy as np
    from albumentations.pytorch import ToTensorV2

    cv2.setNumThreads(0)
    finish = [A.Normalize(MEAN, STD), ToTensorV2()]

    def crop(size, cubic=False, **more):
        return A.RandomResizedCrop((size, size), interpolation=cv2.INTER_CUBIC if cubic else cv2.INTER_LINEAR, **more)

    def dino(size, scale, blur, solarize, n):
        steps = [crop(size, True, scale=scale), A.HorizontalFlip(), A.ColorJitter(0.4, 0.4, 0.2, 0.1, p=0.8), A.ToGray(p=0.2),
                 A.GaussianBlur((9, 9), (0.1, 2.0), p=blur), A.Solarize((0.5, 0.5), p=solarize)]
        made = A.Compose([*steps, *finish])
        return times(lambda picture: made(image=picture)["image"], n)

    def single(*steps):
        made = A.Compose(list(steps))
        return lambda picture: made(image=picture)["image"]

    made = {
        "crop": lambda: single(crop(224), A.HorizontalFlip(), ToTensorV2()),
        "simclr": lambda: times(single(crop(224), A.HorizontalFlip(), A.ColorJitter(0.8, 0.8, 0.8, 0.2, p=0.8),
                                       A.ToGray(p=0.2), A.GaussianBlur((23, 23), (0.1, 2.0), p=0.5), *finish), 2),
        "dino": lambda: both(dino(224, (0.32, 1.0), 1.0, 0.0, 1), dino(224, (0.32, 1.0), 0.1, 0.2, 1),
                             dino(96, (0.05, 0.32), 0.5, 0.0, 8)),
    }[name]()

    def one(data):
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        return made(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB))
    return one


MAKERS = {"torchvision": of_torchvision, "timm": of_timm, "albumentations": of_albumentations}


def with_webdataset(shards, rival, recipe, batch):
    """Batches of pictures, decoded and transformed in two worker processes."""
    import torch
    import webdataset
    from torch.utils.data import DataLoader

    torch.set_num_threads(1)
    make = MAKERS[rival](recipe)
    paths = [str(path) for path in sorted(pathlib.Path(shards).glob("*.tar"))]
    dataset = webdataset.WebDataset(paths, shardshuffle=len(paths), seed=0, resampled=False, empty_check=False)
    dataset = dataset.shuffle(1000).to_tuple("jpg").map_tuple(make)
    return DataLoader(dataset, batch_size=batch, num_workers=2, drop_last=True, worker_init_fn=lambda _: torch.set_num_threads(1))


def with_dali(shards, recipe, batch):
    """Batches of DALI's CPU pipeline with two threads."""
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.auto_aug import rand_augment, trivial_augment
    from nvidia.dali.plugin.base_iterator import LastBatchPolicy
    from nvidia.dali.plugin.pytorch import DALIGenericIterator

    policies = {"crop": None, "classification": trivial_augment.trivial_augment_wide, "deit": rand_augment.rand_augment}
    policy = policies[recipe]
    paths = [str(path) for path in sorted(pathlib.Path(shards).glob("*.tar"))]

    @pipeline_def(batch_size=batch, num_threads=2, device_id=None, enable_conditionals=True)
    def pipeline():
        data = fn.readers.webdataset(paths=paths, ext=["jpg"], random_shuffle=True, missing_component_behavior="error", name="read")
        pixels = fn.decoders.image_random_crop(data, device="cpu", random_area=[0.08, 1.0])
        pixels = fn.resize(pixels, size=[224, 224], interp_type=types.INTERP_CUBIC if recipe == "deit" else types.INTERP_LINEAR)
        flip = fn.random.coin_flip(probability=0.5)
        pixels = fn.flip(pixels, horizontal=flip)
        if policy is trivial_augment.trivial_augment_wide:
            pixels = policy(pixels, shape=[224, 224])
        elif policy is rand_augment.rand_augment:
            pixels = policy(pixels, n=2, m=9, shape=[224, 224])
        if policy is None:
            return pixels
        return fn.crop_mirror_normalize(pixels, mean=[255 * x for x in MEAN], std=[255 * x for x in STD])

    made = pipeline()
    made.build()
    return DALIGenericIterator(made, ["image"], reader_name="read", last_batch_policy=LastBatchPolicy.DROP)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("shards")
    ap.add_argument("rival", choices=[*MAKERS, "dali"])
    ap.add_argument("recipe", choices=RECIPES)
    ap.add_argument("--samples", type=int, default=4096)
    ap.add_argument("--batch", type=int, default=64)
    x = ap.parse_args()
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
    batches = with_dali(x.shards, x.recipe, x.batch) if x.rival == "dali" else with_webdataset(x.shards, x.rival, x.recipe, x.batch)
    seen, start = 0, 0.0
    for n, _ in enumerate(batches):
        if n + 1 == FIRST:
            start = time.perf_counter()
        elif n + 1 > FIRST:
            seen += x.batch
            if seen >= x.samples:
                break
    seconds = time.perf_counter() - start
    if seen == 0:
        sys.exit(f"{x.shards} has too few pictures for {FIRST + 1} batches of {x.batch}")
    print(f"images={seen}\nseconds={seconds}\nrate={seen / seconds:.1f}")


if __name__ == "__main__":
    main()
