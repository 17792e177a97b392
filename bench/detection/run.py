#!/usr/bin/env python3
"""Recipes of detection and segmentation beside torchvision, albumentations and DALI, on the same pictures, in one run.

    PYTHON bench/detection/run.py --photos DIR [--pictures 2048] [--samples 4096] [--rounds 3] [--small] [--append]

PYTHON has tarflume and bench/detection/requirements.txt; a rival that is missing is a row with its reason. Each case is a
process with two threads or two workers. The rivals read files; data.py makes the objects.
"""
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
import data  # noqa: E402

#: Title of the table, and the recipe in ours.py and rivals.py.
TABLES = [
    ("SSD: distort, zoom out, IoU crop, flip, 300 x 300; boxes and labels", "ssd"),
    ("Mask R-CNN's large scale jitter, 640 x 640; boxes, labels and a mask for each object", "lsj"),
    ("DeepLab: resize, crop of 480 x 480, flip; one mask of classes", "deeplab"),
]
RIVALS = {
    "torchvision": "torchvision's reference (v2, tensors), 2 workers",
    "albumentations": "albumentations, 2 workers",
    "dali": "DALI on the CPU, 2 threads",
}
OURS = "tarflume, 2 threads"
PACKAGES = ["tarflume", "torchvision", "albumentations", "opencv-python-headless", "pycocotools", "nvidia-dali-cuda130"]
SHARDS = 8


def data_of(x):
    """The folder of the rivals and the shards, with `pictures` photographs, which are repeated as often as needed."""
    photos = sorted(path for path in x.photos.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    if not photos:
        sys.exit(f"no photographs in {x.photos}: give --photos DIR")
    at = x.work / "detection"
    stamp = {"photos": len(photos), "bytes": sum(path.stat().st_size for path in photos), "pictures": x.pictures}
    made = at / "made.json"
    if made.exists() and json.loads(made.read_text())["of"] == stamp:
        return at, json.loads(made.read_text())
    common.remove(at)
    folder = at / "coco"
    objects = data.make(photos, folder, x.pictures)
    both = at / "both"
    both.mkdir()
    for n in range(x.pictures):
        (both / f"{n:06}.jpg").hardlink_to(folder / "pictures" / f"{n:06}.jpg")
        (both / f"{n:06}.mask.png").hardlink_to(folder / "masks" / f"{n:06}.png")
    pack = common.pack_binary(x.pack)
    build = [pack, "build", both, "-o", at / "shards", "--coco", folder / "instances.json", "--shards", SHARDS, "--quiet"]
    if subprocess.run(list(map(str, build)), check=False).returncode:
        sys.exit("pack build failed")
    made.write_text(json.dumps({"of": stamp, "objects": objects}))
    return at, json.loads(made.read_text())


def counted(run):
    if float(run["vals"]["rate"]) <= 0:
        raise common.CaseError("it counted no image")


def case(name, script, words, samples, x, rivals=()):
    cmd = [x.python, HERE / script, *words, "--samples", samples, "--batch", x.batch]
    return common.Case(name, cmd, rivals, check=counted, timeout=x.timeout)


def cases_of(recipe, at, x):
    found = [case(OURS, "ours.py", [at / "shards", recipe], x.samples, x, tuple(RIVALS.values()))]
    # A rival decodes fewer. The batches of two workers arrive in pairs, so half a pair at the end would be counted too slow.
    pair = 2 * x.batch
    fewer = max(3 * pair, x.samples // 8 // pair * pair)
    found += [case(name, "rivals.py", [at / "coco", rival, recipe], fewer, x) for rival, name in RIVALS.items()]
    return [one for one in found if common.matches(x.cases, f"{recipe} {one.name}")]


def seconds(run):
    """Of an image."""
    return 1.0 / float(run["vals"]["rate"])


def rates(one):
    return common.spread(float(run["vals"]["rate"]) for run in one.runs)


def ratios(one, ours):
    """How many times its rate ours is."""
    if one is ours or ours is None or not ours.runs:
        return ""
    return common.ratio(ours, one, seconds).removesuffix(f" against {one.name}")


def table(title, cases):
    ours = next((one for one in cases if one.name == OURS and not one.error), None)
    columns = [("images/s, median (min-max)", rates), ("tarflume is faster by", lambda one: ratios(one, ours))]
    return common.columns_table(title, cases, columns)


def kept(cases):
    """All rates, for the JSON."""
    return {one.name: {"rates": [float(run["vals"]["rate"]) for run in one.runs], "error": common.clean(one.error)} for one in cases}


def verdicts(results):
    """The fastest rivals: sentences with ratios."""
    lines = []
    for recipe, cases in results.items():
        rates = {name: common.middle(found["rates"]) for name, found in cases.items() if found["rates"] and not found["error"]}
        rivals = {name: rate for name, rate in rates.items() if name in RIVALS.values()}
        if rivals and OURS in rates:
            fastest = max(rivals, key=rivals.get)
            lines.append(f"- {recipe}: {rates[OURS] / rivals[fastest]:.2f} times the fastest rival, {fastest}.")
    return "\n".join(lines)


def main():
    ap = common.options(__doc__)
    ap.add_argument("--photos", type=pathlib.Path, default=common.ROOT / "fixtures" / "photos")
    ap.add_argument("--python", type=pathlib.Path, default=pathlib.Path(sys.executable), help="an environment with the packages")
    ap.add_argument("--pictures", type=int, default=2048, help="samples in the shards")
    ap.add_argument("--samples", type=int, default=4096, help="samples that ours decodes; rivals decode an eighth, but six batches")
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--recipes", default=",".join(recipe for _, recipe in TABLES))
    ap.add_argument("--timeout", type=float, default=900.0, help="seconds of a case")
    ap.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all rates to FILE")
    ap.add_argument("--small", action="store_true", help="few pictures, to try the script")
    x = ap.parse_args()
    if x.small:
        x.pictures, x.samples, x.batch = 256, 64, 16
    common.hide(x.photos, "PHOTOS")
    common.hide(x.work, "WORK")
    common.hide(x.python.parent.parent, "ENVIRONMENT")
    x.work.mkdir(parents=True, exist_ok=True)
    at, made = data_of(x)
    tables, results, failed = [], {}, False
    for title, recipe in TABLES:
        if recipe in x.recipes.split(","):
            cases = cases_of(recipe, at, x)
            common.rounds(title, cases, x.rounds, x.work / "log.jsonl")
            tables.append(table(title, cases))
            results[recipe] = kept(cases)
            ours = [one for one in cases if one.name.startswith("tarflume")]
            failed |= any(one.error for one in ours)
    import importlib.metadata as metadata
    # Of two versions on the path, the first is the one that is imported.
    installed = {}
    for dist in metadata.distributions():
        installed.setdefault(dist.metadata["Name"].lower().replace("_", "-"), dist.version)
    versions = "; ".join(f"{name} {installed.get(name, 'missing')}" for name in PACKAGES)
    note = " **--small: a trial of the script, no measurement.**" if x.small else ""
    of = made["of"]
    about = (f"- {of['photos']} photographs of {of['bytes'] / of['photos'] / 1000:.0f} kB, {of['pictures']} samples with "
             f"{made['objects']} made objects.{note}")
    head = common.machine(x.rounds, [versions]) + "\n" + about
    common.publish("\n\n".join([f"## Recipes of detection, {common.now()[:10]}", head, *tables, verdicts(results)]), x.append)
    if x.json:
        x.json.parent.mkdir(parents=True, exist_ok=True)
        x.json.write_text(json.dumps({"date": common.now(), "data": made, "versions": versions, "small": x.small,
                                      "rounds": x.rounds, "recipes": results}, indent=1) + "\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
