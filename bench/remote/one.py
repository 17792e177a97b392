"""One client reads one epoch from the store. Prints samples, seconds, and seconds to the first batch, as JSON.

    one.py CLIENT                    measures
    one.py CLIENT FOLDER [BATCHES]   notes the rows and, after each batch, the state in FOLDER, and goes on with a
                                     state that is there; kills itself after so many batches
"""

from __future__ import annotations

import io
import json
import os
import pathlib
import pickle
import resource
import signal
import sys
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

BATCH = 64
WORKERS = 2

# Batches of rows (bytes), and what returns the state after the last batch; `None` if the client has none.
Client = tuple[Iterator[list[bytes]], Callable[[], Any] | None]


def tarflume_of(shuffle: str, state: Any, **words: Any) -> Client:
    import tarflume

    loader = tarflume.Loader(
        "s3://data/wds", batch_size=BATCH, shuffle=shuffle, seed=1, columns=["bin"], num_threads=WORKERS,
        storage={"endpoint": os.environ["AWS_ENDPOINT_URL"], "allow_http": True}, drop_last="uneven", **words,
    )  # fmt: skip
    if state is not None:
        loader.load_state_dict(state)
    return (batch["bin"] for batch in loader), loader.state_dict


def loaded(dataset: Any) -> Iterator[list[bytes]]:
    from torch.utils.data import DataLoader

    return iter(DataLoader(dataset, batch_size=BATCH, num_workers=WORKERS, collate_fn=list))


def webdataset(_: Any) -> Client:
    import webdataset

    urls = [f"pipe:curl -s -f '{url}'" for url in json.loads(os.environ["SHARD_URLS"])]
    data = webdataset.WebDataset(urls, shardshuffle=len(urls), nodesplitter=webdataset.split_by_node)
    return ([row for (row,) in rows] for rows in loaded(data.shuffle(1000).to_tuple("bin"))), None


def mds(state: Any) -> Client:
    from streaming import StreamingDataLoader, StreamingDataset

    local = tempfile.TemporaryDirectory()
    dataset = StreamingDataset(remote="s3://data/mds", local=local.name, shuffle=True, batch_size=BATCH)
    for stream in dataset.streams:
        # Forked workers would share the connection that has fetched the index, and get each other's answers.
        stream._downloader.clean_up()
    loader = StreamingDataLoader(dataset, batch_size=BATCH, num_workers=WORKERS, collate_fn=list)
    if state is not None:
        loader.load_state_dict(state)

    def batches() -> Iterator[list[bytes]]:
        with local:
            for rows in loader:
                yield [row["bin"] for row in rows]

    return batches(), loader.state_dict


def litdata(state: Any) -> Client:
    import litdata

    local = tempfile.TemporaryDirectory()
    # A state holds for the folder of the cache that it was made with.
    cache = str(pathlib.Path(sys.argv[2]) / "cache") if len(sys.argv) > 2 else local.name
    dataset = litdata.StreamingDataset("s3://data/lit", cache_dir=cache, shuffle=True, seed=1)
    loader = litdata.StreamingDataLoader(dataset, batch_size=BATCH, num_workers=WORKERS, collate_fn=copied)
    if state is not None:
        loader.load_state_dict(state)

    def batches() -> Iterator[list[bytes]]:
        with local:
            yield from loader

    return batches(), loader.state_dict


def copied(rows: list[dict[str, Any]]) -> list[bytes]:
    """LitData gives views, which no process can send to another one."""
    return [bytes(row["bin"]) for row in rows]


def s3torchconnector(_: Any) -> Client:
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

    return loaded(Samples()), None


def hf_datasets(state: Any) -> Client:
    """Streams the tars by presigned URLs. Its state is that of the data set in this process, so it has no workers then."""
    from datasets import load_dataset

    urls = {"train": json.loads(os.environ["SHARD_URLS"])}
    data = load_dataset("webdataset", data_files=urls, split="train", streaming=True)
    data = data.shuffle(seed=1, buffer_size=1000)
    if len(sys.argv) == 2:
        return ([row["bin"] for row in rows] for rows in loaded(data)), None
    if state is not None:
        data.load_state_dict(state)
    return ([*rows["bin"]] for rows in data.iter(BATCH)), data.state_dict


CLIENTS: dict[str, Callable[[Any], Client]] = {
    "tarflume blocks": lambda state: tarflume_of("blocks", state, block_size=64, window=4),
    "tarflume full": lambda state: tarflume_of("full", state),
    "webdataset pipe:curl": webdataset,
    "mosaicml-streaming": mds,
    "litdata": litdata,
    "s3torchconnector": s3torchconnector,
    "HF datasets": hf_datasets,
}


def main() -> None:
    begin = time.perf_counter()
    samples, first = 0, 0.0
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    kill_after = int(sys.argv[3]) if len(sys.argv) > 3 else None
    kept = folder / "state" if folder else None
    state = pickle.loads(kept.read_bytes()) if kept and kept.is_file() else None
    batches, state_of = CLIENTS[sys.argv[1]](state)
    for number, rows in enumerate(batches, 1):
        first = first or time.perf_counter() - begin
        samples += len(rows)
        if folder and kept:
            with (folder / "rows").open("a") as out:
                out.writelines(f"{zlib.crc32(bytes(row))}\n" for row in rows)
            if state_of:
                kept.write_bytes(pickle.dumps(state_of()))
        if number == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)
    facts = {"samples": samples, "seconds": time.perf_counter() - begin, "first": first}
    peak = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({**facts, "memory": peak * 1024}))


if __name__ == "__main__":
    main()
