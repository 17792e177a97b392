#!/usr/bin/env python3
"""Perceptual hashes of images, beside the Python package imagehash, in interleaved rounds. One core each.

    PYTHON bench/dedupe/run.py --photos DIR [--samples 5000] [--rounds 3] [--append]

PYTHON has imagehash: `pip install ImageHash==4.3.2` in any environment. The photographs are repeated with a comment of their
own, so that no two files have equal bytes and each is decoded and hashed.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import Case, CaseError  # noqa: E402

IMAGEHASH = """
import glob, imagehash, sys
from PIL import Image
draft = sys.argv[2] == "draft"
for path in sorted(glob.glob(sys.argv[1] + "/*.jpg")):
    image = Image.open(path)
    if draft:
        image.draft("L", (64, 64))  # decodes at a reduced scale
    imagehash.phash(image)
"""


def make(work, photos, samples, pack):
    """A folder of photographs with different bytes, and their shards; kept for the next run."""
    folder, shards = work / f"photos-{samples}", work / f"shards-{samples}"
    if (shards / "dataset.json").exists():
        return folder, shards
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files = sorted(path for path in photos.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    originals = [path.read_bytes() for path in files]
    for n in range(samples):
        comment = f"copy {n:08}".encode()
        data = originals[n % len(originals)]
        segment = b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment
        (folder / f"{n:07}.jpg").write_bytes(data[:2] + segment + data[2:])
    subprocess.run([pack, "build", folder, "-o", shards, "--require", "jpg", "-q"], check=True)
    return folder, shards


def main():
    parser = common.options(__doc__)
    parser.add_argument("--photos", type=pathlib.Path, required=True, help="a folder of JPEGs")
    parser.add_argument("--samples", type=int, default=5000)
    x = parser.parse_args()
    common.hide(x.work, "WORK")
    common.hide(x.photos, "PHOTOS")
    work = x.work.resolve() / "dedupe"
    work.mkdir(parents=True, exist_ok=True)
    pack = common.pack_binary(x.pack)
    folder, shards = make(work, x.photos, x.samples, pack)
    mbytes = sum(path.stat().st_size for path in folder.glob("*.jpg")) / 1e6

    def one(name, cmd, rivals=(), status=0):
        words = ["taskset", "-c", "0", *cmd]
        script = " ".join(f"'{word}'" for word in map(str, words)) + f"; test $? -eq {status}"
        return Case(name, ["bash", "-c", script], rivals, items=x.samples, mbytes=mbytes)

    found = json.loads(subprocess.run([pack, "dedupe", "--near", "--format", "json", "--summary", shards],
                                      capture_output=True, text=True, check=False).stdout.splitlines()[-1])
    unique = len({path.read_bytes() for path in x.photos.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg")})
    if found["near"] < x.samples - unique:
        raise CaseError(f"only {found['near']} images were found to look alike")
    program = work / "hash.py"
    program.write_text(IMAGEHASH)
    whole, draft = "imagehash.phash", "imagehash.phash, reduced scale"
    cases = [
        one(whole, [sys.executable, program, folder, "whole"]),
        one(draft, [sys.executable, program, folder, "draft"]),
        one("pack dedupe --near --jobs 1", [pack, "dedupe", "--near", "--summary", "--jobs", "1", shards], (whole, draft), 1),
    ]
    common.rounds("dedupe", cases, x.rounds, work / "log.jsonl")
    about = f"{x.samples:,} photographs, {mbytes / 1e3:.2f} GB; each case on one processor (taskset)"
    head = [f"## Perceptual hashes, {common.now()[:10]}", common.machine(x.rounds, [about])]
    common.publish("\n\n".join([*head, common.table("Hashing", cases, items="images")]), x.append)


if __name__ == "__main__":
    main()
