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
    photos = sorted(path for path in x.photos.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    if not photos:
        sys.exit(f"no photographs in {x.photos}: give --photos DIR")
    at = x.work / "transforms"
    stamp = {"photos": len(photos), "bytes": sum(path.stat().st_size for path in photos), "pictures": x.pictures}
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


def counted(run):
    if float(run["vals"]["rate"]) <= 0:
        raise common.CaseError("it counted no image")


def case(name, script, shards, words, samples, x, rivals=()):
    cmd = [x.python, HERE / script, shards, *words, "--samples", samples, "--batch", x.batch]
    return common.Case(name, cmd, rivals, check=counted, timeout=x.timeout)


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
    """What the recipes keep of crop and flip, and the fastest rivals: sentences with ratios."""
    def rate(recipe, name):
        found = results.get(recipe, {}).get(name)
        return common.middle(found["rates"]) if found and found["rates"] and not found["error"] else None

    lines = []
    for alone in ("tarflume, crop and flip alone, 2 threads", "tarflume, bicubic crop and flip alone, 2 threads", FLOATS):
        both = rate("deit", OURS), rate("deit", alone)
        if all(both):
            lines.append(f"- DeiT keeps {100 * both[0] / both[1]:.0f} % of the rate of {alone.removeprefix('tarflume, ')}.")
    for recipe, cases in results.items():
        rivals = {name: rate(recipe, name) for name in cases if name in RIVALS.values() and rate(recipe, name)}
        if rivals and rate(recipe, OURS):
            fastest = max(rivals, key=rivals.get)
            lines.append(f"- {recipe}: {rate(recipe, OURS) / rivals[fastest]:.2f} times the fastest rival, {fastest}.")
    return "\n".join(lines)


def main():
    ap = common.options(__doc__)
    ap.add_argument("--photos", type=pathlib.Path, default=common.ROOT / "fixtures" / "photos")
    ap.add_argument("--python", type=pathlib.Path, default=pathlib.Path(sys.executable), help="an environment with the packages")
    ap.add_argument("--pictures", type=int, default=4096, help="samples in the shards")
    ap.add_argument("--samples", type=int, default=8192, help="samples that ours decodes; rivals decode a half, of DINO an eighth, but six batches")
    ap.add_argument("--batch", type=int, default=64)
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
    shards, data = shards_of(x)
    tables, results, failed = [], {}, False
    for title, recipe in TABLES:
        if recipe in x.recipes.split(","):
            cases = cases_of(recipe, shards, x)
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
    about = f"- {data['photos']} photographs of {data['bytes'] / data['photos'] / 1000:.0f} kB, {data['pictures']} samples.{note}"
    head = common.machine(x.rounds, [versions]) + "\n" + about
    common.publish("\n\n".join([f"## Recipes of transforms, {common.now()[:10]}", head, *tables, verdicts(results)]), x.append)
    if x.json:
        x.json.parent.mkdir(parents=True, exist_ok=True)
        x.json.write_text(json.dumps({"date": common.now(), "data": data, "versions": versions, "small": x.small,
                                      "rounds": x.rounds, "recipes": results}, indent=1) + "\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
