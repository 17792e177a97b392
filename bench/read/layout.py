"""Where bench/read keeps what it reads, and the caches of peers that would otherwise lie about.

AT/shards  pack build's shards, read by us and by every rival that reads tar
AT/idx     the text index of each, for DALI
AT/mds, AT/litdata, AT/array_record   the same samples in the formats of those that need their own
"""
import json
import os
import pathlib
import struct

SHARD_BYTES = 256_000_000


def shards(at):
    return sorted(map(str, pathlib.Path(at, "shards").glob("*.tar")))


def indexes(at):
    return [str(pathlib.Path(at, "idx", pathlib.Path(s).name + ".idx")) for s in shards(at)]


def samples_of(at):
    """Samples of each shard, as the manifest lists them: (path, samples)."""
    manifest = json.loads(pathlib.Path(at, "shards", "dataset.json").read_text())
    return [(str(pathlib.Path(at, "shards", s["name"])), s["samples"]) for s in manifest["shards"]]


def array_records(at):
    return sorted(map(str, pathlib.Path(at, "array_record").glob("*.array_record")))


def joined(jpg, json_):
    """One array_record of a pair: the photograph's length, the photograph, the rest."""
    return struct.pack("<I", len(jpg)) + jpg + json_


def parted(record):
    end = 4 + int.from_bytes(record[:4], "little")
    return {"jpg": record[4:end], "json": record[end:]}


def private_caches(at):
    """litdata.optimize empties its cache folders, by default <tmp>/data and <tmp>/chunks: give it its own."""
    cache = pathlib.Path(at, "litdata-cache")
    os.environ["DATA_OPTIMIZER_CACHE_FOLDER"] = str(cache / "chunks")
    os.environ["DATA_OPTIMIZER_DATA_CACHE_FOLDER"] = str(cache / "data")
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
