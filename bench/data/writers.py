#!/usr/bin/env python3
"""writers.py FORMAT SHARDS OUT: the samples of shards in a peer's own format, by its own library (for export.py)."""
import os
import pathlib
import sys
import tarfile
import tempfile


def samples(shard):
    """The samples of one tar, read from front to back."""
    sample = {}
    with tarfile.open(shard, "r|") as tar:
        for member in tar:
            key, _, ext = member.name.rpartition(".")
            if sample and sample["__key__"] != key:
                yield sample
                sample = {}
            sample["__key__"] = key
            sample[ext] = tar.extractfile(member).read()
    if sample:
        yield sample


def every(shards):
    for shard in shards:
        yield from samples(shard)


def mds(shards, out):
    from streaming import MDSWriter
    columns = {"__key__": "str", "jpg": "bytes", "json": "bytes"}
    with MDSWriter(out=out, columns=columns, size_limit=1 << 26) as writer:
        for sample in every(shards):
            writer.write(sample)


def litdata(shards, out):
    # It empties its cache folders when it starts: they must be its own.
    cache = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path(out).parent))
    os.environ["DATA_OPTIMIZER_CACHE_FOLDER"] = str(cache / "chunks")
    os.environ["DATA_OPTIMIZER_DATA_CACHE_FOLDER"] = str(cache / "data")
    import litdata as peer
    peer.optimize(fn=samples, inputs=shards, output_dir=out, chunk_bytes="64MB", num_workers=2, start_method="fork",
                  verbose=False)  # fmt: skip


def tfrecord(shards, out):
    import tfrecord as peer
    os.mkdir(out)
    for number, shard in enumerate(shards):
        writer = peer.TFRecordWriter(f"{out}/data-{number:05}-of-{len(shards):05}.tfrecord")
        for sample in samples(shard):
            row = {name: (value.encode() if name == "__key__" else value, "byte") for name, value in sample.items()}
            writer.write(row)
        writer.close()


def hf(shards, out):
    with tempfile.TemporaryDirectory(dir=pathlib.Path(out).parent) as cache:
        import datasets

        def rows():
            for sample in every(shards):
                image = {"bytes": sample["jpg"], "path": f"{sample['__key__']}.jpg"}
                yield {"image": image, "__key__": sample["__key__"], "json": sample["json"].decode()}

        text = datasets.Value("string")
        features = datasets.Features({"image": datasets.Image(), "__key__": text, "json": text})
        table = datasets.Dataset.from_generator(rows, features=features, cache_dir=cache)
        os.mkdir(out)
        table.to_parquet(f"{out}/train-00000-of-00001.parquet")


if __name__ == "__main__":
    which, source, out = sys.argv[1:]
    shards = sorted(map(str, pathlib.Path(source).glob("*.tar")))
    {"mds": mds, "litdata": litdata, "tfrecord": tfrecord, "hf": hf}[which](shards, out)
    sys.stdout.flush()
    os._exit(0)
