"""100 million names from 16 scans of lists, planned by one machine; and the status of 10,000 shards.

    python3 bench/scan/lists.py [--pack target/dist/pack] [--names 100000000] [--parts 16] [--work DIR]

Each part of the list has the lines that `find SRC -type f -printf '%s\\t%T@\\t%p\\n'` prints, for files that do not exist:
neither `pack scan` nor `pack plan` examines a file whose size is listed. Prints seconds and peak memory (VmHWM) of each
command, and what a loop in Python over the same lists needs to read them.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

FOLDER = 10_000  # names in a folder


def write_list(path: pathlib.Path, source: pathlib.Path, first: int, count: int) -> None:
    with path.open("w", buffering=1 << 20) as out:
        for number in range(first, first + count):
            size = 80_000 + number * 7_919 % 60_000
            out.write(f"{size}\t{1_700_000_000 + number % 1000}.0000000000\t{source}/{number // FOLDER:05}/{number:09}.jpg\n")


def run(words: list[object]) -> tuple[float, float]:
    """Runs a command; returns its seconds and its peak memory in GB."""
    begun = time.monotonic()
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return time.monotonic() - begun, usage.ru_maxrss * 1024 / 1e9


def read_in_python(lists: list[pathlib.Path]) -> tuple[float, float]:
    """A list of (path, size) of the first part, as a script would hold it."""
    code = (
        "import sys, resource, time\n"
        "names = []\n"
        "for line in open(sys.argv[1]):\n"
        "    size, _, path = line.rstrip('\\n').split('\\t')\n"
        "    names.append((path, int(size)))\n"
        "names.sort()\n"
    )
    return run([sys.executable, "-c", code, lists[0]])


def status_of_shards(pack: str, work: pathlib.Path, shards: int) -> float:
    """Seconds of `pack status` for a plan whose shards are all finished."""
    source, out = work / "small", work / "small-out"
    source.mkdir()
    for number in range(shards):
        (source / f"{number:05}.txt").write_text(str(number))
    run([pack, "plan", source, "-o", out, "--require", "", "--shards", shards, "--quiet"])
    run([pack, "run", out, "--no-fsync", "--quiet"])
    return min(run([pack, "status", out])[0] for _ in range(3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pack", default="target/dist/pack")
    parser.add_argument("--names", type=int, default=100_000_000)
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--shards", type=int, default=10_000)
    parser.add_argument("--work", type=pathlib.Path, help="a folder with 10 GB of space")
    words = parser.parse_args()
    pack = str(pathlib.Path(words.pack).resolve())
    work = pathlib.Path(tempfile.mkdtemp(prefix="lists-", dir=words.work))
    os.environ["TMPDIR"] = str(work)
    try:
        source = work / "source"
        source.mkdir()
        lists, each = [], words.names // words.parts
        for part in range(words.parts):
            lists.append(work / f"{part}.txt")
            write_list(lists[-1], source, part * each, each)
        python = read_in_python(lists)
        scans = []
        for part, path in enumerate(lists):
            scans.append(run([pack, "scan", source, "-o", work / "scans", "--require", "image", "--files", path]
                             + ["--subtree", f"{part}/{words.parts}", "--quiet"]))  # fmt: skip
        plan = run([pack, "plan", source, "-o", work / "out", "--require", "image", "--from-scans", work / "scans"]
                   + ["--shards", words.shards, "--quiet"])  # fmt: skip
        size = sum(path.stat().st_size for path in (work / "scans").iterdir())
        plan_size = (work / "out" / ".pack" / "plan").stat().st_size
        status = status_of_shards(pack, work, words.shards)
        print(f"{words.names:,} names in {words.parts} lists; {os.cpu_count()} cores")
        print("| command | seconds | peak memory, GB |\n|---|---|---|")
        print(f"| a list of tuples in Python, one part, sorted | {python[0]:.1f} | {python[1]:.2f} |")
        print(f"| `pack scan --files`, one part (slowest) | {max(s for s, _ in scans):.1f} | {max(m for _, m in scans):.2f} |")
        print(f"| `pack plan --from-scans`, all parts | {plan[0]:.1f} | {plan[1]:.2f} |")
        print(f"| `pack status` of {words.shards:,} finished shards | {status:.2f} | |")
        print(f"\nscans {size / 1e9:.2f} GB, plan {plan_size / 1e9:.2f} GB; own peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
