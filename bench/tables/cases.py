"""One case of run.py: prints KEY=VALUE, with the seconds that it measured by itself.

    python cases.py stream|polars|ordinal|key|mixed|rival DIR
"""
import random
import sys
import time

import numpy as np
import pyarrow as pa

import tarflume


def stream(data):
    rows = 0
    for batch in pa.RecordBatchReader.from_stream(data.table()):
        rows += batch.num_rows
    return rows


def polars(data):
    import polars

    return len(polars.DataFrame(data.table()))


def first_batch(data, table):
    """From the table to the first batch of an exactly shuffled epoch."""
    begun = time.perf_counter()
    with tarflume.Loader(data, select=table, batch_size=256, shuffle="full", seed=1, columns=["json"]) as loader:
        batch = next(loader.epoch(0))
        assert batch.rows == 256
        seconds = time.perf_counter() - begun
        return loader.samples, seconds


def main():
    what, folder = sys.argv[1:]
    data = tarflume.Dataset(folder)
    if what in ("stream", "polars"):
        begun = time.perf_counter()
        samples = {"stream": stream, "polars": polars}[what](data)
        seconds = time.perf_counter() - begun
    elif what == "ordinal":
        samples, seconds = first_batch(data, pa.table({"ordinal": np.arange(0, len(data), 2)}))
    elif what in ("key", "mixed"):
        rows = np.arange(0, len(data), 2)
        if what == "mixed":
            np.random.default_rng(1).shuffle(rows)
        keys = pa.table(data.table()).column("key").take(pa.array(rows))
        samples, seconds = first_batch(data, pa.table({"key": keys}))
    else:
        keys = pa.table(data.table()).column("key").to_pylist()
        wanted = keys[::2]
        begun = time.perf_counter()
        number = {key: n for n, key in enumerate(keys)}
        order = [number[key] for key in wanted]
        random.Random(1).shuffle(order)
        samples, seconds = len(order), time.perf_counter() - begun
    print(f"samples={samples}")
    print(f"seconds={seconds:.3f}")


if __name__ == "__main__":
    main()
