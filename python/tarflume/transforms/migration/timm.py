"""`from_timm`: recipes of `timm.data.create_transform`."""

from __future__ import annotations

import math
from typing import Any

from .. import filter as filters
from ..base import Operation
from ..crop import CenterCrop, RandomResizedCrop, Resize, ResizeKeepRatio
from .conversion import erasing, to_tensor
from .converted import Converted
from .timm_policies import augmix, auto_augment, rand_augment
from .torchvision import TORCHVISION
from .walk import Converter, Table, Walk, converted

__all__ = ["from_timm"]


def from_timm(transform: Any) -> Converted:
    """A recipe of timm, for training or for evaluation, as a recipe and the settings of a column.

        theirs = timm.data.create_transform(224, is_training=True, auto_augment="rand-m9-mstd0.5-inc1", re_prob=0.25,
                                            re_mode="pixel", interpolation="bicubic")
        loader = tarflume.Loader("shards/", image=tarflume.transforms.from_timm(theirs))

    With `use_prefetcher=True` timm's loader normalizes and erases, and the recipe has neither: leave it out.
    """
    return converted("from_timm", _TABLE, transform)


def _words(transform: Any) -> list[str]:
    """The interpolations from which timm draws: one, or two."""
    given = transform.interpolation
    return [one.value for one in (given if isinstance(given, (list, tuple)) else [given])]


def _random_resized_crop(walk: Walk, transform: Any) -> list[Operation]:
    words = _words(transform)
    if len(words) > 1 and sorted(words) != ["bicubic", "bilinear"]:
        raise walk.no_counterpart(transform, 'write interpolation="random", which draws bilinear or bicubic')
    interpolation = words[0] if len(words) == 1 else "random"
    return [RandomResizedCrop(transform.size, transform.scale, transform.ratio, interpolation)]


def _resize_keep_ratio(walk: Walk, transform: Any) -> list[Operation]:
    words = _words(transform)
    is_random = transform.random_scale_prob > 0 or transform.random_aspect_prob > 0 or len(words) > 1
    if is_random or transform.longest not in (0.0, 1.0):
        advice = 'write create_transform(..., train_crop_mode="rrc")'
        raise walk.no_counterpart(transform, advice)
    if len(set(transform.size)) > 1:
        raise walk.no_counterpart(transform, "write a square input_size, or crop_mode='squash'")
    side = transform.size[0]
    return [ResizeKeepRatio(side, interpolation=words[0]) if transform.longest else Resize(side, words[0])]


def _center_crop_or_pad(walk: Walk, transform: Any) -> list[Operation]:
    fill = transform.fill
    levels = set(fill) if isinstance(fill, (list, tuple)) else {fill}
    if levels != {0} or transform.padding_mode != "constant":
        advice = "write crop_pct=1.0 with crop_mode='border', whose crop cuts nothing off"
        raise walk.no_counterpart(transform, advice)
    return [CenterCrop(transform.size)]


def _border(steps: list[Any]) -> Operation | None:
    """The letterbox that ResizeKeepRatio and CenterCropOrPad to the same size are."""
    if [type(step).__name__ for step in steps] != ["ResizeKeepRatio", "CenterCropOrPad"]:
        return None
    resize, pad = steps
    is_plain = resize.longest == 1.0 and resize.random_scale_prob == 0 and resize.random_aspect_prob == 0
    is_square = len({*resize.size, *pad.size}) == 1
    if not is_plain or not is_square or pad.padding_mode != "constant" or len(_words(resize)) > 1:
        return None
    return ResizeKeepRatio(resize.size[0], letterbox=True, fill=pad.fill, interpolation=_words(resize)[0])


def _compose(walk: Walk, transform: Any) -> list[Operation]:
    steps = list(getattr(transform, "transforms", transform))
    for at in range(len(steps) - 1):
        both = _border(steps[at : at + 2])
        if both is not None:
            steps[at : at + 2] = [both]
            break
    return walk.inner(steps)


def _random_erasing(walk: Walk, transform: Any) -> list[Operation]:
    if transform.num_splits > 1:
        raise walk.no_counterpart(transform, "write re_num_splits=0")
    value: Any = "random" if transform.per_pixel else "random_color" if transform.rand_color else 0.0
    low, high = (float(f"{math.exp(one):.12g}") for one in transform.log_aspect_ratio)
    high = 1 / low if math.isclose(low * high, 1.0) else high  # as timm computes it

    def make(value: Any) -> Operation:
        return filters.RandomErasing(
            transform.probability,
            (transform.min_area, transform.max_area),
            (low, high),
            value,
            count=(transform.min_count, transform.max_count),
        )

    return erasing(walk, transform, make, value)


def _maybe_to_tensor(walk: Walk, transform: Any) -> list[Operation]:
    return to_tensor(walk, transform, "torch.float32")


def _to_tensor(walk: Walk, transform: Any) -> list[Operation]:
    return to_tensor(walk, transform, transform.dtype, scale=False)


def _no_border(walk: Walk, transform: Any) -> list[Operation]:
    raise walk.no_counterpart(transform, "write crop_border_pixels=None")


def _random_crop_or_pad(walk: Walk, transform: Any) -> list[Operation]:
    raise walk.no_counterpart(transform, 'write create_transform(..., train_crop_mode="rrc")')


_TIMM: dict[str, Converter] = {
    "AugMixAugment": augmix,
    "AutoAugment": auto_augment,
    "CenterCropOrPad": _center_crop_or_pad,
    "MaybePILToTensor": to_tensor,
    "MaybeToTensor": _maybe_to_tensor,
    "RandAugment": rand_augment,
    "RandomCropOrPad": _random_crop_or_pad,
    "RandomErasing": _random_erasing,
    "RandomResizedCropAndInterpolation": _random_resized_crop,
    "ResizeKeepRatio": _resize_keep_ratio,
    "ToNumpy": to_tensor,
    "ToTensor": _to_tensor,
    "TrimBorder": _no_border,
}

#: The steps of timm, and those of torchvision between them.
_TABLE: Table = {
    **TORCHVISION,
    **{("timm", name): convert for name, convert in _TIMM.items()},
    ("torchvision", "Compose"): _compose,
}
