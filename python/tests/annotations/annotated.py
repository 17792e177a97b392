"""Small data sets of drawn pictures with annotations in the layout of `pack build --coco`."""

from __future__ import annotations

import io
import json
import pathlib
from typing import Any

import numpy as np
from PIL import Image

import tarflume

Annotations = dict[str, Any]


def annotations(random: np.random.Generator, height: int, width: int, objects: int) -> Annotations:
    """Boxes inside the picture, a polygon or run lengths for each, three keypoints, and values of each object."""
    boxes, shapes, points = [], [], []
    for n in range(objects):
        x, y = random.uniform(0, width - 4), random.uniform(0, height - 4)
        w, h = random.uniform(2, width - x), random.uniform(2, height - y)
        boxes.append([round(float(v), 2) for v in (x, y, w, h)])
        corners = [x, y, x + w, y, x + w / 2, y + h] if n % 2 else [x, y, x + w, y, x + w, y + h, x, y + h]
        polygon = [round(float(v), 2) for v in corners]
        shapes.append([polygon] if n % 3 else runs(polygon, height, width))
        seen = random.integers(0, 3, 3)
        flat = [[float(v) for v in random.uniform(0, [width, height])] + [int(s)] if s else [0, 0, 0] for s in seen]
        points.append([round(float(v), 2) for point in flat for v in point])
    return {
        "boxes": boxes,
        "category_index": [int(n) for n in random.integers(0, 80, objects)],
        "area": [round(w * h, 3) for _, _, w, h in boxes],
        "iscrowd": [n % 2 for n in range(objects)],
        "segmentation": shapes,
        "keypoints": points,
        "width": width,
        "height": height,
    }


def runs(polygon: list[float], height: int, width: int) -> dict[str, Any]:
    """Run lengths of a box, down the columns, as numbers."""
    x0, y0 = int(min(polygon[::2])), int(min(polygon[1::2]))
    plane = np.zeros((height, width), np.uint8)
    plane[y0 : y0 + 5, x0 : x0 + 7] = 1
    flat = plane.T.ravel()
    edges = np.flatnonzero(np.diff(flat)) + 1
    counts = np.diff(np.concatenate([[0], edges, [flat.size]])).tolist()
    return {"size": [height, width], "counts": ([0] if flat[0] else []) + counts}


def jpeg(height: int, width: int, exif: int = 1) -> bytes:
    y, x = np.mgrid[0:height, 0:width]
    rgb = np.stack([x * 3, y * 4, (x + y) * 2], axis=-1) % 256
    picture = Image.fromarray(rgb.astype(np.uint8))
    orientation = picture.getexif()
    orientation[0x0112] = exif
    to = io.BytesIO()
    picture.save(to, "JPEG", quality=90, exif=orientation)
    return to.getvalue()


def png(plane: np.ndarray) -> bytes:
    to = io.BytesIO()
    Image.fromarray(plane).save(to, "PNG")
    return to.getvalue()


def classes(random: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Squares of classes."""
    plane = random.integers(0, 21, (height // 8 + 1, width // 8 + 1), np.uint8)
    return plane.repeat(8, 0).repeat(8, 1)[:height, :width].copy()


def write(out: pathlib.Path, count: int = 24, exif: int = 1, **options: Any) -> list[Annotations]:
    """Shards of `count` samples with 0 to 6 objects. Returns their annotations, by their ordinals."""
    random = np.random.default_rng(7)
    made = []
    with tarflume.ShardWriter(out, **{"max_samples": 7, **options}) as writer:
        for n in range(count):
            height, width = int(random.integers(60, 200)), int(random.integers(60, 200))
            of = annotations(random, height, width, n % 7)
            plane = classes(random, height, width)
            parts = {"jpg": jpeg(height, width, exif), "json": json.dumps(of).encode(), "mask.png": png(plane)}
            writer.write({"__key__": f"{n:04}", **parts})
            made.append({**of, "mask": plane})
    return made
