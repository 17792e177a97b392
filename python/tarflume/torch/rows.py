"""Rows of different lengths as a list of tensors that can be padded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils import _pytree

from ..errors import UsageError

__all__ = ["Rows"]


class Rows(list[Any]):
    """The rows of a column that differ in length: a list of tensors, and `padded`.

    `channels_first` says whether rows that are pictures are `[channels, height, width]`; `None` if it is not known, as
    after a function has made new rows of these.
    """

    def __init__(self, rows: Iterable[Any] = (), channels_first: bool | None = None) -> None:
        super().__init__(rows)
        self.channels_first = channels_first

    def __reduce__(self) -> tuple[Any, ...]:
        return Rows, (list(self), self.channels_first)

    def padded(
        self, value: float = 0.0, *, channels_first: bool | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """One tensor with the length of the longest row, where shorter rows are filled with `value`, and the lengths.

            bounds, lengths = batch["cu"].padded(-1)     # [rows, longest], int64 [rows]

        For pictures: a tensor with the largest height and width, filled at the right and at the bottom, and a mask
        `[rows, height, width]` that is true inside a picture.

        Raises:
            UsageError: a row is not a tensor of one or three dimensions, or the layout of pictures is not known.
        """
        dims = {row.ndim if isinstance(row, torch.Tensor) else None for row in self}
        if dims <= {1}:
            lengths = torch.tensor([len(row) for row in self], dtype=torch.int64)
            return self._filled(value, 1), lengths
        if dims != {3}:
            raise UsageError(f"padded() takes rows of numbers or pictures, and these rows are {type(self[0]).__name__}s")
        first = self.channels_first if channels_first is None else channels_first
        if first is None:
            raise UsageError("the layout of these pictures is not known: give padded(value, channels_first=False), or True")
        values = self._filled(value, 3)
        sides = slice(2, 4) if first else slice(1, 3)
        mask = torch.zeros(len(self), *values.shape[sides], dtype=torch.bool, device=values.device)
        for own, row in zip(mask, self, strict=True):
            height, width = row.shape[1:] if first else row.shape[:2]
            own[:height, :width] = True
        return values, mask

    def _filled(self, value: float, dims: int) -> torch.Tensor:
        most = [max((row.shape[dim] for row in self), default=0) for dim in range(dims)]
        like = self[0] if self else torch.empty(0)
        values = torch.full((len(self), *most), value, dtype=like.dtype, device=like.device)
        for own, row in zip(values, self, strict=True):
            own[tuple(slice(0, length) for length in row.shape)] = row
        return values


def _flatten(rows: Rows) -> tuple[list[Any], bool | None]:
    return list(rows), rows.channels_first


def _flatten_with_keys(rows: Rows) -> tuple[list[tuple[_pytree.KeyEntry, Any]], bool | None]:
    return [(_pytree.SequenceKey(number), row) for number, row in enumerate(rows)], rows.channels_first


def _unflatten(rows: Iterable[Any], channels_first: bool | None) -> Rows:
    return Rows(rows, channels_first)


# As for `Columns`: what is derived from a list is looked into only if it is registered.
_pytree.register_pytree_node(
    Rows, _flatten, _unflatten, serialized_type_name="tarflume.Rows", flatten_with_keys_fn=_flatten_with_keys
)
