#!/usr/bin/env python3
"""What a user waits for before the first batch: the import of the package, and the first batch of 10 million samples.

    PYTHON bench/start/run.py [--samples 10000000] [--work target/bench/start] [--rounds 11]

PYTHON has tarflume, numpy and pillow; of the packages in IMPORTS those that are missing are left out. Every measurement is a new
process, in interleaved rounds, with a warm page cache. The time of an import is that of `python -c "import NAME"` less that of
`python -c pass` in the same round. The samples are JPEGs of 24 x 24 pixels in shards of 10,000 (bench/scale/nodes.py makes them, the
first time in some minutes); the loader shuffles exactly and decodes crops. Its time begins before `import tarflume`.
"""

from __future__ import annotations

import argparse
import importlib.util
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
IMPORTS = ["tarflume", "numpy", "webdataset", "streaming", "litdata", "spdl.io", "ffcv", "nvidia.dali", "torch"]
FIRST = """
import time
start = time.perf_counter()
import tarflume
imported = time.perf_counter()
loader = tarflume.Loader({shards!r}, batch_size=256, shuffle={shuffle!r}, seed=1, image=tarflume.RandomResizedCrop(24, flip=0.5))
opened = time.perf_counter()
batch = next(iter(loader.epoch(0)))
batch["image"]
done = time.perf_counter()
print(imported - start, opened - imported, done - opened, done - start)
"""


def taken(program: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def spread(values: list[float]) -> str:
    shown = [f"{1000 * value:,.0f}" for value in (statistics.median(values), min(values), max(values))]
    return f"{shown[0]} ({shown[1]}-{shown[2]})"


def imports(rounds: int) -> None:
    names = [name for name in IMPORTS if is_installed(name)]
    times: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        taken(f"import {name}")  # fills the page cache
    for _ in range(rounds):
        bare = taken("pass")
        for name in names:
            times[name].append(taken(f"import {name}") - bare)
    print("| import | ms, median (min-max) |\n|---|---|")
    for name, values in times.items():
        print(f"| {name} | {spread(values)} |")


def first_batches(x: argparse.Namespace) -> None:
    sys.path.insert(0, str(HERE.parent / "scale"))
    import nodes

    work = pathlib.Path(x.work)
    work.mkdir(parents=True, exist_ok=True)
    shards = str(nodes.make(work, x.samples))
    print(f"\n| first batch of {x.samples:,} samples | import, ms | open, ms | batch, ms | all, ms |\n|---|---|---|---|---|")
    times: dict[str, list[list[float]]] = {"full": [], "blocks": []}
    for _ in range(x.rounds + 1):  # the first round fills the page cache
        for shuffle, found in times.items():
            program = FIRST.format(shards=shards, shuffle=shuffle)
            said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
            found.append([float(word) for word in said.split()])
    for shuffle, found in times.items():
        print(f'| shuffle="{shuffle}" | ' + " | ".join(spread(list(column)) for column in zip(*found[1:])) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--work", default="target/bench/start")
    parser.add_argument("--rounds", type=int, default=11)
    x = parser.parse_args()
    imports(x.rounds)
    first_batches(x)


if __name__ == "__main__":
    main()
