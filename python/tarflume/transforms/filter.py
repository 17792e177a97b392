"""Operations that smooth, add noise, compress and erase."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from .arguments import Arguments, Range, Size
from .base import Operation

__all__ = ["GaussianBlur", "GaussianNoise", "JPEG", "RandomErasing"]


class GaussianBlur(Operation):
    """Smooths with a Gaussian of a random standard deviation of the range `sigma`, in pixels.

    `kernel_size` is the number of taps, odd: one number, or one across and one down.

        transforms.GaussianBlur(23, sigma=(0.1, 2.0))
    """

    kernel_size: tuple[int, int]
    sigma: tuple[float, float]

    def __init__(self, kernel_size: Size, sigma: Range = (0.1, 2.0)) -> None:
        check = Arguments(self)
        taps = check.size("kernel_size", kernel_size)
        if any(count % 2 == 0 for count in taps):
            raise check.wrong("kernel_size", kernel_size, "the number of taps is odd")
        self._keep(kernel_size=taps, sigma=check.pair("sigma", _ends(sigma), 0.0, above=True))


class GaussianNoise(Operation):
    """Adds normal noise of this mean and standard deviation, on a scale of 0 to 1, to each level.

    Without `clip` levels outside 0 to 255 wrap around.

        transforms.GaussianNoise(sigma=0.05)
    """

    mean: float
    sigma: float
    clip: bool

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        check = Arguments(self)
        self._keep(
            mean=check.number("mean", mean), sigma=check.number("sigma", sigma, 0.0), clip=check.flag("clip", clip)
        )


class JPEG(Operation):
    """Compresses as JPEG of a random quality, and decodes again. `quality` is a range from 1 to 100, or one number.

        transforms.JPEG((30, 90))
    """

    quality: tuple[int, int]

    def __init__(self, quality: int | Sequence[int]) -> None:
        self._keep(quality=_wholes(Arguments(self), "quality", quality, 1, 100))


class RandomErasing(Operation):
    """Overwrites a rectangle of random area and aspect ratio with the probability `p`.

    `scale` is the range of its area as a share of the picture's, `ratio` that of its height divided by its width.
    `value` is a number, one for each channel, "random" (normal noise for each pixel), or "random_color" (the same for
    all pixels). `count` is a number of rectangles, or a range; several share the area.

    As the last operation of a recipe it writes into a normalized row, after `normalize` or `mean` and `std`: values are
    those of the row. Else they are levels from 0 to 255, also in a row of floats from 0 to 1.

        transforms.RandomErasing(0.25, value="random")
    """

    p: float
    scale: tuple[float, float]
    ratio: tuple[float, float]
    value: tuple[float, ...] | str
    count: tuple[int, int]

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: float | Sequence[float] | str = 0.0,
        inplace: bool = False,
        *,
        count: int | Sequence[int] = 1,
    ) -> None:
        check = Arguments(self)
        check.flag("inplace", inplace)
        self._keep(
            p=check.probability("p", p),
            scale=check.pair("scale", scale, 0.0, 1.0),
            ratio=check.pair("ratio", ratio, 0.0, above=True),
            value=self._value(check, value),
            count=_wholes(check, "count", count, 1, 1000),
        )

    @staticmethod
    def _value(check: Arguments, value: Any) -> tuple[float, ...] | str:
        valid = "it is a number, one for each of three channels, 'random' or 'random_color'"
        if isinstance(value, str):
            return check.word("value", value, ("random", "random_color"))
        items = [value] if isinstance(value, Real) else check.items("value", value, (1, 3), valid)
        levels = tuple(check.number("value", item) for item in items)
        return levels if len(levels) == 3 else levels * 3


def _wholes(check: Arguments, name: str, value: Any, least: int, most: int) -> tuple[int, int]:
    """A range of whole numbers, also from one."""
    valid = f"it is a whole number from {least} to {most}, or a pair of them, the lower one first"
    items = [value, value] if isinstance(value, Integral) else check.items(name, value, (2,), valid)
    low = check.whole(name, items[0], least, most)
    high = check.whole(name, items[1], least, most)
    if low > high:
        raise check.wrong(name, value, valid)
    return (low, high)


def _ends(value: Any) -> Any:
    """A range, also from one number or a list of one."""
    if isinstance(value, Real):
        return (value, value)
    return (value[0], value[0]) if hasattr(value, "__len__") and len(value) == 1 else value
