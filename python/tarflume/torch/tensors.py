"""Columns as tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils import _pytree
from torch.utils.dlpack import from_dlpack

from .. import _core
from ..unpacking import Columns
from .objects import Objects, objects
from .rows import Rows

__all__ = ["Columns", "Objects", "Rows", "tensor", "tensors"]


def tensor(column: _core.Column | _core.DeviceColumn) -> torch.Tensor:
    """A column as a tensor of the same shape and type, without a copy, by DLPack.

    The tensor keeps the column's memory, which another batch uses only when all views of this one are dropped. Columns
    are read-only, but PyTorch has no read-only tensors. Writing into the tensor (`x.mul_(2)`) changes all views of the
    same column, and nothing else. `torch.from_numpy` and `torch.asarray` warn about read-only memory;
    `torch.from_dlpack` does not.
    """
    return from_dlpack(column)


def tensors(batch: _core.Batch, pin_memory: bool = False, own: bool = False) -> Columns:
    """A batch as a dict: columns are tensors without a copy, files are lists of `bytes`, texts and keys are lists of
    `str`, rows of different lengths are `Rows`: lists of tensors with `padded`. Columns of what lies on pictures are `Objects`:
    views of one tensor for each column, in GPU memory if the loader has a device.

    pin_memory: copies columns in host memory into pinned memory.
    own: copies columns in GPU memory into PyTorch's memory, on the current stream.
    """

    def made(column: _core.Column | _core.DeviceColumn) -> torch.Tensor:
        if isinstance(column, _core.DeviceColumn):
            return tensor(column).clone() if own else tensor(column)
        return tensor(column).pin_memory() if pin_memory else tensor(column)

    def value(column: Any) -> Any:
        if isinstance(column, _core.Column | _core.DeviceColumn):
            return made(column)
        if isinstance(column, _core.Ragged | _core.DeviceRagged) and column.has_objects:
            return objects(column, made)
        if isinstance(column, _core.Ragged):
            rows = [made(row) if isinstance(row, _core.Column) else row for row in column]
            are_tensors = any(isinstance(row, torch.Tensor) for row in rows)
            return Rows(rows, column.channels_first) if are_tensors else rows
        return column

    return Columns((name, value(column)) for name, column in batch.items())


def _flatten(columns: Columns) -> tuple[list[Any], list[str]]:
    return list(columns.values()), list(columns.keys())


def _flatten_with_keys(columns: Columns) -> tuple[list[tuple[_pytree.KeyEntry, Any]], list[str]]:
    return [(_pytree.MappingKey(name), column) for name, column in columns.items()], list(columns.keys())


def _unflatten(values: Iterable[Any], names: list[str]) -> Columns:
    return Columns(zip(names, values, strict=True))


# torch.compile, torch.export and tree_map look into a dict, but into a class derived from dict only if it is registered.
_pytree.register_pytree_node(
    Columns, _flatten, _unflatten, serialized_type_name="tarflume.Columns", flatten_with_keys_fn=_flatten_with_keys
)
