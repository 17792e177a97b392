"""Steps that become settings of the column: to a tensor, to floats, normalized. And values on their scales."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from ..arguments import Arguments
from ..base import Operation
from .walk import Scale, Walk

__all__ = ["erasing", "level", "normalize", "to_dtype", "to_tensor"]

_DTYPES: dict[str, Literal["float32", "float16", "bfloat16"]] = {
    "torch.float32": "float32",
    "torch.float16": "float16",
    "torch.bfloat16": "bfloat16",
}


def to_tensor(walk: Walk, transform: Any, dtype: object = "torch.uint8", scale: bool = True) -> list[Operation]:
    """A step that makes a tensor `[channels, height, width]`; floats are from 0 to 1 with `scale`, else levels."""
    settings = walk.settle(transform)
    settings.layout = "chw"
    to_dtype(walk, transform, dtype, scale)
    return []


def to_dtype(walk: Walk, transform: Any, dtype: object, scale: bool) -> None:
    """A step that makes numbers of another type."""
    settings = walk.settle(transform)
    word = str(dtype)
    is_float = settings.dtype != "uint8"
    if word in ("torch.uint8", "None") and not is_float:
        return
    if word not in _DTYPES:
        raise walk.refused(
            transform, f"makes {word}: pictures are uint8, float32, float16 or bfloat16 here, from bytes to floats once"
        )
    settings.dtype = _DTYPES[word]
    if is_float:
        return
    settings.scale = "unit" if scale else "float levels"
    if not scale:
        settings.std = (1 / 255, 1 / 255, 1 / 255)


def normalize(walk: Walk, transform: Any, mean: Any, std: Any) -> list[Operation]:
    """A step that subtracts the mean and divides by the standard deviation, both on the scale of the pixels."""
    settings = walk.settle(transform)
    if settings.scale == "normalized":
        raise walk.refused(transform, "is a second Normalize: make it one with the first")
    if settings.scale == "levels":
        advice = "put ToDtype(torch.float32, scale=True) before it"
        raise walk.refused(transform, f"comes before the step that makes floats: {advice}")
    most = 255.0 if settings.scale == "float levels" else 1.0
    settings.mean = _of_channels(walk, transform, "mean", mean, most)
    settings.std = _of_channels(walk, transform, "std", std, most)
    if min(settings.std) <= 0.0:
        raise walk.refused(transform, "has a std of 0")
    settings.scale = "normalized"
    return []


def _of_channels(walk: Walk, transform: Any, name: str, value: Any, most: float) -> tuple[float, float, float]:
    """A number for each channel, on a scale of 0 to 1."""
    check = Arguments(transform)
    is_one = isinstance(value, (int, float))
    items = [value] if is_one else check.items(name, value, (1, 3), "it is a list of 3 numbers")
    found = [check.number(f"{name}[{at}]", item) / most for at, item in enumerate(items)]
    return (found[0], found[len(found) // 2], found[-1])


def level(walk: Walk, value: Any) -> Any:
    """A fill or a threshold as a level from 0 to 255."""
    if walk.settings.scale != "unit" or value is None:
        return value
    return [255 * one for one in value] if isinstance(value, (list, tuple)) else 255 * value


def erasing(walk: Walk, transform: Any, make: Callable[[Any], Operation], value: Any) -> list[Operation]:
    """A step that overwrites a rectangle by `value`, on the scale of its place: the operation that `make` makes.

    As the last operation it writes values of the row, after the last setting; elsewhere levels from 0 to 255.
    """
    final = walk.final or walk.settings
    scale = walk.settings.scale
    if walk.is_random:
        raise walk.refused(transform, "is not taken for each picture: put it at the end, with a p of its own")
    place = walk.place
    if isinstance(value, str):
        if final.scale in ("levels", "unit") or scale != final.scale:
            raise walk.refused(transform, "writes standard normal noise into values of another scale: put it after Normalize")
        operation = make(value)
        walk.inside[id(operation)] = partial(_refuse, walk, transform, place)
        return [operation]
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    values = values * 3 if len(values) == 1 else values
    units = [_unit(scale, *numbers) for numbers in zip(values, final.mean, final.std)]
    last = [_of_row(final.scale, *numbers) for numbers in zip(units, final.mean, final.std)]
    operation = make(values if scale == final.scale != "unit" else last)
    walk.inside[id(operation)] = partial(make, [255 * unit for unit in units])
    return [operation]


def _refuse(walk: Walk, transform: Any, place: str) -> Operation:
    walk.place = place
    raise walk.refused(transform, "writes normal noise before other operations: put it at the end")


def _unit(scale: Scale, value: float, mean: float, std: float) -> float:
    """A value on a scale, as a level from 0 to 1."""
    if scale == "normalized":
        return value * std + mean
    return value if scale == "unit" else value / 255


def _of_row(scale: Scale, unit: float, mean: float, std: float) -> float:
    """A level from 0 to 1 as an operation has it: from 0 to 255 where rows are not normalized."""
    return 255 * unit if scale in ("levels", "unit") else (unit - mean) / std
