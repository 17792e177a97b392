#!/usr/bin/env python3
"""One recipe of tarflume over shards: prints images/s, counted from the fourth batch on.

    python3 bench/detection/ours.py SHARDS RECIPE [--samples N] [--batch 32] [--threads 2]

The recipes are those of rivals.py.
"""
import argparse
import pathlib
import sys

import tarflume
import tarflume.transforms as T

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import recipes  # noqa: E402

LSJ, CROP = 640, 480
FLOATS = {"layout": "chw", "dtype": "float32", "normalize": "imagenet"}


def columns(name):
    """The keywords of the loader for a recipe."""
    boxes = {"boxes": tarflume.Boxes("/boxes", format="xywh", labels="/category_id")}
    if name == "ssd":
        recipe = T.Compose([T.RandomPhotometricDistort(), T.RandomZoomOut(fill=(124, 116, 104)), T.RandomIoUCrop(),
                            T.RandomHorizontalFlip(), T.Resize((300, 300))])
        return {"image": tarflume.Image(recipe, **FLOATS), **boxes}
    if name == "lsj":
        recipe = T.Compose([T.ScaleJitter((LSJ, LSJ)), T.FixedSizeCrop((LSJ, LSJ)), T.RandomHorizontalFlip()])
        return {"image": tarflume.Image(recipe, **FLOATS), **boxes, "masks": tarflume.Masks("/segmentation")}
    recipe = T.Compose([T.RandomResize(260, 1040), T.RandomCrop((CROP, CROP), pad_if_needed=True), T.RandomHorizontalFlip()])
    return {"image": tarflume.Image(recipe, **FLOATS), "columns": {"mask": tarflume.Mask("mask.png")}}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("shards")
    ap.add_argument("recipe", choices=["ssd", "lsj", "deeplab"])
    ap.add_argument("--samples", type=int, default=4096)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--threads", type=int, default=2)
    x = ap.parse_args()
    loader = tarflume.Loader(x.shards, batch_size=x.batch, memory_limit="8GiB", shuffle="full", num_threads=x.threads, drop_last=True,
                             **columns(x.recipe))
    recipes.measure(recipes.endless(loader), x.samples, lambda batch: batch.rows)


if __name__ == "__main__":
    main()
