"""Time of a sample in DLIO's `FormatReader.read_index`, as installed and with reader_handler.patch: `fix.py [LENGTHS]`.

`read_index` formats the map of all samples into a string for a debug message, also if debug messages are off. The patch
removes this line. Here the reader opens no file, so the time is that of DLIO's own code. Prints a Markdown table.
"""

from __future__ import annotations

import importlib.util
import pathlib
import statistics
import sys
import tempfile
import time
from typing import Any

import data
import launch

LENGTHS = (1_000, 100_000, 500_000)
#: Samples of a measurement: before, each takes up to half a second; after, some microseconds.
BEFORE, AFTER, ROUNDS = 5, 2_000, 5


def module(path: pathlib.Path) -> Any:
    spec = importlib.util.spec_from_file_location("patched_reader_handler", path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def reader(handler: Any, samples: int) -> Any:
    """A reader of `samples` files that opens nothing."""
    from dlio_benchmark.common.enumerations import DatasetType
    from dlio_benchmark.utils.config import ConfigArguments

    class Reader(handler.FormatReader):  # type: ignore[misc, name-defined]
        def open(self, filename: str) -> object:
            return filename

        def close(self, filename: str) -> None: ...
        def get_sample(self, filename: str, sample_index: int) -> None: ...
        def next(self) -> None: ...
        def read_index(self, global_sample_idx: int, step: int) -> Any:
            return super().read_index(global_sample_idx, step)

        def finalize(self) -> None: ...
        def is_index_based(self) -> bool:
            return True

        def is_iterator_based(self) -> bool:
            return True

    args = ConfigArguments.get_instance()
    args.train_file_map, args.resized_image = {}, None
    args.train_global_index_map = {n: (f"/data/retinanet/train/img_{n:06}_of_{samples}.jpeg", 0) for n in range(samples)}
    return Reader(DatasetType.TRAIN, 0)


def microseconds(made: Any, calls: int) -> float:
    """The time of one sample."""
    start = time.perf_counter()
    for n in range(calls):
        made.read_index(n % len(made.global_index_map), 1)
    return (time.perf_counter() - start) / calls * 1e6


def main() -> None:
    launch.stand_in()
    from dlio_benchmark.reader import reader_handler
    from dlio_benchmark.utils.utility import DLIOMPI

    DLIOMPI.get_instance().initialize()
    lengths = [int(n) for n in sys.argv[1].split(",")] if len(sys.argv) > 1 else LENGTHS
    print("### Time of a sample in DLIO's reader, before and after reader_handler.patch\n")
    print("| entries of the map | before, us a sample | after, us a sample |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        after = module(data.patched(pathlib.Path(name)) / "dlio_benchmark" / "reader" / "reader_handler.py")
        for samples in lengths:
            old, new = reader(reader_handler, samples), reader(after, samples)
            found = [(microseconds(old, BEFORE), microseconds(new, AFTER)) for _ in range(ROUNDS)]
            cells = [f"{statistics.median(values):,.1f}" for values in zip(*found, strict=True)]
            print(f"| {samples:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
