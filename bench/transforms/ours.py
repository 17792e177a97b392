#!/usr/bin/env python3
"""One recipe of tarflume over the shards of a folder: prints images/s, counted from the fourth batch on.

    python3 bench/transforms/ours.py SHARDS RECIPE [--samples N] [--batch 64] [--threads 2]

An image is a decoded sample: one of "dino" has ten pictures, one of "simclr" two.
"""
import argparse
import pathlib
import sys

import tarflume
import tarflume.transforms as T

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import recipes  # noqa: E402

FLOATS = {"layout": "chw", "dtype": "float32", "normalize": "imagenet"}
SINGLE = ("crop", "crop-bicubic", "crop-bicubic-float32", "classification", "deit")
RECIPES = (*SINGLE, "simclr", "dino")


def single(name):
    """The recipes with one picture a sample, as users write them."""
    cubic = T.RandomResizedCrop(224, interpolation="bicubic")
    return T.Compose({
        "crop": [T.RandomResizedCrop(224), T.RandomHorizontalFlip()],
        "crop-bicubic": [cubic, T.RandomHorizontalFlip()],
        "crop-bicubic-float32": [cubic, T.RandomHorizontalFlip()],
        "classification": [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.TrivialAugmentWide(),
                           T.RandomErasing(0.1)],
        "deit": [cubic, T.RandomHorizontalFlip(), T.timm("rand-m9-mstd0.5-inc1"),
                 T.RandomErasing(0.25, value="random")],
    }[name])


def jitter(*most):
    return T.RandomApply([T.ColorJitter(*most)], 0.8)


def simclr():
    return T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), jitter(0.8, 0.8, 0.8, 0.2),
                      T.RandomGrayscale(0.2), T.RandomApply([T.GaussianBlur(23, (0.1, 2.0))], 0.5)])


def dino(size, scale, blur, solarize=0.0):
    last = [T.RandomSolarize(128, solarize)] if solarize else []
    return T.Compose([T.RandomResizedCrop(size, scale, interpolation="bicubic"), T.RandomHorizontalFlip(),
                      jitter(0.4, 0.4, 0.2, 0.1), T.RandomGrayscale(0.2),
                      T.RandomApply([T.GaussianBlur(9, (0.1, 2.0))], blur), *last])


def views(name):
    """The groups of a recipe with several pictures a sample: its number of pictures and their recipe."""
    if name == "simclr":
        return {"view": (2, simclr())}
    wide, narrow = (0.32, 1.0), (0.05, 0.32)
    return {"global1": (1, dino(224, wide, 1.0)), "global2": (1, dino(224, wide, 0.1, 0.2)),
            "local": (8, dino(96, narrow, 0.5))}


def columns(name):
    """The keywords of the loader for a recipe."""
    if name in SINGLE:
        settings = {} if name in ("crop", "crop-bicubic") else FLOATS
        return {"columns": {"image": tarflume.Image(single(name), **settings)}}
    return {"views": tarflume.Views(views(name), **FLOATS)}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("shards")
    ap.add_argument("recipe", choices=RECIPES)
    ap.add_argument("--samples", type=int, default=20_000)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--threads", type=int, default=2)
    x = ap.parse_args()
    loader = tarflume.Loader(x.shards, batch_size=x.batch, shuffle="full", num_threads=x.threads, **columns(x.recipe))
    recipes.measure(recipes.endless(loader), x.samples, lambda batch: batch.rows)


if __name__ == "__main__":
    main()
