#!/usr/bin/env python3
"""Recipes of detection and segmentation beside torchvision, albumentations and DALI, on the same pictures, in one run.

    PYTHON bench/detection/run.py --photos DIR [--pictures 2048] [--samples 4096] [--rounds 3] [--small] [--append]

PYTHON has tarflume and bench/detection/requirements.txt; a rival that is missing is a row with its reason. Each case is a
process with two threads or two workers. The rivals read files; data.py makes the objects.
"""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
import data  # noqa: E402
import recipes  # noqa: E402

#: Title of the table, and the recipe in ours.py and rivals.py.
TABLES = [
    ("SSD: distort, zoom out, IoU crop, flip, 300 x 300; boxes and labels", "ssd"),
    ("Mask R-CNN's large scale jitter, 640 x 640; boxes, labels and a mask for each object", "lsj"),
    ("DeepLab: resize, crop of 480 x 480, flip; one mask of classes", "deeplab"),
]
RIVALS = {
    "torchvision": "torchvision v2 on tensors, 2 workers",
    "albumentations": "albumentations, 2 workers",
    "dali": "DALI on the CPU, 2 threads",
}
OURS = "tarflume, 2 threads"
PACKAGES = ["tarflume", "torchvision", "albumentations", "opencv-python-headless", "pycocotools", "nvidia-dali-cuda130"]
SHARDS = 8


def data_of(x):
    """The folder of the rivals and the shards, with `pictures` photographs, which are repeated as often as needed."""
    photos = recipes.photographs(x)
    at = x.work / "detection"
    stamp = recipes.stamp(photos, x)
    made = at / "made.json"
    if made.exists() and json.loads(made.read_text())["of"] == stamp:
        return at, json.loads(made.read_text())
    common.remove(at)
    folder = at / "coco"
    objects = data.make(photos, folder, x.pictures)
    pack = common.pack_binary(x.pack)
    build = [pack, "build", folder, "-o", at / "shards", "--pair", "pictures=jpg", "masks=mask.png", "--coco",
             folder / "instances.json", "--shards", SHARDS, "--quiet"]
    if subprocess.run(list(map(str, build)), check=False).returncode:
        sys.exit("pack build failed")
    made.write_text(json.dumps({"of": stamp, "objects": objects}))
    return at, json.loads(made.read_text())


def cases_of(recipe, at, x):
    found = [recipes.case(OURS, HERE / "ours.py", [at / "shards", recipe], x.samples, x, tuple(RIVALS.values()))]
    # A rival decodes fewer. The batches of two workers arrive in pairs, so half a pair at the end would be counted too slow.
    pair = 2 * x.batch
    fewer = max(3 * pair, x.samples // 8 // pair * pair)
    found += [recipes.case(name, HERE / "rivals.py", [at / "coco", rival, recipe], fewer, x) for rival, name in RIVALS.items()]
    return [one for one in found if common.matches(x.cases, f"{recipe} {one.name}")]


def main():
    x = recipes.options(__doc__, [recipe for _, recipe in TABLES], pictures=2048, samples=4096, batch=32,
                        rivals="rivals decode an eighth, but at least six batches")
    at, made = data_of(x)
    of = made["of"]
    about = (f"- {of['photos']} photographs of {of['bytes'] / of['photos'] / 1000:.0f} kB, {of['pictures']} samples with "
             f"{made['objects']} made objects.")
    recipes.run(x, "Recipes of detection", TABLES, lambda recipe: cases_of(recipe, at, x), OURS, (about, made), PACKAGES,
                lambda results: recipes.fastest(results, OURS, RIVALS.values()))


if __name__ == "__main__":
    main()
