"""Operations that mirror, turn and warp."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from .arguments import WARPS, Arguments, Fill, Interpolation, Range
from .base import Operation

__all__ = [
    "ElasticTransform",
    "RandomAffine",
    "RandomHorizontalFlip",
    "RandomPerspective",
    "RandomQuarterTurn",
    "RandomRotation",
    "RandomVerticalFlip",
]


class RandomHorizontalFlip(Operation):
    """Exchanges left and right with the probability `p`.

        transforms.RandomHorizontalFlip()
    """

    p: float

    def __init__(self, p: float = 0.5) -> None:
        self._keep(p=Arguments(self).probability("p", p))


class RandomVerticalFlip(Operation):
    """Exchanges top and bottom with the probability `p`.

        transforms.RandomVerticalFlip()
    """

    p: float

    def __init__(self, p: float = 0.5) -> None:
        self._keep(p=Arguments(self).probability("p", p))


class RandomQuarterTurn(Operation):
    """Turns counterclockwise by one of `turns` times 90 degrees, without interpolation.

        transforms.RandomQuarterTurn()               # 0, 90, 180 or 270 degrees
        transforms.RandomQuarterTurn(turns=(1, 3))   # to either side
    """

    turns: tuple[int, ...]

    def __init__(self, turns: Sequence[int] = (0, 1, 2, 3)) -> None:
        check = Arguments(self)
        items = check.items("turns", turns, range(1, 100), "it is a list of quarters, such as (0, 1, 2, 3)")
        self._keep(turns=tuple(check.whole(f"turns[{at}]", item, 0, 3) for at, item in enumerate(items)))


class RandomRotation(Operation):
    """Rotates counterclockwise by a random number of `degrees`: a range, or the most to both sides.

    `center` is (x, y) in pixels; by default the center of the picture. `expand` makes the picture so large that it
    contains the whole rotated one. Rows of a loader have one shape if a crop or a resize to (height, width) comes after it.

        transforms.RandomRotation(15, interpolation="bilinear")
    """

    degrees: tuple[float, float]
    interpolation: str
    expand: bool
    center: tuple[float, float] | None
    fill: tuple[int, int, int]

    def __init__(
        self,
        degrees: Range,
        interpolation: Interpolation = "nearest",
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Fill = 0,
    ) -> None:
        check = Arguments(self)
        self._keep(
            degrees=check.spread("degrees", degrees),
            interpolation=check.interpolation("interpolation", interpolation, WARPS),
            expand=check.flag("expand", expand),
            center=_center(check, center),
            fill=check.fill("fill", fill),
        )


class RandomAffine(Operation):
    """Rotates, translates, scales and shears by random numbers.

    `degrees` is a range, or the most to both sides. `translate` has the most across and down, as shares of the sides.
    `scale` is a range. `shear` is in degrees: a range across, the most to both sides, or a range across and one down.

        transforms.RandomAffine(30, translate=(0.1, 0.1), scale=(0.8, 1.2), shear=5)
    """

    degrees: tuple[float, float]
    translate: tuple[float, float] | None
    scale: tuple[float, float] | None
    shear: tuple[float, ...] | None
    interpolation: str
    fill: tuple[int, int, int]
    center: tuple[float, float] | None

    def __init__(
        self,
        degrees: Range,
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: Range | None = None,
        interpolation: Interpolation = "nearest",
        fill: Fill = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        check = Arguments(self)
        self._keep(
            degrees=check.spread("degrees", degrees),
            translate=None if translate is None else self._translate(check, translate),
            scale=None if scale is None else check.pair("scale", scale, 0.0, above=True),
            shear=None if shear is None else self._shear(check, shear),
            interpolation=check.interpolation("interpolation", interpolation, WARPS),
            fill=check.fill("fill", fill),
            center=_center(check, center),
        )

    @staticmethod
    def _translate(check: Arguments, value: object) -> tuple[float, float]:
        items = check.items("translate", value, (2,), "it has the most across and down, as shares of the sides")
        shares = [check.number(f"translate[{at}]", share, 0.0, 1.0) for at, share in enumerate(items)]
        return (shares[0], shares[1])

    @staticmethod
    def _shear(check: Arguments, value: Any) -> tuple[float, ...]:
        if isinstance(value, Real):
            return check.spread("shear", value)
        valid = "it is a number of degrees, a range across, or one across and one down"
        items = check.items("shear", value, (2, 4), valid)
        across = check.pair("shear", items[:2])
        return across if len(items) == 2 else (*across, *check.pair("shear", items[2:]))


class RandomPerspective(Operation):
    """Moves the corners inward, by random shares of up to `distortion_scale` of half the sides, with probability `p`.

        transforms.RandomPerspective(0.3)
    """

    distortion_scale: float
    p: float
    interpolation: str
    fill: tuple[int, int, int]

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Interpolation = "bilinear",
        fill: Fill = 0,
    ) -> None:
        check = Arguments(self)
        self._keep(
            distortion_scale=check.number("distortion_scale", distortion_scale, 0.0, 1.0),
            p=check.probability("p", p),
            interpolation=check.interpolation("interpolation", interpolation, WARPS),
            fill=check.fill("fill", fill),
        )


class ElasticTransform(Operation):
    """Moves the pixels by a random field that is smooth: by up to about `alpha`, over distances of `sigma` pixels.

    Both are one number, or one across and one down.

        transforms.ElasticTransform(alpha=60.0, sigma=6.0)
    """

    alpha: tuple[float, float]
    sigma: tuple[float, float]
    interpolation: str
    fill: tuple[int, int, int]

    def __init__(
        self,
        alpha: Range = 50.0,
        sigma: Range = 5.0,
        interpolation: Interpolation = "bilinear",
        fill: Fill = 0,
    ) -> None:
        check = Arguments(self)
        self._keep(
            alpha=_of_axes(check, "alpha", alpha),
            sigma=_of_axes(check, "sigma", sigma),
            interpolation=check.interpolation("interpolation", interpolation, WARPS),
            fill=check.fill("fill", fill),
        )


def _center(check: Arguments, value: object) -> tuple[float, float] | None:
    """A point (x, y) in pixels, if it is not the center of the picture."""
    if value is None:
        return None
    items = check.items("center", value, (2,), "it is a point (x, y) in pixels")
    return (check.number("center[0]", items[0]), check.number("center[1]", items[1]))


def _of_axes(check: Arguments, name: str, value: object) -> tuple[float, float]:
    """A number for both axes, or one across and one down."""
    if isinstance(value, Real):
        number = check.number(name, value, 0.0)
        return (number, number)
    items = check.items(name, value, (1, 2), "it is a number of pixels, or one across and one down")
    axes = [check.number(f"{name}[{at}]", item, 0.0) for at, item in enumerate(items)]
    return (axes[0], axes[-1])
