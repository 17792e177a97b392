"""Makes the data set of the browser tests and of the screenshots: scenes of drawn objects over crops of the photographs of
`fixtures/photos`, with COCO annotations, masks, and some planted problems. Deterministic.

    python3 tests/browser/demo_set.py PACK OUT
"""

from __future__ import annotations

import json
import pathlib
import random
import shutil
import subprocess
import sys

from PIL import Image, ImageDraw

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLASSES = {3: "disc", 7: "square", 12: "triangle", 20: "ring"}
WEIGHTS = [6, 4, 2, 1]
SIZES = [(480, 360)] * 6 + [(360, 480)] * 3 + [(512, 512)] * 2 + [(640, 360), (800, 400), (1200, 280)]
COLORS = ["#d7263d", "#1b998b", "#f46036", "#2e294e", "#c5d86d", "#3f88c5", "#ffba08"]


def draw_object(draw: ImageDraw.ImageDraw, kind: int, box: tuple[int, int, int, int], fill: str | int) -> None:
    left, top, right, bottom = box
    if kind == 3:
        draw.ellipse(box, fill=fill)
    elif kind == 7:
        draw.rectangle(box, fill=fill)
    elif kind == 12:
        draw.polygon([(left, bottom), (right, bottom), ((left + right) // 2, top)], fill=fill)
    else:
        draw.ellipse(box, outline=fill, width=max(4, (right - left) // 6))


def scene(number: int, photos: list[Image.Image]) -> tuple[Image.Image, Image.Image, list[dict[str, object]]]:
    """The picture, its mask, and its objects."""
    rng = random.Random(number)
    width, height = rng.choice(SIZES)
    photo = rng.choice(photos)
    scale = max(width / photo.width, height / photo.height) * rng.uniform(1.0, 1.6)
    photo = photo.resize((round(photo.width * scale) + 1, round(photo.height * scale) + 1))
    left, top = rng.randint(0, photo.width - width), rng.randint(0, photo.height - height)
    picture = photo.crop((left, top, left + width, top + height))
    mask = Image.new("L", picture.size, 0)
    draw, draw_mask = ImageDraw.Draw(picture), ImageDraw.Draw(mask)
    objects: list[dict[str, object]] = []
    for n in range(rng.randint(1, 4)):
        kind = rng.choices(list(CLASSES), WEIGHTS)[0]
        side = rng.randint(height // 6, height // 3)
        x, y = rng.randint(0, width - side - 1), rng.randint(0, height - side - 1)
        box = (x, y, x + side, y + side)
        draw_object(draw, kind, box, rng.choice(COLORS))
        draw_object(draw_mask, kind, box, n + 1)
        middle = side // 2
        points = [x + middle, y, 2, x + middle, y + side, 2, x, y + middle, 1, x + side, y + middle, 2]
        objects.append({"category_id": kind, "bbox": [x, y, side, side], "area": side * side, "iscrowd": 0,
                        "keypoints": points, "num_keypoints": 4})
    return picture, mask, objects


def write_sources(folder: pathlib.Path, samples: int) -> None:
    """Writes pictures, masks and `instances.json`."""
    paths = sorted((ROOT / "fixtures/photos").rglob("*.jpg"))
    photos = [Image.open(path).convert("RGB") for path in paths]
    images, annotations = [], []
    (folder / "scenes").mkdir(parents=True)
    for number in range(samples):
        picture, mask, objects = scene(number, photos)
        name = f"scene-{number:04}.jpg"
        path = folder / "scenes" / name
        options = {"quality": 82, "progressive": number % 9 == 0}
        if number == 17:
            picture = picture.resize((24, 24))
        if number == 23:
            picture = picture.convert("CMYK")
        picture.save(path, **options)
        if number == 31:
            shutil.copy(folder / "scenes/scene-0030.jpg", path)
        if number % 10 != 4:
            mask.save(path.with_suffix(".mask.png"))
        images.append({"id": number, "file_name": name, "width": picture.width, "height": picture.height})
        for one in objects:
            annotations.append({"id": len(annotations) + 1, "image_id": number, **one})
    places = {"keypoints": ["top", "bottom", "left", "right"], "skeleton": [[1, 2], [3, 4]]}
    categories = [{"id": number, "name": name, **places} for number, name in CLASSES.items()]
    listed = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "instances.json").write_text(json.dumps(listed))


def make(pack: str, out: pathlib.Path, samples: int = 240) -> pathlib.Path:
    """Packs the data set into `out/scenes`, damages one picture, and returns its folder."""
    source, shards = out / "source", out / "scenes"
    write_sources(source, samples)
    command = [pack, "build", str(source / "scenes"), "-o", str(shards), "--coco", str(source / "instances.json"), "--shards", "3"]
    subprocess.run([*command, "--names", "dot=allow"], check=True, capture_output=True)
    lines = subprocess.run([pack, "ls", "--format", "json", str(shards)], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        sample = json.loads(line)
        if sample["key"].endswith("scene-0042"):
            part = next(part for part in sample["parts"] if part["ext"] == "jpg")
            with (shards / sample["shard"]).open("r+b") as tar:
                tar.seek(part["offset"] + 2)
                tar.write(b"\0" * 64)
    return shards


if __name__ == "__main__":
    print(make(sys.argv[1], pathlib.Path(sys.argv[2])))
