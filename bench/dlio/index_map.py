"""What formatting the index map costs DLIO for each sample: with the line that `reader_handler.patch` removes, and without.

    python bench/dlio/index_map.py [--entries 500000]
"""

from __future__ import annotations

import argparse
import logging
import statistics
import time


def read_index(index_map: dict[int, tuple[str, int]], formats: bool) -> tuple[str, int]:
    """The lines of `FormatReader.read_index` in dlio_benchmark 2.0.0 around the map; the level of the log is INFO."""
    if formats:
        logging.debug(f"{index_map}")
    return index_map[7]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=500_000)
    words = parser.parse_args()
    index_map = {n: (f"/data/retinanet/train/img_{n:07}_of_{words.entries}.jpeg", 0) for n in range(words.entries)}
    for formats, name in ((True, "as it is"), (False, "patched")):
        seconds = []
        for _ in range(5):
            begun = time.perf_counter()
            read_index(index_map, formats)
            seconds.append(time.perf_counter() - begun)
        print(f"| {name} | {statistics.median(seconds) * 1e3:.3f} ms |")


if __name__ == "__main__":
    main()
