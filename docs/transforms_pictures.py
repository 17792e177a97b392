#!/usr/bin/env python3
"""Makes docs/images/transforms-*.jpg: what each operation of `tarflume.transforms` makes of a photograph.

    .venv-python/bin/python docs/transforms_pictures.py     after `make python`

A sheet is a group of docs/TRANSFORMS.md. Draws have fixed seeds, so that the files change with the operations alone.
"""
import pathlib

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import tarflume.transforms as T

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "images"
PHOTO = ROOT / "fixtures" / "photos" / "living" / "cat.jpg"
#: Pixels of the photograph, and of the frame around a result.
PICTURE, CELL = (180, 120), (184, 128)
LABEL, GAP, COLUMNS = 20, 6, 5
PAPER, FRAME, INK = (255, 255, 255), (222, 226, 230), (31, 41, 51)

SHEETS = {
    "crops": [
        ("RandomResizedCrop", T.RandomResizedCrop(96), 3),
        ("Resize((60, 120))", T.Resize((60, 120)), 0),
        ("CenterCrop(96)", T.CenterCrop(96), 0),
        ("RandomCrop(96, padding=16)", T.RandomCrop(96, padding=16), 5),
        ("Pad(16, symmetric)", T.Compose([T.Resize(88), T.Pad(16, padding_mode="symmetric")]), 0),
        ("RandomShortestSize", T.RandomShortestSize((40, 60, 80)), 1),
        ("RandomResize(40, 121)", T.RandomResize(40, 121), 2),
        ("ScaleJitter", T.ScaleJitter((120, 180), (0.3, 1.0)), 4),
        ("ResizeKeepRatio(120)", T.ResizeKeepRatio(120, letterbox=True), 0),
        ("FixedSizeCrop((120, 160))", T.Compose([T.Resize(100), T.FixedSizeCrop((120, 160), fill=105)]), 0),
        ("RandomZoomOut", T.Compose([T.Resize(70), T.RandomZoomOut(114, (1.3, 1.7), 1.0)]), 2),
    ],
    "turns": [
        ("RandomHorizontalFlip", T.RandomHorizontalFlip(1.0), 0),
        ("RandomVerticalFlip", T.RandomVerticalFlip(1.0), 0),
        ("RandomQuarterTurn", T.RandomQuarterTurn((1,)), 0),
        ("RandomRotation(30)", T.RandomRotation(30, interpolation="bilinear"), 8),
        ("RandomAffine", T.RandomAffine(20, (0.1, 0.1), (0.7, 1.1), 20, interpolation="bilinear"), 4),
        ("RandomPerspective", T.RandomPerspective(0.5, 1.0), 1),
        ("ElasticTransform(120)", T.ElasticTransform(120.0, 5.0), 0),
    ],
    "colors": [
        ("ColorJitter", T.ColorJitter(0.5, 0.5, 0.8, 0.3), 6),
        ("Grayscale(3)", T.Grayscale(3), 0),
        ("RandomInvert", T.RandomInvert(1.0), 0),
        ("RandomPosterize(2)", T.RandomPosterize(2, 1.0), 0),
        ("RandomSolarize(128)", T.RandomSolarize(128, 1.0), 0),
        ("RandomAutocontrast", T.RandomAutocontrast(1.0), 0),
        ("RandomEqualize", T.RandomEqualize(1.0), 0),
        ("RandomPhotometricDistort", T.RandomPhotometricDistort(p=1.0), 0),
        ("RandomChannelPermutation", T.RandomChannelPermutation(), 1),
        ("RandomGamma(2)", T.RandomGamma(2.0, 1.0), 0),
    ],
    "filters": [
        ("RandomAdjustSharpness(4)", T.RandomAdjustSharpness(4, 1.0), 0),
        ("GaussianBlur(23, 3)", T.GaussianBlur(23, 3.0), 0),
        ("GaussianNoise", T.GaussianNoise(sigma=0.15), 0),
        ("JPEG(5)", T.JPEG(5), 0),
        ("RandomErasing", T.RandomErasing(1.0), 2),
        ("RandomErasing, random", T.RandomErasing(1.0, value="random"), 9),
    ],
    "policies": [
        ("AutoAugment", T.AutoAugment(), 4),
        ("RandAugment", T.RandAugment(2, 12), 4),
        ("TrivialAugmentWide", T.TrivialAugmentWide(), 7),
        ("AugMix(10)", T.AugMix(10), 4),
        ("timm(\"rand-m9-mstd0.5-inc1\")", T.timm("rand-m9-mstd0.5-inc1"), 8),
        ("timm(\"3a\")", T.timm("3a"), 2),
        ("RandomApply", T.RandomApply([T.ColorJitter(hue=0.5)], p=1.0), 1),
        ("RandomChoice", T.RandomChoice([T.RandomInvert(1.0), T.Grayscale(3)]), 1),
        ("RandomOrder", T.RandomOrder([T.RandomSolarize(100, 1.0), T.RandomInvert(1.0)]), 0),
    ],
}


def cell(pixels, label, font):
    """A result in its frame, in its own size, above its label."""
    picture = Image.fromarray(pixels)
    made = Image.new("RGB", (CELL[0], CELL[1] + LABEL), PAPER)
    made.paste(FRAME, (0, 0, *CELL))
    picture.thumbnail(CELL)
    made.paste(picture, ((CELL[0] - picture.width) // 2, (CELL[1] - picture.height) // 2))
    ImageDraw.Draw(made).text((CELL[0] // 2, CELL[1] + LABEL // 2), label, INK, font, anchor="mm")
    return made


def sheet(photo, entries, font):
    cells = [cell(photo, "the photograph", font)]
    cells += [cell(T.apply(recipe, photo, seed), label, font) for label, recipe, seed in entries]
    rows = -(-len(cells) // COLUMNS)
    step = (CELL[0] + GAP, CELL[1] + LABEL + GAP)
    made = Image.new("RGB", (COLUMNS * step[0] + GAP, rows * step[1] + GAP), PAPER)
    for n, one in enumerate(cells):
        made.paste(one, (GAP + n % COLUMNS * step[0], GAP + n // COLUMNS * step[1]))
    return made


def main():
    font = ImageFont.load_default(13)
    photo = np.asarray(Image.open(PHOTO).convert("RGB").resize(PICTURE, Image.Resampling.LANCZOS))
    for name, entries in SHEETS.items():
        path = OUT / f"transforms-{name}.jpg"
        sheet(photo, entries, font).save(path, quality=82, optimize=True)
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
