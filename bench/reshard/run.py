#!/usr/bin/env python3
"""Existing shards into other shards, and compressed shards, beside webdataset and zstd, in interleaved rounds.

    PYTHON bench/reshard/run.py --photos DIR --texts DIR [--samples 20000] [--rounds 3] [--append]

PYTHON has tarflume and webdataset: .venv-python/bin/python after `make python`. --texts is a folder whose .rs, .md, .py, .txt
and .json files become samples of text and JSON, such as the sources of the dependencies. One thread reads in the cases
"read": the loader has num_threads=1.
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

# Reads every sample and writes it again, as a user of webdataset does.
WEBDATASET = """
import glob, sys, webdataset
source, out, size = sys.argv[1:]
with webdataset.ShardWriter(f"{out}/shard-%06d.tar", maxsize=int(size), maxcount=10**9, verbose=0) as sink:
    for sample in webdataset.WebDataset(sorted(glob.glob(source + "/*.tar")), shardshuffle=False):
        sink.write({k: v for k, v in sample.items() if not k.startswith("__") or k == "__key__"})
"""
LOADER = """
import sys, tarflume
shards, shuffle = sys.argv[1:]
seen = 0
options = {} if shuffle == "none" else {"shuffle": shuffle, "seed": 1}
for batch in tarflume.Loader(shards, columns={"text": "txt"}, batch_size=256, num_threads=1, **options):
    seen += len(batch["text"])
print(seen)
"""
SINGLE = """
import random, sys, tarflume
shards, count = sys.argv[1], int(sys.argv[2])
dataset = tarflume.Dataset(shards)
pick = random.Random(1)
for _ in range(count):
    dataset[pick.randrange(len(dataset))]["txt"]
"""
GETS = 20_000


def photo_shards(work, photos, samples, pack):
    """Shards of hard-linked photographs with a small JSON each; kept for the next run."""
    shards = work / f"photos-{samples}"
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
    subprocess.run([pack, "build", pairs, "-o", shards, "-q"], check=True)
    shutil.rmtree(pairs)
    return shards


def text_folder(work, texts, samples):
    """Texts of 64 bytes to 64 kB with a JSON about each; returns the folder and the number of samples."""
    folder = work / "texts"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    count = 0
    for path in sorted(texts.rglob("*")):
        if count == samples:
            break
        if path.suffix not in (".rs", ".md", ".py", ".txt", ".json") or not path.is_file():
            continue
        data = path.read_bytes()
        if not 64 <= len(data) <= 64_000:
            continue
        (folder / f"{count:07}.txt").write_bytes(data)
        about = {"path": str(path.relative_to(texts)), "bytes": len(data), "kind": path.suffix[1:]}
        (folder / f"{count:07}.json").write_text(json.dumps(about))
        count += 1
    return folder, count


class Bench:
    def __init__(self, x):
        self.x, self.work = x, x.work.resolve() / "reshard"
        self.work.mkdir(parents=True, exist_ok=True)
        self.pack = common.pack_binary(x.pack)
        self.photos = photo_shards(self.work, x.photos, x.samples, self.pack)
        self.photo_bytes = self.bytes(self.photos)
        self.texts, self.count = text_folder(self.work, x.texts, x.samples)
        self.sets = {}
        for name, words in {"plain": [], "zstd:3": ["--compress", "zstd:3"], "zstd:9": ["--compress", "zstd:9"]}.items():
            out = self.work / f"texts-{name.replace(':', '-')}"
            shutil.rmtree(out, ignore_errors=True)
            build = [self.pack, "build", self.texts, "-o", out, "--require", "txt", "-q", *words]
            subprocess.run(build, check=True)
            self.sets[name] = out

    @staticmethod
    def bytes(folder):
        return sum(path.stat().st_size for path in folder.glob("shard-*.tar*"))

    def clear(self):
        shutil.rmtree(self.work / "out", ignore_errors=True)
        (self.work / "out").mkdir()

    def check(self, bytes_):
        def check(_):
            found = self.bytes(self.work / "out")
            if found < bytes_ * 0.9:
                raise CaseError(f"{found} bytes were written, not {bytes_}")
        return check

    def resharding(self):
        out, size = self.work / "out", 512 << 20
        case = lambda name, cmd, rivals=(): Case(name, cmd, rivals, before=self.clear, check=self.check(self.photo_bytes),  # noqa: E731
                                                 items=self.x.samples, mbytes=self.photo_bytes / 1e6)
        ours = [self.pack, "reshard", self.photos, "-o", out, "-q", "--no-fsync", "--shard-size", "512MiB"]
        wds = [sys.executable, "-c", WEBDATASET, self.photos, out, str(size)]
        tar = f"cd {out} && cat {self.photos}/*.tar > shard-0.tar"
        return [
            case("webdataset, read and write", wds),
            case("pack reshard", ours, ("webdataset, read and write", "cat")),
            case("pack reshard --shuffle 1", [*ours, "--shuffle", "1"], ("webdataset, read and write",)),
            case("pack reshard --where", [*ours, "--where", "json:/class >= 0"], ("webdataset, read and write",)),
            case("pack reshard --no-entry-points", [*ours, "--no-entry-points"], ("cat",)),
            case("cat", ["sh", "-c", tar]),
        ]

    def reading(self):
        mbytes = self.bytes(self.sets["plain"]) / 1e6
        cases = []
        for how in ("none", "blocks", "full"):
            for name, folder in self.sets.items():
                rivals = () if name == "plain" else (f"read, shuffle {how}: plain",)
                cmd = [sys.executable, "-c", LOADER, folder, how]
                cases.append(Case(f"read, shuffle {how}: {name}", cmd, rivals, items=self.count, mbytes=mbytes))
        for name, folder in self.sets.items():
            rivals = () if name == "plain" else ("single samples at random: plain",)
            cmd = [sys.executable, "-c", SINGLE, folder, str(GETS)]
            cases.append(Case(f"single samples at random: {name}", cmd, rivals, items=GETS))
        cat = ["sh", "-c", f"zstd -dcq {self.sets['zstd:3']}/*.tar.zst > /dev/null"]
        cases.append(Case("zstd -dc: zstd:3", cat, items=self.count, mbytes=mbytes))
        return cases

    def sizes(self):
        plain = self.bytes(self.sets["plain"])
        rows = [("tars", plain)]
        rows += [(f"pack build --compress {name}", self.bytes(self.sets[name])) for name in ("zstd:3", "zstd:9")]
        for level in (3, 9):
            script = f"cat {self.sets['plain']}/*.tar | zstd -{level} -q -c | wc -c"
            whole = int(subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True).stdout)
            rows.append((f"zstd -{level}, all tars in one stream", whole))
        photos = self.work / "photos-zstd"
        shutil.rmtree(photos, ignore_errors=True)
        subprocess.run([self.pack, "reshard", self.photos, "-o", photos, "-q", "--compress", "zstd:3"], check=True)
        lines = [f"| {name} | {size / 1e6:,.1f} | {size / plain:.3f} |" for name, size in rows]
        packed = self.bytes(photos)
        shutil.rmtree(photos)
        lines.append(f"| photographs with JSON, tars | {self.photo_bytes / 1e6:,.1f} | |")
        lines.append(f"| photographs with JSON, --compress zstd:3 | {packed / 1e6:,.1f} | {packed / self.photo_bytes:.3f} of their tars |")
        return "\n".join(["### Sizes of shards", "", "| shards | MB | of the tars |", "|---|---|---|", *lines])

    def tables(self):
        for title, cases in (("Resharding photographs", self.resharding()), ("Reading compressed text", self.reading())):
            cases = [case for case in cases if common.matches(self.x.cases, case.name)]
            common.rounds(title, cases, self.x.rounds, self.work / "log.jsonl")
            yield common.table(title, cases, items="samples")
        yield self.sizes()


def main():
    parser = common.options(__doc__)
    parser.add_argument("--photos", type=pathlib.Path, required=True, help="a folder of JPEGs")
    parser.add_argument("--texts", type=pathlib.Path, required=True, help="a folder of text files")
    parser.add_argument("--samples", type=int, default=20_000)
    x = parser.parse_args()
    common.hide(x.work, "WORK")
    common.hide(x.photos, "PHOTOS")
    common.hide(x.texts, "TEXTS")
    bench = Bench(x)
    about = f"{x.samples:,} photographs with JSON, {bench.photo_bytes / 1e9:.1f} GB; {bench.count:,} texts with JSON"
    head = [f"## Existing shards into others, and compressed shards, {common.now()[:10]}", common.machine(x.rounds, [about])]
    common.publish("\n\n".join([*head, *bench.tables()]), x.append)


if __name__ == "__main__":
    main()
