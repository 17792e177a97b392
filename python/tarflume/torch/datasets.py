"""`Dataset`: an iterable data set for a `torch.utils.data.DataLoader`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import torch
import torch.utils.data

from .. import _core
from ..calling import _called, _of_sample
from ..errors import UsageError
from . import place
from .around import Around, around
from .at import At
from .epochs import Epochs
from .keywords import refuse
from .tensors import Columns, tensors

__all__ = ["Dataset"]

#: Samples that are decoded at once where a data set yields samples.
ROWS = 64


class Dataset(torch.utils.data.IterableDataset[Any]):
    """Samples as dicts of tensors, without a batch dimension; or, with `batch_size`, whole batches.

    Works alone, inside `DataLoader(num_workers=N)` with forked, spawned or persistent workers, and under torchrun. The
    samples are divided among all ranks and workers, and all ranks have the same number of steps. Each worker is a
    process with its own threads; `tarflume.torch.Loader` does the same in one process and copies less.

    Takes the settings of `tarflume.Loader`, and:

    - `batch_size`: rows of a batch. Use it with `DataLoader(dataset, batch_size=None)`. With any number of workers the
      batches are those of `Loader` in the same order. Without `batch_size` the DataLoader makes batches of each worker's
      samples, and the order depends on the number of workers.
    - `drop_last`: with `batch_size` as in `Loader`. Without `batch_size`, one rank yields each sample once. With several
      ranks, all workers of all ranks yield the same number of samples: False (the default) repeats samples from the
      beginning of the epoch, and True leaves samples out, in both cases fewer than all ranks together have workers.
      With `divide="shard"`, the number is that of the worker with most samples, or with True that of the worker with
      fewest.
    - `transform`: a function that changes each sample, or each batch with `batch_size`.

    An iteration is an epoch: that of `set_epoch`, otherwise the one after the last that started, in all workers.

    `len()` is what an iteration of this rank yields, in all its workers: batches, or samples without `batch_size`. The
    length of a DataLoader is exact, too.

    `state_dict` and `load_state_dict` are for torchdata's StatefulDataLoader, which keeps the states of all workers. It
    continues at the next sample, and reads again at most the samples before it in the same group of 64.

    Hugging Face Accelerate, and with it the Trainer of transformers, gives an IterableDataset to all ranks and keeps of
    its samples those of the rank. The data set notices this, and then yields the samples of all ranks, so that each is
    delivered once. `Loader` is not changed by Accelerate: there each rank decodes its own samples only.
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
        refuse(settings)
        self._given = place.given(settings)
        self._carried: tuple[int, int] | None = None
        self._carried_around: Around | None = None
        self._dealer: str | None = None
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
        for word in ("mix", "mosaic", "copy_paste"):
            if batch_size is None and settings.get(word) is not None:
                raise UsageError(
                    f"{word}= mixes the rows of a batch, and this data set yields samples: give batch_size=, and "
                    "DataLoader(dataset, batch_size=None)"
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
        seen = self._seen()
        if seen.dispatches and not seen.splits:  # it fetches a batch for each rank, and takes the state before the last
            raise UsageError(
                "with dispatch_batches, Accelerate saves the state of a StatefulDataLoader some batches ahead, and these "
                "would be lost: resume with accelerate.skip_first_batches(loader, steps) and use_stateful_dataloader=False, "
                "or set dispatch_batches=False in DataLoaderConfiguration"
            )
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
        """What an iteration of this rank yields, in all its workers: batches, or samples without `batch_size`. Samples
        that `on_bad="skip"` leaves out are counted."""
        seen = self._seen()
        rank, world = self._placed(seen)
        info = torch.utils.data.get_worker_info()
        workers = max(1, seen.workers if seen.loaded or info is None else info.num_workers)
        if self._batch_size is not None and (self._dealer is not None or not self._by_shard):
            return self._steps(rank, world)
        if self._batch_size is not None:
            last = self._last(world)
            return sum(self._steps(n * world + rank, world * workers, drop_last=last) for n in range(workers))
        parts = [self._all()] if self._dealer else self._parts(rank, world, workers)
        if not seen.directly or seen.batch_size is None:
            return sum(parts)
        size = seen.batch_size
        # The DataLoader divides by this size again, and has a last batch of each worker.
        return size * sum(part // size if seen.drop_last else -(-part // size) for part in parts)

    def _all(self) -> int:
        """Samples of an epoch, of all ranks."""
        with self._open(0, 1, batch_size=1, num_threads=1) as loader:
            return loader.samples

    def _parts(self, rank: int, world: int, workers: int) -> list[int]:
        """Samples of each worker of this rank."""
        dealt = world * workers
        if world > 1:
            return [self._steps(rank, dealt)] * workers
        if self._by_shard:
            return [self._steps(worker, dealt, drop_last="uneven") for worker in range(workers)]
        each, more = divmod(self._all(), workers)
        return [each + (worker < more) for worker in range(workers)]

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

    def _seen(self) -> Around:
        """The layers around this data set. A spawned worker has those of the process that started it, too.

        Raises:
            UsageError: samples are dealt out twice, or a DataLoader makes batches of batches.
        """
        seen, carried = around(), self._carried_around
        if carried is not None and not seen.loaded and torch.utils.data.get_worker_info() is not None:
            dealer, block = seen.dealer, seen.block
            seen = carried if dealer is None else replace(carried, dealer=dealer, block=block)
        if seen.dealer is not None and self._given is not None and self._given[1] > 1:
            rank, world = self._given
            raise UsageError(
                f"rank={rank}, world_size={world}: {seen.dealer} deals the samples of this data set out to the ranks once "
                "more, and most samples would be lost. Leave rank= and world_size= out, or give each rank its own batches: "
                "loader = tarflume.torch.Loader(shards, batch_size=..., ...) without accelerator.prepare(loader)"
            )
        batched = seen.batch_size is not None and (seen.batch_size > 1 or seen.dealer is None)
        if self._batch_size is not None and batched:
            raise UsageError(
                f"batch_size={self._batch_size} of the data set and batch_size={seen.batch_size} of the DataLoader make "
                "batches of batches: leave batch_size= of the data set out, or write DataLoader(dataset, batch_size=None)"
            )
        self._dealer = seen.dealer or (self._dealer if not seen.loaded else None)
        return seen

    def _placed(self, seen: Around | None = None) -> tuple[int, int]:
        """Rank and world size. A spawned worker has no process group: it has those of the process that started it. A
        data set whose samples are dealt out by another layer yields those of all ranks."""
        if (seen or around()).dealer is not None:
            return 0, 1
        if self._given is not None:
            return self._given
        spawned = torch.utils.data.get_worker_info() is not None and not place.grouped()
        return self._carried if spawned and self._carried else place.rank_and_world_size()

    def __getstate__(self) -> dict[str, Any]:
        if torch.utils.data.get_worker_info() is not None:
            return self.__dict__
        seen = around()
        carried: dict[str, Any] = {"_carried_around": seen if seen.loaded else None, "_carried": None}
        if place.grouped():
            carried["_carried"] = place.rank_and_world_size()
        return self.__dict__ | carried

    def __iter__(self) -> Iterator[Any]:
        seen = self._seen()
        rank, world = self._placed(seen)
        at, resumed = At(self._epochs.begin(), rank, world, *_worker()), self._resumed
        if seen.dealer is not None:
            self._check_dealt(seen, at.workers)
            at.block = seen.block if self._batch_size is None else 1
        if resumed is not None:
            resumed.belongs(at)
            at, self._resumed = resumed, None
        self._at = at
        if self._batch_size is not None:
            made = self._whole(at)
        else:
            made = self._dealt(at) if at.block else self._samples(at)
        # Not `map`, which ends without an error if the function raises StopIteration.
        return (self._made(sample) for sample in made)

    def _check_dealt(self, seen: Around, workers: int) -> None:
        """
        Raises:
            UsageError: Accelerate would lose rows: it divides the rows of batches by the number of ranks, and drops the rest
                of all but the last. Other batches are smaller where bad samples are left out.
        """
        smaller = self._batch_size is not None or workers > 1
        if seen.dispatches and smaller and self._settings.get("on_bad") == "skip":
            raise UsageError(
                'on_bad="skip" makes smaller batches, of which Accelerate loses rows when it dispatches them: write '
                'on_bad="substitute", or DataLoaderConfiguration(dispatch_batches=False) without batch_size= of the data '
                "set, or use tarflume.torch.Loader"
            )

    def _made(self, sample: dict[str, Any]) -> Any:
        if self._transform is None:
            return sample
        return _called(self._transform, sample, partial(_of_sample, "transform=", self._transform, sample))

    def _whole(self, at: At) -> Iterator[Columns]:
        for batch in self._batches(at, self._batch_size or 1, self._drop_last):
            at.batches += 1
            yield tensors(batch)

    def _dealt(self, at: At) -> Iterator[Columns]:
        """This worker's samples of all ranks, which another layer deals out. Workers take turns by as many samples as
        that layer takes together: so no worker but one has a rest that is smaller."""
        for batch in self._batches(at, at.block, False):
            yield from self._rows(batch, at)

    def _batches(self, at: At, rows: int, drop_last: bool | str) -> Iterator[_core.Batch]:
        """This worker's batches of `rows` rows: with N workers, every Nth of the rank's. The order sees each worker as
        one more rank. The first workers of all ranks come first, so that the batches of a worker are whole batches of
        its rank.
        """
        rank, world, worker, count = at.rank, at.world, at.worker, at.workers
        mine = worker * world + rank, world * count, count
        words: dict[str, Any] = {"batch_size": rows}
        if at.block:
            words["divide"] = "sample"
        if count == 1 or (self._by_shard and not at.block):
            last = "uneven" if world == 1 and drop_last is False else drop_last
            with self._open(*mine, **words, drop_last=last) as loader:
                if at.batches < len(loader):
                    yield from self._from(loader, at, rows, mine[1])
            return
        with self._open(rank, world, count, **words, drop_last=drop_last) as alone:
            whole = world * rows
            full = drop_last in (True, "pad")
            steps = len(alone) if full else alone.samples // whole
            own = max(0, -((worker - steps) // count))
            with self._open(*mine, **words, drop_last="pad") as loader:
                # Only the last of the first `steps` batches may have padding, with "pad": the same as without workers.
                if at.batches < own:
                    yield from islice(self._from(loader, at, rows, mine[1]), own - at.batches)
            if not full and worker == steps % count and at.batches == own:
                # The last, shorter batch is that of a loader without workers.
                alone.load_state_dict(alone.state_dict() | {"epoch": at.epoch, "position": steps * whole})
                yield from alone.epoch(at.epoch)

    def _samples(self, at: At) -> Iterator[Columns]:
        """This worker's samples. With several ranks, all workers of all ranks have the same number."""
        rank, dealt = at.worker * at.world + at.rank, at.world * at.workers
        most = self._steps(rank, dealt) if at.world > 1 and self._drop_last else None
        last = "uneven" if self._drop_last else self._last(at.world)
        with self._open(rank, dealt, at.workers, batch_size=ROWS, drop_last=last) as loader:
            if at.batches >= len(loader):
                return
            for batch in self._from(loader, at, ROWS, dealt):
                yield from self._rows(batch, at, most)
                if most is not None and at.samples >= most:
                    return

    def _rows(self, batch: _core.Batch, at: At, most: int | None = None) -> Iterator[Columns]:
        """The samples of a batch, from the row of the state on, until the worker has yielded `most`."""
        columns = tensors(batch)
        for row in range(at.rows, batch.rows):
            if most is not None and at.samples >= most:
                return
            at.samples, at.rows = at.samples + 1, row + 1
            yield Columns((name, column[row]) for name, column in columns.items())
        at.batches, at.rows = at.batches + 1, 0


def _worker() -> tuple[int, int]:
    """The number of this worker of a DataLoader, and the number of workers."""
    info = torch.utils.data.get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)
