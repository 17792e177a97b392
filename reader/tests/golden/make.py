#!/usr/bin/env python3
"""Makes the frozen files of this folder with Pillow, and prints the frozen crops of the tests.

The crops follow torchvision's RandomResizedCrop.get_params, written again here line by line with the
reader's SplitMix64 in the place of torch's generator. Made with Pillow 13.0.0; the files
change only if Pillow does.
"""

import math
import pathlib

import PIL
from PIL import Image

HERE = pathlib.Path(__file__).parent
PHOTOS = HERE / "../../../fixtures/photos"
MASK = (1 << 64) - 1


class SplitMix64:
    def __init__(self, seed):
        self.state = seed

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def uniform(self, low, high):
        return low + (high - low) * ((self.bits() >> 11) / 2**53)

    def randint(self, below):
        return (self.bits() * below) >> 64  # the rejected cases are too rare to meet here


def crop(width, height, random, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3)):
    """(left, top, width, height), as torchvision finds them."""
    area = height * width
    for _ in range(10):
        target_area = area * random.uniform(*scale)
        log_ratio = (math.log(ratio[0]), math.log(ratio[1]))
        aspect_ratio = math.exp(random.uniform(*log_ratio))
        w = int(round(math.sqrt(target_area * aspect_ratio)))
        h = int(round(math.sqrt(target_area / aspect_ratio)))
        if 0 < w <= width and 0 < h <= height:
            i = random.randint(height - h + 1)
            j = random.randint(width - w + 1)
            return j, i, w, h
    in_ratio = width / height
    if in_ratio < min(ratio):
        w, h = width, int(round(width / min(ratio)))
    elif in_ratio > max(ratio):
        h, w = height, int(round(height * max(ratio)))
    else:
        w, h = width, height
    return (width - w) // 2, (height - h) // 2, w, h


def frozen_crops():
    for width, height in [(500, 375), (61, 97), (4000, 300)]:
        for seed in [0, 1, 2, 42, 1 << 40, MASK]:
            random = SplitMix64(seed)
            box = crop(width, height, random)
            flip = random.uniform(0, 1) < 0.5
            print(f"    ({width}, {height}, {seed}, {box}, {str(flip).lower()}),")


# Lossless input that all of them share: a piece of a photograph, and one with opacity.
def inputs():
    cat = Image.open(PHOTOS / "living/cat.jpg").convert("RGB").crop((100, 60, 220, 150))
    alpha = Image.linear_gradient("L").resize(cat.size)
    clear = cat.copy()
    clear.putalpha(alpha)
    return {"rgb": cat, "gray": cat.convert("L"), "rgba": clear}


FILTERS = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
    "nearest": Image.Resampling.NEAREST,
}
# What is cut before (or all of it), the box within, the size of the output.
CASES = [
    ("smaller", (7, 11, 107, 78), None, (40, 30)),
    ("larger", (50, 20, 70, 40), None, (48, 64)),
    ("wider", (0, 0, 120, 90), None, (150, 20)),
    ("boxed", None, (14.5, 9.25, 100.75, 80.0), (32, 32)),
]


def main():
    print(f"Pillow {PIL.__version__}")
    frozen_crops()
    for kind, picture in inputs().items():
        picture.save(HERE / f"{kind}.png", optimize=True)
        out = bytearray()
        for _, cut, box, size in CASES:
            for filter in FILTERS.values():
                source = picture.crop(cut) if cut else picture
                out += source.resize(size, filter, box=box).tobytes()
        (HERE / f"{kind}.pillow").write_bytes(out)
    # The evaluation transform in its two steps, as torchvision does them on a Pillow image.
    cat = inputs()["rgb"]
    side, crop_side = 64, 48
    short, long = min(cat.size), max(cat.size)
    longer = int(side * long / short)
    size = (longer, side) if cat.width >= cat.height else (side, longer)
    resized = cat.resize(size, Image.Resampling.BILINEAR)
    left = int(round((resized.width - crop_side) / 2.0))
    top = int(round((resized.height - crop_side) / 2.0))
    box = (left, top, left + crop_side, top + crop_side)
    (HERE / "evaluation.pillow").write_bytes(resized.crop(box).tobytes())


if __name__ == "__main__":
    main()
