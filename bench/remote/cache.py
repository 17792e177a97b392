"""Compares epochs from the cache of this machine with epochs from local files, in turns.

    make python
    .venv-python/bin/python bench/remote/cache.py SET [--rounds 5]

SET is a data set of JPEGs in a folder. It is copied to SeaweedFS. The first epoch fills the cache; the others are
measured, with decoded images and with bytes alone.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "tests"))

import servers  # noqa: E402

import tarflume  # noqa: E402


def seconds(loader: Any, epoch: int) -> float:
    begin = time.perf_counter()
    rows = sum(len(batch["key"]) for batch in loader.epoch(epoch))
    assert rows, "the set has no batch"
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("set", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    words = parser.parse_args()
    pack = str(ROOT / "target/dist/pack")
    with tempfile.TemporaryDirectory() as name, servers.seaweedfs(pathlib.Path(name)) as options:
        given = [f"--storage={key}={value}" for key, value in options.items()]
        subprocess.run([pack, "sync", str(words.set), "s3://data/set", *given], check=True, capture_output=True)
        print("| columns | samples/s from files | samples/s from the cache | ratio | hits |\n|---|---|---|---|---|")
        for label, columns in (
            ("image", {"image": tarflume.RandomResizedCrop(224, flip=0.5)}),
            ("bytes", {"columns": ["jpg"]}),
        ):
            common: dict[str, Any] = {"batch_size": 64, "shuffle": "full", "seed": 1, **columns}
            files = tarflume.Loader(str(words.set), **common)
            storage = {**options, "cache_folder": str(pathlib.Path(name) / "cache"), "sidecars": name + "/sidecars"}
            cached = tarflume.Loader("s3://data/set", storage=storage, cache="1GiB", **common)
            seconds(cached, 0), seconds(files, 0)
            time.sleep(1)  # the last blocks are written
            before = cached.stats()["fetch"]["requests"]
            pairs = [(seconds(files, n), seconds(cached, n)) for n in range(1, words.rounds + 1)]
            stats = cached.stats()["fetch"]
            rows = len(tarflume.Dataset(str(words.set))) // 64 * 64
            a, b = (rows / statistics.median(times) for times in zip(*pairs, strict=True))
            ratio = statistics.median(mine / theirs for mine, theirs in pairs)
            more = stats["requests"] - before
            print(f"| {label} | {a:,.0f} | {b:,.0f} | {ratio:.3f} | {stats['cache']['hits']:,}, {more} requests |")


if __name__ == "__main__":
    main()
