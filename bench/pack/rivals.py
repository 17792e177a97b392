#!/usr/bin/env python3
"""The Python rivals, each run as a process of its own (by run.py, with the work folder's venv).

rivals.py write SRC OUT PROCS       webdataset.ShardWriter over SRC's pairs
rivals.py list PROCS SHARD...       every member's name, offset and size with tarfile
"""
import multiprocessing
import os
import sys
import tarfile

MAX_COUNT, MAX_BYTES = 10_000, 256e6


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write_part(job):
    import webdataset
    part, src, out, number = job
    with webdataset.ShardWriter(os.path.join(out, f"{number}-%06d.tar"), maxcount=MAX_COUNT, maxsize=MAX_BYTES,
                                encoder=False, verbose=0) as sink:
        for stem in part:
            path = os.path.join(src, stem)
            sink.write({"__key__": stem, "jpg": read(path + ".jpg"), "json": read(path + ".json")})


def write(src, out, procs):
    stems = []
    for folder, subfolders, files in os.walk(src):
        subfolders.sort()
        at = os.path.relpath(folder, src)
        stems += [os.path.join(at, f[:-4]) for f in sorted(files) if f.endswith(".jpg")]
    each = -(-len(stems) // procs)
    jobs = [(stems[i * each:(i + 1) * each], src, out, i) for i in range(procs)]
    spread(write_part, jobs, procs)


def list_shard(path):
    with tarfile.open(path) as shard:
        return [(m.name, m.offset_data, m.size) for m in shard]


def spread(work, jobs, procs):
    if procs == 1:
        return list(map(work, jobs))
    with multiprocessing.Pool(procs) as pool:
        return pool.map(work, jobs, chunksize=1)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        print(f"members={sum(map(len, spread(list_shard, sys.argv[3:], int(sys.argv[2]))))}")
