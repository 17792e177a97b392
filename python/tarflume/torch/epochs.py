"""`Epochs`: the epoch of an iteration, agreed on by worker processes that cannot communicate.

All workers of one DataLoader iteration must take the same epoch, whether they are persistent or not, forked or
spawned, and start together or one after the other. Some may be killed before they begin. They share a table of
integers, each written atomically by one worker: a token of the iteration, and the epoch after its own. A worker that
finds the token of its iteration takes that epoch. Any other takes the largest epoch in the table, which is the same
for all workers of an iteration, because the earlier iteration is over and a later one has not begun.

A table belongs to one process and its workers. Ranks that were started with a data set, by a fork or with a pickle,
would share the table of the process that started them, and take epochs from each other. So a process that is no worker
of a DataLoader copies an inherited table before it uses it: it sets or begins an epoch, pickles a data set, or forks.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.data

from ..errors import UsageError

__all__ = ["Epochs"]

CELLS = 4096
HALF = 32
EPOCH = (1 << HALF) - 1
TOKEN = (1 << HALF - 1) - 1


class Epochs:
    """A table in shared memory. Pickling for a worker shares the table; a deep copy is a separate one."""

    def __init__(self, table: torch.Tensor | None = None, owner: int | None = None) -> None:
        self._table = _shared(torch.zeros(CELLS, dtype=torch.int64) if table is None else table)
        self._owner = os.getpid() if owner is None else owner
        self._begun: dict[int, int] = {}
        _alive[id(self)] = self

    def set(self, epoch: int) -> None:
        """Sets the epoch of the next iteration."""
        if not 0 <= epoch < EPOCH:
            raise UsageError(f"epoch {epoch} is not between 0 and {EPOCH - 1}")
        self.own()
        self._table.fill_(epoch)

    def keep(self) -> Callable[[], None]:
        """A function that puts the epochs back as they are now: `tarflume.diagnose` takes batches, and is no epoch."""
        self.own()
        cells, begun = self._table.clone(), dict(self._begun)

        def back() -> None:
            self._table.copy_(cells)
            self._begun = begun

        return back

    def following(self) -> int:
        """The epoch of the next iteration, unless another is set."""
        self.own()
        return _latest(self._table.tolist())

    def begin(self) -> int:
        """Begins an iteration in this worker, or in a process without workers; returns its epoch."""
        self.own()
        worker, token = self._iteration()
        cells: list[int] = self._table.tolist()
        found = next((cell & EPOCH for cell in cells if token and cell >> HALF == token), None)
        following = _latest(cells) + 1 if found is None else found
        self._table[(token + worker) % CELLS] = token << HALF | following
        return following - 1

    def own(self) -> None:
        """Makes a table of this process, if the present one is of the process that started it. A worker keeps it."""
        if self._owner == os.getpid() or torch.utils.data.get_worker_info() is not None:
            return
        self._table = _shared(torch.full((CELLS,), _latest(self._table.tolist()), dtype=torch.int64))
        self._owner = os.getpid()

    def _iteration(self) -> tuple[int, int]:
        """The worker, and a token that all workers of this iteration share and no other iteration has.

        Each set of workers has a new seed; persistent workers count their iterations.
        """
        info = torch.utils.data.get_worker_info()
        if info is None:
            return 0, 0
        seed = info.seed - info.id
        count = self._begun[seed] = self._begun.get(seed, 0) + 1
        return info.id, (seed * 1_000_003 + count) % TOKEN + 1

    def __reduce__(self) -> tuple[type[Epochs], tuple[torch.Tensor, int]]:
        self.own()
        return Epochs, (self._table, self._owner)


def _shared(table: Any) -> torch.Tensor:
    shared: torch.Tensor = table if table.is_shared() else table.share_memory_()
    return shared


def _latest(cells: list[int]) -> int:
    return max(cell & EPOCH for cell in cells)


_alive: weakref.WeakValueDictionary[int, Epochs] = weakref.WeakValueDictionary()


def _own_all() -> None:
    for reference in _alive.valuerefs():
        if (epochs := reference()) is not None:
            epochs.own()


# A forked worker inherits the table, and cannot tell later whether that is its parent's own.
os.register_at_fork(before=_own_all)
