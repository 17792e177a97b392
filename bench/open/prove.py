#!/usr/bin/env python3
"""What proving costs: a data set whose sidecars are newer than its tars, beside the same one whose tars may be newer.

    python3 bench/open/prove.py --python PYTHON [--shards 50] [--samples 10000] [--rounds 5] [--append]

PYTHON is an interpreter with the package tarflume, Pillow, NumPy and pyarrow. Each sample is a JPEG of 256x192 pixels of noise
and a JSON whose class is a typed column. Before each run of a suspect case the tars get later times, as a copy may give them;
before the others, the sidecars get them. Each case measures its own seconds, without imports. `pack index` compares all tars
with their digests, after which nothing is suspect.
"""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import Case, CaseError, digits, first_line  # noqa: E402

USES = {
    "batch": "first batch of labels and pictures",
    "epoch": "epoch of labels and pictures",
    "numbers": "label of every sample",
    "table": "table of all samples",
}
MAKE = """
import json, pathlib, sys
import numpy as np
from PIL import Image
folder, samples = pathlib.Path(sys.argv[1]), int(sys.argv[2])
for n in range(samples):
    noise = np.random.default_rng(n).integers(0, 256, (192, 256, 3), dtype=np.uint8)
    Image.fromarray(noise).save(folder / f"{n:07}.jpg", quality=75)
    (folder / f"{n:07}.json").write_text(json.dumps({"class": n % 1000, "caption": "x" * 170}))
"""


def touch(folder, extension):
    """Makes these files of a data set the later ones, by both of their times."""
    for path in sorted(folder.glob(f"*.{extension}")):
        os.utime(path)


def make(folder, pack, python, shards, samples):
    common.remove(folder)
    source = folder.with_name(folder.name + "-source")
    common.remove(source)
    source.mkdir(parents=True)
    subprocess.run([python, "-c", MAKE, source, str(samples)], check=True)
    words = ["build", source, "-o", folder, "--shards", str(shards), "--columns", "class:u32", "-q"]
    subprocess.run([pack, *words], check=True)
    common.remove(source)
    os.sync()


def seconds_of(run):
    return float(run["vals"].get("seconds", run["wall"]))


def main():
    ap = common.options(__doc__)
    ap.add_argument("--python", type=pathlib.Path, required=True)
    ap.add_argument("--shards", type=int, default=50)
    ap.add_argument("--samples", type=int, default=10_000)
    x = ap.parse_args()
    work, pack = x.work.resolve(), common.pack_binary(x.pack)
    common.hide(work, "WORK")
    common.hide(x.python, "PYTHON")
    data = work / "prove" / f"{x.shards}-{x.samples}"
    done = data.with_suffix(".done")
    if not done.exists():
        make(data, pack, x.python, x.shards, x.samples)
        done.touch()

    def read(what):
        def complete(got):
            wanted = 64 if what == "batch" else x.samples
            if int(got["vals"]["samples"]) != wanted:
                raise CaseError(f"samples={got['vals']['samples']}, wanted {wanted}")
        return complete

    def case(what, extension):
        state = "fresh" if extension == "index" else "suspect"
        rivals = () if state == "fresh" else (f"{USES[what]}, fresh",)
        cmd = [x.python, HERE / "prove_cases.py", what, data]
        return Case(f"{USES[what]}, {state}", cmd, rivals, before=lambda: touch(data, extension), check=read(what))

    cases = [case(what, extension) for what in USES for extension in ("index", "tar")]
    index = [pack, "index", "-q", data]
    cases.append(Case("pack index, fresh", index, before=lambda: touch(data, "index")))
    cases.append(Case("pack index, suspect", index, ("pack index, fresh",), before=lambda: touch(data, "tar")))
    cases = [c for c in cases if common.matches(x.cases, c.name)]
    common.rounds("prove", cases, x.rounds, work / "log.jsonl")
    by = {c.name: c for c in cases}
    columns = [
        ("s, median (min-max)", lambda c: common.spread(map(seconds_of, c.runs))),
        ("CPU s, with imports", lambda c: digits(common.middle([r["cpu"] for r in c.runs]))),
        ("speed against fresh sidecars", lambda c: common.ratios(c, by, seconds_of)),
    ]
    mbytes = sum(path.stat().st_size for path in data.glob("*.tar")) / 1e6
    title = f"prove: {x.shards:,} shards, {x.samples:,} samples, {mbytes:,.0f} MB"
    versions = [first_line("rustc", "--version")]
    common.publish("\n\n".join([f"## Proving sidecars, {common.now()[:10]}", common.machine(x.rounds, versions),
                                common.columns_table(title, cases, columns)]), x.append)
    sys.exit(any(c.error for c in cases))


if __name__ == "__main__":
    main()
