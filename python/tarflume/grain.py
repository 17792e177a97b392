"""For Grain, and with it JAX: a `RandomAccessDataSource`.

    source = tarflume.grain.Source("shards/", parts=["jpg", "cls"])
    loader = grain.DataLoader(data_source=source, sampler=grain.samplers.IndexSampler(len(source), ...), ...)
    dataset = grain.MapDataset.source(source).shuffle(seed=1).map(decode).batch(32)

Grain asks for a length and for samples by number and nothing else, so this needs no import of Grain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

from . import _core

__all__ = ["Source"]


class Source:
    """Samples by number: dicts of `"__key__"` and the bytes of each part by its extension.

    It can be pickled: workers of Grain open the shards anew and share the sidecars in memory. Its `repr`, which
    Grain's checkpoints compare, is the same wherever the shards stand.

    parts: the extensions to read; the others are not read from disk. All of them by default.
    transform: what becomes of each sample.
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
        """Samples."""
        return len(self._data)

    def __getitem__(self, record_key: SupportsIndex) -> Any:
        """Sample number `record_key`."""
        number = record_key.__index__()
        sample = self._data[number] if self._parts is None else self._data.get(number, self._parts)
        return sample if self._transform is None else self._transform(sample)

    def __repr__(self) -> str:
        parts = "" if self._parts is None else f", parts={self._parts}"
        return f"tarflume.grain.Source({len(self)} samples in {len(self._data.shards)} shards{parts})"
