"""Policies: operations that choose others, with strengths that publications and libraries fixed."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence

from .arguments import WARPS, Arguments, Fill, Interpolation
from .base import Operation

__all__ = ["AugMix", "AutoAugment", "RandAugment", "TimmAugment", "TrivialAugmentWide", "timm"]


class AutoAugment(Operation):
    """One of 25 pairs of operations that were learned on a data set: "imagenet", "cifar10" or "svhn".

        transforms.AutoAugment("cifar10")
    """

    policy: str
    interpolation: str
    fill: tuple[int, int, int]

    def __init__(
        self, policy: str | enum.Enum = "imagenet", interpolation: Interpolation = "nearest", fill: Fill = None
    ) -> None:
        check = Arguments(self)
        self._keep(
            policy=check.word("policy", policy, ("imagenet", "cifar10", "svhn")),
            interpolation=check.interpolation("interpolation", interpolation, WARPS),
            fill=check.fill("fill", fill),
        )


class RandAugment(Operation):
    """`num_ops` of 14 operations, each of the strength `magnitude` of `num_magnitude_bins`.

        transforms.RandAugment(num_ops=2, magnitude=9)
    """

    num_ops: int
    magnitude: int
    num_magnitude_bins: int
    interpolation: str
    fill: tuple[int, int, int]

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Interpolation = "nearest",
        fill: Fill = None,
    ) -> None:
        check = Arguments(self)
        bins = check.whole("num_magnitude_bins", num_magnitude_bins, 2, 1_000_000)
        self._keep(
            num_ops=check.whole("num_ops", num_ops, 0, 100),
            magnitude=check.whole("magnitude", magnitude, 0, bins - 1),
            num_magnitude_bins=bins,
            interpolation=check.interpolation("interpolation", interpolation, WARPS),
            fill=check.fill("fill", fill),
        )


class TrivialAugmentWide(Operation):
    """One of 14 operations, of a random strength.

        transforms.TrivialAugmentWide()
    """

    num_magnitude_bins: int
    interpolation: str
    fill: tuple[int, int, int]

    def __init__(
        self, num_magnitude_bins: int = 31, interpolation: Interpolation = "nearest", fill: Fill = None
    ) -> None:
        check = Arguments(self)
        self._keep(
            num_magnitude_bins=check.whole("num_magnitude_bins", num_magnitude_bins, 2, 1_000_000),
            interpolation=check.interpolation("interpolation", interpolation, WARPS),
            fill=check.fill("fill", fill),
        )


class AugMix(Operation):
    """Mixes the picture with `mixture_width` chains of operations. A chain has `chain_depth` of them, -1: one to three.

        transforms.AugMix(severity=3)
    """

    severity: int
    mixture_width: int
    chain_depth: int
    alpha: float
    all_ops: bool
    interpolation: str
    fill: tuple[int, int, int]

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: Interpolation = "bilinear",
        fill: Fill = None,
    ) -> None:
        check = Arguments(self)
        self._keep(
            severity=check.whole("severity", severity, 1, 10),
            mixture_width=check.whole("mixture_width", mixture_width, 1, 100),
            chain_depth=check.whole("chain_depth", chain_depth, -1, 100),
            alpha=check.number("alpha", alpha, 0.0, above=True),
            all_ops=check.flag("all_ops", all_ops),
            interpolation=check.interpolation("interpolation", interpolation, WARPS),
            fill=check.fill("fill", fill),
        )


class TimmAugment(Operation):
    """A policy of timm by its text, such as "rand-m9-mstd0.5-inc1", "original", "3a" or "augmix-m5-w4".

    `fill` is outside the picture, by default the mean color of ImageNet as in timm. Without an `interpolation`, or with
    "random", each warp is bilinear or bicubic at random. `translate_pct` is the largest translation as a share of the side, by default
    0.45, and 0.3 for "augmix".

        transforms.TimmAugment("rand-m9-mstd0.5-inc1", interpolation="bicubic")
    """

    config: str
    fill: tuple[int, int, int]
    interpolation: str | None
    translate_pct: float | None

    def __init__(
        self,
        config: str,
        fill: Fill = (124, 116, 104),
        interpolation: Interpolation | None = None,
        translate_pct: float | None = None,
    ) -> None:
        check = Arguments(self)
        is_random = interpolation is None or interpolation == "random"
        self._keep(
            config=_config(check, config),
            fill=check.fill("fill", fill),
            interpolation=None if is_random else check.interpolation("interpolation", interpolation, WARPS),
            translate_pct=None if translate_pct is None else check.number("translate_pct", translate_pct, 0.0, 1.0),
        )


def timm(
    config: str,
    *,
    mean: Sequence[float] = (0.485, 0.456, 0.406),
    interpolation: Interpolation | None = None,
) -> TimmAugment:
    """The policy that `timm.data.create_transform(auto_augment=config, mean=mean, interpolation=...)` has.

        transforms.timm("rand-m9-mstd0.5-inc1", interpolation="bicubic")

    The mean, of 0 to 1, is the color outside the picture. Without an interpolation, or with "random", each warp is
    bilinear or bicubic at random.
    """
    check = Arguments("timm")
    items = check.items("mean", mean, (3,), "it is a level from 0 to 1 for red, green and blue")
    return TimmAugment(config, [round(255 * check.number("mean", level, 0.0, 1.0)) for level in items], interpolation)


#: The sections of a text by its first word, and what follows them.
_SECTIONS = {
    "rand": {"m": r"\d+", "n": r"\d+", "p": r"\d.*", "mstd": r"\d.*", "mmax": r"\d+", "inc": r"\d+", "t": ".*"},
    "augmix": {"m": r"\d+", "w": r"\d+", "d": r"\d+", "a": r"\d.*", "b": r"\d+", "mstd": r"\d.*"},
    **{name: {"mstd": r"\d.*"} for name in ("original", "originalr", "v0", "v0r", "3a")},
}


def _config(check: Arguments, value: object) -> str:
    """A text of timm that timm would understand."""
    words = value.split("-") if isinstance(value, str) else [""]
    sections = _SECTIONS.get(words[0])
    if not isinstance(value, str) or sections is None:
        raise check.wrong("config", value, f"it begins with {', '.join(_SECTIONS)}: such as 'rand-m9-mstd0.5-inc1'")
    for word in words[1:]:
        if not any(re.fullmatch(key + number, word) for key, number in sections.items()):
            valid = f"{word!r} is none of its sections: {', '.join(sections)}, with a number"
            raise check.wrong("config", value, valid)
    return value
