"""For PyTorch: a loader that yields tensors, and data sets for those who want a DataLoader around them.

    loader = tarflume.torch.Loader("shards/", batch_size=256, shuffle="full", seed=42,
                                   image=tarflume.RandomResizedCrop(224, flip=0.5), label="/class")
    for epoch in range(90):
        loader.set_epoch(epoch)
        for batch in loader:                      # {"image": uint8 tensor [256, 224, 224, 3], "label": ...}
            images = batch["image"].to(device, non_blocking=True)

Rank and world come from the process group if there is one, else from the environment that torchrun sets, else
there is one rank. `Loader` needs no worker processes: its threads are Rust's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.distributed
import torch.utils.data

from . import _core
from .errors import UsageError
from .statistics import Stats

__all__ = ["Dataset", "Loader", "MapDataset", "rank_and_world"]


def rank_and_world() -> tuple[int, int]:
    """This process's rank and how many there are: of the process group, of torchrun's environment, or (0, 1)."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    rank, world = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if (rank is None) != (world is None):
        raise UsageError("of RANK and WORLD_SIZE one is set and the other is not: set both, or give rank= and world=")
    return (0, 1) if rank is None or world is None else (int(rank), int(world))


def _placed(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with rank and world, unless both were given."""
    if ("rank" in settings) != ("world" in settings):
        raise UsageError("give rank= and world= together, or neither")
    if "rank" in settings:
        return settings
    rank, world = rank_and_world()
    return settings | {"rank": rank, "world": world}


def tensor(column: _core.Column) -> torch.Tensor:
    """A column as a tensor, without a copy.

    The tensor shares the column's memory, which is nobody else's until the last view of its batch is gone.
    PyTorch knows no read-only tensors: what is written into it is seen through other views of the same column.
    """
    return torch.from_dlpack(column)


def tensors(batch: _core.Batch, pin_memory: bool = False) -> dict[str, Any]:
    """A batch as a dict of tensors; rows of different lengths and keys as lists."""
    made: dict[str, Any] = {}
    for name, column in batch.items():
        if isinstance(column, _core.Column):
            made[name] = tensor(column).pin_memory() if pin_memory else tensor(column)
        elif isinstance(column, _core.Ragged):
            made[name] = [tensor(row) if isinstance(row, _core.Column) else row for row in column]
        else:
            made[name] = column
    return made


class Loader:
    """Yields batches as dicts of tensors: what a DataLoader would, without its worker processes.

    Takes what `tarflume.Loader` takes. An iteration is an epoch: that of `set_epoch`, else the next one; after
    `load_state_dict` it goes on at the next sample. `len()` is steps of an epoch.

    pin_memory: copies each batch into pinned memory, for copies to a GPU that don't wait.
    """

    def __init__(self, shards: _core.Shards, *, pin_memory: bool = False, **settings: Any) -> None:
        self._loader = _core.Loader(shards, **_placed(settings))
        self._pin_memory = pin_memory
        self._epoch: int | None = None
        self._running: _core.Epoch | None = None

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next iteration goes through."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if self._running is not None:
            self._running.close()
        epoch = self._loader.current_epoch if self._epoch is None else self._epoch
        self._epoch = None
        self._running = self._loader.epoch(epoch)
        return self._batches(self._running)

    def _batches(self, epoch: _core.Epoch) -> Iterator[dict[str, Any]]:
        for batch in epoch:
            yield tensors(batch, self._pin_memory)

    def __len__(self) -> int:
        return len(self._loader)

    def state_dict(self) -> dict[str, Any]:
        """Where the job is: what was handed out. The same on every rank that took as many batches."""
        return self._loader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next iteration goes on at the next sample, with any world, batch size and threads."""
        if self._running is not None:
            self._running.close()
            self._running = None
        self._loader.load_state_dict(dict(state_dict))

    @property
    def current_epoch(self) -> int:
        """The epoch that runs, or the one to go on with."""
        return self._loader.current_epoch

    def stats(self) -> Stats:
        """Where the time goes."""
        return self._loader.stats()

    def ledger(self) -> _core.Ledger:
        """The digest of all samples handed out."""
        return self._loader.ledger()

    def expected(self, epoch: int) -> _core.Ledger:
        """What the ledgers of all ranks add up to for one whole epoch."""
        return self._loader.expected(epoch)

    def close(self) -> None:
        """Ends all work; batches that were given out stay."""
        if self._running is not None:
            self._running.close()
            self._running = None
        self._loader.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Dataset(torch.utils.data.IterableDataset[dict[str, Any]]):
    """For a `torch.utils.data.DataLoader`: samples as dicts of tensors; or, with `batch_size`, whole batches.

    Right alone, inside `DataLoader(num_workers=N)` and under torchrun: each sample comes once over all ranks and
    workers. Inside a DataLoader each worker is a process with threads of its own; `tarflume.torch.Loader` does
    the same in one process and copies less.

    With `batch_size`, give `DataLoader(dataset, batch_size=None)`: it would batch the batches.
    """

    def __init__(
        self,
        shards: _core.Shards,
        *,
        batch_size: int | None = None,
        transform: Callable[[dict[str, Any]], Any] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        self._shards = shards
        self._batch_size = batch_size
        self._transform = transform
        self._settings = _placed(settings)
        self._settings.setdefault("drop_last", False)
        self._epoch = 0
        # Opened here, so that what is wrong is said here. It starts no thread: workers may be forked.
        self._data = _core.Dataset(shards) if not isinstance(shards, list) else None

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next iteration goes through, in all workers that are started for it."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        info = torch.utils.data.get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        settings = dict(self._settings)
        settings["rank"] = settings["rank"] * workers + worker
        settings["world"] *= workers
        if workers > 1:
            settings.setdefault("threads", 1)
        rows = self._batch_size or 64
        epoch, self._epoch = self._epoch, self._epoch + 1
        with _core.Loader(self._shards, batch_size=rows, **settings) as loader:
            for batch in loader.epoch(epoch):
                made = tensors(batch)
                yield from [made] if self._batch_size else map(self._made, _rows(made, batch.rows))

    def _made(self, sample: dict[str, Any]) -> Any:
        return sample if self._transform is None else self._transform(sample)


def _rows(batch: dict[str, Any], rows: int) -> Iterator[dict[str, Any]]:
    for row in range(rows):
        yield {name: column[row] for name, column in batch.items()}


class MapDataset(torch.utils.data.Dataset[Any]):
    """Samples by number, for a `DistributedSampler`: dicts of `"__key__"` and the bytes of each part.

    parts: the extensions to read; all of them by default. transform: what becomes of each sample.
    """

    def __init__(
        self,
        shards: _core.Shards,
        *,
        parts: Sequence[str] | None = None,
        transform: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self._data = _core.Dataset(shards)
        self._parts = None if parts is None else list(parts)
        self._transform = transform

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, index: int) -> Any:
        sample = self._data[index] if self._parts is None else self._data.get(index, self._parts)
        return sample if self._transform is None else self._transform(sample)
