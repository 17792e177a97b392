"""`Dataset` and `MapDataset`: for a `torch.utils.data.DataLoader`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import torch
import torch.utils.data

from .. import _core
from ..errors import UsageError
from ..samples import Samples
from . import place
from .at import At
from .epochs import Epochs
from .tensors import tensors

__all__ = ["Dataset", "MapDataset"]

#: Samples that are decoded together where samples are asked for one by one.
ROWS = 64


class Dataset(torch.utils.data.IterableDataset[Any]):
    """Samples as dicts of tensors, without a batch dimension; or, with `batch_size`, whole batches.

    Right alone, inside `DataLoader(num_workers=N)`, forked, spawned or persistent, and under torchrun: each sample
    comes once over all ranks and workers, and all ranks have the same number of steps. Each worker is a process
    with threads of its own; `tarflume.torch.Loader` does the same in one process and copies less.

    Takes what `tarflume.Loader` takes, and:

    - `batch_size`: rows of a batch. Give `DataLoader(dataset, batch_size=None)` then: it would batch the batches.
      With any number of workers it gives the batches of `Loader`, in the same order, and knows its `len()`, in
      batches. Without `batch_size` the DataLoader makes batches, of each worker's samples separately: the order
      depends on the number of workers, and there is no `len()`.
    - `drop_last`: with `batch_size` as in `Loader`. Without, nothing is ever left out on one rank; on more ranks
      True (the default) leaves out fewer samples than there are workers on all ranks together, so that all have
      as many; False deals them, and ranks may differ. `split="shard"` leaves out what ranks have more than others.
    - `transform`: what becomes of each sample, or of each batch with `batch_size`.

    An iteration is an epoch: that of `set_epoch`, else the one after the last that was begun, in all workers.

    `state_dict` and `load_state_dict` are for torchdata's StatefulDataLoader, which keeps those of all workers: it goes
    on at the next sample, and nothing before it is read again but what stands in the same group of 64 samples.

    Hugging Face Accelerate deals the samples of a DataLoader of an IterableDataset out to all ranks itself: give
    such a data set `rank=0, world=1`, and a `transform` that leaves out what is no tensor, such as keys; or take
    `Loader`, which it leaves alone.
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
        self._given = place.given(settings)
        self._carried: tuple[int, int] | None = None
        self._shards, self._settings = shards, settings
        self._batch_size, self._transform = batch_size, transform
        self._drop_last = settings.pop("drop_last", True)
        self._by_shard = settings.get("split") == "shard"
        self._epochs = Epochs()
        self._at: At | None = None
        self._resumed: At | None = None
        self._identity: dict[str, Any] | None = None
        if batch_size is None and self._drop_last not in (True, False):
            raise UsageError('drop_last is True or False where samples come one by one; "pad" needs batch_size=')
        self._steps(*(self._given or place.early_rank_and_world()))  # what is wrong is said here

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next iteration goes through: from its beginning, or, if a state of this epoch was
        loaded, from there. Workers that live on see it, too."""
        self._epochs.set(epoch)
        if self._resumed is not None and self._resumed.epoch != epoch:
            self._resumed = None

    def state_dict(self) -> dict[str, Any]:
        """Where this worker's iteration is: what it handed out. Numbers and strings, of this rank and worker alone."""
        at = self._at or At(self._epochs.following(), *self._placed(), *_worker())
        return {"data": self._whose(), "batch_size": self._batch_size, **at.state()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next iteration, in the same rank and worker of as many, goes on at the next sample.

        Raises:
            tarflume.Error: the state is of other data, order, batch size, rank or number of workers.
        """
        at, data = At.of(state_dict), state_dict.get("data")
        if state_dict.get("batch_size") != self._batch_size:
            raise UsageError(
                f"this state was taken with batch_size={state_dict.get('batch_size')}, and this data set has "
                f"batch_size={self._batch_size}: give the same, or take tarflume.torch.Loader, whose states go on with any"
            )
        with self._open(*self._placed(), batch_size=self._batch_size or 1, drop_last=False, threads=1) as loader:
            loader.load_state_dict({**(data if isinstance(data, dict) else {}), "epoch": at.epoch, "position": 0})
        self._epochs.set(at.epoch)
        self._resumed = at

    def _whose(self) -> dict[str, Any]:
        """What a state of the core loader says of data and order."""
        if self._identity is None:
            with self._open(*self._placed(), batch_size=self._batch_size or 1, drop_last=False, threads=1) as loader:
                self._identity = loader.state_dict()
        return self._identity

    def _from(self, loader: _core.Loader, at: At, batch: int, dealt: int) -> _core.Epoch:
        """The epoch from the batch on that is next, where `dealt` loaders take batches of `batch` rows."""
        if at.batches:
            position = at.batches * batch * dealt
            loader.load_state_dict(loader.state_dict() | {"epoch": at.epoch, "position": position})
        return loader.epoch(at.epoch)

    def __len__(self) -> int:
        """Batches of an epoch on this rank.

        Raises:
            TypeError: samples come one by one, or `split="shard"`: it depends on the number of workers then.
        """
        if self._batch_size is None or self._by_shard:
            raise TypeError(
                'a data set without batch_size=, or with split="shard", has no len(): its batches depend on the '
                "DataLoader's workers"
            )
        return self._steps(*self._placed())

    def _open(self, rank: int, world: int, workers: int = 1, **settings: Any) -> _core.Loader:
        settings = self._settings | {"rank": rank, "world": world} | settings
        return _core.Loader(self._shards, **place.threads(settings, workers))

    def _steps(self, rank: int, world: int, **settings: Any) -> int:
        """Batches of this rank; or samples that every rank has, where samples come one by one."""
        words = {"batch_size": self._batch_size or 1, "drop_last": self._drop_last, "threads": 1} | settings
        with self._open(rank, world, **words) as loader:
            return len(loader)

    def _placed(self) -> tuple[int, int]:
        """Rank and world. A spawned worker is in no process group: it has those of the process that started it."""
        if self._given is not None:
            return self._given
        spawned = torch.utils.data.get_worker_info() is not None and not place.grouped()
        return self._carried if spawned and self._carried else place.rank_and_world()

    def __getstate__(self) -> dict[str, Any]:
        if place.grouped():
            return self.__dict__ | {"_carried": place.rank_and_world()}
        return self.__dict__ if torch.utils.data.get_worker_info() else self.__dict__ | {"_carried": None}

    def __iter__(self) -> Iterator[Any]:
        rank, world = self._placed()
        at, resumed = At(self._epochs.begin(), rank, world, *_worker()), self._resumed
        if resumed is not None:
            resumed.belongs(at)
            at, self._resumed = resumed, None
        self._at = at
        made = self._samples if self._batch_size is None else self._batches
        return map(self._made, made(at))

    def _made(self, sample: dict[str, Any]) -> Any:
        return sample if self._transform is None else self._transform(sample)

    def _batches(self, at: At) -> Iterator[dict[str, Any]]:
        """This worker's batches: with N workers, every Nth of the rank's. To the order a worker is one more rank:
        those of the first worker on all ranks come first, so that a worker's batches are whole ones of its rank.
        """
        rank, world, worker, count = at.rank, at.world, at.worker, at.workers
        mine = worker * world + rank, world * count, count
        rows = self._batch_size or 1
        words: dict[str, Any] = {"batch_size": rows}
        if count == 1 or self._by_shard:
            with self._open(*mine, **words, drop_last=self._drop_last) as loader:
                if at.batches < len(loader):
                    yield from self._counted(self._from(loader, at, rows, mine[1]), at)
            return
        with self._open(rank, world, count, **words, drop_last=self._drop_last) as alone:
            whole = world * rows
            steps = len(alone) if self._drop_last else alone.samples // whole
            own = max(0, -((worker - steps) // count))
            with self._open(*mine, **words, drop_last="pad") as loader:
                # None of the first `steps` batches has padding, but the last one with "pad": the same as alone.
                if at.batches < own:
                    yield from self._counted(islice(self._from(loader, at, rows, mine[1]), own - at.batches), at)
            if not self._drop_last and worker == steps % count and at.batches == own:
                # The samples that are left are dealt to the ranks alone.
                alone.load_state_dict(alone.state_dict() | {"epoch": at.epoch, "position": steps * whole})
                yield from self._counted(alone.epoch(at.epoch), at)

    def _counted(self, batches: Iterator[_core.Batch], at: At) -> Iterator[dict[str, Any]]:
        for batch in batches:
            at.batches += 1
            yield tensors(batch)

    def _samples(self, at: At) -> Iterator[dict[str, Any]]:
        """This worker's samples; no more of them than the workers of all ranks have."""
        rank, dealt = at.worker * at.world + at.rank, at.world * at.workers
        most = self._steps(rank, dealt) if at.world > 1 and self._drop_last else None
        with self._open(rank, dealt, at.workers, batch_size=ROWS, drop_last=False) as loader:
            if at.batches >= len(loader):
                return
            for batch in self._from(loader, at, ROWS, dealt):
                columns, again = tensors(batch), at.rows
                for row in range(again, batch.rows):
                    if most is not None and at.samples >= most:
                        return
                    at.samples, at.rows = at.samples + 1, row + 1
                    yield {name: column[row] for name, column in columns.items()}
                at.batches, at.rows = at.batches + 1, 0


def _worker() -> tuple[int, int]:
    """This worker of a DataLoader, and how many there are."""
    info = torch.utils.data.get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)


class MapDataset(Samples, torch.utils.data.Dataset[Any]):
    """Samples by number, for a `DistributedSampler` and other samplers: as `Samples` has them. `parts` are the
    extensions to read, `transform` what becomes of each sample."""
