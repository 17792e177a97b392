#!/usr/bin/env python3
"""One recipe of tarflume over the shards of a folder: prints images/s, counted from the fourth batch on.

    python3 bench/transforms/ours.py SHARDS RECIPE [--samples N] [--batch 64] [--threads 2]
"""
import argparse
import time

import tarflume
import tarflume.transforms as T

FIRST = 4


def recipes():
    """The recipes with one picture a sample, as users write them."""
    return {
        "crop": [T.RandomResizedCrop(224), T.RandomHorizontalFlip()],
        "crop-bicubic": [T.RandomResizedCrop(224, interpolation="bicubic"), T.RandomHorizontalFlip()],
        "classification": [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.TrivialAugmentWide(), T.RandomErasing(0.1)],
        "deit": [T.RandomResizedCrop(224, interpolation="bicubic"), T.RandomHorizontalFlip(),
                 T.timm("rand-m9-mstd0.5-inc1"), T.RandomErasing(0.25, value="random")],
        "simclr": [T.RandomResizedCrop(224), T.RandomHorizontalFlip(),
                   T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], 0.8), T.RandomGrayscale(0.2),
                   T.RandomApply([T.GaussianBlur(23, (0.1, 2.0))], 0.5)],
    }


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("shards")
    ap.add_argument("recipe", choices=sorted(recipes()))
    ap.add_argument("--samples", type=int, default=20_000)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--threads", type=int, default=2)
    x = ap.parse_args()
    normalized = {"layout": "chw", "dtype": "float32", "normalize": "imagenet"}
    settings = {} if x.recipe.startswith("crop") else normalized
    image = tarflume.Image(T.Compose(recipes()[x.recipe]), **settings)
    loader = tarflume.Loader(x.shards, batch_size=x.batch, columns={"image": image}, shuffle="full", num_threads=x.threads)
    seen, start, batches, epoch = 0, 0.0, 0, 0
    while seen < x.samples:
        for batch in loader.epoch(epoch):
            batches += 1
            if batches == FIRST:
                start = time.perf_counter()
            elif batches > FIRST:
                seen += batch.rows
                if seen >= x.samples:
                    break
        epoch += 1
    seconds = time.perf_counter() - start
    print(f"images={seen}\nseconds={seconds}\nrate={seen / seconds:.1f}")


if __name__ == "__main__":
    main()
