"""What lies on the pictures of a batch: views of one tensor for each column."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.utils import _pytree

from .. import _core
from ..errors import UsageError
from .rows import Rows

__all__ = ["Objects"]


class Objects(Rows):
    """A column of boxes, labels, masks or keypoints: a list with a tensor for each picture, whose first dimension is its objects.

    The tensors are views of `values`, which has the objects of all pictures.
    """

    #: Tells the columns that `targets()` takes.
    of_objects = True

    def __init__(self, rows: Iterable[Any] = (), values: torch.Tensor | None = None) -> None:
        super().__init__(rows)
        self._values = values

    def __reduce__(self) -> tuple[Any, ...]:
        if self._values is None:
            return Objects, (list(self),)
        # Each row is a view of all values, and would be written with all of them.
        return _joined, (self._values, [tuple(row.shape) for row in self])

    @property
    def values(self) -> torch.Tensor:
        """The objects of all pictures in one tensor; of masks, all their pixels in one dimension."""
        if self._values is not None:
            return self._values
        if any(row.ndim == 3 and row.dtype == torch.uint8 for row in self):
            return torch.cat([row.reshape(-1) for row in self])
        return torch.cat(list(self)) if self else torch.empty(0)

    def to(self, device: Any, non_blocking: bool = True) -> Objects:
        """The same column on another device: one copy of `values`, of which the tensors are views."""
        # A copy to the host that does not block may be read before it ends.
        values = self.values.to(device, non_blocking=non_blocking and torch.device(device).type != "cpu")
        return Objects(_split(values, [tuple(row.shape) for row in self]), values)

    def padded(  # type: ignore[override]
        self, value: float = 0.0
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """One tensor `[pictures, most objects, ...]`, filled with `value`, and a mask `[pictures, most objects]` that is true where
        a picture has an object.

            boxes, mask = batch["boxes"].padded()
        """
        dims = max((row.ndim for row in self), default=1)
        values = self._filled(value, dims)
        mask = torch.zeros(values.shape[:2], dtype=torch.bool, device=values.device)
        for own, row in zip(mask, self, strict=True):
            own[: len(row)] = True
        return values, mask

    def unpacked(self, width: int | Sequence[int]) -> Objects:
        """Masks of a byte for each pixel, of a column of `Masks(bits=True)`: uint8 tensors `[objects, height, width]` of 0 and 1
        on the same device.

            masks = batch["masks"].to("cuda").unpacked(224)

        `width` is that of the pictures, or has one for each picture. It needs operations of tensors alone.

        Raises:
            UsageError: rows are no bits of pictures of this width.
        """
        widths = list(width) if isinstance(width, Iterable) else [operator.index(width)] * len(self)
        if len(widths) != len(self):
            raise UsageError(f"unpacked() takes a width, or one for each of {len(self)} pictures, not {len(widths)} of them")
        for row, own in zip(self, widths, strict=True):
            _check_bits(row, own)
        shapes = {(tuple(row.shape[1:]), own) for row, own in zip(self, widths, strict=True)}
        if len(shapes) == 1:
            ((shape, own),) = shapes
            values = _unpacked(self.values.view(-1, *shape), own)
            return Objects(_split(values, [(len(row), *values.shape[1:]) for row in self]), values.view(-1))
        return Objects([_unpacked(row, own) for row, own in zip(self, widths, strict=True)])


def _check_bits(row: torch.Tensor, width: int) -> None:
    if row.dtype == torch.uint8 and row.ndim == 3 and width > 0 and row.shape[2] == (width + 7) // 8:
        return
    raise UsageError(
        f"unpacked({width}) takes bits of pictures {width} wide, uint8 [objects, height, {(width + 7) // 8}], and a row is "
        f"{str(row.dtype).removeprefix('torch.')} {list(row.shape)}: give the width of the pictures in the batch, and "
        "Masks(..., bits=True) to the loader"
    )


def _unpacked(bits: torch.Tensor, width: int) -> torch.Tensor:
    """Bits `[objects, height, (width + 7) // 8]`, the highest one of a byte first, as bytes `[objects, height, width]`."""
    places = torch.arange(7, -1, -1, dtype=torch.uint8, device=bits.device)
    return ((bits.unsqueeze(-1) >> places) & 1).flatten(-2)[..., :width].contiguous()


def objects(
    column: _core.Ragged | _core.DeviceRagged, made: Callable[[_core.Column | _core.DeviceColumn], torch.Tensor]
) -> Objects:
    """A column of annotations as views of one tensor, which `made` makes."""
    values = made(column.values)
    shapes: list[tuple[int, ...]] = list(column.shapes)
    if not shapes:
        bounds = column.offsets.tolist()
        inner = tuple(values.shape[1:])
        shapes = [(end - start, *inner) for start, end in zip(bounds, bounds[1:], strict=False)]
    return Objects(_split(values, shapes), values)


def _joined(values: torch.Tensor, shapes: list[tuple[int, ...]]) -> Objects:
    """A column that was pickled: views of one tensor."""
    return Objects(_split(values, shapes), values)


def _split(values: torch.Tensor, shapes: list[tuple[int, ...]]) -> list[torch.Tensor]:
    """Views of these shapes, one after the other."""
    flat = values.reshape(-1)
    rows, at = [], 0
    for shape in shapes:
        count = 1
        for length in shape:
            count *= length
        rows.append(flat[at : at + count].view(shape))
        at += count
    return rows


def _flatten(rows: Objects) -> tuple[list[Any], None]:
    return list(rows), None


def _flatten_with_keys(rows: Objects) -> tuple[list[tuple[_pytree.KeyEntry, Any]], None]:
    return [(_pytree.SequenceKey(number), row) for number, row in enumerate(rows)], None


def _unflatten(rows: Iterable[Any], context: None) -> Objects:
    return Objects(rows)


_pytree.register_pytree_node(
    Objects, _flatten, _unflatten, serialized_type_name="tarflume.Objects", flatten_with_keys_fn=_flatten_with_keys
)
