#!/usr/bin/env python3
"""Index files of other readers: `pack index --export` beside the readers' own tools, in interleaved rounds.

    PYTHON bench/indexes/run.py --photos DIR [--samples 20000] [--rounds 3] [--append]

PYTHON has the readers: .venv-clients/bin/python after `make clients`. The shards have sidecars, as packing writes them; the
index files of other readers are removed before each run. wds2idx has no parallel mode and is started once for each shard,
two at a time.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import Case, CaseError  # noqa: E402

HFUTILS = "import sys; from hfutils.index import tar_create_index as f; [f(p, silent=True) for p in sys.argv[1:]]"


def make(work: pathlib.Path, photos: pathlib.Path, samples: int, pack: pathlib.Path) -> pathlib.Path:
    """Shards of hard-linked photographs with a small JSON each; kept for the next run."""
    shards = work / f"shards-{samples}"
    if (shards / "dataset.json").exists():
        return shards
    files = sorted(path for path in photos.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    pairs = work / "pairs"
    shutil.rmtree(pairs, ignore_errors=True)
    pairs.mkdir(parents=True)
    copies = [shutil.copy(path, pairs / f"copy-{n}.bin") for n, path in enumerate(files)]
    for n in range(samples):
        os.link(copies[n % len(copies)], pairs / f"{n:07}.jpg")
        (pairs / f"{n:07}.json").write_text(json.dumps({"class": n % 1000}))
    for copy in copies:
        os.unlink(copy)
    subprocess.run([pack, "build", pairs, "-o", shards, "--no-entry-points", "-q"], check=True)
    shutil.rmtree(pairs)
    return shards


class Bench:
    def __init__(self, x) -> None:
        self.x, self.work = x, x.work.resolve() / "indexes"
        self.work.mkdir(parents=True, exist_ok=True)
        self.pack = common.pack_binary(x.pack)
        self.shards = make(self.work, x.photos, x.samples, self.pack)
        self.tars = sorted(self.shards.glob("*.tar"))
        self.bytes = sum(tar.stat().st_size for tar in self.tars)
        self.tools = pathlib.Path(sys.executable).parent

    def clear(self) -> None:
        for pattern in ("*.idx", "shard-*.json", "shardindex.json"):
            for path in self.shards.glob(pattern):
                path.unlink()
        shutil.rmtree(self.shards / ".nv-meta", ignore_errors=True)

    def case(self, name, command, wanted, rivals=()):
        def check(_):
            missing = [path for path in wanted if not path.exists() or path.stat().st_size == 0]
            if missing:
                raise CaseError(f"{missing[0].name} is missing")
        return Case(name, command, rivals, before=self.clear, check=check, items=self.x.samples, mbytes=self.bytes / 1e6)

    def ours(self, formats, wanted, rival, *options):
        words = " ".join(["pack index", *options, "--export", formats])
        return self.case(words, [self.pack, "index", "-q", *options, "--export", formats, self.shards], wanted, (rival,))

    def tables(self):
        for reader, cases in self.readers().items():
            cases = [case for case in cases if common.matches(self.x.cases, case.name)]
            common.rounds(reader, cases, self.x.rounds, self.work / "log.jsonl")
            yield common.table(reader, cases, items="samples")

    def readers(self):
        beside = lambda suffix: [tar.with_suffix(suffix) for tar in self.tars]  # noqa: E731
        energon = [self.tools / "energon", "prepare", self.shards, "--non-interactive", "--split-ratio", "1,0,0",
                   "--sample-type", "CrudeWebdataset", "--num-workers", "2"]  # fmt: skip
        wids = [sys.executable, "-m", "wids.wids_index", "create", "--name", "x", "--output", self.shards / "shardindex.json"]
        wds2idx = f"ls {self.shards}/*.tar | xargs -P2 -I% sh -c '{sys.executable} {self.tools}/wds2idx % $(dirname %)/$(basename % .tar).idx'"
        files = [*beside(".tar.idx"), self.shards / ".nv-meta" / "index.sqlite"]
        return {
            "Energon": [self.case("energon prepare", energon, files), self.ours("energon", files, "energon prepare")],
            "wids": [
                self.case("widsindex create", [*wids, *self.tars], [self.shards / "shardindex.json"]),
                self.ours("wids", [self.shards / "shardindex.json"], "widsindex create"),
                self.ours("wids", [self.shards / "shardindex.json"], "widsindex create", "--headers"),
            ],
            "DALI": [
                self.case("wds2idx, two at a time", ["sh", "-c", wds2idx], beside(".idx")),
                self.ours("dali", beside(".idx"), "wds2idx, two at a time"),
            ],
            "hfutils": [
                self.case("hfutils tar_create_index", [sys.executable, "-c", HFUTILS, *self.tars], beside(".json")),
                self.ours("hfutils", beside(".json"), "hfutils tar_create_index"),
                self.ours("hfutils", beside(".json"), "hfutils tar_create_index", "--headers"),
            ],
        }


def main() -> None:
    parser = common.options(__doc__)
    parser.add_argument("--photos", type=pathlib.Path, required=True, help="a folder of JPEGs")
    parser.add_argument("--samples", type=int, default=20_000)
    x = parser.parse_args()
    common.hide(x.work, "WORK")
    common.hide(x.photos, "PHOTOS")
    bench = Bench(x)
    about = f"{x.samples:,} samples of JPEG and JSON, {bench.bytes / 1e9:.1f} GB, {len(bench.tars)} shards"
    head = [f"## Index files of other readers, {common.now()[:10]}", common.machine(x.rounds, [about])]
    common.publish("\n\n".join([*head, *bench.tables()]), x.append)


if __name__ == "__main__":
    main()
