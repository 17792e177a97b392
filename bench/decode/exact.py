#!/usr/bin/env python3
"""Every photograph of a folder, rewritten by jpegtran in many forms, decoded by us and by Pillow: equal bytes or not.

    python3 bench/decode/exact.py --photos FOLDER [--forms progressive,restart] [--append]

jpegtran changes the coding and no coefficient: progressive scans by several scripts, components in scans of their own,
restart intervals, rotation, gray. Needs jpegtran (Debian: libjpeg-turbo-progs), the Python package, Pillow and NumPy.
"""
import argparse
import io
import pathlib
import subprocess
import sys
import tempfile

import numpy
import PIL
import tarflume
from PIL import Image, features

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402

SCRIPTS = {
    "alone": "0;\n1;\n2;\n",
    "spectral": "0,1,2: 0-0, 0, 0;\n0: 1-5, 0, 0;\n2: 1-63, 0, 0;\n1: 1-63, 0, 0;\n0: 6-63, 0, 0;\n",
    "bits": "0,1,2: 0-0, 0, 3;\n" + "".join(f"{c}: 1-63, 0, 3;\n" for c in (2, 0, 1))
            + "".join(f"{c}: 1-63, {n + 1}, {n};\n" for n in (2, 1, 0) for c in (1, 0, 2))
            + "".join(f"0,1,2: 0-0, {n + 1}, {n};\n" for n in (2, 1, 0)),
    "single": "".join(f"{c}: 0-0, 0, 1;\n{c}: 0-0, 1, 0;\n" for c in (0, 1, 2))
              + "".join(f"{c}: {k}-{k + 8}, 0, 1;\n{c}: {k}-{k + 8}, 1, 0;\n" for k in range(1, 63, 9) for c in (0, 1, 2)),
}
FORMS = {
    "baseline": [],
    "optimize": ["-optimize"],
    "progressive": ["-progressive"],
    "restart": ["-progressive", "-restart", "1"],
    "restarts": ["-progressive", "-restart", "3B"],
    "rotated": ["-progressive", "-rotate", "90"],
    "gray": ["-progressive", "-grayscale"],
    **{name: ["-scans", name] for name in SCRIPTS},
    "alone-restarts": ["-scans", "alone", "-restart", "5B"],
    "single-restarts": ["-scans", "single", "-restart", "1"],
}


def rewritten(jpeg, form, folder):
    """The photograph in another form, or None where the form is for three components and it has another number."""
    words = [str(folder / w) if w in SCRIPTS else w for w in FORMS[form]]
    done = subprocess.run(["jpegtran", *words], input=jpeg, capture_output=True, check=False)
    return None if done.returncode else done.stdout


def differences(folder, pictures):
    """How many pictures our loader decodes to other bytes than Pillow, and the names of the first."""
    pairs, out = folder / "pairs", folder / "shards"
    pairs.mkdir()
    for name, jpeg in pictures.items():
        (pairs / f"{name}.jpg").write_bytes(jpeg)
    tarflume.pack.build(pairs, out, progress=False, require="jpg")
    columns = {"image": tarflume.Image(tarflume.OriginalSize(1 << 26))}
    apart, names = [], iter(sorted(pictures))
    with tarflume.Loader(out, columns=columns, batch_size=8) as loader:
        for batch in loader.epoch(0):
            for ours in batch.numpy()["image"]:
                name = next(names)
                theirs = numpy.asarray(Image.open(io.BytesIO(pictures[name])).convert("RGB"))
                if ours.shape != theirs.shape or not numpy.array_equal(ours, theirs):
                    apart.append(name)
    if next(names, None):
        sys.exit("the loader left pictures out")
    return apart


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--photos", type=pathlib.Path, required=True)
    ap.add_argument("--forms", default=",".join(FORMS))
    ap.add_argument("--append", nargs="?", const=common.RESULTS, type=pathlib.Path, metavar="FILE")
    x = ap.parse_args()
    common.hide(x.photos, "PHOTOS")
    found = sorted(p for p in x.photos.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
    rows, wrong = [], 0
    for form in x.forms.split(","):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, script in SCRIPTS.items():
                (folder / name).write_text(script)
            made = {f"{n:05d}": rewritten(p.read_bytes(), form, folder) for n, p in enumerate(found)}
            made = {name: jpeg for name, jpeg in made.items() if jpeg}
            apart = differences(folder, made) if made else []
        wrong += len(apart)
        names = ", ".join(found[int(n)].name for n in apart[:3])
        rows.append(f"| {form} | {len(made)} | {len(made) - len(apart)} | {names} |")
        print(rows[-1], file=sys.stderr, flush=True)
    head = ["| form | pictures | equal to Pillow's bytes | the first that are not |", "|---|---|---|---|"]
    jpegtran = subprocess.run(["jpegtran", "-version"], text=True, capture_output=True, check=False).stderr.split(" (")[0]
    command, _, known = common.machine(1, [f"Pillow {PIL.__version__}", f"libjpeg-turbo {features.version('libjpeg_turbo')}",
                                           f"jpegtran: {jpegtran.strip()}"]).splitlines()
    common.publish("\n".join([f"## JPEGs in other forms, {common.now()[:10]}", "", command, known, "", *head, *rows]), x.append)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
