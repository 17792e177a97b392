#!/usr/bin/env python3
"""The rival of bench/decode: Pillow decodes, crops as torchvision's RandomResizedCrop does, mirrors.

    pillow.py FOLDER whole|crop|evaluation THREADS COUNT

Pillow lets go of Python's lock while it decodes and resizes, so its threads run side by side. Rows are
written into an array of their own, as a batch would have them.
"""
import io
import math
import pathlib
import random
import sys
import threading
import time

import numpy
from PIL import Image


def crop(image, draw):
    width, height = image.size
    for _ in range(10):
        area = width * height * draw.uniform(0.08, 1)
        ratio = math.exp(draw.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            x, y = draw.randint(0, width - w), draw.randint(0, height - h)
            break
    else:
        w = h = min(width, height)
        x, y = (width - w) // 2, (height - h) // 2
    image = image.crop((x, y, x + w, y + h)).resize((224, 224), Image.Resampling.BILINEAR)
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if draw.random() < 0.5 else image


def evaluation(image, _):
    short = min(image.size)
    image = image.resize(tuple(256 * side // short for side in image.size), Image.Resampling.BILINEAR)
    x, y = round((image.width - 224) / 2), round((image.height - 224) / 2)
    return image.crop((x, y, x + 224, y + 224))


def main():
    folder, column, threads, count = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    files = sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg", ".png", ".webp"))
    pictures = [p.read_bytes() for p in files]
    todo = iter(range(count))

    def work():
        row = numpy.empty((224, 224, 3), numpy.uint8)
        for n in todo:
            image = Image.open(io.BytesIO(pictures[n % len(pictures)])).convert("RGB")
            if column == "whole":
                numpy.asarray(image)
            else:
                row[:] = (crop if column == "crop" else evaluation)(image, random.Random(n))

    start = time.perf_counter()
    running = [threading.Thread(target=work) for _ in range(threads)]
    [t.start() for t in running]
    [t.join() for t in running]
    print(f"pictures={count} per_s={count / (time.perf_counter() - start):.0f}")


if __name__ == "__main__":
    main()
