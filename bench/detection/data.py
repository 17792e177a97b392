"""Photographs with made objects, in the form of COCO: about seven objects a picture, each with a polygon of 12 to 24 corners.

    python3 bench/detection/data.py PHOTOS OUT [--pictures 2048]

Writes OUT/pictures/*.jpg, OUT/masks/*.png (a class for each pixel, 0 is the background) and OUT/instances.json. The objects are
ellipses with uneven edges. COCO's training pictures have 7.3 objects on average, and half of its objects are smaller than a
hundredth of the picture; the areas are drawn likewise.
"""
import argparse
import json
import math
import pathlib
import random
import shutil

CLASSES = 80


def polygon(x, y, width, height, rng):
    """An uneven ellipse within a box, as a flat list of x and y."""
    corners = rng.randint(12, 24)
    flat = []
    for n in range(corners):
        angle = 2 * math.pi * n / corners
        reach = rng.uniform(0.85, 1.0)
        flat.append(round(x + width / 2 * (1 + reach * math.cos(angle)), 2))
        flat.append(round(y + height / 2 * (1 + reach * math.sin(angle)), 2))
    return flat


def objects(width, height, rng):
    """Boxes and polygons of a picture; a hundredth of the pictures have none."""
    if rng.random() < 0.01:
        return []
    found = []
    for _ in range(max(1, round(rng.gammavariate(1.6, 4.5)))):
        part = math.exp(rng.uniform(math.log(0.0005), math.log(0.4)))
        ratio = math.exp(rng.uniform(-0.8, 0.8))
        w = min(width * math.sqrt(part * ratio), width * 0.95)
        h = min(height * math.sqrt(part / ratio), height * 0.95)
        flat = polygon(rng.uniform(0, width - w), rng.uniform(0, height - h), w, h, rng)
        xs, ys = flat[::2], flat[1::2]
        box = [min(xs), min(ys), round(max(xs) - min(xs), 2), round(max(ys) - min(ys), 2)]
        found.append((box, flat))
    return found


def area(flat):
    """The area of a polygon."""
    xs, ys = flat[::2], flat[1::2]
    return abs(sum(xs[n - 1] * ys[n] - xs[n] * ys[n - 1] for n in range(len(xs)))) / 2


def make(photos, out, pictures):
    """Writes the data set of the module's text."""
    from PIL import Image, ImageDraw

    rng = random.Random(5)
    for folder in ("pictures", "masks"):
        (out / folder).mkdir(parents=True)
    images, annotations = [], []
    for n in range(pictures):
        name, photo = f"{n:06}", photos[n % len(photos)]
        shutil.copyfile(photo, out / "pictures" / f"{name}.jpg")
        with Image.open(photo) as picture:
            width, height = picture.size
        mask = Image.new("L", (width, height))
        draw = ImageDraw.Draw(mask)
        images.append({"id": n, "file_name": f"{name}.jpg", "width": width, "height": height})
        for box, flat in objects(width, height, rng):
            category = rng.randint(1, CLASSES)
            draw.polygon(flat, fill=category)
            annotations.append({"id": len(annotations) + 1, "image_id": n, "category_id": category, "bbox": box,
                                "segmentation": [flat], "area": area(flat), "iscrowd": 0})
        mask.save(out / "masks" / f"{name}.png")
    categories = [{"id": n, "name": f"class {n}"} for n in range(1, CLASSES + 1)]
    (out / "instances.json").write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))
    return len(annotations)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("photos", type=pathlib.Path)
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--pictures", type=int, default=2048)
    x = ap.parse_args()
    found = make(sorted(path for path in x.photos.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg")), x.out, x.pictures)
    print(f"{x.pictures} pictures, {found} objects")


if __name__ == "__main__":
    main()
