"""Labels from typed columns of sidecars beside labels from JSON parts, with the same program and data.

    python3 bench/columns/run.py --pack target/dist/pack [--samples 400000] [--append]

Needs the package `tarflume`. Each round reads, in one process after the other: the labels of all samples for
`weights=` (`classes`), and an exactly shuffled epoch of labels alone (`labels`). JSON parts have 200 bytes. Prints the
medians of three interleaved rounds, and their ratio.
"""

from __future__ import annotations

import argparse
import datetime
import json
import pathlib
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CHILD = """
import sys, time, tarflume
what, shards = sys.argv[1:]
words = dict(batch_size=256, shuffle="full", seed=1, label="/class", num_threads=2)
start = time.perf_counter()
if what == "classes":
    loader = tarflume.Loader(shards, weights="/class", **words)
    next(iter(loader.epoch(0)))
else:
    loader = tarflume.Loader(shards, **words)
    total = sum(sum(batch["label"].tolist()) for batch in loader.epoch(0))
print(time.perf_counter() - start)
"""


def make(folder: pathlib.Path, samples: int) -> None:
    """Writes one tar of JSON parts in the way of other programs."""
    import io

    folder.mkdir()
    for shard in range(8):
        with tarfile.open(folder / f"{shard:03}.tar", "w") as tar:
            for n in range(shard, samples, 8):
                text = json.dumps({"caption": "x" * 170, "class": n % 1000}).encode()
                member = tarfile.TarInfo(f"{n:08}.json")
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text))


def measured(what: str, shards: pathlib.Path) -> float:
    run = subprocess.run([sys.executable, "-c", CHILD, what, shards], check=True, capture_output=True, text=True)
    return float(run.stdout)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pack", default="target/dist/pack")
    parser.add_argument("--samples", type=int, default=400_000)
    parser.add_argument("--append", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        sets = {name: pathlib.Path(root) / name for name in ("json", "columns")}
        for name, folder in sets.items():
            make(folder, args.samples)
            words = ["--columns", "class:u32"] if name == "columns" else []
            start = time.perf_counter()
            subprocess.run([args.pack, "index", "-q", *words, folder], check=True)
            print(f"pack index ({name}): {time.perf_counter() - start:.2f} s", file=sys.stderr)
        sidecars = {name: sum(p.stat().st_size for p in folder.glob("*.index")) for name, folder in sets.items()}
        rows = []
        for what in ("classes", "labels"):
            times: dict[str, list[float]] = {name: [] for name in sets}
            for _ in range(3):
                for name, folder in sets.items():
                    times[name].append(measured(what, folder))
            middle = {name: statistics.median(of) for name, of in times.items()}
            rows.append((what, middle["json"], middle["columns"], middle["json"] / middle["columns"]))
    lines = [f"### Typed columns, {datetime.date.today()}", "", f"`python3 bench/columns/run.py --samples {args.samples}`, "
             "2 threads, warm page cache, medians of 3 interleaved rounds; JSON parts of about 200 bytes. The sidecars have "
             f"{sidecars['json'] / args.samples:.1f} bytes a sample without and {sidecars['columns'] / args.samples:.1f} with "
             "one column of u32.", "", "| | from JSON, s | from the sidecars, s | ratio |", "|---|---|---|---|"]
    names = {"classes": "first batch with `weights=\"/class\"`", "labels": "an exactly shuffled epoch of labels alone"}
    lines += [f"| {names[what]} | {a:.2f} | {b:.2f} | {ratio:.1f} |" for what, a, b, ratio in rows]
    text = "\n".join(lines) + "\n"
    print(text)
    if args.append:
        with (HERE.parent / "RESULTS.md").open("a") as results:
            results.write("\n" + text)


if __name__ == "__main__":
    main()
