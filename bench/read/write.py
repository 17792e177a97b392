#!/usr/bin/env python3
"""write.py FORMAT PAIRS AT: the pairs of a folder in a peer's own format, into AT/FORMAT (by run.py, untimed).

FORMAT: mds, litdata, array_record (uncompressed, one record a group: its form for random access).
"""
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import layout  # noqa: E402


def stems(pairs):
    return sorted(str(p.with_suffix("")) for p in pathlib.Path(pairs).rglob("*.jpg"))


def pair(stem):
    return {ext: pathlib.Path(f"{stem}.{ext}").read_bytes() for ext in ("jpg", "json")}


def mds(pairs, out):
    from streaming import MDSWriter
    with MDSWriter(out=str(out), columns={"jpg": "bytes", "json": "bytes"}, size_limit=layout.SHARD_BYTES) as w:
        for stem in stems(pairs):
            w.write(pair(stem))


def litdata(pairs, out):
    import litdata as peer
    peer.optimize(fn=pair, inputs=stems(pairs), output_dir=str(out), chunk_bytes=layout.SHARD_BYTES,
                  num_workers=2, start_method="fork", verbose=False)


def array_record(pairs, out):
    from array_record.python.array_record_module import ArrayRecordWriter
    out.mkdir()
    writer, size = None, 0
    for stem in stems(pairs):
        if writer is None or size >= layout.SHARD_BYTES:
            if writer:
                writer.close()
            number, size = len(list(out.iterdir())), 0
            writer = ArrayRecordWriter(str(out / f"{number:06d}.array_record"), "group_size:1,uncompressed")
        record = layout.joined(*pair(stem).values())
        writer.write(record)
        size += len(record)
    writer.close()


if __name__ == "__main__":
    which, source, at = sys.argv[1:]
    layout.private_caches(at)
    target = pathlib.Path(at, which)
    shutil.rmtree(target, ignore_errors=True)
    {"mds": mds, "litdata": litdata, "array_record": array_record}[which](source, target)
    sys.stdout.flush()
    os._exit(0)
