#!/usr/bin/env python3
"""Shows that an installed wheel works: packs photographs, verifies the shards, decodes and resumes an epoch.

    python release/smoke.py [FOLDER]     fixtures/photos by default; needs nothing but the wheel and NumPy

For machines on which the whole test suite does not run: each system that a wheel is made for.
"""

import platform
import sys
import tempfile
from pathlib import Path

import numpy as np

import tarflume
from tarflume import pack

PHOTOS = Path(__file__).resolve().parent.parent / "fixtures" / "photos"


def loader(shards: Path) -> tarflume.Loader:
    crop = tarflume.RandomResizedCrop(64, flip=0.5)
    return tarflume.Loader(shards, batch_size=2, shuffle="full", seed=7, drop_last=False, image=crop, label="/class")


def check(right: bool, what: str) -> None:
    if not right:
        sys.exit(f"smoke: {what}")


def main() -> None:
    photos = Path(sys.argv[1]) if sys.argv[1:] else PHOTOS
    count = len(list(photos.rglob("*.jpg")))
    with tempfile.TemporaryDirectory() as folder:
        shards = Path(folder) / "shards"
        built = pack.build(photos, shards, shards=2, exclude="*.md", progress=False)
        check(count > 4 and built["samples"] == count, f"{count} photographs, but {built['samples']} samples")
        report = pack.verify(shards, level="decode", progress=False)
        check(report.whole, f"shards are not whole:\n{report}")

        whole = [np.array(batch["image"]) for batch in loader(shards).epoch(0)]
        images = np.concatenate(whole)
        check(images.shape == (count, 64, 64, 3), f"images have the shape {images.shape}")
        check(all(image.std() > 1 for image in images), "an image has one color")

        # A loader that resumes from a state in the middle of an epoch gives the rest of it, and the same pixels.
        first = loader(shards)
        epoch = first.epoch(0)
        next(epoch)
        state = first.state_dict()
        epoch.close()
        second = loader(shards)
        second.load_state_dict(state)
        rest = [np.array(batch["image"]) for batch in second.epoch(0)]
        check(len(rest) == len(whole) - 1, f"{len(rest)} batches after the first of {len(whole)}")
        check(all(map(np.array_equal, rest, whole[1:])), "a resumed epoch has other pixels")

        # Damage is found.
        tar = next(shards.glob("*.tar"))
        data = bytearray(tar.read_bytes())
        data[5000] ^= 0x55
        tar.write_bytes(data)
        check(not pack.verify(shards, progress=False).whole, "a changed byte was not found")
    print(f"smoke: {count} photographs packed and read on {platform.machine()}, Python {platform.python_version()}")
    sys.argv = ["pack", "--version"]
    sys.exit(pack.main())  # the command that the wheel installs


if __name__ == "__main__":
    main()
