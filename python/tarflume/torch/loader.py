"""`Loader`: batches as dicts of tensors, with the state that torchdata's StatefulDataLoader has."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from time import perf_counter
from typing import Any, Literal

import torch
import torch.utils.data

from .. import _core
from ..errors import UsageError
from ..statistics import Stats
from . import place
from .tensors import tensors

__all__ = ["Loader"]


_INSTEAD = (
    "its batches are made by threads, so iterate over the Loader itself; where a DataLoader is needed, give it "
    "tarflume.torch.Dataset (or MapDataset, for samplers)"
)


class Loader:
    """Yields batches as dicts of tensors: what a DataLoader would, without its worker processes.

    Takes what `tarflume.Loader` takes. An iteration is an epoch: that of `set_epoch`, else the one that a loaded
    state was taken in, else the one after the last; one that was left early is not gone through again. Only one
    iteration runs at a time. `len()` is steps of a whole epoch on this rank.

    `state_dict` and `load_state_dict` are StatefulDataLoader's: at any time, in the middle of an epoch or between
    two, before the first iteration or after the last. The state counts batches that were handed out, not those
    that are prepared.

    Rank and world are asked for when an iteration begins, so that it may be made before the process group is.
    Threads: this process's share of the cores, where torchrun says how many ranks a machine has.

    pin_memory: copies each batch into pinned memory, for copies to a GPU that don't wait. Without an accelerator
    it warns and does nothing.

    device: "cuda:1", or "cuda": PyTorch's current device if it uses one already, else the only one that is visible, or
    the one of `LOCAL_RANK` (or what Slurm and MPI call it); `stats()["device"]` says which. Batches are copied to the GPU
    ahead of you, and tensors are there; the stream that is current when a batch is taken waits for its copy, nothing else does. `deliver` says
    whose memory they are in: "torch" (the default), PyTorch's own, by a copy inside the GPU, so that all its rules
    hold; or "ring", the loader's slots, without that copy: use such tensors on the stream that was current, and let
    go of them before the next batches are wanted, or the ring grows.

    transform: what becomes of each batch, a dict of tensors, before it is handed out: called in this thread, its
    time shown by `stats()` as stage `transform`. For one of each sample see `tarflume.Apply`.
    """

    def __init__(
        self,
        shards: _core.Shards,
        *,
        pin_memory: bool = False,
        deliver: Literal["torch", "ring"] = "torch",
        transform: Callable[[dict[str, Any]], Any] | None = None,
        **settings: Any,
    ) -> None:
        self._given = place.given(settings)
        self._shards, self._settings = shards, place.threads(settings)
        if deliver not in ("torch", "ring"):
            raise UsageError(f'deliver={deliver!r} is not known; there are "torch", "ring"')
        self._own = deliver == "torch"
        self._pin_memory = pin_memory and _can_pin()
        self._transform = transform
        self._place = self._given or place.early_rank_and_world()
        self._loader = self._open()
        self._epoch: int | None = None
        self._begun: int | None = None
        self._fresh = True
        self._running: _core.Epoch | None = None

    def _open(self) -> _core.Loader:
        rank, world = self._place
        return _core.Loader(self._shards, rank=rank, world=world, **self._settings)

    def _placed(self) -> _core.Loader:
        """The loader of the rank that this process has now."""
        now = self._given or place.rank_and_world()
        if now != self._place:
            before, self._place = self._loader, now
            self._loader = self._open()
            if not self._fresh:
                self._loader.load_state_dict(before.state_dict())
            before.close()
        return self._loader

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next iteration goes through: from its beginning, or, if a state of this epoch was
        loaded, from there."""
        if epoch < 0:
            raise UsageError(f"epoch {epoch}: epochs are counted from 0")
        self._epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        """Nothing begins before the first batch is asked for: an iterator that is dropped unused changes nothing."""
        info = torch.utils.data.get_worker_info()
        if info is not None and info.num_workers > 1:
            raise UsageError(
                f"a tarflume.torch.Loader in each of {info.num_workers} workers of a DataLoader gives every batch "
                f"{info.num_workers} times: {_INSTEAD}"
            )
        loader = self._placed()
        self._end_running()
        self._fresh = False
        epoch, self._epoch = self._next_epoch(), None
        running = self._running = loader.epoch(epoch)
        with running:
            for batch in running:
                self._begun = epoch
                # Nothing here may name the tensors while the next batch is waited for: with deliver="ring" a name
                # keeps their slot, and the ring is one slot smaller than it says.
                box = [tensors(batch, self._pin_memory, self._own)]
                batch.release()
                yield box.pop() if self._transform is None else self._transformed(box.pop(), running)
                if self._running is not running:
                    break
        if self._running is not running:
            raise UsageError(
                f"this iteration of epoch {epoch} was ended by another one, by load_state_dict() or by close(): "
                "a loader has one at a time; make a second loader for another"
            )
        self._running = None

    def __getitem__(self, index: object) -> Any:
        """What a DataLoader asks of a data set.

        Raises:
            UsageError: always; it says what to use instead.
        """
        raise UsageError(f"a tarflume.torch.Loader is no data set for a DataLoader: {_INSTEAD}")

    def _transformed(self, batch: dict[str, Any], running: _core.Epoch) -> Any:
        assert self._transform is not None
        begun = perf_counter()
        made = self._transform(batch)
        running.charge(perf_counter() - begun)
        return made

    def _next_epoch(self) -> int:
        """One that was begun and left is over; those that ended are not current any more."""
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

    def state_dict(self) -> dict[str, Any]:
        """Where the job is: what was handed out. After the last batch of an epoch that is the beginning of the
        next. A dict of a few numbers and strings, the same on every rank that took as many batches: save one."""
        return self._placed().state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next iteration goes on at the next sample, with any world, batch size and threads.

        Raises:
            tarflume.Error: the state is of another data set, shuffle, seed or selection; nothing has changed then.
        """
        self._placed().load_state_dict(dict(state_dict))
        self._end_running()
        self._epoch = self._begun = None
        self._fresh = False

    @property
    def current_epoch(self) -> int:
        """The epoch that runs, or the one to go on with."""
        return self._loader.current_epoch

    @property
    def samples(self) -> int:
        """Samples of an epoch, on all ranks together."""
        return self._loader.samples

    @property
    def resident(self) -> dict[str, int] | None:
        """What the data set takes of the GPU's memory, in bytes; None if it does not stay there."""
        return self._loader.resident

    def fill(self, progress: Callable[[int, int], object] | None = None) -> None:
        """Brings a data set that stays on a GPU there, as the first epoch does; `progress(samples there, all)`."""
        self._placed().fill(progress)

    def stats(self) -> Stats:
        """Where the time goes: a dict that prints as a table."""
        return self._loader.stats()

    def bad_samples(self) -> list[dict[str, Any]]:
        """All samples that were bad so far: dicts of path, byte, key, reason, ordinal."""
        return self._loader.bad_samples()

    def ledger(self) -> _core.Ledger:
        """The digest of all samples that this rank has handed out, since it was made or a state was loaded."""
        return self._loader.ledger()

    def expected(self, epoch: int) -> _core.Ledger:
        """What the ledgers of all ranks add up to for one whole epoch."""
        return self._placed().expected(epoch)

    def close(self) -> None:
        """Ends all work; batches that were given out stay."""
        self._end_running()
        self._given = self._place
        self._loader.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Another process gets a loader of its own, at the same place in the order."""
        return self.__dict__ | {"_running": None, "_begun": None}


def _can_pin() -> bool:
    if torch.accelerator.is_available():
        return True
    warnings.warn("pin_memory=True without an accelerator: batches are not pinned", stacklevel=3)
    return False
