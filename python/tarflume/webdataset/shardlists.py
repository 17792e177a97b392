"""Which shards there are, and which of them are this process's: the first stages of a pipeline."""

from __future__ import annotations

import itertools
import os
import random
import re
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import UsageError
from .braces import braces
from .pipeline import IterableDataset, PipelineStage

__all__ = [
    "ResampledShards",
    "SimpleShardList",
    "expand_urls",
    "non_empty",
    "shardspec",
    "single_node_only",
    "split_by_node",
    "split_by_worker",
    "worker_info",
]

#: Shards as users name them.
Urls = str | os.PathLike[str] | Iterable[str]
ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst")


def expand_urls(urls: str) -> list[str]:
    """The shards of a list with `::` between its items, `${NAME}` (of the environment's `WDS_NAME`) and braces.

    A folder stands for its tars, by name.
    """
    return [name for url in urls.split("::") for name in braces(_substituted(url))]


def _substituted(url: str) -> str:
    def value(found: re.Match[str]) -> str:
        name = "WDS_" + found.group(1)
        if name not in os.environ:
            raise UsageError(f"{url!r} asks for {name}, which the environment does not have: set it")
        return os.environ[name]

    for _ in range(10):  # values may ask for values
        before, url = url, re.sub(r"\$\{(\w+)\}", value, url)
        if url == before:
            break
    return url


def _folder(path: str) -> list[str]:
    names = sorted(name for name in os.listdir(path) if name.endswith(ENDINGS) and not name.startswith("."))
    if not names:
        raise UsageError(f"there is no tar in this folder ({', '.join('*' + end for end in ENDINGS)})", path=path)
    return [os.path.join(path, name) for name in names]


def listed(urls: Urls) -> list[str]:
    """The shards that `urls` names: a text as `expand_urls` takes it, or a list, whose items stand for themselves."""
    if isinstance(urls, dict) or (isinstance(urls, str) and urls.endswith((".yaml", ".yml", ".json"))):
        raise UsageError("lists of shards in files or dicts are not taken: give the shards, or mix data sets with "
                         "tarflume.Loader([(shards, weight), ...])")  # fmt: skip
    if isinstance(urls, os.PathLike):
        urls = os.fspath(urls)
    names = expand_urls(urls) if isinstance(urls, str) else [os.fspath(url) for url in urls]
    return [name for url in names for name in (_folder(url) if os.path.isdir(url) else [url])]


def worker_info(group: Any = None) -> tuple[int, int, int, int]:
    """Rank, world, worker, number of workers.

    Of `RANK` and `WORLD_SIZE` or torch's process group; of `WORKER` and `NUM_WORKERS` or the DataLoader's worker.
    """
    rank, world, worker, workers = 0, 1, 0, 1
    # If torch was never imported, there is neither a group nor a worker of it.
    torch: Any = sys.modules.get("torch")
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    elif torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
        rank, world = torch.distributed.get_rank(group=group), torch.distributed.get_world_size(group=group)
    if "WORKER" in os.environ and "NUM_WORKERS" in os.environ:
        worker, workers = int(os.environ["WORKER"]), int(os.environ["NUM_WORKERS"])
    elif torch is not None and (info := torch.utils.data.get_worker_info()) is not None:
        worker, workers = info.id, info.num_workers
    return rank, world, worker, workers


def split_by_node(src: Iterable[Any], group: Any = None) -> Iterator[Any]:
    """Every `world`th shard, from the `rank`th on."""
    rank, world, _, _ = worker_info(group)
    yield from itertools.islice(src, rank, None, world)


def single_node_only(src: Iterable[Any], group: Any = None) -> Iterator[Any]:
    """All shards; an error if there is more than one rank, each of which would read all."""
    _, world, _, _ = worker_info(group)
    if world > 1:
        raise UsageError(
            f"there are {world} ranks, and nothing says how to split the shards among them: give "
            "nodesplitter=split_by_node, or another"
        )
    yield from src


def split_by_worker(src: Iterable[Any]) -> Iterator[Any]:
    """Every `num_workers`th shard, from the worker's number on."""
    _, _, worker, workers = worker_info()
    yield from itertools.islice(src, worker, None, workers)


def non_empty(src: Iterable[Any]) -> Iterator[Any]:
    """All of `src`; an error if that is nothing."""
    nothing = True
    for sample in src:
        nothing = False
        yield sample
    if nothing:
        raise UsageError(
            "there is no sample: perhaps there are fewer shards than ranks and workers; give empty_check=False if "
            "that is meant"
        )


class SimpleShardList(IterableDataset, PipelineStage):
    """`{"url": shard}` for each shard in order; mixed by `seed` if one is given, the same in every epoch."""

    def __init__(self, urls: Urls, seed: Any = None) -> None:
        super().__init__()
        self.urls = listed(urls)
        if not self.urls:
            raise UsageError("the list of shards is empty")
        self.seed = time.time() if seed is True else seed

    def __len__(self) -> int:
        return len(self.urls)

    def __iter__(self) -> Iterator[dict[str, str]]:
        urls = list(self.urls)
        if self.seed is not None:
            random.Random(self.seed).shuffle(urls)
        return ({"url": url} for url in urls)

    def run(self, *_: Any) -> Iterator[dict[str, str]]:
        """The shards."""
        return iter(self)


class ResampledShards(IterableDataset, PipelineStage):
    """`{"url": shard}` drawn with replacement, `nshards` times: another draw in every epoch, rank and worker.

    deterministic: the draw follows from `seed`, epoch, rank and worker alone.
    """

    def __init__(self, urls: Urls, nshards: int = sys.maxsize, seed: int = 0, deterministic: bool = False) -> None:
        super().__init__()
        self.urls = listed(urls)
        if not self.urls:
            raise UsageError("the list of shards is empty")
        self.nshards, self.seed, self.deterministic = nshards, seed, deterministic
        self.epoch = -1

    def __iter__(self) -> Iterator[dict[str, str]]:
        self.epoch += 1
        rank, _, worker, _ = worker_info()
        fixed = f"{self.seed} {self.epoch} {rank} {worker}"
        rng = random.Random(fixed if self.deterministic else fixed + os.urandom(16).hex())
        return ({"url": rng.choice(self.urls)} for _ in range(self.nshards))

    def run(self, *_: Any) -> Iterator[dict[str, str]]:
        """The shards."""
        return iter(self)


def shardspec(spec: str) -> SimpleShardList:
    """The shards of a text."""
    return SimpleShardList(spec)
