"""`from_torchvision`: recipes of `torchvision.transforms` and of `torchvision.transforms.v2`."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from .. import color, crop, detection, policy, turn
from .. import filter as filters
from ..base import Operation
from ..control import Compose, RandomApply, RandomChoice, RandomOrder
from .conversion import erasing, level, normalize, to_dtype, to_tensor
from .converted import Converted
from .walk import Converter, Table, Walk, converted

__all__ = ["TORCHVISION", "from_torchvision"]

#: Operations with the names and arguments of torchvision: those that move pixels, and those that change colors.
_GEOMETRY: tuple[type[Operation], ...] = (
    crop.CenterCrop, crop.Pad, crop.RandomResize, crop.RandomResizedCrop, crop.RandomShortestSize, crop.ScaleJitter,
    turn.ElasticTransform, turn.RandomAffine, turn.RandomHorizontalFlip, turn.RandomPerspective, turn.RandomRotation,
    turn.RandomVerticalFlip, detection.RandomZoomOut,
)  # fmt: skip
_COLORS: tuple[type[Operation], ...] = (
    color.ColorJitter, color.RandomAdjustSharpness, color.RandomAutocontrast, color.RandomChannelPermutation,
    color.RandomEqualize, color.RandomGrayscale, color.RandomInvert, color.RandomPhotometricDistort,
    color.RandomPosterize, color.RandomSolarize,
    filters.GaussianBlur, filters.GaussianNoise, filters.JPEG,
    policy.AugMix, policy.AutoAugment, policy.RandAugment, policy.TrivialAugmentWide,
)  # fmt: skip
#: Operations that move pixels and compute no color, so that they may also come after Normalize.
_MOVES = frozenset(
    ("CenterCrop", "RandomResizedCrop", "Resize", "RandomResize", "RandomShortestSize", "ScaleJitter",
     "RandomHorizontalFlip", "RandomVerticalFlip")
)  # fmt: skip
#: What to write instead of a class without a counterpart.
_INSTEAD = {
    "FiveCrop": "end the recipe with tarflume.transforms.FiveCrop, and leave out the function after it that stacks the crops",
    "TenCrop": "end the recipe with tarflume.transforms.TenCrop, and leave out the function after it that stacks the crops",
    "MixUp": "it mixes the pictures of a batch: write Loader(mix=tarflume.Mix.from_torchvision(transform)) for it",
    "CutMix": "it mixes the pictures of a batch: write Loader(mix=tarflume.Mix.from_torchvision(transform)) for it",
    "SanitizeBoundingBoxes": "leave it out: a column of boxes leaves out what is too small or outside, by its min_size and min_area",
    "ClampBoundingBoxes": "leave it out: each operation clamps the boxes that it moves",
    "ConvertBoundingBoxFormat": "leave it out: a column of boxes has the format",
    "LinearTransformation": "multiply by the matrix on the device",
}


def from_torchvision(transform: Any) -> Converted:
    """A recipe of torchvision, of either of its modules, as a recipe and the settings of a column.

        theirs = v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.ToImage(),
                             v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)])
        loader = tarflume.Loader("shards/", image=tarflume.transforms.from_torchvision(theirs))

    `ToTensor`, `ToImage`, `ToDtype`, `Normalize` and the like become settings. A step without a counterpart is an error
    that names it and its place. Results are those of torchvision for tensors of uint8; draws have the same distribution
    and are other numbers.
    """
    return converted("from_torchvision", TORCHVISION, transform)


def _arguments(kind: type[Operation]) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(kind).parameters if name != "antialias")


def _same(kind: type[Operation]) -> Converter:
    def convert(walk: Walk, transform: Any) -> list[Operation]:
        if kind.__name__ not in _MOVES:
            walk.before_normalizing(transform)
        walk.has_changed_colors |= kind in _COLORS
        return [kind(**_words(walk, kind, transform))]

    return convert


def _words(walk: Walk, kind: type[Operation], transform: Any) -> dict[str, Any]:
    """The arguments of a step, for the operation of the same name."""
    words = {name: getattr(transform, name) for name in _arguments(kind) if name != "fill"}
    if "fill" in _arguments(kind):
        words["fill"] = level(walk, _fill(transform))
    if "threshold" in words:
        words["threshold"] = level(walk, words["threshold"])
    if walk.settings.layout == "chw" and getattr(transform, "antialias", True) is False:
        words["antialias"] = False
    return words


def _random_crop(walk: Walk, transform: Any) -> list[Operation]:
    words = _words(walk, crop.RandomCrop, transform)
    if words["padding"] and type(transform).__module__.startswith("torchvision.transforms.v2"):
        left, right, top, bottom = words["padding"]  # as v2 keeps them
        words["padding"] = (left, top, right, bottom)
    if words["padding"] or words["pad_if_needed"]:
        walk.before_normalizing(transform)
    return [crop.RandomCrop(**words)]


def _resize(walk: Walk, transform: Any) -> list[Operation]:
    words = _words(walk, crop.Resize, transform)
    if words["size"] is None:
        return [crop.ResizeKeepRatio(words["max_size"], interpolation=words["interpolation"])]
    return [crop.Resize(**words)]


def _iou_crop(walk: Walk, transform: Any) -> list[Operation]:
    names = [name for name in _arguments(detection.RandomIoUCrop) if name != "sampler_options"]
    words = {name: getattr(transform, name) for name in names}
    return [detection.RandomIoUCrop(sampler_options=transform.options, **words)]


def _fill(transform: Any) -> Any:
    """The fill of pictures: v2 may have one for each type of its inputs."""
    fills = getattr(transform, "_fill", None)
    if not isinstance(fills, dict):
        return transform.fill
    names = {getattr(key, "__name__", key): value for key, value in fills.items()}
    return next((names[name] for name in ("Image", "others", "Tensor") if name in names), 0)


def _compose(walk: Walk, transform: Any) -> list[Operation]:
    return walk.inner(getattr(transform, "transforms", transform))


def _random_apply(walk: Walk, transform: Any) -> list[Operation]:
    return [RandomApply(walk.random_steps(transform.transforms), float(transform.p))]


def _random_choice(walk: Walk, transform: Any) -> list[Operation]:
    steps = walk.random_steps(transform.transforms)
    weights = transform.p
    is_even = weights is None or len(set(weights)) == 1
    return [RandomChoice(steps, None if is_even else weights)]


def _random_order(walk: Walk, transform: Any) -> list[Operation]:
    return [RandomOrder(walk.random_steps(transform.transforms))]


def _grayscale(walk: Walk, transform: Any) -> list[Operation]:
    walk.before_normalizing(transform)
    if transform.num_output_channels == 3:
        return [color.Grayscale(3)]
    if walk.has_changed_colors:
        raise walk.refused(transform, "comes after changes of colors: put it first, or write Grayscale(3)")
    walk.settle(transform).channels = "gray"
    return []


def _random_erasing(walk: Walk, transform: Any) -> list[Operation]:
    make = partial(filters.RandomErasing, transform.p, tuple(transform.scale), tuple(transform.ratio))
    return erasing(walk, transform, make, "random" if transform.value is None else transform.value)


def _nothing(walk: Walk, transform: Any) -> list[Operation]:
    return []


def _rgb(walk: Walk, transform: Any) -> list[Operation]:
    walk.settle(transform).channels = "rgb"
    return []


def _convert_mode(walk: Walk, transform: Any) -> list[Operation]:
    if transform.mode != "RGB":
        raise walk.no_counterpart(transform, 'write image=tarflume.Image(recipe, channels="gray")')
    return []  # a column is RGB, unless its channels say something else


def _to_float_tensor(walk: Walk, transform: Any) -> list[Operation]:
    return to_tensor(walk, transform, "torch.float32")


def _to_pil(walk: Walk, transform: Any) -> list[Operation]:
    settings = walk.settle(transform)
    if settings.scale != "levels":
        raise walk.refused(transform, "makes bytes of floats: leave it out, or put it before the floats")
    settings.layout = "hwc"
    return []


def _convert_dtype(walk: Walk, transform: Any) -> list[Operation]:
    to_dtype(walk, transform, transform.dtype, scale=True)
    return []


def _to_dtype(walk: Walk, transform: Any) -> list[Operation]:
    dtype = transform.dtype
    if isinstance(dtype, dict):
        names = {getattr(key, "__name__", key): value for key, value in dtype.items()}
        dtype = next((names[name] for name in ("Image", "others", "Tensor") if name in names), None)
    to_dtype(walk, transform, dtype, transform.scale)
    return []


def _normalize(walk: Walk, transform: Any) -> list[Operation]:
    return normalize(walk, transform, transform.mean, transform.std)


def _instead(name: str) -> Converter:
    def convert(walk: Walk, transform: Any) -> list[Operation]:
        raise walk.no_counterpart(transform, _INSTEAD[name])

    return convert


_OTHERS: dict[str, Converter] = {
    "Compose": _compose,
    "RandomApply": _random_apply,
    "RandomChoice": _random_choice,
    "RandomOrder": _random_order,
    "Grayscale": _grayscale,
    "RandomCrop": _random_crop,
    "RandomErasing": _random_erasing,
    "RandomIoUCrop": _iou_crop,
    "Resize": _resize,
    "RGB": _rgb,
    "Identity": _nothing,
    "ToPureTensor": _nothing,
    "ToTensor": _to_float_tensor,
    "PILToTensor": to_tensor,
    "ToImage": to_tensor,
    "ToPILImage": _to_pil,
    "ConvertImageDtype": _convert_dtype,
    "ToDtype": _to_dtype,
    "Normalize": _normalize,
}

#: The steps of torchvision, PyTorch's lists of modules, and what open_clip has between them.
TORCHVISION: Table = {
    **{("torchvision", name): _instead(name) for name in _INSTEAD},
    **{("torchvision", kind.__name__): _same(kind) for kind in (*_GEOMETRY, *_COLORS)},
    **{("torchvision", name): convert for name, convert in _OTHERS.items()},
    ("torch", "Sequential"): _compose,
    ("torch", "ModuleList"): _compose,
    ("torch", "Identity"): _nothing,
    ("open_clip", "MaybeConvertMode"): _convert_mode,
    ("open_clip", "MaybeToTensor"): _to_float_tensor,
}
