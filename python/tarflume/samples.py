"""`Sample`: the parts of a sample by extension. `Samples`: samples by number, the base of map-style interfaces for
several frameworks."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, SupportsIndex, overload

from . import _core
from .arguments import checked
from .calling import _called, _of_sample
from .short import _short
from .unpacking import Columns

__all__ = ["Sample", "Samples"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Sample(Columns):
    """A sample: a dict of `"__key__"` and the bytes of each part by its extension.

    Its `repr` shows the length of each part, and the beginning of short texts; a notebook shows its pictures.
    """

    def __repr__(self) -> str:
        parts = [f"{name}: {_short(value)}" for name, value in self.items() if name != "__key__"]
        return f"Sample({self.get('__key__')!r}, {{{', '.join(parts)}}})"

    def _repr_html_(self) -> str:
        from .notebook import _sample

        return _sample(self)


#: Keywords of a loader, which samples by number do not take.
_INSTEAD = {
    **dict.fromkeys(
        ("image", "label", "views", "boxes", "masks", "keypoints", "mask", "columns"),
        "a sample has the bytes of each part: transform=function decodes them, or tarflume.torch.Dataset and "
        "tarflume.torch.Loader take image= and label=",
    ),
    **dict.fromkeys(
        ("batch_size", "shuffle", "drop_last", "num_workers"),
        "it belongs to the DataLoader, or to tarflume.torch.Loader, which decodes and batches by itself",
    ),
    "split": 'open the split first: tarflume.Dataset(shards, split="train")',
}


class Samples:
    """Samples by number: dicts of `"__key__"` and the bytes of each part by its extension.

    Processes may be forked or spawned: they share the sidecars in memory.

    parts: the extensions to read, by default all. The others are not read from disk.
    transform: a function that changes each sample.
    """

    @checked("tarflume.torch.MapDataset", _INSTEAD)
    def __init__(
        self,
        shards: _core.Path | Sequence[_core.Path] | _core.Dataset,
        *,
        parts: Sequence[str] | None = None,
        transform: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self._data = shards if isinstance(shards, _core.Dataset) else _core.Dataset(shards)
        self._parts = None if parts is None else list(parts)
        self._transform = transform

    def __len__(self) -> int:
        """The number of samples."""
        return len(self._data)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        """Sample number `index`; a list of samples for a slice.

        Raises:
            TypeError: `index` is none of these.
        """
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        try:
            number = operator.index(index)
        except TypeError:
            raise TypeError(f"a data set takes the number of a sample or a slice of numbers, not {index!r}") from None
        sample = self._data[number] if self._parts is None else self._data.get(number, self._parts)
        return sample if self._transform is None else self._called(self._transform, sample)

    def __iter__(self) -> Iterator[Any]:
        """All samples in order. Without this method an `IndexError` of `transform` would end an iteration."""
        for number in range(len(self)):
            yield self[number]

    @staticmethod
    def _called(function: Callable[[dict[str, Any]], Any], sample: dict[str, Any]) -> Any:
        """`function(sample)`; a DataLoader would take its StopIteration for the end of the data."""
        return _called(function, sample, partial(_of_sample, "transform=", function, sample))
