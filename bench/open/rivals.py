#!/usr/bin/env python3
"""What other loaders read before their first sample, each loaded in a process of its own (by run.py).

rivals.py make DIR SHARDS SAMPLES
rivals.py open json|pickle|text DIR
"""
import glob
import json
import os
import pickle
import sys
import time


def path_of(i):
    return f"train/c{i % 1000:04d}/n{3325584 + i % 1000:08d}_feather_boa_{i:07d}"


def make(folder, shards, samples):
    """paths.json, paths.pkl and one text index a shard, in the form of DALI's wds2idx v1.2."""
    paths = [path_of(i) for i in range(samples)]
    with open(f"{folder}/paths.json", "w") as f:
        json.dump(paths, f)
    with open(f"{folder}/paths.pkl", "wb") as f:
        pickle.dump(paths, f, pickle.HIGHEST_PROTOCOL)
    for s in range(shards):
        part = range(s * samples // shards, (s + 1) * samples // shards)
        with open(f"{folder}/{s:06d}.idx", "w") as f:
            f.write(f"v1.2 {len(part)}\n")
            at = 512
            for i in part:
                f.write(f"jpg {at} 110213 {paths[i]}.jpg json {at + 111_104} 80 {paths[i]}.json\n")
                at += 112_128
    print(f"samples={samples}", flush=True)
    os._exit(0)


def text_index(path):
    """One shard's samples, each a list of (extension, offset, size, name)."""
    with open(path) as f:
        if not f.readline().startswith("v1.2 "):
            raise ValueError(path)
        samples = []
        for line in f:
            w = line.split()
            samples.append([(w[k], int(w[k + 1]), int(w[k + 2]), w[k + 3]) for k in range(0, len(w), 4)])
    return samples


def load(what, folder):
    start = time.monotonic()
    if what == "json":
        with open(f"{folder}/paths.json") as f:
            n = len(json.load(f))
    elif what == "pickle":
        with open(f"{folder}/paths.pkl", "rb") as f:
            n = len(pickle.load(f))
    else:
        import gc
        gc.disable()  # the collector alone would double the time
        kept = [text_index(p) for p in sorted(glob.glob(f"{folder}/*.idx"))]
        n = sum(map(len, kept))
    print(f"open_s={time.monotonic() - start:.3f}\nsamples={n}", flush=True)
    os._exit(0)  # freeing it all is no part of opening


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        load(sys.argv[2], sys.argv[3])
