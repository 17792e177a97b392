#!/usr/bin/env python3
"""Decoding JPEGs: libjpeg-turbo, zune-jpeg and `image` beside ours, in one process.

    python3 bench/jpeg/run.py [--photos DIR] [--rounds 9] [--threads 1,2] [--count 24] [--small] [--append]

Entropy decoding alone, full decoding, and RandomResizedCrop(224), on photographs and on large pictures made of
them; all in memory, rounds rotated between the decoders. Then each decoder once more by itself on --count images,
its instructions counted: by perf where the machine has counters, else by callgrind. Needs libjpeg-dev.
--data progressive: the photographs in libjpeg's progressive scans, without loss.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import first_line  # noqa: E402

SHARED = common.ROOT.parent / "shared" / "data" / "photos"
NOBODY = "nobody"


def build():
    own = ("--manifest-path", str(HERE / "Cargo.toml"), "--target-dir", str(common.TARGET))
    return common.built("tarflume-bench-jpeg", *own)


def counter(work):
    """(name, command in front, function of what it wrote on stderr) of the tool that counts instructions."""
    perf = ["perf", "stat", "-x", ",", "-e", "instructions:u"]
    if shutil.which("perf"):
        said = subprocess.run([*perf, "true"], text=True, capture_output=True, check=False).stderr
        if re.search(r"^\d+,", said, re.M):
            return "perf", perf, lambda said: int(re.search(r"^(\d+),", said, re.M)[1])
    if shutil.which("valgrind"):
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={work / 'callgrind.out'}"]
        return "callgrind", command, lambda said: int(re.search(r"Collected : (\d+)", said)[1])
    return None


class Instructions:
    """Instructions an image: of one pass, less what loading the data alone takes."""

    def __init__(self, bench, x):
        self.bench, self.x, self.tool = bench, x, counter(x.work)

    def count(self, name, table, data):
        flags = ["--once", name, "--tables", table, "--data", data, "--photos", self.x.count,
                 "--mosaics", max(1, self.x.count // 12)]
        command = [str(c) for c in (*self.tool[1], self.bench, *flags, self.x.photos)]
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        if done.returncode:
            raise common.CaseError(f"{name}, {table}: {done.stderr.strip()[-300:]}")
        print(f"  instructions / {table} / {data} / {name}", file=sys.stderr, flush=True)
        return self.tool[2](done.stderr), int(re.search(r"images=(\d+)", done.stdout)[1])

    def table(self, table, data, names):
        nobody, images = self.count(NOBODY, table, data)
        counts = {name: (self.count(name, table, data)[0] - nobody) / images for name in names}
        rows = [f"### instructions an image by {self.tool[0]}: {table}, {images} {data}", "",
                "| decoder | millions | fewer than " + names[0] + " |", "|---|---|---|"]
        for name, n in counts.items():
            times = "" if name == names[0] else f"{counts[names[0]] / n:.2f}x"
            rows.append(f"| {name} | {n / 1e6:.2f} | {times} |")
        return "\n".join(rows)

    def tables(self):
        if not self.tool:
            return ["- instructions: neither perf's counters nor valgrind here"]
        said = subprocess.run([str(self.bench), "--list", "--tables", self.x.tables], text=True, capture_output=True,
                              check=True).stdout
        named = [line.split("|", 1) for line in said.splitlines()]
        return [self.table(table, data, [n for t, n in named if t == table])
                for table in dict.fromkeys(t for t, _ in named) for data in self.x.data.split(",")]


def main():
    ap = common.options(__doc__)
    ap.set_defaults(rounds=9)
    ap.add_argument("--photos", type=pathlib.Path, default=SHARED if SHARED.is_dir() else common.ROOT / "fixtures" / "photos")
    ap.add_argument("--threads", default="1,2")
    ap.add_argument("--tables", default="entropy,full,crop")
    ap.add_argument("--data", default="photos,mosaics")
    ap.add_argument("--count", type=int, default=24, help="images whose instructions are counted; 0 for none")
    ap.add_argument("--small", action="store_true", help="few images, to try the script")
    x = ap.parse_args()
    x.work.mkdir(parents=True, exist_ok=True)
    common.hide(x.photos, "PHOTOS")
    bench = build()
    few = ["--photos", "20", "--mosaics", "2"] if x.small else []
    command = [str(bench), "--rounds", str(x.rounds), "--threads", x.threads, "--tables", x.tables, "--data", x.data,
               *few, str(x.photos)]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"{os.path.basename(command[0])} failed")
    parts = [done.stdout.strip()]
    if x.count:
        parts += Instructions(bench, x).tables()
    version = common.sh("dpkg-query -W -f '${source:Upstream-Version}' libjpeg62-turbo 2>/dev/null || echo unknown").strip()
    known = [f"libjpeg-turbo {version}", first_line("rustc", "--version")]
    note = "**--small: a trial of the script, no measurement.**\n\n" if x.small else ""
    head = f"## JPEG, {common.now()[:10]}\n\n{note}" + common.machine(x.rounds, known)
    common.publish(head + "\n" + "\n\n".join(parts), x.append)


if __name__ == "__main__":
    main()
