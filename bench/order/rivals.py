#!/usr/bin/env python3
"""What others shuffle with: tables of all samples, and the reservoir of webdataset. Prints KEY=VALUE.

    rivals.py list N | numpy N | webdataset SIZE SHARDS SAMPLES OUT

`webdataset` writes the order as little-endian u64, to be scored by the same program as ours.
"""
import array
import random
import sys
import time


def table(make, n):
    start = time.perf_counter()
    made = make(n)
    seconds = time.perf_counter() - start
    assert len(made) == n
    print(f"start_ms={seconds * 1e3:.1f}\nnext_ns={seconds * 1e9 / n:.2f}")


def python_list(n):
    made = list(range(n))
    random.Random(42).shuffle(made)
    return made


def numpy_permutation(n):
    import numpy
    return numpy.random.default_rng(42).permutation(n)


def reservoir(size, shards, samples, out):
    """Shards in random order through wds.shuffle(size), as its documents recommend."""
    import webdataset
    rng = random.Random(42)
    starts = [shard * samples // shards for shard in range(shards + 1)]
    order = list(range(shards))
    rng.shuffle(order)
    reads = (slot for shard in order for slot in range(starts[shard], starts[shard + 1]))
    start = time.perf_counter()
    slots = array.array("Q", webdataset.shuffle(size, rng=rng)(reads))
    print(f"next_ns={(time.perf_counter() - start) * 1e9 / samples:.1f}")
    with open(out, "wb") as f:
        slots.tofile(f)


def main():
    what, *rest = sys.argv[1:]
    if what == "webdataset":
        reservoir(int(rest[0]), int(rest[1]), int(rest[2]), rest[3])
    else:
        table({"list": python_list, "numpy": numpy_permutation}[what], int(rest[0]))


if __name__ == "__main__":
    main()
