#!/usr/bin/env python3
"""The order of a pass: time an index, starts in the middle, how well each shuffle mixes and what it reads.

    python3 bench/order/run.py [--rounds 3] [--append] [--figures]

Ours is the example `mixing` of tarflume-order. Rivals: shuffled tables (Rust, Python's list, numpy) and the reservoir
of webdataset, whose order is scored by the same program. Scores are of fixed seeds and do not vary; times are
medians over the rounds, each round starting one case later. --figures rewrites docs/mixing.json, from which
docs/mixing.py draws the picture of docs/MIXING.md. --work DIR/venv is used if it is there.
"""
import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import first_line  # noqa: E402

PIP = ["webdataset==1.0.2", "numpy"]
SHARDS, SAMPLES = 765, 7_646_857
SIZES = {"1.28M": 1_281_167, "100M": 100_000_000}
LISTS = {"random.shuffle of a Python list": ("list", ["1.28M"]), "numpy permutation": ("numpy", list(SIZES))}
RESERVOIRS = (1_000, 10_000)
DRAWN = ("None", "Shards", "Buffer 1000", "Buffer 100000", "Blocks 64x16", "Blocks 256x64", "Blocks 64x256", "Full")


def make_venv(work):
    venv = work / "venv"
    if not (venv / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        subprocess.run([str(venv / "bin/python"), "-m", "pip", "install", "-q", *PIP], check=True)
    return venv / "bin" / "python"


def says(cmd):
    """The lines NAME|SIZE|KEY=VALUE or KEY=VALUE of a program, as [((NAME, SIZE, KEY), VALUE)]."""
    done = subprocess.run([str(c) for c in cmd], text=True, stdout=subprocess.PIPE, check=True, timeout=900)
    pairs = (line.split("=", 1) for line in done.stdout.splitlines())
    return [(tuple(key.split("|")), value) for key, value in pairs]


class Bench:
    def __init__(self, x):
        self.work = x.work.resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.python = make_venv(self.work)
        self.example = common.built("examples/mixing", "-p", "tarflume-order", "--example", "mixing")
        self.times = collections.defaultdict(list)  # (name, size, key) -> values
        self.scores = collections.defaultdict(dict)  # name -> key -> value

    def ours(self):
        for key, value in says([self.example, "time"]):
            self.times[key].append(float(value))

    def rival(self, name, what, size):
        for (key,), value in says([self.python, HERE / "rivals.py", what, SIZES[size]]):
            self.times[name, size, key].append(float(value))

    def reservoir(self, size):
        out, name = self.work / "order.u64", f"webdataset shuffle({size})"
        for (key,), value in says([self.python, HERE / "rivals.py", "webdataset", size, SHARDS, SAMPLES, out]):
            self.times[name, "7.6M", key].append(float(value))
        if name not in self.scores:
            for (_, _, key), value in says([self.example, "file", out]):
                self.scores[name][key] = float(value)
        out.unlink()

    def measure(self, rounds):
        cases = [self.ours]
        cases += [lambda n=n, w=w, s=s: self.rival(n, w, s) for n, (w, sizes) in LISTS.items() for s in sizes]
        cases += [lambda size=size: self.reservoir(size) for size in RESERVOIRS]
        for r in range(rounds):
            at = r % len(cases)
            for case in cases[at:] + cases[:at]:
                case()
            print(f"  order / round {r + 1} of {rounds}", file=sys.stderr, flush=True)
        for (name, _, key), value in says([self.example, "score"]):
            self.scores[name][key] = float(value)

    def time_table(self):
        names = list(dict.fromkeys(name for name, _, _ in self.times))
        rows = ["### Time an index", "",
                "| order | ns an index in turn: 1.28 M samples | 7.6 M | 100 M | 2^40 | ns at any place of 100 M |"
                " ms to start: 100 M | 2^40 |", "|---|---|---|---|---|---|---|---|"]
        for name in names:
            cells = [("1.28M", "next_ns"), ("7.6M", "next_ns"), ("100M", "next_ns"), ("2^40", "next_ns"),
                     ("100M", "slot_ns"), ("100M", "start_ms"), ("2^40", "start_ms")]
            values = [self.times.get((name, *cell)) for cell in cells]
            rows.append(f"| {name} | " + " | ".join(self.cell(v) for v in values) + " |")
        return "\n".join(rows) + "\n\nMedians of the rounds (smallest-largest). A start is at the worst place near the" \
            " middle, to the first slot; of a table it is the making of the table, and ns an index are this divided by its length."

    @staticmethod
    def cell(values):
        if not values:
            return ""
        mid, low, high = statistics.median(values), min(values), max(values)

        def digits(x):
            return f"{x:,.0f}" if x >= 100 else f"{x:.1f}" if x >= 1 else f"{x:.4f}"
        return digits(mid) if digits(low) == digits(high) else f"{digits(mid)} ({digits(low)}-{digits(high)})"

    def score_table(self):
        rows = [f"### Mixing: {SAMPLES:,} samples in {SHARDS} shards, batches of 256, 1000 classes in slot order", "",
                "| order | a batch is worth, independent samples | reads a batch, fetched alone | 16 batches together |"
                " 64 together | 1024 together |", "|---|---|---|---|---|---|"]
        keys = ["effective", "reads_per_batch", "reads_ahead_16", "reads_ahead_64", "reads_ahead_1024"]
        for name, score in sorted(self.scores.items(), key=lambda item: item[1]["effective"]):
            rows.append(f"| {name} | " + " | ".join(f"{score[key]:.1f}" for key in keys) + " |")
        return "\n".join(rows)

    def figures(self):
        drawn = {name: [int(slot) for slot in value.split(",")]
                 for (name, *_), value in says([self.example, "draw"]) if name in DRAWN}
        text = json.dumps({"samples": SAMPLES, "shards": SHARDS, "batch": 256, "step": 8, "scores": self.scores,
                           "slots": drawn}, indent=1)
        folded = re.sub(r"\n\s+(?=\d)|(?<=\d)\n\s+(?=\])", " ", text)
        (common.ROOT / "docs" / "mixing.json").write_text(folded + "\n")


def main():
    ap = common.options(__doc__)
    ap.add_argument("--figures", action="store_true", help="rewrite docs/mixing.json")
    x = ap.parse_args()
    common.hide(x.work, "WORK")
    b = Bench(x)
    b.measure(x.rounds)
    if x.figures:
        b.figures()
    versions = [first_line("rustc", "--version"), first_line(str(b.python), "-c",
                "import importlib.metadata as m; print(*(f'{p} {m.version(p)}' for p in ('webdataset', 'numpy')))")]
    common.publish("\n\n".join([f"## Order, {common.now()[:10]}", common.machine(x.rounds, versions),
                                b.time_table(), b.score_table()]), x.append)


if __name__ == "__main__":
    main()
