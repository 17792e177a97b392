#!/usr/bin/env python3
"""The list[str] of all paths, as loaders keep it (by run.py).

rivals.py make FILE SAMPLES               the paths, pickled
rivals.py open FILE                       one process: load it, shuffle it, take the first
rivals.py sit fork|spawn FILE COPIES      a process that has the list and COPIES - 1 children that have it, too

fork: the children inherit the pages and go through an epoch; counting references writes into each string, so every
page is copied. spawn: the list is pickled to each child, as PyTorch does where it can't or may not fork.
"""
import json
import multiprocessing
import os
import pickle
import random
import sys
import time


def path_of(i):
    """As the keys of our own data set: ImageNet's, a folder a class."""
    name = f"n{1_440_764 + i // 1300 * 2_011:08}"
    return f"/data/train/{name}/{name}_{i:08}.jpg"


def make(file, samples):
    with open(file, "wb") as f:
        pickle.dump([path_of(i) for i in range(samples)], f, pickle.HIGHEST_PROTOCOL)


def load(file):
    start = time.monotonic()
    with open(file, "rb") as f:
        paths = pickle.load(f)
    print(f"open_ms={(time.monotonic() - start) * 1e3:.2f}\nsamples={len(paths)}", flush=True)
    return paths


def first_of(paths):
    """The epoch's order as a list of numbers would double the memory: the list itself is shuffled, at no cost in it."""
    start = time.monotonic()
    random.shuffle(paths)
    first = paths[0]
    print(f"first_ordinal_us={(time.monotonic() - start) * 1e6:.0f}", flush=True)
    return first


def child(paths, has_it, over):
    has_it.put(sum(map(len, paths)))
    over.wait()


def sit(method, file, copies):
    paths = load(file)
    first_of(paths)
    total = sum(map(len, paths))
    context = multiprocessing.get_context(method)
    has_it, over = context.Queue(), context.Event()
    children = []
    for _ in range(copies - 1):
        children.append(context.Process(target=child, args=(paths, has_it, over)))
        children[-1].start()
        if has_it.get() != total:
            sys.exit("a child has another list")
    print(f"path_bytes={total / len(paths):.1f}\ncopies={copies}\nready", flush=True)
    sys.stdin.read()
    over.set()
    for c in children:
        c.join()


def main():
    what, *rest = sys.argv[1:]
    if what == "make":
        make(rest[0], int(rest[1]))
    elif what == "open":
        first_of(load(rest[0]))
    else:
        sit(rest[0], rest[1], int(rest[2]))
    os._exit(0)  # freeing it all is no part of the job


if __name__ == "__main__":
    main()
