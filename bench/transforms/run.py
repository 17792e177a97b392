#!/usr/bin/env python3
"""Recipes of training beside torchvision, timm, albumentations, kornia-rs and DALI, on the same shards, in one run.

    PYTHON bench/transforms/run.py --photos DIR [--pictures 4096] [--samples 8192] [--rounds 3] [--small] [--append]

PYTHON has tarflume and bench/transforms/requirements.txt; a rival that is missing is a row with its reason. Each case is a
process with two threads or two workers.
"""
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
import recipes  # noqa: E402

#: Title of the table, and the recipe in ours.py and rivals.py.
TABLES = [
    ("RandomResizedCrop(224) and flip", "crop"),
    ("torchvision's classification: crop, flip, TrivialAugmentWide, erasing", "classification"),
    ("DeiT: bicubic crop, flip, rand-m9-mstd0.5-inc1, erasing", "deit"),
    ("SimCLR: two views", "simclr"),
    ("DINO: two global and eight local views", "dino"),
]
RIVALS = {
    "torchvision": "torchvision v2 on uint8, 2 workers",
    "timm": "timm on PIL, 2 workers",
    "albumentations": "albumentations, 2 workers",
    "kornia-rs": "kornia-rs, 2 workers",
    "dali": "DALI on the CPU, 2 threads",
}
OURS = "tarflume, 2 threads"
CUBIC = "tarflume, bicubic, 2 threads"
FLOATS = "tarflume, bicubic crop and flip alone as float32 like DeiT's rows, 2 threads"
PACKAGES = ["tarflume", "torchvision", "timm", "albumentations", "opencv-python-headless", "kornia-rs",
            "nvidia-dali-cuda130", "webdataset", "pillow"]
SHARDS = 8


def shards_of(x):
    """The folder of shards with `pictures` photographs, which are repeated as often as needed."""
    photos = recipes.photographs(x)
    at = x.work / "transforms"
    stamp = recipes.stamp(photos, x)
    made = at / "made.json"
    if made.exists() and json.loads(made.read_text()) == stamp:
        return at / "shards", stamp
    common.remove(at)
    folder = at / "pictures" / "all"
    folder.mkdir(parents=True)
    for n in range(x.pictures):
        shutil.copyfile(photos[n % len(photos)], folder / f"{n:06}.jpg")
    pack = common.pack_binary(x.pack)
    build = [pack, "build", at / "pictures", "-o", at / "shards", "--require", "image", "--shards", SHARDS, "--quiet"]
    if subprocess.run(list(map(str, build)), check=False).returncode:
        sys.exit("pack build failed")
    shutil.rmtree(at / "pictures")
    made.write_text(json.dumps(stamp))
    return at / "shards", stamp


def case(name, script, shards, words, samples, x, rivals=()):
    return recipes.case(name, HERE / script, [shards, *words], samples, x, rivals)


def cases_of(recipe, shards, x):
    found = [case(OURS, "ours.py", shards, [recipe], x.samples, x, tuple(RIVALS.values()))]
    if recipe in ("crop", "deit"):
        found.append(case(CUBIC, "ours.py", shards, ["crop-bicubic"], x.samples, x))
    if recipe == "deit":
        found[1].name = "tarflume, bicubic crop and flip alone, 2 threads"
        found.append(case(FLOATS, "ours.py", shards, ["crop-bicubic-float32"], x.samples, x))
        found.append(case("tarflume, crop and flip alone, 2 threads", "ours.py", shards, ["crop"], x.samples, x))
    # A rival decodes fewer: the slowest take seconds for a batch of ten views. The batches of two workers arrive in pairs, so
    # half a pair at the end would be counted too slow.
    pair = 2 * x.batch
    fewer = max(3 * pair, x.samples // (8 if recipe == "dino" else 2) // pair * pair)
    found += [case(name, "rivals.py", shards, [rival, recipe], fewer, x) for rival, name in RIVALS.items()]
    return [one for one in found if common.matches(x.cases, f"{recipe} {one.name}")]


def verdicts(results):
    """What the recipes keep of crop and flip, and the fastest rivals: sentences with ratios."""
    lines = []
    for alone in ("tarflume, crop and flip alone, 2 threads", "tarflume, bicubic crop and flip alone, 2 threads", FLOATS):
        both = recipes.rate(results, "deit", OURS), recipes.rate(results, "deit", alone)
        if all(both):
            lines.append(f"- DeiT keeps {100 * both[0] / both[1]:.0f} % of the rate of {alone.removeprefix('tarflume, ')}.")
    return lines + recipes.fastest(results, OURS, RIVALS.values())


def main():
    x = recipes.options(__doc__, [recipe for _, recipe in TABLES], pictures=4096, samples=8192, batch=64,
                        rivals="rivals decode a half, of DINO an eighth, but six batches")
    shards, data = shards_of(x)
    about = f"- {data['photos']} photographs of {data['bytes'] / data['photos'] / 1000:.0f} kB, {data['pictures']} samples."
    recipes.run(x, "Recipes of transforms", TABLES, lambda recipe: cases_of(recipe, shards, x), OURS, (about, data), PACKAGES,
                verdicts)


if __name__ == "__main__":
    main()
