"""`Loader`: batches as dicts of tensors, with the interface of torchdata's StatefulDataLoader."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import length_hint
from time import perf_counter
from typing import Any, Literal

import torch
import torch.utils.data

from .. import _core
from ..calling import _called, _name
from ..errors import UsageError
from ..statistics import Stats
from . import place
from .gradients import gradient_state
from .steps import Batches, Steps, only
from .tensors import Columns, tensors

__all__ = ["Loader"]


_INSTEAD = (
    "its threads already make batches, so iterate over the Loader itself, or put a tarflume.torch.Dataset (with samplers, "
    "a MapDataset) into the DataLoader"
)


class Loader:
    """Yields batches as dicts of tensors, as a DataLoader does, without worker processes.

    Takes the settings of `tarflume.Loader`, and those below. An iteration is an epoch: that of `set_epoch`, otherwise
    that of a loaded state, otherwise the one after the last. An epoch that was left early is over. Only one iteration
    runs at a time. `len()` is the number of steps of a whole epoch on this rank.

    `state_dict` and `load_state_dict` are those of StatefulDataLoader. They work at any time: in an epoch, between two,
    before the first iteration and after the last. The state counts batches that were delivered, not those in
    preparation.

    Where an `Accelerator` of Hugging Face Accelerate exists, its `accumulate()` sees the last batch of an epoch, and
    `gather_for_metrics` leaves out repeated rows. `sampler`, `batch_sampler`, `dataset` and `collate_fn` are what other
    trainers ask a DataLoader for: by them Lightning sets the epoch, and `skip_first_batches` of Accelerate continues
    without decoding what it skips. docs/FRAMEWORKS.md has the lines for each trainer.

    Rank and world size are determined when an iteration begins, so a loader can be made before the process group.
    With torchrun, `num_threads` is by default this process's share of the cores.

    With `drop_last=False` (the default) and several ranks, the last batch has the same number of rows on all ranks, and
    the last ranks repeat fewer than `world_size` samples from the beginning of the epoch, as `DistributedSampler` does.
    `tarflume.Loader` describes the other values.

    pin_memory: copies each batch into pinned memory, so copies to a GPU can be asynchronous. Without an accelerator it
    warns and does nothing.

    device: "cuda:1", or "cuda": PyTorch's current device if PyTorch already uses one, otherwise the only visible one,
    otherwise that of `LOCAL_RANK` (or of Slurm's or MPI's variable). `stats()["device"]` contains the choice. Batches are
    copied to the GPU before they are needed, with their boxes, masks and keypoints. Texts, files and other rows of different
    lengths stay in host memory. Only the stream that is current when a batch is taken waits for its copy.

    deliver: "torch" (the default) copies each column inside the GPU into PyTorch's memory, so tensors follow all of
    PyTorch's rules. "ring" returns views of the device slots without this copy. Use such tensors on the stream that
    was current, and drop them before the next batches are needed, otherwise the loader allocates more slots. "tuple"
    copies as "torch" does, and yields the columns in the order in which they were given, without the keys:
    `for images, labels in loader`.

    Batches are dicts; unpacking one (`for images, labels in loader`) is an error, which names `deliver="tuple"`. With
    "dict" they are plain dicts, which unpack into names.

    transform: a function that changes each batch, a dict of tensors, before it is delivered. It runs in the consumer's
    thread; `stats()` shows its time as stage `transform`. `tarflume.Apply` is the same for each sample.

    collate: a function that is called with what `deliver` and `transform` make of each batch. The loader yields what it
    returns.
    """

    #: The column that says which sample is in each row.
    _identity = "key"
    #: What to use in a DataLoader.
    _instead = _INSTEAD

    def __init__(
        self,
        shards: _core.Shards,
        *,
        pin_memory: bool = False,
        deliver: Literal["torch", "ring", "tuple", "dict"] = "torch",
        transform: Callable[[dict[str, Any]], Any] | None = None,
        collate: Callable[[Any], Any] | None = None,
        **settings: Any,
    ) -> None:
        self._given = place.given(settings)
        self._shards, self._settings = shards, place.threads(settings)
        if deliver not in ("torch", "ring", "tuple", "dict"):
            raise UsageError(f'deliver={deliver!r} is not known; there are "torch", "ring", "tuple", "dict"')
        if collate is not None and not callable(collate):
            raise UsageError(f"collate= takes a function of a batch, not {collate!r}")
        self._own = deliver != "ring"
        self._tuple, self._dict, self._collate = deliver == "tuple", deliver == "dict", collate
        self._pin_memory = pin_memory and _can_pin()
        self._transform = transform
        self._place = self._given or place.early_rank_and_world_size()
        self._loader = self._open()
        if self._loader.selection is not None:
            self._settings = self._settings | {"select": self._loader.selection}  # a table may be readable once only
        self._epoch: int | None = None
        self._begun: int | None = None
        self._fresh = True
        self._running: _core.Epoch | None = None
        #: For Accelerate: whether the last batch of the epoch was delivered, and the rows of the last batch on all ranks
        #: together that are no repetition; 0 if all are, -1 if this is unknown.
        self.end_of_dataloader, self.remainder = False, -1
        #: What `dataset` returned last. A reference would be a cycle, and a loader that is dropped would not end.
        self._batches: weakref.ref[Batches] | None = None
        #: For code that asks a DataLoader for them.
        self.batch_size, self.drop_last, self.collate_fn = None, False, only
        self.num_workers, self.prefetch_factor = 0, None

    @property
    def dataset(self) -> Batches:
        """The batches by step, for code that asks a DataLoader for its data set."""
        batches = None if self._batches is None else self._batches()
        if batches is None:
            batches = Batches(self)
            self._batches = weakref.ref(batches)
        return batches

    @property
    def sampler(self) -> Steps:
        """The steps of an epoch, for code that asks a DataLoader for its sampler."""
        return Steps(self, self.dataset)

    @property
    def batch_sampler(self) -> Steps:
        """The same as `sampler`: each step is a batch."""
        return self.sampler

    def _open(self) -> _core.Loader:
        rank, world = self._place
        return _core.Loader(self._shards, rank=rank, world_size=world, **self._settings)

    def _placed(self) -> _core.Loader:
        """The loader of the current rank of this process."""
        now = self._given or place.rank_and_world_size()
        if now != self._place:
            before, self._place = self._loader, now
            self._loader = self._open()
            if not self._fresh:
                self._loader.load_state_dict(before.state_dict())
            before.close()
        return self._loader

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration. It starts at the beginning, or at a state of this epoch that was
        loaded."""
        if epoch < 0:
            raise UsageError(f"epoch {epoch}: epochs are counted from 0")
        self._epoch = epoch

    def epoch(self, epoch: int) -> Iterator[Any]:
        """The batches of epoch number `epoch`: `set_epoch(epoch)` and an iteration."""
        self.set_epoch(epoch)
        return iter(self)

    def __iter__(self) -> Iterator[Any]:
        """The epoch begins when the first batch is requested: an iterator that is dropped unused has no effect."""
        return self._iterate()

    def _iterate(self, step: int = 0) -> Iterator[Any]:
        """The batches of the next epoch, or of a loaded state; from step `step` of the epoch on if that is not 0."""
        info = torch.utils.data.get_worker_info()
        if info is not None and info.num_workers > 1:
            raise UsageError(
                f"a {self._name} in each of {info.num_workers} workers of a DataLoader yields every batch "
                f"{info.num_workers} times: {self._instead}"
            )
        loader = self._placed()
        self._end_running()
        if step and self._fresh and self._epoch is None:
            raise UsageError(
                f"step {step} of which epoch? Before skip_first_batches write loader.set_epoch(epoch), or load a state "
                "with loader.load_state_dict(state), which needs no skip_first_batches"
            )
        self._fresh = False
        epoch, self._epoch = self._next_epoch(), None
        if step:
            at = {"epoch": epoch, "position": step * self._settings.get("batch_size", 1) * self._place[1]}
            loader.load_state_dict(loader.state_dict() | at)
        running = self._running = loader.epoch(epoch)
        last = self._last_rows(loader, running)
        state = gradient_state()
        self.end_of_dataloader, self.remainder = False, -1
        if state is not None:
            state._add_dataloader(self)
        try:
            yield from self._delivered(running, last)
        finally:
            if state is not None and self._running in (None, running):
                state._remove_dataloader(self)

    def _delivered(self, running: _core.Epoch, last: int) -> Iterator[Any]:
        with running:
            for batch in running:
                self._begun = running.number
                if not length_hint(running):
                    self.end_of_dataloader, self.remainder = True, last
                # No variable here may hold the tensors while the next batch is awaited: with deliver="ring" it would
                # keep their slot, and the ring would have one slot less.
                box = [tensors(batch, self._pin_memory, self._own)]
                batch.release()
                yield box.pop() if self._plain else self._changed(box.pop(), running, batch.step)
                if self._running is not running:
                    break
        if self._running is not running:
            raise UsageError(
                f"this iteration of epoch {running.number} was ended by another one, by load_state_dict() or by close(): "
                "a loader has one iteration at a time; make a second loader for a second one"
            )
        self._running = None

    def _last_rows(self, loader: _core.Loader, running: _core.Epoch) -> int:
        """The rows of the last batch, on all ranks together, that are no repetition: see `remainder`."""
        world, rows = self._place[1], self._settings.get("batch_size", 1) * self._place[1]
        if self._settings.get("divide") == "shard" and world > 1:
            return -1
        drop_last = self._settings.get("drop_last", False)
        left = loader.samples - loader.state_dict()["position"] - (length_hint(running) - 1) * rows
        return left if drop_last in (False, "pad") and 0 < left < rows else 0

    def __getitem__(self, index: object) -> Any:
        """The method by which a DataLoader reads a data set.

        Raises:
            UsageError: always; the text names the classes to use instead.
        """
        raise UsageError(f"a {self._name} cannot be the data set of a DataLoader: {self._instead}")

    @property
    def _name(self) -> str:
        """The class, as users write it."""
        return f"tarflume.torch.{type(self).__name__}"

    @property
    def _plain(self) -> bool:
        """Whether batches are delivered as they are."""
        return self._transform is None and self._collate is None and not self._tuple and not self._dict

    def _changed(self, batch: dict[str, Any], running: _core.Epoch, step: int) -> Any:
        """The batch after `transform`, as a tuple if wanted, and after `collate`."""
        begun = perf_counter()
        made: Any = batch
        if self._transform is not None:
            made = _called(self._transform, batch, partial(_of_batch, "transform=", self._transform, running, step))
        if self._tuple:
            made = _columns(made, self._identity)
        elif self._dict and isinstance(made, Columns):
            made = dict(made)
        if self._collate is not None:
            made = _called(self._collate, made, partial(_of_batch, "collate=", self._collate, running, step))
        if self._transform is not None or self._collate is not None:
            running.charge(perf_counter() - begun)
        return made

    def _next_epoch(self) -> int:
        """The epoch of an iteration: a running one is current, and it is over once it is left."""
        if self._epoch is not None:
            return self._epoch
        current = self._loader.current_epoch
        return current + 1 if self._begun == current else current

    def _end_running(self) -> None:
        if self._running is not None:
            self._running.close()
            self._running = None

    def __len__(self) -> int:
        return len(self._placed())

    @property
    def steps_left(self) -> int:
        """Steps on this rank until the epoch ends: of the one that runs, otherwise of the next iteration. It is less than
        `len()` after a state that was saved in an epoch was loaded."""
        if self._running is not None:
            return length_hint(self._running)
        loader = self._placed()
        return loader.steps_of(self._next_epoch())

    def state_dict(self) -> dict[str, Any]:
        """The position of the job: a dict of a few numbers and strings, which counts batches that were delivered. After
        the last batch of an epoch it is the beginning of the next. It is the same on every rank that took as many
        batches: save one."""
        return self._placed().state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next iteration continues at the next sample, with any world size, batch size and number of threads.

        Raises:
            tarflume.Error: the state has another data set, shuffle, seed or selection. The loader does not change.
        """
        self._placed().load_state_dict(dict(state_dict))
        self._end_running()
        self._epoch = self._begun = None
        self._fresh = False

    @property
    def classes(self) -> dict[int, str] | None:
        """The classes, names by id, or None: those that `pack build --label` found."""
        return self._loader.classes

    @property
    def current_epoch(self) -> int:
        """The running epoch, or the one that the next iteration continues."""
        return self._loader.current_epoch

    @property
    def samples(self) -> int:
        """Samples of an epoch, on all ranks together."""
        return self._loader.samples

    @property
    def resident(self) -> dict[str, int] | None:
        """GPU memory of a resident data set, in bytes; None without `resident=`."""
        return self._loader.resident

    def preload(self, progress: Callable[[int, int], object] | None = None) -> None:
        """Loads a resident data set into GPU memory; otherwise the first epoch does. `progress(loaded, all samples)`."""
        self._placed().preload(progress)

    def stats(self) -> Stats:
        """Where the time goes: a dict that prints as a table."""
        return self._loader.stats()

    def bad_samples(self) -> list[dict[str, Any]]:
        """All bad samples so far: dicts of path, byte, key, reason, ordinal."""
        return self._loader.bad_samples()

    def ledger(self) -> _core.Ledger:
        """The digest of all samples that this rank has delivered since the loader was made or a state was loaded. Rows
        of padding are not counted."""
        return self._loader.ledger()

    def expected(self, epoch: int) -> _core.Ledger:
        """The sum of the ledgers of all ranks after one whole epoch."""
        return self._placed().expected(epoch)

    def close(self) -> None:
        """Ends all work. Batches that were delivered stay valid."""
        self._end_running()
        self._given = self._place
        self._loader.close()

    def __repr__(self) -> str:
        return f"{self._name}{repr(self._loader).removeprefix('Loader')}"

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Unpickling makes a separate loader at the same position of the order."""
        return self.__dict__ | {"_running": None, "_begun": None, "_batches": None}


def _columns(batch: Any, identity: str) -> tuple[Any, ...]:
    """The columns of a batch without those that say which samples they are of.

    Raises:
        UsageError: `transform` made something else of the batch.
    """
    if not isinstance(batch, Mapping):
        raise UsageError(
            f'deliver="tuple" takes the columns of a dict, and transform= returned {type(batch).__name__}: leave '
            "deliver= out and return the tuple"
        )
    return tuple(column for name, column in batch.items() if name != identity)


def _of_batch(what: str, function: Any, running: _core.Epoch, step: int) -> str:
    """The note about a batch."""
    return f"in {what}{_name(function)}, called with batch {step} of epoch {running.number}"


def _can_pin() -> bool:
    if torch.accelerator.is_available():
        return True
    warnings.warn("pin_memory=True without an accelerator: batches are not pinned", stacklevel=3)
    return False
