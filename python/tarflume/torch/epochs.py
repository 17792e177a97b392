"""`Epochs`: which epoch an iteration goes through, agreed on by worker processes that can't talk to each other.

All workers of one DataLoader iteration must go through the same epoch, whether they live for one iteration or stay,
were forked or spawned, begin together or one after the other; and some may be killed before they begin. They share
a table of whole numbers, each written at once by one worker: a token of the iteration, and the epoch after its own.
Who finds the token of its iteration takes that epoch; who does not takes the largest that is written there, which
all workers of an iteration see alike, because an earlier one is over and a later one has not begun.
"""

from __future__ import annotations

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
    """A table in shared memory: a copy that a process gets is the same table; a deep copy is another one."""

    def __init__(self, table: torch.Tensor | None = None) -> None:
        shared: Any = torch.zeros(CELLS, dtype=torch.int64) if table is None else table
        self._table: torch.Tensor = shared if shared.is_shared() else shared.share_memory_()
        self._begun: dict[int, int] = {}

    def set(self, epoch: int) -> None:
        """The next iteration goes through `epoch`."""
        if not 0 <= epoch < EPOCH:
            raise UsageError(f"epoch {epoch} is not between 0 and {EPOCH - 1}")
        self._table.fill_(epoch)

    def following(self) -> int:
        """The epoch of the next iteration, unless another is set."""
        return max(int(cell) & EPOCH for cell in self._table.tolist())

    def begin(self) -> int:
        """The epoch of the iteration that begins now, in this worker or in a process without workers."""
        worker, token = self._iteration()
        cells: list[int] = self._table.tolist()
        found = next((cell & EPOCH for cell in cells if token and cell >> HALF == token), None)
        following = max(cell & EPOCH for cell in cells) + 1 if found is None else found
        self._table[(token + worker) % CELLS] = token << HALF | following
        return following - 1

    def _iteration(self) -> tuple[int, int]:
        """The worker, and what all workers of this iteration have in common and no other iteration has.

        The seed is drawn anew for each set of workers; those that stay count how often they began.
        """
        info = torch.utils.data.get_worker_info()
        if info is None:
            return 0, 0
        seed = info.seed - info.id
        count = self._begun[seed] = self._begun.get(seed, 0) + 1
        return info.id, (seed * 1_000_003 + count) % TOKEN + 1

    def __reduce__(self) -> tuple[type[Epochs], tuple[torch.Tensor]]:
        return Epochs, (self._table,)
