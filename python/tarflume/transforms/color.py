"""Operations that change colors."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

from .arguments import Arguments, Range
from .base import Operation

__all__ = [
    "ColorJitter",
    "Grayscale",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomChannelPermutation",
    "RandomEqualize",
    "RandomGamma",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomSolarize",
]


class ColorJitter(Operation):
    """Changes brightness, contrast, saturation and hue by random factors, in a random order.

    Each is a range of the factor, or its distance from 1. The hue is a range of turns from -0.5 to 0.5, or the most to
    both sides. What is None or 0 stays as it is.

        transforms.ColorJitter(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1)
    """

    brightness: tuple[float, float] | None
    contrast: tuple[float, float] | None
    saturation: tuple[float, float] | None
    hue: tuple[float, float] | None

    def __init__(
        self,
        brightness: Range | None = None,
        contrast: Range | None = None,
        saturation: Range | None = None,
        hue: Range | None = None,
    ) -> None:
        check = Arguments(self)
        self._keep(
            brightness=_factors(check, "brightness", brightness),
            contrast=_factors(check, "contrast", contrast),
            saturation=_factors(check, "saturation", saturation),
            hue=_hues(check, hue),
        )


class Grayscale(Operation):
    """Replaces colors by gray. `num_output_channels=3` makes three equal channels.

    No operation changes the number of channels. 1 is for a column of gray pictures, which has no colors to replace:
    `tarflume.Image(recipe, channels="gray")`.

        transforms.Grayscale(num_output_channels=3)
    """

    num_output_channels: int

    def __init__(self, num_output_channels: int = 1) -> None:
        check = Arguments(self)
        count = check.whole("num_output_channels", num_output_channels, 1, 3)
        if count == 2:
            raise check.wrong("num_output_channels", num_output_channels, "it is 1 or 3")
        self._keep(num_output_channels=count)


class RandomGrayscale(Operation):
    """Replaces colors by gray with the probability `p`. The picture keeps its channels.

        transforms.RandomGrayscale(p=0.2)
    """

    p: float

    def __init__(self, p: float = 0.1) -> None:
        self._keep(p=Arguments(self).probability("p", p))


class RandomInvert(Operation):
    """Subtracts each level from 255 with the probability `p`.

        transforms.RandomInvert()
    """

    p: float

    def __init__(self, p: float = 0.5) -> None:
        self._keep(p=Arguments(self).probability("p", p))


class RandomPosterize(Operation):
    """Keeps the upper `bits` of each level (0 to 8) with the probability `p`.

        transforms.RandomPosterize(4)
    """

    bits: int
    p: float

    def __init__(self, bits: int, p: float = 0.5) -> None:
        check = Arguments(self)
        self._keep(bits=check.whole("bits", bits, 0, 8), p=check.probability("p", p))


class RandomSolarize(Operation):
    """Inverts the levels from `threshold` (0 to 255) on, with the probability `p`.

        transforms.RandomSolarize(128, p=0.2)
    """

    threshold: float
    p: float

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        check = Arguments(self)
        self._keep(threshold=check.number("threshold", threshold, 0.0, 255.0), p=check.probability("p", p))


class RandomAutocontrast(Operation):
    """Stretches each channel to the range 0 to 255, with the probability `p`.

        transforms.RandomAutocontrast()
    """

    p: float

    def __init__(self, p: float = 0.5) -> None:
        self._keep(p=Arguments(self).probability("p", p))


class RandomEqualize(Operation):
    """Makes the levels of each channel equally frequent, with the probability `p`.

        transforms.RandomEqualize()
    """

    p: float

    def __init__(self, p: float = 0.5) -> None:
        self._keep(p=Arguments(self).probability("p", p))


class RandomAdjustSharpness(Operation):
    """Smooths (`sharpness_factor` below 1) or sharpens (above 1), with the probability `p`.

        transforms.RandomAdjustSharpness(2)
    """

    sharpness_factor: float
    p: float

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        check = Arguments(self)
        self._keep(
            sharpness_factor=check.number("sharpness_factor", sharpness_factor, 0.0), p=check.probability("p", p)
        )


class RandomPhotometricDistort(Operation):
    """The distortion of SSD: brightness, contrast, saturation, hue and order of channels, each with probability `p`.

        transforms.RandomPhotometricDistort()
    """

    brightness: tuple[float, float]
    contrast: tuple[float, float]
    saturation: tuple[float, float]
    hue: tuple[float, float]
    p: float

    def __init__(
        self,
        brightness: Sequence[float] = (0.875, 1.125),
        contrast: Sequence[float] = (0.5, 1.5),
        saturation: Sequence[float] = (0.5, 1.5),
        hue: Sequence[float] = (-0.05, 0.05),
        p: float = 0.5,
    ) -> None:
        check = Arguments(self)
        self._keep(
            brightness=check.pair("brightness", brightness, 0.0),
            contrast=check.pair("contrast", contrast, 0.0),
            saturation=check.pair("saturation", saturation, 0.0),
            hue=check.pair("hue", hue, -0.5, 0.5),
            p=check.probability("p", p),
        )


class RandomChannelPermutation(Operation):
    """Puts the channels into a random order.

        transforms.RandomChannelPermutation()
    """

    def __init__(self) -> None:
        self._keep()


class RandomGamma(Operation):
    """Raises each level, on a scale of 0 to 1, to a random power of the range `gamma`, with the probability `p`.

        transforms.RandomGamma((0.8, 1.2))
    """

    gamma: tuple[float, float]
    p: float

    def __init__(self, gamma: Range = (0.8, 1.2), p: float = 0.5) -> None:
        check = Arguments(self)
        ends = (gamma, gamma) if isinstance(gamma, Real) else gamma
        self._keep(gamma=check.pair("gamma", ends, 0.0, 1e6), p=check.probability("p", p))


def _factors(check: Arguments, name: str, value: Range | None) -> tuple[float, float] | None:
    """The range of a factor; None if it changes nothing."""
    ends = None if value is None else check.spread(name, value, 1.0, 0.0)
    return None if ends == (1.0, 1.0) else ends


def _hues(check: Arguments, value: Range | None) -> tuple[float, float] | None:
    """The range of the turn of the hue; None if it changes nothing."""
    if value is None:
        return None
    if isinstance(value, Real):
        most = check.number("hue", value, 0.0, 0.5)
        ends = (-most, most)
    else:
        ends = check.pair("hue", value, -0.5, 0.5)
    return None if ends == (0.0, 0.0) else ends
