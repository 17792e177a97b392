"""`Samples`: samples by number, the base of map-style interfaces for several frameworks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

from . import _core

__all__ = ["Samples"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Samples:
    """Samples by number: dicts of `"__key__"` and the bytes of each part by its extension.

    Processes may be forked or spawned: they share the sidecars in memory.

    parts: the extensions to read, by default all. The others are not read from disk.
    transform: a function that changes each sample.
    """

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

    def __getitem__(self, index: SupportsIndex) -> Any:
        """Sample number `index`."""
        number = index.__index__()
        sample = self._data[number] if self._parts is None else self._data.get(number, self._parts)
        return sample if self._transform is None else self._transform(sample)
