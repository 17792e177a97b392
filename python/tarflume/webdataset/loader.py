"""`WebLoader`: PyTorch's DataLoader with the methods of a pipeline; without PyTorch, the same in this process."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..errors import UsageError
from .batches import default_collation_fn
from .fluent import FluidInterface

__all__ = ["SerialLoader", "WebLoader"]


class SerialLoader:
    """A DataLoader without workers, for environments without PyTorch.

    batch_size: the number of samples for `collate_fn` (by default columns as NumPy arrays); None yields single items.
    """

    def __init__(
        self,
        dataset: Iterable[Any],
        batch_size: int | None = 1,
        *,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        drop_last: bool = False,
        num_workers: int = 0,
        **others: Any,
    ) -> None:
        if num_workers:
            raise UsageError(f"num_workers={num_workers} needs torch: install it, or give num_workers=0")
        if wrong := [name for name, value in others.items() if value]:
            raise UsageError(f"{', '.join(wrong)}: only torch's DataLoader has these: install torch, or leave them out")
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.collate_fn = collate_fn

    def __iter__(self) -> Iterator[Any]:
        samples = iter(self.dataset)
        if self.batch_size is None:
            yield from samples if self.collate_fn is None else map(self.collate_fn, samples)
            return
        collate = self.collate_fn or default_collation_fn
        while batch := list(itertools.islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield collate(batch)


class WebLoader(FluidInterface):
    """Takes the arguments of `torch.utils.data.DataLoader`, and iterates over such a loader."""

    def __init__(self, *args: Any, **kw: Any) -> None:
        try:
            loader: Any = importlib.import_module("torch.utils.data").DataLoader
        except ModuleNotFoundError as missing:
            if missing.name != "torch":
                raise
            loader = SerialLoader
        super().__init__(loader(*args, **kw))
