"""A data set with the numbers of COCO's val2017, from a seed: 5,000 pictures, 36,781 annotations in 80 categories.

The pictures are tiny; the annotations are 16 MB of JSON, with polygons and masks of crowds.
"""

from __future__ import annotations

import io
import json
import pathlib
import random
from typing import Any

from PIL import Image

PICTURES, ANNOTATIONS, EMPTY = 5000, 36_781, 48
GAPS = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}
CATEGORIES = [n for n in range(1, 91) if n not in GAPS]


def make(folder: pathlib.Path, file: pathlib.Path, seed: int = 2017) -> dict[str, Any]:
    """Writes the pictures into `folder` and the annotations to `file`; returns what is in `file`."""
    dice = random.Random(seed)
    folder.mkdir(parents=True)
    images = []
    for n, id_ in enumerate(sorted(dice.sample(range(139, 581_930), PICTURES))):
        out = io.BytesIO()
        size = (8 + n % 9, 8 + n // 9 % 9)
        Image.new("RGB", size, (n % 256, n // 256, id_ % 256)).save(out, "JPEG")
        (folder / f"{id_:012}.jpg").write_bytes(out.getvalue())
        width, height = dice.choice([(640, 480), (480, 640), (640, 427), (500, 375)])
        images.append({"id": id_, "file_name": f"{id_:012}.jpg", "width": width, "height": height, "license": n % 8})
    dice.shuffle(images)
    with_objects = images[EMPTY:]
    # One for each, and the others to a few pictures of many objects.
    of = [*with_objects, *(with_objects[int(dice.paretovariate(1.2)) * 7919 % len(with_objects)]
                           if dice.random() < 0.2 else dice.choice(with_objects)
                           for _ in range(ANNOTATIONS - len(with_objects)))]  # fmt: skip
    dice.shuffle(of)
    annotations = [_annotation(dice, number, image) for number, image in enumerate(of)]
    categories = [{"id": n, "name": f"name {n}", "supercategory": f"group {n % 12}"} for n in CATEGORIES]
    dice.shuffle(categories)
    made = {"info": {"year": 2017}, "images": images, "annotations": annotations, "categories": categories}
    file.write_text(json.dumps(made))
    return made


def _annotation(dice: random.Random, number: int, image: dict[str, Any]) -> dict[str, Any]:
    x, y = round(dice.uniform(0, image["width"] - 9), 2), round(dice.uniform(0, image["height"] - 9), 2)
    w, h = round(dice.uniform(1, image["width"] - x), 2), round(dice.uniform(1, image["height"] - y), 2)
    crowd = dice.random() < 0.012
    if crowd:
        outline: Any = {"counts": [dice.randrange(900) for _ in range(200)], "size": [image["height"], image["width"]]}
    else:
        corners = 2 * dice.randrange(3, 30)
        outline = [[round(640 * dice.random(), 2) for _ in range(corners)] for _ in range(1 + (number % 9 == 0))]
    return {
        "id": 900_000_000_000 + number if crowd else 1000 + 3 * number, "image_id": image["id"],
        "category_id": dice.choice(CATEGORIES), "bbox": [x, y, w, h], "area": round(w * h / 2, 4),
        "iscrowd": int(crowd), "segmentation": outline,
    }  # fmt: skip
