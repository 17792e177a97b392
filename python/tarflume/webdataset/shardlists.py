"""Lists of shards, and the shards of this process: the first stages of a pipeline."""

from __future__ import annotations

import contextlib
import errno
import glob
import itertools
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import _core
from ..errors import MissingFileError, UsageError
from .braces import braces
from .pipeline import IterableDataset, PipelineStage, pipelinefilter

__all__ = [
    "DirectoryShardList",
    "ResampledShardList",
    "ResampledShards",
    "SimpleShardList",
    "expand_urls",
    "make_seed",
    "non_empty",
    "pytorch_worker_seed",
    "resampled",
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
    """The shards of a list with `::` between its items, `${NAME}` (the environment's `WDS_NAME`) and braces.

    A folder is replaced by its tars, in the order of their names.
    """
    return [name for url in urls.split("::") for name in braces(_substituted(url))]


def _substituted(url: str) -> str:
    def value(found: re.Match[str]) -> str:
        name = "WDS_" + found.group(1)
        if name not in os.environ:
            raise UsageError(f"{url!r} needs the environment variable {name}: set it")
        return os.environ[name]

    for _ in range(10):  # values may ask for values
        before, url = url, re.sub(r"\$\{(\w+)\}", value, url)
        if url == before:
            break
    return url


def _folder(path: str) -> list[str]:
    names = sorted(name for name in os.listdir(path) if name.endswith(ENDINGS) and not name.startswith("."))
    if not names:
        text = f"{path}: this folder contains no tar ({', '.join('*' + end for end in ENDINGS)})"
        raise UsageError(_core.advice_for(path) or text, path=path)
    return [os.path.join(path, name) for name in names]


def _shard(name: str) -> list[str]:
    """A shard, or the tars of a folder.

    Raises:
        UsageError: it is a file of another kind, or a folder without tars.
    """
    if os.path.isdir(name):
        return _folder(name)
    if not name.endswith(ENDINGS) and os.path.isfile(name) and (text := _core.advice_for(name)) is not None:
        raise UsageError(text, path=name)
    return [name]


def listed(urls: Urls) -> list[str]:
    """The shards of `urls`: a text for `expand_urls`, or a list, whose items are taken as they are."""
    if isinstance(urls, dict) or (isinstance(urls, str) and urls.endswith((".yaml", ".yml", ".json"))):
        raise UsageError("lists of shards in files or dicts are not supported: give the shards, or mix data sets with "
                         "tarflume.Loader([(shards, weight), ...])")  # fmt: skip
    if isinstance(urls, os.PathLike):
        urls = os.fspath(urls)
    names = expand_urls(urls) if isinstance(urls, str) else [os.fspath(url) for url in urls]
    return [name for url in names for name in _shard(url)]


def worker_info(group: Any = None) -> tuple[int, int, int, int]:
    """Rank, world size, worker, number of workers.

    From `RANK` and `WORLD_SIZE` or the process group, and from `WORKER` and `NUM_WORKERS` or the DataLoader's worker.
    """
    rank, world, worker, workers = 0, 1, 0, 1
    # If torch is not imported, it has neither a process group nor workers.
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


def pytorch_worker_seed(group: Any = None) -> int:
    """A number that differs from that of every other worker of the job."""
    rank, _, worker, _ = worker_info(group)
    return rank * 1000 + worker


def make_seed(*args: Any) -> int:
    """A number of 31 bits computed from `args`, as in webdataset."""
    seed = 0
    for arg in args:
        seed = (seed * 31 + hash(arg)) & 0x7FFFFFFF
    return seed


def split_by_node(src: Iterable[Any], group: Any = None) -> Iterator[Any]:
    """Every `world`th shard, from the `rank`th on."""
    rank, world, _, _ = worker_info(group)
    yield from itertools.islice(src, rank, None, world)


def single_node_only(src: Iterable[Any], group: Any = None) -> Iterator[Any]:
    """All shards; an error if there is more than one rank, each of which would read all."""
    _, world, _, _ = worker_info(group)
    if world > 1:
        raise UsageError(
            f"the job has {world} ranks, and no nodesplitter divides the shards among them: give "
            "nodesplitter=split_by_node, or another"
        )
    yield from src


def split_by_worker(src: Iterable[Any]) -> Iterator[Any]:
    """Every `num_workers`th shard, from the worker's number on."""
    _, _, worker, workers = worker_info()
    yield from itertools.islice(src, worker, None, workers)


def non_empty(src: Iterable[Any]) -> Iterator[Any]:
    """All of `src`; raises an error if it is empty."""
    nothing = True
    for sample in src:
        nothing = False
        yield sample
    if nothing:
        raise UsageError(
            "the pipeline yields no sample, perhaps because of fewer shards than ranks and workers; give empty_check=False if "
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
    """`{"url": shard}` drawn with replacement, `nshards` times: differently in every epoch, rank and worker.

    deterministic: the draw depends only on `seed`, epoch and `worker_seed()` (by default a number of rank and worker),
        and is that of webdataset. max_urls: the maximum number of shards taken from an iterator. empty_check: an empty
        list is an error.
    """

    def __init__(
        self,
        urls: Urls,
        nshards: int = sys.maxsize,
        seed: int = 0,
        worker_seed: Callable[[], int] | None = None,
        deterministic: bool = False,
        max_urls: int = 1_000_000,
        empty_check: bool = True,
    ) -> None:
        super().__init__()
        if not isinstance(urls, (str, os.PathLike, dict)):
            urls = list(itertools.islice(urls, max_urls))
        self.urls = listed(urls)
        if not self.urls and empty_check:
            raise UsageError("the list of shards is empty")
        self.nshards, self.seed, self.deterministic = nshards, seed, deterministic
        self.worker_seed = pytorch_worker_seed if worker_seed is None else worker_seed
        self.epoch = -1

    def __iter__(self) -> Iterator[dict[str, str]]:
        self.epoch += 1
        words: list[Any] = [self.worker_seed(), self.epoch, self.seed]
        rng = random.Random(make_seed(*words) if self.deterministic else f"{words} {os.urandom(16).hex()}")
        return ({"url": rng.choice(self.urls)} for _ in range(self.nshards if self.urls else 0))

    def run(self, *_: Any) -> Iterator[dict[str, str]]:
        """The shards."""
        return iter(self)


ResampledShardList = ResampledShards


def _resampled(src: Iterable[Any], n: int = sys.maxsize) -> Iterator[Any]:
    """`n` items of `src`, drawn with replacement."""
    rng = random.Random(os.urandom(20))
    items = list(src)
    return (rng.choice(items) for _ in range(n if items else 0))


resampled = pipelinefilter(_resampled)


class DirectoryShardList(IterableDataset, PipelineStage):
    """`{"url": shard}` of a folder into which another program writes shards, as they appear.

    While a shard is read, its name ends with the number of the process, so that several processes can take shards of
    one folder. Shards of processes that have ended become available again.

    path: the folder. pattern: the names of shards, with braces. poll: seconds between two searches while no shard is
        available; None ends the list then. timeout: seconds after which no further shard is taken. mode: what happens to
        a shard after reading: "resample" keeps it for another time, "keep" renames it to `NAME._done_`, "unlink" deletes it.
    select: "random" or "oldest".
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        pattern: str = "*.{tar,tgz,tar.gz,tar.zst}",
        poll: float | None = 1,
        timeout: float = 1e12,
        mode: str | None = "resample",
        select: str = "random",
        fate: Any = None,
    ) -> None:
        super().__init__()
        self.path = os.fspath(path)
        if not os.path.isdir(self.path):
            raise MissingFileError(f"{self.path}: no such folder", path=self.path, errno=errno.ENOENT)
        self.mode = "resample" if mode in (None, "resampled") else mode
        if self.mode not in ("resample", "keep", "unlink"):
            raise UsageError(f'mode={mode!r} is not known; there are "resample", "keep", "unlink"')
        if select not in ("random", "oldest"):
            raise UsageError(f'select={select!r} is not known; there are "random", "oldest"')
        self.pattern, self.poll, self.timeout, self.select = pattern, poll, timeout, select

    def candidates(self) -> list[str]:
        """The shards that no process reads, by name."""
        inside = glob.escape(self.path if self.path.endswith("/") else self.path + "/")
        return sorted({name for pattern in braces(self.pattern) for name in glob.glob(inside + pattern)})

    def recycle(self, activename: str) -> None:
        """Applies `mode` to a shard that was read."""
        if self.mode == "unlink":
            os.unlink(activename)
        else:
            os.rename(activename, activename.rpartition(".")[0] + ("._done_" if self.mode == "keep" else ""))

    def cleanup_files_without_processes(self) -> None:
        """Applies `mode` to shards of processes that have ended."""
        for name in glob.glob(os.path.join(glob.escape(self.path), "*._*_")):
            found = re.search(r"\._(\d+)_$", name)
            if found and not _runs(int(found.group(1))):
                with contextlib.suppress(FileNotFoundError):  # another process was faster
                    self.recycle(name)

    def __iter__(self) -> Iterator[dict[str, str]]:
        began = time.monotonic()
        while time.monotonic() - began < self.timeout:
            name = self._taken()
            if name is not None:
                yield {"url": name}
                with contextlib.suppress(FileNotFoundError):  # its reader deleted it
                    self.recycle(name)
                self.cleanup_files_without_processes()
            elif self.poll is None:
                return
            else:
                time.sleep(self.poll)

    def _taken(self) -> str | None:
        """Claims a shard for this process; None if there is none."""
        names = self.candidates()
        while names:
            name = random.choice(names) if self.select == "random" else min(names, key=_age)
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                os.rename(name, f"{name}._{os.getpid()}_")
                return f"{name}._{os.getpid()}_"
            names.remove(name)
        return None

    def run(self, *_: Any) -> Iterator[dict[str, str]]:
        """The shards."""
        return iter(self)


def _age(name: str) -> tuple[float, str]:
    try:
        return os.stat(name).st_mtime, name
    except FileNotFoundError:
        return 0.0, name


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True  # it exists and belongs to another user, or that is unknown
    return True


def shardspec(spec: str) -> SimpleShardList:
    """The shards of a text."""
    return SimpleShardList(spec)
