"""Packing with one slow machine of many, with and without `--steal`.

    python bench/stragglers/run.py --photos PHOTOS [--pack target/dist/pack] [--machines 16] [--slow 4] [--rounds 3]

Each machine is a process of its own. The processes take turns on the cores of this machine: a process runs in its time
slot and is stopped (SIGSTOP) in all others, so each has the same share of a core, and the slow one has that share
divided by `--slow`. Prints the wall time of each case and its ratio to the case without a slow machine.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

SLOT = 0.02  # seconds


def links(photos: pathlib.Path, folder: pathlib.Path, samples: int) -> None:
    """Makes samples by hard links, or copies where links are not possible; no bytes are read."""
    files = sorted(path for path in photos.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    copies = [shutil.copy(path, folder.parent / f"{number}.jpg") for number, path in enumerate(files)]
    folder.mkdir()
    for number in range(samples):
        os.link(copies[number % len(copies)], folder / f"{number:07}.jpg")


class Wheel:
    """Lets `machines` processes run in turns, as many at once as there are cores."""

    def __init__(self, processes: list[subprocess.Popen[bytes]], slow: int, factor: int) -> None:
        self.processes, self.slow, self.factor = processes, slow, factor
        self.slots = -(-len(processes) // (os.cpu_count() or 1))

    def run(self) -> float:
        begun, turn = time.monotonic(), 0
        while any(process.poll() is None for process in self.processes):
            slot, period = turn % self.slots, turn // self.slots
            running = [
                process
                for number, process in enumerate(self.processes)
                if number % self.slots == slot and (number != self.slow or period % self.factor == 0)
            ]
            for process in running:
                send(process, signal.SIGCONT)
            time.sleep(SLOT)
            for process in running:
                send(process, signal.SIGSTOP)
            turn += 1
        return time.monotonic() - begun


def send(process: subprocess.Popen[bytes], number: int) -> None:
    if process.poll() is None:
        process.send_signal(number)


def once(pack: str, source: pathlib.Path, out: pathlib.Path, words: argparse.Namespace, slow: int, steal: bool) -> float:
    shutil.rmtree(out, ignore_errors=True)
    shards = str(words.machines * words.shards)
    subprocess.run([pack, "plan", source, "-o", out, "--require", "image", "--shards", shards, "--quiet"], check=True)
    processes = []
    for rank in range(words.machines):
        command = [pack, "run", out, "--rank", str(rank), "--of", str(words.machines), "--jobs", "1", "--no-fsync", "--quiet"]
        processes.append(subprocess.Popen(command + ([f"--steal={words.stale}"] if steal else [])))
        processes[-1].send_signal(signal.SIGSTOP)
    try:
        took = Wheel(processes, slow, words.slow).run()
    finally:
        for process in processes:
            process.kill()
    assert all(process.returncode == 0 for process in processes), [process.returncode for process in processes]
    subprocess.run([pack, "finalize", out, "--quiet"], check=True)
    return took


def digests(out: pathlib.Path) -> list[tuple[str, str]]:
    command = f"cd '{out}' && find . -type f | sort | xargs b3sum" if shutil.which("b3sum") else f"cd '{out}' && find . -type f | sort | xargs sha256sum"
    lines = subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout.splitlines()
    return [tuple(line.split()) for line in lines]  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=pathlib.Path, required=True, help="a folder of JPEGs")
    parser.add_argument("--pack", default="target/dist/pack")
    parser.add_argument("--machines", type=int, default=16)
    parser.add_argument("--shards", type=int, default=24, help="shards of each machine")
    parser.add_argument("--samples", type=int, default=48_000)
    parser.add_argument("--slow", type=int, default=4, help="how many times slower the slow machine is")
    parser.add_argument("--stale", type=int, default=6, help="seconds of --steal")
    parser.add_argument("--rounds", type=int, default=3)
    words = parser.parse_args()
    pack = str(pathlib.Path(words.pack).resolve())
    cases = {"all equally fast": (-1, False), "one slow": (0, False), "one slow, --steal": (0, True), "all equally fast, --steal": (-1, True)}
    seconds: dict[str, list[float]] = {case: [] for case in cases}
    with tempfile.TemporaryDirectory(prefix="stragglers-", dir=os.environ.get("BENCH_DIR")) as name:
        folder = pathlib.Path(name)
        links(words.photos, folder / "photos", words.samples)
        sums = None
        for number in range(words.rounds):
            for case, (slow, steal) in cases.items():
                took = once(pack, folder / "photos", folder / "out", words, slow, steal)
                seconds[case].append(took)
                found = digests(folder / "out")
                sums = sums or found
                assert found == sums, f"{case}: other bytes"
                print(f"round {number}: {case}: {took:.1f} s", flush=True)
    base = statistics.median(seconds["all equally fast"])
    print(f"\n{words.machines} machines, {words.machines * words.shards} shards, {words.samples} samples; medians of {words.rounds}")
    for case, took in seconds.items():
        print(f"| {case} | {statistics.median(took):.1f} s | {statistics.median(took) / base:.2f} |")


if __name__ == "__main__":
    main()
