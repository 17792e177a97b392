#!/usr/bin/env python3
"""Joining a table to samples: pack plan with and without --join, beside a Python script with a dict.

    python3 bench/data/join.py [--rows 8000000] [--rounds 3] [--append]

The samples are the rows of an array of 8 bytes each; the table has one row for each of them, with five columns and in
random order. Planning without --join is the floor: the join is the difference. Fails when the plan with the join takes
60 s or 300 MB more than the plan without.
"""
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import Case, CaseError, first_line  # noqa: E402

MAX_S, MAX_MB = 60, 300
PLAN, JOIN, DICT = "pack plan, no join", "pack plan --join", "Python csv and dict"
# What a script does for each sample: looks its row up and makes its JSON. Values get types; nothing is kept.
SCRIPT = """import csv, json, sys
rows = {}
with open(sys.argv[1], newline="") as f:
    for row in csv.DictReader(f):
        rows[row["key"]] = row
size = 0
for n in range(int(sys.argv[2])):
    row = rows[f"{n:08d}"]
    row["label"], row["score"] = int(row["label"]), float(row["score"])
    size += len(json.dumps(row, sort_keys=True))
print(f"bytes={size}", flush=True)
import os
os._exit(0)"""


def make(folder, rows):
    """The array, a hole of zeros, and the table."""
    folder.mkdir(parents=True, exist_ok=True)
    array, table, done = (folder / f"{rows}.{end}" for end in ("npy", "csv", "done"))
    if done.exists():
        return array, table
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({rows}, 8), }}"
    header = header.ljust(128 - 10 - 1) + "\n"
    with array.open("wb") as f:
        f.write(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode())
        f.truncate(128 + 8 * rows)
    order = list(range(rows))
    random.Random(7).shuffle(order)
    words = ["feather boa", "\"tabby\", cat", "traffic light", "café"]
    with table.open("w", newline="") as f:
        f.write("key,label,score,site,caption\r\n")
        for n in order:
            word = words[n % 4].replace('"', '""')
            f.write(f"{n:08d},{n % 1000},{n % 997 / 8},site-{n % 50},\"a {word} in picture {n}\"\r\n")
    done.touch()
    return array, table


def main():
    ap = common.options(__doc__)
    ap.add_argument("--rows", type=int, default=8_000_000)
    x = ap.parse_args()
    work = x.work.resolve()
    common.hide(work, "WORK")
    pack = common.pack_binary(x.pack)
    array, table = make(work / "join", x.rows)
    out = work / "join" / "out"
    plan = [pack, "plan", f"npy:{array}", "-o", out, "--quiet"]

    def before():
        common.remove(out)

    def counted(got):
        if int(got["vals"]["bytes"]) < 50 * x.rows:
            raise CaseError("the script made too little JSON")
    cases = [
        Case(PLAN, plan, (), before, items=x.rows),
        Case(JOIN, [*plan, "--join", f"{table}:key=key"], (DICT,), before, items=x.rows,
             mbytes=table.stat().st_size / 1e6),
        Case(DICT, [sys.executable, "-c", SCRIPT, table, x.rows], (), before, counted, items=x.rows,
             mbytes=table.stat().st_size / 1e6),
    ]
    cases = [c for c in cases if common.matches(x.cases, c.name)]
    common.rounds(f"join {x.rows}", cases, x.rounds, work / "log.jsonl")
    by, lines, failed = {c.name: c for c in cases}, [], any(c.error for c in cases)
    if all(by.get(name) and by[name].runs for name in (PLAN, JOIN)):
        def worst(key):
            return max(b[key] - a[key] for a, b in zip(by[PLAN].runs, by[JOIN].runs))
        seconds, mbytes = worst("wall"), worst("rss_mb")
        ok = seconds < MAX_S and mbytes < MAX_MB
        failed |= not ok
        lines = [f"The join adds {seconds:.1f} s (limit {MAX_S}) and {mbytes:,.0f} MB (limit {MAX_MB}) to the plan in the"
                 f" worst round: {'within' if ok else 'BEYOND'} the limits."]
    title = f"a table of {x.rows:,} rows and five columns joined to as many samples"
    common.publish("\n\n".join([f"## Join, {common.now()[:10]}", common.machine(x.rounds, [first_line(pack, "--version")]),
                                common.table(title, cases, "rows"), *lines]), x.append)
    common.remove(out)
    sys.exit(failed)


if __name__ == "__main__":
    main()
