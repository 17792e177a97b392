#!/usr/bin/env python3
"""rivals.py AT READER [--shuffle] [--workers N]: one pass over every sample's bytes, nothing decoded (by run.py).

A reader imports what it needs and returns a function without arguments that yields lists of samples, each a dict of
bytes. The clock starts when that function is called: imports are left out, opening the data is not.
Prints s, samples, mb (bytes of all parts) and ttfb (seconds to the first sample or batch) as KEY=VALUE.
"""
import argparse
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import layout  # noqa: E402

BATCH, BUFFER = 64, 1_000


def as_is(samples):
    return samples


def parts_only(samples):
    return [{"jpg": s["jpg"], "json": s["json"]} for s in samples]


def copied(samples):
    """litdata gives views of its map, which are no bytes yet and which no worker can send."""
    return [{"jpg": bytes(s["jpg"]), "json": bytes(s["json"])} for s in samples]


def singly(samples):
    for s in samples:
        yield [s]


def tarfile(at, shuffle, workers):
    import tarfile as peer

    def read():
        for path in layout.shards(at):
            sample = {}
            with peer.open(path, "r|") as tar:
                for member in tar:
                    sample[member.name.rpartition(".")[2]] = tar.extractfile(member).read()
                    if len(sample) == 2:
                        yield [sample]
                        sample = {}
    return read


def webdataset(at, shuffle, workers):
    import webdataset as peer

    def data():
        d = peer.WebDataset(layout.shards(at), shardshuffle=False, empty_check=False)
        return d.shuffle(BUFFER) if shuffle else d

    def read():
        if not workers:
            return singly(data())
        return peer.WebLoader(data().batched(BATCH, collation_fn=parts_only), batch_size=None, num_workers=workers)
    return read


def wids(at, shuffle, workers):
    import wids as peer

    def read():
        listed = [{"url": path, "nsamples": n} for path, n in layout.samples_of(at)]
        d = peer.ShardListDataset(listed, transformations=[], keep=True, lru_size=50, localname=lambda path: path)
        order = random.sample(range(len(d)), len(d)) if shuffle else range(len(d))
        for i in order:
            sample = d[i]
            yield [{"jpg": sample[".jpg"].read(), "json": sample[".json"].read()}]
    return read


def mds(at, shuffle, workers):
    from streaming import StreamingDataset
    from streaming.base.util import clean_stale_shared_memory
    from torch.utils.data import DataLoader
    clean_stale_shared_memory()

    def read():
        d = StreamingDataset(local=f"{at}/mds", shuffle=shuffle, batch_size=BATCH)
        if not workers:
            return singly(d)
        return iter(DataLoader(d, batch_size=BATCH, num_workers=workers, collate_fn=as_is))
    return read


def litdata(at, shuffle, workers):
    import litdata as peer

    def read():
        d = peer.StreamingDataset(f"{at}/litdata", shuffle=shuffle)
        if workers:
            yield from peer.StreamingDataLoader(d, batch_size=BATCH, num_workers=workers, collate_fn=copied)
        else:
            for sample in d:
                yield copied([sample])
    return read


def array_record(at, shuffle, workers):
    from array_record.python.array_record_module import ArrayRecordReader

    def read():
        for path in layout.array_records(at):
            reader = ArrayRecordReader(path, "")
            n = reader.num_records()
            for i in range(0, n, BATCH):
                yield [layout.parted(r) for r in reader.read(i, min(n, i + BATCH))]
            reader.close()
    return read


def grain(at, shuffle, workers):
    import grain as peer

    def read():
        d = peer.MapDataset.source(peer.sources.ArrayRecordDataSource(layout.array_records(at)))
        d = (d.shuffle(seed=1) if shuffle else d).map(layout.parted)
        if not workers:
            return singly(d.to_iter_dataset())
        d = d.batch(BATCH, batch_fn=list).to_iter_dataset()
        return iter(d.mp_prefetch(peer.MultiprocessingOptions(num_workers=workers)))
    return read


class Sized:
    """Stands for a sample of which only the lengths are looked at."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n


def dali(at, shuffle, workers):
    """`workers` are DALI's threads. Its batches stay in its own buffers; the last one is filled up, which we cut."""
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=256, num_threads=workers or 1, device_id=None, prefetch_queue_depth=2)
    def pipeline():
        return tuple(fn.readers.webdataset(
            paths=layout.shards(at), index_paths=layout.indexes(at), ext=["jpg", "json"], name="reader",
            random_shuffle=shuffle, initial_fill=BUFFER, missing_component_behavior="error"))

    def read():
        p = pipeline()
        p.build()
        left = p.epoch_size("reader")
        while left > 0:
            columns = [[shape[0] for shape in out.shape()] for out in p.run()]
            batch = [{"jpg": Sized(a), "json": Sized(b)} for a, b in zip(*columns)][:left]
            left -= len(batch)
            yield batch
    return read


READERS = {f.__name__: f for f in (tarfile, webdataset, wids, mds, litdata, array_record, grain, dali)}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("at")
    ap.add_argument("reader", choices=READERS)
    ap.add_argument("--shuffle", action="store_true")
    ap.add_argument("--workers", type=int, default=0)
    x = ap.parse_args()
    layout.private_caches(x.at)
    random.seed(1)
    read = READERS[x.reader](x.at, x.shuffle, x.workers)
    first, samples, size = None, 0, 0
    start = time.monotonic()
    for batch in read():
        if first is None:
            first = time.monotonic() - start
        samples += len(batch)
        size += sum(len(s["jpg"]) + len(s["json"]) for s in batch)
    seconds = time.monotonic() - start
    print(f"s={seconds:.4f}\nsamples={samples}\nmb={size / 1e6:.3f}\nttfb={first or 0:.4f}", flush=True)
    os._exit(0)  # what a peer does when it ends is no part of reading


if __name__ == "__main__":
    main()
