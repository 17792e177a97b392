#!/usr/bin/env python3
"""Which changes of a photograph `pack dedupe --near` finds, at several distances.

    PYTHON bench/dedupe/precision.py --photos DIR [--pack target/dist/pack] [--distances 2,4,6,8,10,12]

PYTHON has Pillow. Each photograph is packed with seven changed copies. A copy is found if it is named as a duplicate of an
image of the same photograph. A false pair joins two photographs; DIR must hold different ones.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import subprocess
import tempfile

from PIL import Image, ImageOps


def cropped(image, share):
    """The image without `share` of its width and height, half of it at each edge."""
    x, y = int(image.width * share / 2), int(image.height * share / 2)
    return image.crop((x, y, image.width - x, image.height - y))


def halved(image):
    return image.resize((max(1, image.width // 2), max(1, image.height // 2)), Image.Resampling.LANCZOS)


CHANGES = {
    "quality 50": lambda image: (image, 50),
    "half the size": lambda image: (halved(image), 85),
    "cropped by 2 %": lambda image: (cropped(image, 0.02), 90),
    "cropped by 5 %": lambda image: (cropped(image, 0.05), 90),
    "cropped by 10 %": lambda image: (cropped(image, 0.10), 90),
    "mirrored": lambda image: (ImageOps.mirror(image), 90),
    "rotated by 90 degrees": lambda image: (image.rotate(90, expand=True), 90),
}


def make(folder, photos):
    """Writes each photograph and its copies; returns the number of photographs."""
    files = sorted(path for path in photos.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    for n, path in enumerate(files):
        image = Image.open(path).convert("RGB")
        image.save(folder / f"{n:06}-0.jpg", quality=92)
        for number, change in enumerate(CHANGES.values(), 1):
            copy, quality = change(image)
            copy.save(folder / f"{n:06}-{number}.jpg", quality=quality)
    return len(files)


def found(pack, shards, distance):
    """Copies found of each change, and false pairs."""
    words = [pack, "dedupe", "--near", "--distance", str(distance), "--format", "json", shards]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    counts, false = collections.Counter(), 0
    for line in done.stdout.splitlines():
        pair = json.loads(line)
        if "sample" not in pair:
            continue
        (sample, number), (kept, _) = (pair[name]["key"].split("-") for name in ("sample", "kept"))
        if sample == kept:
            counts[int(number)] += 1
        else:
            false += 1
    return counts, false


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=pathlib.Path, required=True, help="a folder of different JPEGs")
    parser.add_argument("--pack", type=pathlib.Path, default=pathlib.Path("target/dist/pack"))
    parser.add_argument("--distances", default="2,4,6,8,10,12")
    x = parser.parse_args()
    distances = [int(word) for word in x.distances.split(",")]
    with tempfile.TemporaryDirectory() as work:
        folder, shards = pathlib.Path(work) / "photos", pathlib.Path(work) / "shards"
        folder.mkdir()
        photographs = make(folder, x.photos)
        subprocess.run([x.pack, "build", folder, "-o", shards, "--require", "image", "-q"], check=True)
        results = [found(x.pack, shards, distance) for distance in distances]
    print(f"{photographs} photographs\n")
    print("| change | " + " | ".join(f"distance {distance}" for distance in distances) + " |")
    print("|---|" + "---|" * len(distances))
    for number, name in enumerate(CHANGES, 1):
        print(f"| {name} | " + " | ".join(f"{100 * counts[number] / photographs:.1f} %" for counts, _ in results) + " |")
    print("| false pairs | " + " | ".join(str(false) for _, false in results) + " |")


if __name__ == "__main__":
    main()
