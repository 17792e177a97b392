#!/usr/bin/env python3
"""Runs every kernel of the loader a few times, for NVIDIA's compute-sanitizer:

    compute-sanitizer --tool memcheck python3 kernels.py SHARDS     also racecheck, initcheck, synccheck

SHARDS has pictures of different sizes. Nothing is compared: `run.py` does that.
"""
import sys

import tarflume

CROP = tarflume.RandomResizedCrop(224, flip=0.5)
WAYS = {
    "float16, by channels": (tarflume.Image(CROP, dtype="float16", layout="chw"), {}),
    "bfloat16": (tarflume.Image(CROP, dtype="bfloat16"), {}),
    "resize_on_device": (tarflume.Image(CROP, resize_on_device=512), {}),
    "resident, rgb": (tarflume.Image(CROP), {"resident": tarflume.Resident("4GiB", side=256, format="rgb")}),
    "resident, yuv420": (tarflume.Image(CROP, dtype="float32"),
                         {"resident": tarflume.Resident("4GiB", side=256, format="yuv420")}),
    "resident, jpeg": (tarflume.Image(CROP), {"resident": tarflume.Resident("4GiB", side=256, format="jpeg")}),
    "device_decoder": (tarflume.Image(CROP, device_decoder=1.0), {}),
    "device_decoder, kernels": (tarflume.Image(CROP, device_decoder="kernels"), {}),
}


def main():
    for name, (image, settings) in WAYS.items():
        loader = tarflume.Loader(sys.argv[1], columns={"image": image}, batch_size=8, shuffle="full", seed=1,
                                 device="cuda:0", **settings)
        count = 0
        for _, batch in zip(range(2), loader.epoch(0), strict=False):
            count += len(batch["key"])
            batch.release()
        loader.close()
        print(f"{name}: {count} pictures", flush=True)


if __name__ == "__main__":
    main()
