"""timm's policies as the texts that make them."""

from __future__ import annotations

import math
from typing import Any

from ..base import Operation
from ..policy import TimmAugment
from .walk import Walk

__all__ = ["augmix", "auto_augment", "rand_augment"]

#: The operations of "rand" by their text: without, and with `inc1`.
_PLAIN = (
    "AutoContrast Equalize Invert Rotate Posterize Solarize SolarizeAdd Color Contrast Brightness Sharpness ShearX "
    "ShearY TranslateXRel TranslateYRel"
).split()
_INCREASING = (
    "AutoContrast Equalize Invert Rotate PosterizeIncreasing SolarizeIncreasing SolarizeAdd ColorIncreasing "
    "ContrastIncreasing BrightnessIncreasing SharpnessIncreasing ShearX ShearY TranslateXRel TranslateYRel"
).split()
_3A = "SolarizeIncreasing Desaturate GaussianBlur".split()
_AUGMIX = (
    "AutoContrast ColorIncreasing ContrastIncreasing BrightnessIncreasing SharpnessIncreasing Equalize Rotate "
    "PosterizeIncreasing SolarizeIncreasing ShearX ShearY TranslateXRel TranslateYRel"
).split()
_TEXT = 'write the policy as a text: tarflume.transforms.timm("rand-m9-mstd0.5-inc1")'


def rand_augment(walk: Walk, transform: Any) -> list[Operation]:
    """The text of timm's RandAugment."""
    walk.before_normalizing(transform)
    first = _shared(walk, transform)
    names = [one.name for one in transform.ops]
    words = ["rand", f"m{first.magnitude:g}", f"n{transform.num_layers}", f"p{first.prob:g}", *_deviation(first)]
    if first.magnitude_max is not None:
        words.append(f"mmax{first.magnitude_max}")
    words += _choices(walk, transform, names)
    return [_augment("-".join(words), first.hparams)]


def augmix(walk: Walk, transform: Any) -> list[Operation]:
    """The text of timm's AugMix."""
    walk.before_normalizing(transform)
    first = _shared(walk, transform)
    if [one.name for one in transform.ops] != _AUGMIX or first.prob != 1.0 or first.magnitude_max is not None:
        raise walk.no_counterpart(transform, _TEXT)
    words = ["augmix", f"m{first.magnitude:g}", f"w{transform.width}", f"a{transform.alpha:g}"]
    words += _deviation(first, math.inf)
    if transform.depth > 0:
        words.append(f"d{transform.depth}")
    if transform.blended:
        words.append("b1")
    return [_augment("-".join(words), first.hparams)]


def auto_augment(walk: Walk, transform: Any) -> list[Operation]:
    """The text of timm's AutoAugment: the name whose policy it has."""
    walk.before_normalizing(transform)
    from importlib import import_module

    auto_augment_policy = import_module("timm.data.auto_augment").auto_augment_policy
    steps = [[(one.name, one.prob, one.magnitude) for one in pair] for pair in transform.policy]
    first = transform.policy[0][0]
    for name in ("original", "originalr", "v0", "v0r", "3a"):
        policy = auto_augment_policy(name, first.hparams)
        if steps == [[(one.name, one.prob, one.magnitude) for one in pair] for pair in policy]:
            deviation = first.magnitude_std
            words = [name] if not deviation else [name, f"mstd{deviation:g}"]
            return [_augment("-".join(words), first.hparams)]
    raise walk.no_counterpart(transform, 'write the policy as a text: tarflume.transforms.timm("original")')


def _shared(walk: Walk, transform: Any) -> Any:
    """The first operation, whose numbers all others have, too."""
    first = transform.ops[0]
    numbers = {(one.prob, one.magnitude, one.magnitude_std, one.magnitude_max) for one in transform.ops}
    if len(numbers) > 1:
        raise walk.no_counterpart(transform, _TEXT)
    return first


def _deviation(one: Any, usual: float = 0.0) -> list[str]:
    """The deviation of the magnitude, if it is not the usual one; more than 100 is uniform."""
    deviation = one.magnitude_std
    if deviation == usual:
        return []
    return [f"mstd{101 if math.isinf(deviation) else deviation:g}"]


def _choices(walk: Walk, transform: Any, names: list[str]) -> list[str]:
    """The words for a set of operations."""
    if transform.choice_weights is not None:
        sets = {"Desaturate": "t3aw", "TranslateXRel": "tweights"}
        word = next((word for name, word in sets.items() if name in names), None)
        if word is None:
            raise walk.no_counterpart(transform, _TEXT)
        return [word]
    known = {"inc0": _PLAIN, "inc1": _INCREASING, "t3a": _3A}
    word = next((word for word, those in known.items() if those == names), None)
    if word is None:
        raise walk.no_counterpart(transform, _TEXT)
    return [word]


def _augment(config: str, hparams: dict[str, Any]) -> TimmAugment:
    """The policy with what timm gives it beside the text."""
    given = hparams.get("interpolation")
    share = hparams.get("translate_pct")
    usual = 0.3 if config.startswith("augmix") else 0.45
    return TimmAugment(
        config,
        hparams.get("img_mean", (128, 128, 128)),
        None if isinstance(given, (list, tuple)) else given,
        None if share in (None, usual) and (share or usual == 0.45) else float(share or 0.45),
    )
