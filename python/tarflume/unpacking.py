"""An error where a batch or a sample is unpacked: `for images, labels in loader` would give the names of two columns."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .errors import UsageError

__all__ = ["Columns"]

_UNPACKING = {dis.opmap["UNPACK_SEQUENCE"], dis.opmap["UNPACK_EX"]}


class Columns(dict[str, Any]):
    """The columns of a batch or of a sample by name: a dict that cannot be unpacked into names by mistake."""

    def __iter__(self) -> Iterator[str]:
        _check(self.keys(), 2)
        return super().__iter__()

    def targets(
        self, device: Any = None, *, unpack: Mapping[str, int | Sequence[int]] | None = None
    ) -> list[dict[str, Any]]:
        """What lies on each picture, as the models of torchvision take it: a dict for each, with the columns of annotations by
        their names: `{"boxes": ..., "labels": ..., "masks": ...}`.

            losses = model(list(batch["image"].to(device)), batch.targets(device))

        The tensors of a column are views of one tensor; with `device`, each column is copied there once. `unpack` has the names
        of columns of `Masks(bits=True)`, which become masks of a byte for each pixel after the copy, and the width of their
        pictures, or a width for each: `unpack={"masks": 224}`.

        Raises:
            UsageError: the loader has no columns of annotations, or `unpack` has one that are no bits of this width.
        """
        columns = {name: column for name, column in self.items() if getattr(column, "of_objects", False)}
        if not columns:
            raise UsageError(
                'the loader has no columns of objects: give boxes=tarflume.Boxes("/boxes", format="xywh")'
            )
        if device is not None:
            columns = {name: column.to(device) for name, column in columns.items()}
        for name, width in (unpack or {}).items():
            if name not in columns:
                raise UsageError(f"unpack= has {name!r}, and the columns of objects are: {', '.join(columns)}")
            columns[name] = columns[name].unpacked(width)
        rows = len(next(iter(columns.values())))
        return [{name: column[row] for name, column in columns.items()} for row in range(rows)]


def _check(names: Iterable[str], depth: int = 1) -> None:
    """Checks that the caller, `depth` calls up, iterates over names and does not unpack: `images, labels = batch`.

    Raises:
        UsageError: it unpacks. Iterating over names, as `dict`, `list` and `for` do, is no error.
    """
    frame = sys._getframe(depth)
    if frame.f_lasti < 0 or frame.f_code.co_code[frame.f_lasti] not in _UNPACKING:
        return
    listed = ", ".join(names)
    raise UsageError(
        f"columns by name ({listed}) cannot be unpacked, because that gives their names: write "
        'tarflume.torch.Loader(..., deliver="tuple") or tarflume.Loader(..., deliver="tuple") for "for images, labels in '
        'loader"; of a data set, transform=lambda sample: (sample["image"], sample["label"]); or take columns by name'
    )
