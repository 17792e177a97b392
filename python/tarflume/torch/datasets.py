"""`Dataset` and `MapDataset`: data sets for a `torch.utils.data.DataLoader`."""

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

#: Samples that are decoded at once where a data set yields samples.
ROWS = 64


class Dataset(torch.utils.data.IterableDataset[Any]):
    """Samples as dicts of tensors, without a batch dimension; or, with `batch_size`, whole batches.

    Works alone, inside `DataLoader(num_workers=N)` with forked, spawned or persistent workers, and under torchrun. The
    samples are divided among all ranks and workers, and all ranks have the same number of steps. Each worker is a
    process with its own threads; `tarflume.torch.Loader` does the same in one process and copies less.

    Takes the settings of `tarflume.Loader`, and:

    - `batch_size`: rows of a batch. Use it with `DataLoader(dataset, batch_size=None)`. With any number of workers the
      batches are those of `Loader` in the same order, and `len()` is their number. Without `batch_size` the DataLoader
      makes batches of each worker's samples: the order depends on the number of workers, and there is no `len()`.
    - `drop_last`: with `batch_size` as in `Loader`. Without `batch_size`, one rank yields each sample once. With several
      ranks, all workers of all ranks yield the same number of samples: False (the default) repeats samples from the
      beginning of the epoch, and True leaves samples out, in both cases fewer than all ranks together have workers.
      With `divide="shard"`, the number is that of the worker with most samples, or with True that of the worker with
      fewest.
    - `transform`: a function that changes each sample, or each batch with `batch_size`.

    An iteration is an epoch: that of `set_epoch`, otherwise the one after the last that started, in all workers.

    `state_dict` and `load_state_dict` are for torchdata's StatefulDataLoader, which keeps the states of all workers. It
    continues at the next sample, and reads again at most the samples before it in the same group of 64.

    Hugging Face Accelerate itself divides the samples of an IterableDataset among all ranks. Give such a data set
    `rank=0, world_size=1` and a `transform` that removes columns that are not tensors, such as keys; or use `Loader`,
    which Accelerate does not change.
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
        _refuse(settings)
        self._given = place.given(settings)
        self._carried: tuple[int, int] | None = None
        self._shards, self._settings = shards, settings
        self._batch_size, self._transform = batch_size, transform
        self._drop_last = settings.pop("drop_last", False)
        self._by_shard = settings.get("divide") == "shard"
        self._epochs = Epochs()
        self._at: At | None = None
        self._resumed: At | None = None
        self._identity: dict[str, Any] | None = None
        if batch_size is None and self._drop_last not in (True, False):
            raise UsageError(
                f"drop_last= takes True or False where a data set yields samples, not {self._drop_last!r}; others need "
                "batch_size="
            )
        self._steps(*(self._given or place.early_rank_and_world_size()))  # wrong settings are errors here

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration. It starts at the beginning, or at a state of this epoch that was loaded.
        Persistent workers see it, too."""
        self._epochs.set(epoch)
        if self._resumed is not None and self._resumed.epoch != epoch:
            self._resumed = None

    def state_dict(self) -> dict[str, Any]:
        """The position of this worker's iteration: what it yielded. Numbers and strings, for this rank and worker."""
        at = self._at or At(self._epochs.following(), *self._placed(), *_worker())
        return {"data": self._whose(), "batch_size": self._batch_size, **at.state()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next iteration continues at the next sample. Rank, world size, worker and number of workers must be those
        of the state.

        Raises:
            tarflume.Error: the state has other data, order, batch size, rank or number of workers.
        """
        at, data = At.of(state_dict), state_dict.get("data")
        if state_dict.get("batch_size") != self._batch_size:
            raise UsageError(
                f"this state was taken with batch_size={state_dict.get('batch_size')}, and this data set has "
                f"batch_size={self._batch_size}: give the same, or use tarflume.torch.Loader, which continues with any"
            )
        with self._open(*self._placed(), batch_size=self._batch_size or 1, drop_last=False, num_threads=1) as loader:
            loader.load_state_dict({**(data if isinstance(data, dict) else {}), "epoch": at.epoch, "position": 0})
        self._epochs.set(at.epoch)
        self._resumed = at

    def _whose(self) -> dict[str, Any]:
        """The state of the core loader, which identifies data and order."""
        if self._identity is None:
            with self._open(*self._placed(), batch_size=self._batch_size or 1, drop_last=False, num_threads=1) as loader:
                self._identity = loader.state_dict()
        return self._identity

    def _from(self, loader: _core.Loader, at: At, batch: int, dealt: int) -> _core.Epoch:
        """The epoch from the next batch on, where `dealt` loaders take batches of `batch` rows."""
        if at.batches:
            position = at.batches * batch * dealt
            loader.load_state_dict(loader.state_dict() | {"epoch": at.epoch, "position": position})
        return loader.epoch(at.epoch)

    def __len__(self) -> int:
        """Batches of an epoch on this rank.

        Raises:
            TypeError: without `batch_size` or with `divide="shard"`, where it depends on the number of workers.
        """
        if self._batch_size is None or self._by_shard:
            raise TypeError(
                'a data set without batch_size=, or with divide="shard", has no len(): its batches depend on the '
                "DataLoader's workers"
            )
        return self._steps(*self._placed())

    def _last(self, world: int) -> bool | str:
        """`drop_last` of a loader that is one of several workers. To it, workers are ranks, and one rank repeats none."""
        return "uneven" if world == 1 and self._drop_last is False else self._drop_last

    def _open(self, rank: int, world: int, workers: int = 1, **settings: Any) -> _core.Loader:
        settings = self._settings | {"rank": rank, "world_size": world} | settings
        loader = _core.Loader(self._shards, **place.threads(settings, workers))
        if loader.selection is not None:
            self._settings["select"] = loader.selection  # a table may be readable once only
        return loader

    def _steps(self, rank: int, world: int, **settings: Any) -> int:
        """Batches of this rank; without `batch_size`, samples of this rank."""
        words = {"batch_size": self._batch_size or 1, "drop_last": self._drop_last, "num_threads": 1} | settings
        with self._open(rank, world, **words) as loader:
            return len(loader)

    def _placed(self) -> tuple[int, int]:
        """Rank and world size. A spawned worker has no process group: it has those of the process that started it."""
        if self._given is not None:
            return self._given
        spawned = torch.utils.data.get_worker_info() is not None and not place.grouped()
        return self._carried if spawned and self._carried else place.rank_and_world_size()

    def __getstate__(self) -> dict[str, Any]:
        if place.grouped():
            return self.__dict__ | {"_carried": place.rank_and_world_size()}
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
        """This worker's batches: with N workers, every Nth of the rank's. The order sees each worker as one more rank.
        The first workers of all ranks come first, so that the batches of a worker are whole batches of its rank.
        """
        rank, world, worker, count = at.rank, at.world, at.worker, at.workers
        mine = worker * world + rank, world * count, count
        rows = self._batch_size or 1
        words: dict[str, Any] = {"batch_size": rows}
        if count == 1 or self._by_shard:
            with self._open(*mine, **words, drop_last=self._last(world)) as loader:
                if at.batches < len(loader):
                    yield from self._counted(self._from(loader, at, rows, mine[1]), at)
            return
        with self._open(rank, world, count, **words, drop_last=self._drop_last) as alone:
            whole = world * rows
            full = self._drop_last in (True, "pad")
            steps = len(alone) if full else alone.samples // whole
            own = max(0, -((worker - steps) // count))
            with self._open(*mine, **words, drop_last="pad") as loader:
                # Only the last of the first `steps` batches may have padding, with "pad": the same as without workers.
                if at.batches < own:
                    yield from self._counted(islice(self._from(loader, at, rows, mine[1]), own - at.batches), at)
            if not full and worker == steps % count and at.batches == own:
                # The last, shorter batch is that of a loader without workers.
                alone.load_state_dict(alone.state_dict() | {"epoch": at.epoch, "position": steps * whole})
                yield from self._counted(alone.epoch(at.epoch), at)

    def _counted(self, batches: Iterator[_core.Batch], at: At) -> Iterator[dict[str, Any]]:
        for batch in batches:
            at.batches += 1
            yield tensors(batch)

    def _samples(self, at: At) -> Iterator[dict[str, Any]]:
        """This worker's samples. With several ranks, all workers of all ranks have the same number."""
        rank, dealt = at.worker * at.world + at.rank, at.world * at.workers
        most = self._steps(rank, dealt) if at.world > 1 and self._drop_last else None
        last = "uneven" if self._drop_last else self._last(at.world)
        with self._open(rank, dealt, at.workers, batch_size=ROWS, drop_last=last) as loader:
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


#: Keywords of a DataLoader, and what to write in their place.
_OF_A_DATALOADER = {
    **dict.fromkeys(
        ("num_workers", "persistent_workers", "worker_init_fn", "multiprocessing_context", "timeout", "prefetch_factor",
         "pin_memory", "pin_memory_device", "in_order"),
        "it belongs to the DataLoader: DataLoader(dataset, batch_size=None, {name}=...)",
    ),
    **dict.fromkeys(
        ("sampler", "batch_sampler"),
        "shuffle= and seed= determine the order here; tarflume.torch.MapDataset takes samplers",
    ),
    "collate_fn": "it belongs to the DataLoader; transform=function changes each sample here, or each batch with batch_size=",
    **dict.fromkeys(
        ("deliver", "collate"), "it belongs to tarflume.torch.Loader; transform=function changes each sample or batch here"
    ),
}  # fmt: skip


def _refuse(settings: Mapping[str, Any]) -> None:
    for name in settings:
        if name in _OF_A_DATALOADER:
            instead = _OF_A_DATALOADER[name].format(name=name)
            raise UsageError(f"tarflume.torch.Dataset takes no {name}=; {instead}")


def _worker() -> tuple[int, int]:
    """The number of this worker of a DataLoader, and the number of workers."""
    info = torch.utils.data.get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)


class MapDataset(Samples, torch.utils.data.Dataset[Any]):
    """Samples by number, for a `DistributedSampler` and other samplers. `parts` are the extensions to read, and
    `transform` is a function that changes each sample."""
