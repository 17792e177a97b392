"""One client reads one epoch from the store. Prints samples, seconds, and seconds to the first batch, as JSON."""

from __future__ import annotations

import io
import json
import os
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from typing import Any

BATCH = 64
WORKERS = 2


def tarflume_of(shuffle: str, **words: Any) -> Iterator[int]:
    import tarflume

    loader = tarflume.Loader(
        "s3://data/wds", batch_size=BATCH, shuffle=shuffle, seed=1, columns=["bin"], num_threads=WORKERS,
        storage={"endpoint": os.environ["AWS_ENDPOINT_URL"], "allow_http": True}, **words,
    )  # fmt: skip
    for batch in loader:
        yield len(batch["key"])


def loaded(dataset: Any) -> Iterator[int]:
    from torch.utils.data import DataLoader

    for batch in DataLoader(dataset, batch_size=BATCH, num_workers=WORKERS, collate_fn=list):
        yield len(batch)


def webdataset() -> Iterator[int]:
    import webdataset

    urls = [f"pipe:curl -s -f '{url}'" for url in json.loads(os.environ["SHARD_URLS"])]
    data = webdataset.WebDataset(urls, shardshuffle=len(urls), nodesplitter=webdataset.split_by_node)
    return loaded(data.shuffle(1000).to_tuple("bin"))


def mds() -> Iterator[int]:
    from streaming import StreamingDataset

    with tempfile.TemporaryDirectory() as local:
        yield from loaded(StreamingDataset(remote="s3://data/mds", local=local, shuffle=True, batch_size=BATCH))


def litdata() -> Iterator[int]:
    import litdata

    with tempfile.TemporaryDirectory() as local:
        dataset = litdata.StreamingDataset("s3://data/lit", cache_dir=local, shuffle=True, seed=1)
        words = {"batch_size": BATCH, "num_workers": WORKERS, "collate_fn": copied}
        for batch in litdata.StreamingDataLoader(dataset, **words):
            yield len(batch)


def copied(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """LitData gives views, which no process can send to another one."""
    return [{name: bytes(v) if isinstance(v, memoryview) else v for name, v in row.items()} for row in rows]


def s3torchconnector() -> Iterator[int]:
    """Its iterable data set gives whole objects; the tars are read as its examples do."""
    from s3torchconnector import S3IterableDataset
    from torch.utils.data import IterableDataset

    class Samples(IterableDataset):  # type: ignore[type-arg]
        def __iter__(self) -> Iterator[bytes]:
            endpoint = os.environ["AWS_ENDPOINT_URL"]
            objects = S3IterableDataset.from_prefix(
                "s3://data/wds/", region="us-east-1", endpoint=endpoint, enable_sharding=True
            )
            for reader in objects:
                if not reader.key.endswith(".tar"):
                    continue
                with tarfile.open(fileobj=io.BytesIO(reader.read())) as tar:
                    for member in tar:
                        if member.name.endswith(".bin"):
                            yield tar.extractfile(member).read()  # type: ignore[union-attr]

    return loaded(Samples())


CLIENTS = {
    "tarflume blocks": lambda: tarflume_of("blocks", block_size=64, window=4),
    "tarflume full": lambda: tarflume_of("full"),
    "webdataset pipe:curl": webdataset,
    "mosaicml-streaming": mds,
    "litdata": litdata,
    "s3torchconnector": s3torchconnector,
}


def main() -> None:
    begin = time.perf_counter()
    samples, first = 0, 0.0
    for rows in CLIENTS[sys.argv[1]]():
        first = first or time.perf_counter() - begin
        samples += rows
    print(json.dumps({"samples": samples, "seconds": time.perf_counter() - begin, "first": first}))


if __name__ == "__main__":
    main()
