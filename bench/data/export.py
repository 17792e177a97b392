#!/usr/bin/env python3
"""Export: shards into MDS, LitData, TFRecord, Parquet and a folder, beside the writers of those formats.

    python3 bench/data/export.py --photos DIR [--work DIR] [--venv DIR] [--samples 10000] [--rounds 3] [--append]

All read the same shards of JPEG/JSON pairs, warm, and write them to the same disk. The rivals read with Python's
tarfile, and write with the library of the format as its documentation does. They do not sync, so each format is also
written without it; the rows with "synced" are the default of the command. `cp` is the floor of a raw copy.
"""
import json
import pathlib
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import Case, CaseError, bash  # noqa: E402

#: Each format with its rival's name, and what makes the columns of both alike.
FORMATS = {
    "mds": ("streaming.MDSWriter", ["--as", "jpg=bytes"]),
    "litdata": ("litdata.optimize, 2 workers", ["--as", "jpg=bytes"]),
    "tfrecord": ("tfrecord.TFRecordWriter", ["--json", "text"]),
    "hf": ("datasets.to_parquet", ["--json", "text"]),
}


def installed(at):
    """The python with the rivals."""
    python, wanted = at / "bin" / "python", (HERE / "requirements.txt").read_text()
    ready = at / "ready"
    if not ready.exists() or ready.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(at)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "--no-cache-dir", "-r", str(HERE / "requirements.txt")],
                       check=True)  # fmt: skip
        ready.write_text(wanted)
    return python


def shards(x, python, pack):
    """The shards and what they hold, made once for these photographs."""
    at = x.work / f"export-{x.samples}"
    done = at / "done.json"
    if not done.exists():
        common.remove(at)
        at.mkdir(parents=True)
        make = common.ROOT / "bench" / "pack" / "make.py"
        subprocess.run([str(python), str(make), str(x.photos.resolve()), str(at / "data"), str(x.samples), "0"], check=True)
        made = json.loads((at / "data" / "data.json").read_text())["pairs"]
        subprocess.run([str(pack), "build", str(at / "data" / "pairs"), "-o", str(at / "shards"), "--quiet",
                        "--no-entry-points", "--shard-size", "256MB"], check=True)  # fmt: skip
        shutil.rmtree(at / "data")
        done.write_text(json.dumps(made))
    return at, json.loads(done.read_text())


class Bench:
    def __init__(self, x):
        self.x = x
        x.work = x.work.resolve()
        x.work.mkdir(parents=True, exist_ok=True)
        venv = (x.venv or x.work / "venv-export").absolute()
        for path, word in ((x.work, "WORK"), (x.photos, "PHOTOS"), (venv, "VENV")):
            common.hide(path, word)
        self.python = venv / "bin" / "python" if x.venv else installed(venv)
        self.pack = common.pack_binary(x.pack)
        self.at, self.made = shards(x, self.python, self.pack)
        self.out = self.at / "out"

    def case(self, name, cmd, rivals=()):
        size = self.made["bytes"]

        def before():
            common.remove(self.out)
            # The pages of the last case are on disk, and the shards in memory.
            common.sh(f"sync; cat {shlex.quote(str(self.at / 'shards'))}/*.tar > /dev/null")

        def check(_):
            found = sum(path.stat().st_size for path in self.out.rglob("*") if path.is_file())
            if not 0.9 * size <= found <= 1.2 * size:  # Parquet compresses the JSON
                raise CaseError(f"wrote {found} bytes of {size}")
        return Case(name, cmd, rivals, before, check, items=self.made["pairs"], mbytes=size / 1e6)

    def ours(self, format, words, rivals, threads=2, synced=False):
        name = f"pack export --to {format}, {threads} thread{'s' * (threads > 1)}{', synced' * synced}"
        cmd = [self.pack, "export", self.at / "shards", "--to", format, "-o", self.out, "--quiet", "--jobs", threads,
               *words, *([] if synced else ["--no-fsync"])]
        return self.case(name, cmd, rivals)

    def cases(self):
        copy = "cp of the shards"
        cases = [self.case(copy, bash(f"cp -r {shlex.quote(str(self.at / 'shards'))} {shlex.quote(str(self.out))}"))]
        for format, (rival, words) in FORMATS.items():
            cases.append(self.case(rival, [self.python, HERE / "writers.py", format, self.at / "shards", self.out]))
            cases.append(self.ours(format, words, (rival, copy)))
            cases.append(self.ours(format, words, (rival, copy), threads=1))
            cases.append(self.ours(format, words, (rival, copy), synced=True))
        cases.append(self.ours("parquet", ["--json", "text"], (FORMATS["hf"][0], copy)))
        cases.append(self.ours("folder", ["--json", "text"], (copy,)))
        return [case for case in cases if common.matches(self.x.cases, case.name)]


def main():
    ap = common.options(__doc__)
    ap.add_argument("--photos", type=pathlib.Path, required=True, help="a folder of JPEGs")
    ap.add_argument("--venv", type=pathlib.Path, help="an environment with requirements.txt [made in --work]")
    ap.add_argument("--samples", type=int, default=10_000)
    x = ap.parse_args()
    bench = Bench(x)
    cases = bench.cases()
    common.rounds("export", cases, x.rounds, x.work / "log.jsonl")
    common.remove(bench.out)
    names = ("mosaicml-streaming", "litdata", "tfrecord", "datasets", "pyarrow", "torch")
    script = "import importlib.metadata as m, sys; print('; '.join(f'{p} {m.version(p)}' for p in sys.argv[1:]))"
    versions = [common.first_line(str(bench.pack), "--version"),
                common.first_line(str(bench.python), "-c", script, *names)]
    title = f"export, {bench.made['pairs']:,} pairs: {bench.made['bytes'] / 1e6:,.0f} MB"
    text = "\n\n".join([f"## Export, {common.now()[:10]}", common.machine(x.rounds, versions),
                        common.table(title, cases, "samples")])
    common.publish(text, x.append)
    return any(case.error for case in cases)


if __name__ == "__main__":
    sys.exit(main())
