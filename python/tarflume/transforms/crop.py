"""Operations that crop, pad and resize."""

from __future__ import annotations

import json
from collections.abc import Sequence
from numbers import Integral
from typing import Literal

from .._core import patch_size
from .arguments import MOST_PIXELS, PADDING_MODES, RESIZES, Arguments, Fill, Interpolation, Padding, Size
from .base import Operation

__all__ = [
    "BucketCrop",
    "CenterCrop",
    "FiveCrop",
    "Pad",
    "PatchResize",
    "RandomCrop",
    "RandomResize",
    "RandomResizedCrop",
    "RandomShortestSize",
    "Resize",
    "ResizeKeepRatio",
    "ScaleJitter",
    "TenCrop",
]

PaddingMode = Literal["constant", "edge", "reflect", "symmetric"]


class RandomResizedCrop(Operation):
    """A crop of random area and aspect ratio at a random place, resized to `size`.

    `scale` is the range of its area as a share of the picture's, `ratio` the range of its width divided by its height.
    Of a JPEG only the blocks of the crop are decoded if it is the first operation. `interpolation="random"` is bilinear or
    bicubic, drawn for each picture, as timm has it by default.

        transforms.RandomResizedCrop(224, scale=(0.2, 1.0), interpolation="bicubic")
    """

    size: tuple[int, int]
    scale: tuple[float, float]
    ratio: tuple[float, float]
    interpolation: str

    def __init__(
        self,
        size: Size,
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Interpolation = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        check = Arguments(self)
        check.antialias(antialias)
        self._keep(
            size=check.size("size", size),
            scale=check.pair("scale", scale, 0.0, 1.0, above=True),
            ratio=check.pair("ratio", ratio, 0.0, above=True),
            interpolation=check.interpolation("interpolation", interpolation, (*RESIZES, "random")),
        )


class Resize(Operation):
    """The whole picture, resized.

    `size` is (height, width), or one number: the pixels of the shorter side. `max_size` limits the longer side then.

        transforms.Resize(256)
        transforms.Resize((224, 224), interpolation="bicubic")
    """

    size: int | tuple[int, int]
    interpolation: str
    max_size: int | None

    def __init__(
        self,
        size: Size | None,
        interpolation: Interpolation = "bilinear",
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        check = Arguments(self)
        check.antialias(antialias)
        if size is None:
            raise check.wrong("size", size, "to resize the longer side to N pixels, write ResizeKeepRatio(N)")
        sides = check.size("size", size)
        is_one = isinstance(size, int | Integral) or len(size) == 1
        longest = None if max_size is None else check.whole("max_size", max_size, 1, MOST_PIXELS)
        if longest is not None and not is_one:
            raise check.wrong("max_size", max_size, "it limits the longer side where size is one number")
        if longest is not None and longest <= sides[0]:
            raise check.wrong("max_size", max_size, f"it is larger than the shorter side, {sides[0]}")
        self._keep(
            size=sides[0] if is_one else sides,
            interpolation=check.interpolation("interpolation", interpolation),
            max_size=longest,
        )


class CenterCrop(Operation):
    """The middle of the picture. A smaller picture is padded with black.

        transforms.CenterCrop(224)
    """

    size: tuple[int, int]

    def __init__(self, size: Size) -> None:
        self._keep(size=Arguments(self).size("size", size))


class BucketCrop(Operation):
    """The largest crop of the shape of the picture's bucket, resized to the size of the bucket.

        transforms.BucketCrop(random=True)

    A loader with `bucket=` gives it the size: `Loader("shards/", image=transforms.BucketCrop(), bucket=Buckets.aspect())`. The crop is in the middle, or with `random` at a random place. It stands in the
    first list of a recipe, not inside another operation.
    """

    random: bool
    interpolation: str

    def __init__(self, random: bool = False, interpolation: Interpolation = "bilinear", antialias: bool | None = True) -> None:
        check = Arguments(self)
        check.antialias(antialias)
        self._keep(
            random=check.flag("random", random),
            interpolation=check.interpolation("interpolation", interpolation, (*RESIZES, "random")),
        )


class FiveCrop(Operation):
    """Crops of `size` at the four corners and at the center: upper left, upper right, lower left, lower right, center.

        transforms.Compose([transforms.Resize(256), transforms.FiveCrop(224)])

    It is the last operation of a recipe. The column has all crops in each row: `[batch, 5, height, width, channels]`.
    The other operations of the recipe run once for each crop.
    """

    size: tuple[int, int]

    def __init__(self, size: Size) -> None:
        self._keep(size=Arguments(self).size("size", size))


class TenCrop(Operation):
    """The crops of `FiveCrop`, and those of the mirrored picture: left to right, or top to bottom with `vertical_flip`.

        transforms.Compose([transforms.Resize(256), transforms.TenCrop(224)])

    It is the last operation of a recipe. The column has all crops in each row: `[batch, 10, height, width, channels]`.
    """

    size: tuple[int, int]
    vertical_flip: bool

    def __init__(self, size: Size, vertical_flip: bool = False) -> None:
        check = Arguments(self)
        self._keep(size=check.size("size", size), vertical_flip=check.flag("vertical_flip", vertical_flip))


class RandomCrop(Operation):
    """A crop of `size` at a random place, after a padding. `pad_if_needed` pads a smaller picture at both sides.

        transforms.RandomCrop(32, padding=4, padding_mode="reflect")
    """

    size: tuple[int, int]
    padding: tuple[int, int, int, int] | None
    pad_if_needed: bool
    fill: tuple[int, int, int]
    padding_mode: str

    def __init__(
        self,
        size: Size,
        padding: Padding | None = None,
        pad_if_needed: bool = False,
        fill: Fill = 0,
        padding_mode: PaddingMode = "constant",
    ) -> None:
        check = Arguments(self)
        self._keep(
            size=check.size("size", size),
            padding=self._padding(check, padding),
            pad_if_needed=check.flag("pad_if_needed", pad_if_needed),
            fill=check.fill("fill", fill),
            padding_mode=check.word("padding_mode", padding_mode, PADDING_MODES),
        )

    @staticmethod
    def _padding(check: Arguments, value: Padding | None) -> tuple[int, int, int, int] | None:
        """The margin, if it has a pixel."""
        sides = None if value is None else check.padding("padding", value)
        return sides if sides and any(sides) else None


class Pad(Operation):
    """Adds a margin: of one width, of (left and right, top and bottom), or of (left, top, right, bottom) pixels.

        transforms.Pad(4, padding_mode="reflect")
    """

    padding: tuple[int, int, int, int]
    fill: tuple[int, int, int]
    padding_mode: str

    def __init__(self, padding: Padding, fill: Fill = 0, padding_mode: PaddingMode = "constant") -> None:
        check = Arguments(self)
        self._keep(
            padding=check.padding("padding", padding),
            fill=check.fill("fill", fill),
            padding_mode=check.word("padding_mode", padding_mode, PADDING_MODES),
        )


class RandomShortestSize(Operation):
    """Resizes the shorter side to one of the numbers `min_size`. `max_size` limits the longer side.

        transforms.RandomShortestSize((640, 672, 704, 736, 768, 800), max_size=1333)
    """

    min_size: tuple[int, ...]
    max_size: int | None
    interpolation: str

    def __init__(
        self,
        min_size: Size,
        max_size: int | None = None,
        interpolation: Interpolation = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        check = Arguments(self)
        check.antialias(antialias)
        valid = "it is a number of pixels, or a list of at least one"
        items = [min_size]
        if not isinstance(min_size, Integral):
            items = check.items("min_size", min_size, range(1, 10_000), valid)
        self._keep(
            min_size=tuple(check.whole(f"min_size[{at}]", side, 1, MOST_PIXELS) for at, side in enumerate(items)),
            max_size=None if max_size is None else check.whole("max_size", max_size, 1, MOST_PIXELS),
            interpolation=check.interpolation("interpolation", interpolation),
        )


class RandomResize(Operation):
    """Resizes the shorter side to a random number of pixels, from `min_size` to below `max_size`.

        transforms.RandomResize(240, 961)
    """

    min_size: int
    max_size: int
    interpolation: str

    def __init__(
        self,
        min_size: int,
        max_size: int,
        interpolation: Interpolation = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        check = Arguments(self)
        check.antialias(antialias)
        least = check.whole("min_size", min_size, 1, MOST_PIXELS)
        self._keep(
            min_size=least,
            max_size=check.whole("max_size", max_size, least + 1, MOST_PIXELS + 1),
            interpolation=check.interpolation("interpolation", interpolation),
        )


class ScaleJitter(Operation):
    """Resizes the picture so that it fits into `target_size` multiplied by a random number of `scale_range`.

        transforms.ScaleJitter((1024, 1024), scale_range=(0.1, 2.0))
    """

    target_size: tuple[int, int]
    scale_range: tuple[float, float]
    interpolation: str

    def __init__(
        self,
        target_size: Size,
        scale_range: Sequence[float] = (0.1, 2.0),
        interpolation: Interpolation = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        check = Arguments(self)
        check.antialias(antialias)
        self._keep(
            target_size=check.size("target_size", target_size),
            scale_range=check.pair("scale_range", scale_range, 0.0, above=True),
            interpolation=check.interpolation("interpolation", interpolation),
        )


class PatchResize(Operation):
    """Resizes the picture to a whole number of patches of `patch` pixels across and down, at most `max_tokens` of them.

        transforms.PatchResize(16, max_tokens=256)

    `rule="naflex"` is the rule of SigLIP 2 and of timm's NaFlex: the largest such size, also of small pictures.
    `rule="qwen2_vl"` keeps the size of the picture to the nearest patch, within `min_tokens` and `max_tokens`; its `patch` is that
    of the merged patches, such as 28. `rule="pix2struct"` rounds down. `size` and `tokens` tell what a picture becomes.
    """

    patch: int
    max_tokens: int
    rule: str
    min_tokens: int
    interpolation: str

    def __init__(
        self,
        patch: int,
        max_tokens: int,
        rule: Literal["naflex", "qwen2_vl", "pix2struct"] = "naflex",
        min_tokens: int = 0,
        interpolation: Interpolation = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        check = Arguments(self)
        check.antialias(antialias)
        most = check.whole("max_tokens", max_tokens, 1, MOST_PIXELS)
        self._keep(
            patch=check.whole("patch", patch, 1, MOST_PIXELS),
            max_tokens=most,
            rule=check.word("rule", rule, ("naflex", "qwen2_vl", "pix2struct")),
            min_tokens=check.whole("min_tokens", min_tokens, 0, most),
            interpolation=check.interpolation("interpolation", interpolation),
        )

    def size(self, height: int, width: int) -> tuple[int, int]:
        """The height and the width of the result for an upright picture of this height and width."""
        return patch_size(json.dumps(self.to_dict()), height, width)

    def tokens(self, height: int, width: int) -> int:
        """The number of patches of the result for an upright picture of this height and width."""
        height, width = self.size(height, width)
        return (height // self.patch) * (width // self.patch)


class ResizeKeepRatio(Operation):
    """Resizes the longer side to `size` pixels. With `letterbox` the picture becomes a square: `fill` is on both sides.

        transforms.ResizeKeepRatio(640, letterbox=True)
    """

    size: int
    letterbox: bool
    fill: tuple[int, int, int]
    interpolation: str

    def __init__(
        self,
        size: int,
        letterbox: bool = False,
        fill: Fill = 114,
        interpolation: Interpolation = "bilinear",
    ) -> None:
        check = Arguments(self)
        self._keep(
            size=check.whole("size", size, 1, MOST_PIXELS),
            letterbox=check.flag("letterbox", letterbox),
            fill=check.fill("fill", fill),
            interpolation=check.interpolation("interpolation", interpolation),
        )
