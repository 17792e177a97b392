"""Operations of object detection: crops and canvases whose boxes, masks and points follow."""

from __future__ import annotations

from collections.abc import Sequence

from .arguments import PADDING_MODES, Arguments, Fill, Size
from .base import Operation
from .crop import PaddingMode

__all__ = ["FixedSizeCrop", "RandomIoUCrop", "RandomZoomOut"]


class RandomZoomOut(Operation):
    """Puts the picture at a random place of a larger canvas with the probability `p`.

    Both sides are multiplied by a random number of `side_range`, which begins at 1 or above. `fill` is around the picture.

        transforms.RandomZoomOut(fill=(123, 117, 104))
    """

    fill: tuple[int, int, int]
    side_range: tuple[float, float]
    p: float

    def __init__(self, fill: Fill = 0, side_range: Sequence[float] = (1.0, 4.0), p: float = 0.5) -> None:
        check = Arguments(self)
        self._keep(
            fill=check.fill("fill", fill),
            side_range=check.pair("side_range", side_range, 1.0, 100.0),
            p=check.probability("p", p),
        )


class RandomIoUCrop(Operation):
    """A crop that is chosen by the boxes of the picture: the sampling of SSD.

    An option is drawn of `sampler_options`: a number from 1 on leaves the picture as it is. For another one, up to `trials`
    crops are tried: each side is the picture's times a number from `min_scale` to `max_scale`. A crop is taken if it has the
    center of a box, and if the area that it shares with this box, divided by the area of both, is the option or more. Objects
    whose center is outside of the crop are left out.

        transforms.RandomIoUCrop()
    """

    min_scale: float
    max_scale: float
    min_aspect_ratio: float
    max_aspect_ratio: float
    sampler_options: tuple[float, ...]
    trials: int

    def __init__(
        self,
        min_scale: float = 0.3,
        max_scale: float = 1.0,
        min_aspect_ratio: float = 0.5,
        max_aspect_ratio: float = 2.0,
        sampler_options: Sequence[float] | None = None,
        trials: int = 40,
    ) -> None:
        check = Arguments(self)
        valid = "it is a list of numbers of at least 0, of which those from 1 on leave the picture as it is"
        options = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
        if sampler_options is not None:
            options = check.items("sampler_options", sampler_options, range(1, 10_000), valid)
        least = check.number("min_scale", min_scale, 0.0, 1.0)
        narrow = check.number("min_aspect_ratio", min_aspect_ratio, 0.0)
        self._keep(
            min_scale=least,
            max_scale=check.number("max_scale", max_scale, least, 1.0),
            min_aspect_ratio=narrow,
            max_aspect_ratio=check.number("max_aspect_ratio", max_aspect_ratio, narrow),
            sampler_options=tuple(
                check.number(f"sampler_options[{at}]", option, 0.0) for at, option in enumerate(options)
            ),
            trials=check.whole("trials", trials, 1, 1000),
        )


class FixedSizeCrop(Operation):
    """A crop of `size` at a random place. A smaller picture is in the upper left corner, and the rest is filled.

    After a `ScaleJitter` it is the large-scale jitter of Mask R-CNN:

        transforms.Compose([transforms.ScaleJitter((1024, 1024)), transforms.FixedSizeCrop((1024, 1024))])
    """

    size: tuple[int, int]
    fill: tuple[int, int, int]
    padding_mode: str

    def __init__(self, size: Size, fill: Fill = 0, padding_mode: PaddingMode = "constant") -> None:
        check = Arguments(self)
        self._keep(
            size=check.size("size", size),
            fill=check.fill("fill", fill),
            padding_mode=check.word("padding_mode", padding_mode, PADDING_MODES),
        )
