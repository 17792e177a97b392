#!/usr/bin/env python3
"""Goes through a data set once with the Python package, and prints KEY=VALUE as bench/read's programs do.

    ours.py DIR FRONT MODE [--batch 256] [--shuffle full] [--threads 2]

FRONT is core (columns, taken as NumPy arrays), torch (tensors) or dataloader (a DataLoader of 2 workers around
tarflume.torch.Dataset). MODE is raw (all parts as bytes) or image (RandomResizedCrop(224), flip, u8).
"""
import argparse
import time

import numpy as np

import tarflume


def batches(x, settings):
    """Batches as dicts; the epoch begins when the first is asked for."""
    if x.front == "core":
        for batch in tarflume.Loader(x.dir, **settings).epoch(0):
            yield {name: batch[name] for name in batch if name != "key"}
        return
    if x.front == "torch":
        yield from front.Loader(x.dir, **settings)
        return
    data = front.Dataset(x.dir, **(settings | {"num_threads": 1}))
    yield from DataLoader(data, batch_size=None, num_workers=2)


def looked_at(batch):
    """Samples of a batch and its bytes; one element of each is read."""
    rows = size = 0
    for name, column in batch.items():
        if name == "key":
            continue
        if isinstance(column, tarflume.Ragged):
            values = np.asarray(column.values)
            rows, size = len(column), size + values.nbytes
            values[-1:].sum()
        elif isinstance(column, list):
            rows, size = len(column), size + sum(map(len, column))
        else:
            rows, size = len(column), size + column.nbytes
            np.asarray(column)[0].sum()
    return rows, size


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("dir")
    ap.add_argument("front", choices=["core", "torch", "dataloader"])
    ap.add_argument("mode", choices=["raw", "image"])
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--shuffle", default="full")
    ap.add_argument("--threads", type=int, default=2)
    x = ap.parse_args()
    if x.front != "core":  # imports are left out of the time, as with the rivals
        global front, DataLoader
        from torch.utils.data import DataLoader

        from tarflume import torch as front
    settings = {"batch_size": x.batch, "shuffle": x.shuffle, "num_threads": x.threads}
    if x.mode == "image":
        settings["image"] = tarflume.RandomResizedCrop(224, flip=0.5)
    else:
        settings["columns"] = ["jpg", "json"]
    start, samples, size, first, fourth, after = time.perf_counter(), 0, 0, None, None, 0
    for number, batch in enumerate(batches(x, settings), 1):
        rows, bytes_ = looked_at(batch)
        now = time.perf_counter()
        samples, size = samples + rows, size + bytes_
        first = first or now
        if number == 4:
            fourth = now
        elif number > 4:
            after += rows
    end = time.perf_counter()
    print(f"s={end - start:.6f}\nsamples={samples}\nmb={size / 1e6:.3f}\nttfb={first - start:.6f}")
    if fourth and after:
        print(f"s4={end - fourth:.6f}\nn4={after}")


if __name__ == "__main__":
    main()
