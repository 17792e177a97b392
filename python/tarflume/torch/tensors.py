"""Columns as tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.dlpack import from_dlpack

from .. import _core

__all__ = ["tensor", "tensors"]


def tensor(column: _core.Column | _core.DeviceColumn) -> torch.Tensor:
    """A column as a tensor of the same shape and type, without a copy, by DLPack.

    The tensor keeps the column's memory, which is used for another batch only when all views of this one are gone.
    Columns are read-only, but PyTorch has no read-only tensors: it takes them by DLPack without a warning, and what
    is written into the tensor (`x.mul_(2)`) is seen through other views of the same column, and by nobody else.
    (`torch.from_numpy` and `torch.asarray` warn of read-only memory; `torch.from_dlpack` is the way.)
    """
    return from_dlpack(column)


def tensors(batch: _core.Batch, pin_memory: bool = False, own: bool = False) -> dict[str, Any]:
    """A batch as a dict: columns as tensors without a copy, files as lists of `bytes`, texts and keys as lists of
    `str`, rows of different lengths as lists of tensors.

    pin_memory: columns in host memory are copied into pinned memory.
    own: columns in a GPU's memory are copied, on the current stream, into memory of PyTorch's.
    """

    def made(column: _core.Column) -> torch.Tensor:
        return tensor(column).pin_memory() if pin_memory else tensor(column)

    def value(column: Any) -> Any:
        if isinstance(column, _core.Column):
            return made(column)
        if isinstance(column, _core.DeviceColumn):
            return tensor(column).clone() if own else tensor(column)
        if isinstance(column, _core.Ragged):
            return [made(row) if isinstance(row, _core.Column) else row for row in column]
        return column

    return {name: value(column) for name, column in batch.items()}
