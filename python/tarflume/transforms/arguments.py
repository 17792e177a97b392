"""`Arguments`: checks the arguments of an operation, and gives them one form."""

from __future__ import annotations

import enum
import math
import numbers
from collections.abc import Sequence
from typing import Any, TypeAlias

from ..errors import UsageError

__all__ = ["Arguments", "Fill", "Interpolation", "Padding", "Range", "Size"]

#: One number, or a pair of the least and the most.
Range: TypeAlias = float | Sequence[float]
#: Pixels of a square, or height and width.
Size: TypeAlias = int | Sequence[int]
#: Pixels: of all sides, of (left and right, top and bottom), or of (left, top, right, bottom).
Padding: TypeAlias = int | Sequence[int]
#: A level from 0 to 255, or one for each channel.
Fill: TypeAlias = float | Sequence[float] | None
#: A word, a member of torchvision's `InterpolationMode`, or a constant of Pillow.
Interpolation: TypeAlias = str | int | enum.Enum

#: Filters by the constants of Pillow.
_OF_PILLOW = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
WARPS = ("nearest", "bilinear", "bicubic")
RESIZES = ("nearest", "bilinear", "bicubic", "lanczos")
PADDING_MODES = ("constant", "edge", "reflect", "symmetric")
#: The longest side of a picture.
MOST_PIXELS = 65_535
_INFINITY = math.inf


class Arguments:
    """The checks for one operation, whose name is in every error."""

    def __init__(self, operation: object) -> None:
        self.operation = operation if isinstance(operation, str) else type(operation).__name__

    def wrong(self, name: str, value: object, valid: str) -> UsageError:
        """The error for a value."""
        return UsageError(f"{self.operation}: {name} is {value!r}; {valid}")

    def number(
        self, name: str, value: object, least: float = -_INFINITY, most: float = _INFINITY, *, above: bool = False
    ) -> float:
        """A number from `least` to `most`; with `above` not `least` itself."""
        valid = f"it is a number{_limits(least, most, above)}"
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise self.wrong(name, value, valid)
        number = float(value)
        if not math.isfinite(number) or not least <= number <= most or (above and number == least):
            raise self.wrong(name, value, valid)
        return number

    def whole(self, name: str, value: object, least: int, most: float = _INFINITY) -> int:
        """A whole number from `least` to `most`."""
        valid = f"it is a whole number{_limits(least, most)}"
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not least <= int(value) <= most:
            raise self.wrong(name, value, valid)
        return int(value)

    def flag(self, name: str, value: object) -> bool:
        """True or False."""
        if not isinstance(value, bool):
            raise self.wrong(name, value, "it is True or False")
        return value

    def probability(self, name: str, value: object) -> float:
        """A number from 0 to 1."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= float(value) <= 1:
            raise self.wrong(name, value, "a probability is a number from 0 to 1")
        return float(value)

    def items(self, name: str, value: object, counts: Sequence[int], valid: str) -> list[Any]:
        """The items of a list or a tuple (of an array, too) that has one of these lengths."""
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__") or not hasattr(value, "__getitem__"):
            raise self.wrong(name, value, valid)
        items = [value[at] for at in range(len(value))] if not hasattr(value, "keys") else []
        if len(items) not in counts:
            raise self.wrong(name, value, valid)
        return [item.item() if hasattr(item, "item") else item for item in items]

    def pair(
        self, name: str, value: object, least: float = -_INFINITY, most: float = _INFINITY, *, above: bool = False
    ) -> tuple[float, float]:
        """The ends of a range, the lower one first."""
        valid = f"it is a pair of numbers{_limits(least, most, above)}, the lower one first"
        low, high = self.items(name, value, (2,), valid)
        ends = (
            self.number(f"{name}[0]", low, least, most, above=above),
            self.number(f"{name}[1]", high, least, most, above=above),
        )
        if ends[0] > ends[1]:
            raise self.wrong(name, value, valid)
        return ends

    def spread(self, name: str, value: object, center: float = 0.0, least: float = -_INFINITY) -> tuple[float, float]:
        """A range, or a number that is its distance from `center` on both sides; it ends at `least`."""
        if not isinstance(value, numbers.Real):
            return self.pair(name, value, least)
        distance = self.number(name, value, 0.0)
        return (max(center - distance, least), center + distance)

    def size(self, name: str, value: object) -> tuple[int, int]:
        """Height and width: one number for a square."""
        if isinstance(value, numbers.Integral):
            side = self.whole(name, value, 1, MOST_PIXELS)
            return (side, side)
        items = self.items(name, value, (1, 2), "a size is a number of pixels, or (height, width)")
        sides = [self.whole(f"{name}[{at}]", side, 1, MOST_PIXELS) for at, side in enumerate(items)]
        return (sides[0], sides[-1])

    def padding(self, name: str, value: object) -> tuple[int, int, int, int]:
        """Left, top, right and bottom: also from one number, and from (left and right, top and bottom)."""
        if isinstance(value, numbers.Integral):
            margin = self.whole(name, value, 0, MOST_PIXELS)
            return (margin, margin, margin, margin)
        valid = (
            "it is a number of pixels, (left and right, top and bottom), or (left, top, right, bottom); "
            "to take pixels away, use a crop"
        )
        items = self.items(name, value, (1, 2, 4), valid)
        sides = [self.whole(f"{name}[{at}]", side, 0, MOST_PIXELS) for at, side in enumerate(items)]
        if len(sides) == 4:
            return (sides[0], sides[1], sides[2], sides[3])
        return (sides[0], sides[-1], sides[0], sides[-1])

    def fill(self, name: str, value: object) -> tuple[int, int, int]:
        """A level for red, green and blue, rounded; None is black."""
        valid = "it is a level from 0 to 255, or one for red, green and blue"
        if value is None:
            return (0, 0, 0)
        items = [value] if isinstance(value, numbers.Real) else self.items(name, value, (1, 3), valid)
        for item in items:
            if isinstance(item, bool) or not isinstance(item, numbers.Real) or not 0 <= float(item) <= 255:
                raise self.wrong(name, value, valid)
        levels = [round(float(item)) for item in items]
        return (levels[0], levels[len(levels) // 2], levels[-1])

    def word(self, name: str, value: object, words: Sequence[str]) -> str:
        """One of the words; a member of an enumeration has its word as the value."""
        word = value.value if isinstance(value, enum.Enum) else value
        if not isinstance(word, str) or word not in words:
            raise self.wrong(name, value, f"it is one of {', '.join(map(repr, words))}")
        return word

    def interpolation(self, name: str, value: object, words: Sequence[str] = RESIZES) -> str:
        """A filter: a word, torchvision's `InterpolationMode`, or a constant of Pillow."""
        word = value.value if isinstance(value, enum.Enum) else value
        if isinstance(word, numbers.Integral) and not isinstance(word, bool):
            word = _OF_PILLOW.get(int(word), word)
        if word == "nearest-exact":
            word = "nearest"
        if not isinstance(word, str) or word not in words:
            raise self.wrong(name, value, f"it is one of {', '.join(map(repr, words))}")
        return word

    def antialias(self, value: object) -> None:
        """torchvision's switch: a resize is always antialiased here."""
        if value is not True and value is not None:
            text = "a resize is antialiased, as Pillow does it; leave antialias out, or use interpolation='nearest'"
            raise self.wrong("antialias", value, text)


def _limits(least: float, most: float, above: bool = False) -> str:
    """The limits in words."""
    if above:
        return f" above {least:g}" if most == _INFINITY else f" above {least:g}, up to {most:g}"
    if least == -_INFINITY and most == _INFINITY:
        return ""
    if most == _INFINITY:
        return f" of at least {least:g}"
    return f" from {least:g} to {most:g}"
