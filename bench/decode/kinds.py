#!/usr/bin/env python3
"""Decoding of every kind of image beside the best peer: sequential, progressive, gray and CMYK JPEGs, PNG and WebP.

    PYTHON bench/decode/kinds.py --photos FOLDER [--example target/dist/examples/decode] [--count 250] [--rounds 5]

PYTHON has pillow, numpy, opencv-python-headless and simplejpeg. Pillow saves the photographs as each kind, quality 90. `whole` is all
pixels as RGB, `crop` RandomResizedCrop(224) with flip, u8. Pictures are in memory; one thread each; pictures in a second of CPU time,
in interleaved rounds. tarflume is the example `decode`. simplejpeg is libjpeg-turbo and reads JPEGs only; for `crop` it decodes at the
smallest scale that has enough pixels. OpenCV and simplejpeg resize with cv2, without antialiasing; Pillow and tarflume antialias.
"""

from __future__ import annotations

import argparse
import io
import math
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
KINDS = {
    "sequential": ("jpg", "RGB", {"quality": 90}),
    "progressive": ("jpg", "RGB", {"quality": 90, "progressive": True}),
    "gray": ("jpg", "L", {"quality": 90}),
    "CMYK": ("jpg", "CMYK", {"quality": 90}),
    "PNG": ("png", "RGB", {}),
    "WebP": ("webp", "RGB", {"quality": 90}),
    "WebP, lossless": ("webp", "RGB", {"lossless": True, "method": 2}),
}
PEERS = ("Pillow", "OpenCV", "simplejpeg")


def box(width: int, height: int, draw: random.Random) -> tuple[int, int, int, int]:
    for _ in range(10):
        area = width * height * draw.uniform(0.08, 1)
        ratio = math.exp(draw.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return draw.randint(0, width - w), draw.randint(0, height - h), w, h
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side


def peer(name: str, folder: str, column: str, count: int) -> None:
    """Decodes `count` pictures, and prints pictures in a second of CPU time."""
    import cv2
    import numpy
    from PIL import Image

    cv2.setNumThreads(1)
    pictures = [path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())]
    row = numpy.empty((224, 224, 3), numpy.uint8)

    def cropped(pixels: numpy.ndarray, draw: random.Random) -> None:
        x, y, w, h = box(pixels.shape[1], pixels.shape[0], draw)
        small = cv2.resize(pixels[y : y + h, x : x + w], (224, 224), interpolation=cv2.INTER_LINEAR)
        row[:] = small[:, ::-1] if draw.random() < 0.5 else small

    def one(data: bytes, draw: random.Random) -> None:
        if name == "OpenCV":
            pixels = cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_COLOR_RGB)
            return cropped(pixels, draw) if column == "crop" else None
        if name == "simplejpeg":
            import simplejpeg

            least = {"min_height": 224, "min_width": 224, "min_factor": 1} if column == "crop" else {}
            pixels = simplejpeg.decode_jpeg(data, "RGB", **least)
            return cropped(pixels, draw) if column == "crop" else None
        image = Image.open(io.BytesIO(data)).convert("RGB")
        if column == "whole":
            numpy.asarray(image)
            return None
        x, y, w, h = box(*image.size, draw)
        image = image.resize((224, 224), Image.Resampling.BILINEAR, box=(x, y, x + w, y + h))
        row[:] = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if draw.random() < 0.5 else image
        return None

    one(pictures[0], random.Random(0))
    start = time.process_time()
    for n in range(count):
        one(pictures[n % len(pictures)], random.Random(n))
    print(count / (time.process_time() - start))


def make(photos: pathlib.Path, work: pathlib.Path) -> None:
    from PIL import Image

    for kind, (ext, mode, words) in KINDS.items():
        folder = work / kind
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for n, path in enumerate(sorted(p for p in photos.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))):
            Image.open(path).convert("RGB").convert(mode).save(folder / f"{n:05}.{ext}", **words)


def rate(x: argparse.Namespace, tool: str, kind: str, column: str) -> float | None:
    folder = str(pathlib.Path(x.work) / kind)
    if tool == "tarflume":
        said = subprocess.run([x.example, folder, column, "1", str(x.count)], check=True, capture_output=True, text=True).stdout
        return next(float(word.split("=")[1]) for word in said.split() if word.startswith(f"{column}_1t_cpu="))
    if tool == "simplejpeg" and KINDS[kind][0] != "jpg" or tool == "simplejpeg" and kind == "CMYK":
        return None
    words = [sys.executable, str(HERE / "kinds.py"), "--peer", tool, folder, column, str(x.count)]
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    if sys.argv[1:2] == ["--peer"]:
        name, folder, column, count = sys.argv[2:]
        return peer(name, folder, column, int(count))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=pathlib.Path, required=True)
    parser.add_argument("--example", default="target/dist/examples/decode")
    parser.add_argument("--work", default="target/bench/kinds")
    parser.add_argument("--count", type=int, default=250)
    parser.add_argument("--rounds", type=int, default=5)
    x = parser.parse_args()
    make(x.photos, pathlib.Path(x.work))
    print("| kind, column | " + " | ".join(("tarflume", *PEERS)) + " | tarflume beside the best peer |")
    print("|---|---|---|---|---|---|")
    for kind in KINDS:
        for column in ("whole", "crop"):
            found: dict[str, list[float]] = {tool: [] for tool in ("tarflume", *PEERS)}
            for _ in range(x.rounds):
                for tool, values in found.items():
                    if (value := rate(x, tool, kind, column)) is not None:
                        values.append(value)
            middle = {tool: statistics.median(values) for tool, values in found.items() if values}
            cells = [f"{middle[tool]:,.0f} ({min(v):,.0f}-{max(v):,.0f})" if (v := found[tool]) else "" for tool in found]
            best = max(value for tool, value in middle.items() if tool != "tarflume")
            print(f"| {kind}, {column} | " + " | ".join(cells) + f" | {middle['tarflume'] / best:.2f} |", flush=True)
    return None


if __name__ == "__main__":
    main()
