"""`ArrayLoader`: shuffled batches of rows of arrays that are larger than memory.

    loader = tarflume.ArrayLoader(
        image=tarflume.ArrayDataset("train.h5", "/images"),
        label=tarflume.ArrayDataset("train.h5", "/labels"),
        batch_size=256, shuffle=True, seed=42,
    )
    for epoch in range(90):
        for batch in loader.epoch(epoch):            # batch["image"]: uint8 [256, 224, 224, 3]
            images = torch.from_dlpack(batch["image"])
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import _core
from .errors import UsageError

__all__ = ["ArrayLoader"]


def __dir__() -> list[str]:
    return sorted(__all__)


class ArrayLoader:
    """Batches of rows of one or several `ArrayDataset`s of equal length, read ahead by threads.

    The order is a function of `seed`, epoch and the number of rows. It takes no memory: a row's place is computed.
    A batch is a dict of columns by name, with the row numbers as `"row"`.

    Arguments:

    - `batch_size`: the number of rows in a batch. `drop_last`: leaves out a smaller last batch.
    - `shuffle`: a full permutation of the rows for each epoch; `seed` chooses it.
    - `rank`, `world_size`: this process gets each `world_size`-th row of the order. Ranks differ by at most one row;
      with `drop_last=True` they have equally many.
    - `threads`: the number of threads that read. Each holds two batches.
    - all other keywords: the arrays.
    """

    def __init__(
        self,
        *,
        batch_size: int,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        rank: int = 0,
        world_size: int = 1,
        threads: int = 2,
        **arrays: _core.ArrayDataset,
    ) -> None:
        if "row" in arrays:
            raise UsageError("the column 'row' has the row numbers; give the array another name")
        self._arrays = arrays
        self._batch_size, self._drop_last, self._threads = batch_size, drop_last, threads
        self._seed = seed if shuffle else None
        self._rank = (rank, world_size)
        self._next = 0
        self.epoch(0)  # checks the arguments

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        return self.epoch(0).__length_hint__()

    def epoch(self, number: int, first: int = 0) -> _core.ArrayBatches:
        """The batches of epoch `number`, from batch `first` on."""
        return _core.ArrayBatches(
            self._arrays,
            self._batch_size,
            seed=self._seed,
            epoch=number,
            rank=self._rank,
            drop_last=self._drop_last,
            first=first,
            threads=self._threads,
        )

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The batches of the next epoch: of 0, 1, 2 and so on."""
        number, self._next = self._next, self._next + 1
        return iter(self.epoch(number))
