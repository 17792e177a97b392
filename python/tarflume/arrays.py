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

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import _core
from .errors import UsageError

__all__ = ["ArrayLoader"]


def __dir__() -> list[str]:
    return sorted(__all__)


def _teach_torch() -> None:
    """Makes `torch.utils.data.default_collate` stack columns, as it stacks tensors."""
    from torch.utils.data._utils.collate import default_collate_fn_map

    default_collate_fn_map.setdefault(_core.Column, _stacked)


def _stacked(batch: Sequence[_core.Column], *, collate_fn_map: object = None) -> Any:
    import torch
    from torch.utils.dlpack import from_dlpack

    return torch.stack([from_dlpack(column) for column in batch])


#: Keywords of `Loader` that an `ArrayLoader` does not have.
_INSTEAD = {
    "device": 'the batches are in host memory: torch.from_dlpack(batch["image"]).to("cuda") copies a column',
    "num_threads": "did you mean threads=?",
    "num_workers": "its threads read ahead: did you mean threads=?",
    "prefetch": "each thread holds two batches: did you mean threads=?",
    "collate": "change the batches of the loop: for batch in loader",
}
_SETTINGS = ("batch_size", "shuffle", "seed", "drop_last", "rank", "world_size", "threads")


def _no_array(name: str, value: object) -> str:
    """What is wrong with a keyword whose value is no array."""
    near = difflib.get_close_matches(name, _SETTINGS, 1)
    if name in _INSTEAD:
        return f"ArrayLoader takes no {name}=; {_INSTEAD[name]}"
    if near:
        return f"ArrayLoader takes no {name}=; did you mean {near[0]}=?"
    return f"{name}= takes a tarflume.ArrayDataset, not {type(value).__name__}: ArrayLoader({name}=tarflume.ArrayDataset(path))"


class ArrayLoader:
    """Batches of rows of one or several `ArrayDataset`s of equal length, read ahead by threads.

    The order is a function of `seed`, epoch and the number of rows. It takes no memory: a row's place is computed.
    A batch is a dict of columns by name, with the row numbers as `"row"`.

    Iterating over the loader takes the epoch of `set_epoch`, otherwise the one after the last that began. An epoch
    begins when its first batch is requested. `state_dict` counts the batches of an epoch that were delivered, and
    `load_state_dict` continues after them.

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
        for name, array in arrays.items():
            if not isinstance(array, _core.ArrayDataset):
                raise UsageError(_no_array(name, array))
        self._arrays = arrays
        self._batch_size, self._drop_last, self._threads = batch_size, drop_last, threads
        self._seed = seed if shuffle else None
        self._rank = (rank, world_size)
        #: The epoch of the next iteration, and its first batch.
        self._next, self._first = 0, 0
        #: The epoch and the batch after the last one that was delivered.
        self._position = (0, 0)
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

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration. It starts at the beginning, or at a state of this epoch that was
        loaded."""
        if epoch < 0:
            raise UsageError(f"epoch {epoch}: epochs are counted from 0")
        if epoch != self._next:
            self._next, self._first = epoch, 0
        self._position = (self._next, self._first)

    @property
    def sampler(self) -> ArrayLoader:
        """The loader itself: before each epoch, Lightning calls `set_epoch` of the sampler of a loader."""
        return self

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The batches of the next epoch. It begins when its first batch is requested: an iterator that is dropped unused
        has no effect."""
        number, batch = self._next, self._first
        batches = self.epoch(number, batch)
        self._next, self._first = number + 1, 0
        for columns in batches:
            batch += 1
            self._position = (number, batch) if batches.__length_hint__() else (number + 1, 0)
            yield columns

    def _identity(self) -> dict[str, int | None]:
        """What a state needs to be the same."""
        rows = len(next(iter(self._arrays.values())))
        return {"rows": rows, "seed": self._seed, "batch_size": self._batch_size, "world_size": self._rank[1]}

    def state_dict(self) -> dict[str, int | None]:
        """The position: epoch and number of batches that were delivered, and what the order depends on. After the last
        batch of an epoch it is the beginning of the next. It is the same on every rank that took as many batches."""
        epoch, batch = self._position
        return {**self._identity(), "epoch": epoch, "batch": batch}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next iteration continues after the last batch that was delivered.

        Raises:
            UsageError: the state has another number of rows, seed, batch size or world size.
        """
        for name, value in self._identity().items():
            if state_dict.get(name, "nothing") != value:
                raise UsageError(f"this state was taken with {name}={state_dict.get(name)}, and this loader has {value}")
        self._next, self._first = int(state_dict["epoch"]), int(state_dict["batch"])
        self._position = (self._next, self._first)
