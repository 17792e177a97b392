"""`from_albumentations`: recipes of albumentations, for pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base import Operation
from ..control import Compose, RandomApply, RandomChoice
from .albumentations_colors import COLORS
from .albumentations_moves import MOVES, letterbox
from .conversion import normalize
from .converted import Converted
from .walk import Converter, Table, Walk, converted

__all__ = ["from_albumentations"]

#: The arguments of a step.
Words = dict[str, Any]


def from_albumentations(transform: Any) -> Converted:
    """A recipe of albumentations for pictures as a recipe and the settings of a column.

        theirs = A.Compose([A.RandomResizedCrop((224, 224)), A.HorizontalFlip(), A.Normalize(), A.pytorch.ToTensorV2()])
        loader = tarflume.Loader("shards/", image=tarflume.transforms.from_albumentations(theirs))

    A resize is antialiased here, and is not there. A step without a counterpart is an error that names it and its
    place, as is one whose numbers no operation here has.
    """
    return converted("from_albumentations", _TABLE, transform)


def _compose(walk: Walk, transform: Any) -> list[Operation]:
    for name in getattr(transform, "processors", {}):
        raise walk.refused(transform, f"changes {name}, too: a recipe here is for pictures alone")
    p = _probability(walk, transform)
    if p >= 1.0:
        return _steps(walk, transform.transforms)
    return [RandomApply(walk.random_steps(transform.transforms), p)]


def _steps(walk: Walk, transforms: Any) -> list[Operation]:
    """The steps of a list. Two of them together may be one operation here."""
    place = f"{walk.place}." if walk.place else ""
    outer, found, at = walk.place, list[Operation](), 0
    while at < len(transforms):
        walk.place = f"{place}transforms[{at}]"
        both = letterbox(transforms[at : at + 2])
        found += [both] if both else walk.step(transforms[at])
        at += 2 if both else 1
    walk.place = outer
    return found


def _choice(walk: Walk, transforms: Any, weights: list[float]) -> RandomChoice:
    """One of the steps, which is then taken for certain."""
    walk.certain.update(map(id, transforms))
    steps = walk.random_steps(transforms)
    return RandomChoice(steps, None if len(set(weights)) == 1 else weights)


def _one_of(walk: Walk, transform: Any) -> list[Operation]:
    one = _choice(walk, transform.transforms, [step.p for step in transform.transforms])
    p = _probability(walk, transform)
    return [one] if p >= 1.0 else [RandomApply([one], p)]


def _one_or_other(walk: Walk, transform: Any) -> list[Operation]:
    return [_choice(walk, transform.transforms, [transform.p, 1.0 - transform.p])]


def _no_operation(walk: Walk, transform: Any) -> list[Operation]:
    return [Compose([])] if walk.is_random else []


def _normalize(walk: Walk, transform: Any) -> list[Operation]:
    settings = walk.settle(transform)
    if transform.normalization != "standard" or transform.p < 1.0:
        raise walk.no_counterpart(transform, 'write Normalize(normalization="standard", p=1.0)')
    most = transform.max_pixel_value
    if settings.scale == "levels":
        settings.dtype, settings.scale, share = "float32", "unit", most / 255.0
    elif most == 1.0:
        share = 1.0
    else:
        raise walk.refused(transform, "comes after ToFloat: give it max_pixel_value=1.0")
    mean = _multiplied(transform.mean, share)
    std = _multiplied(transform.std, share)
    return normalize(walk, transform, mean, std)


def _multiplied(values: Any, share: float) -> Any:
    return values * share if isinstance(values, (int, float)) else [value * share for value in values]


def _to_float(walk: Walk, transform: Any) -> list[Operation]:
    settings = walk.settle(transform)
    if transform.max_value not in (None, 255, 255.0) or settings.scale != "levels":
        raise walk.no_counterpart(transform, "write ToFloat(max_value=255)")
    settings.dtype, settings.scale = "float32", "unit"
    return []


def _to_tensor(walk: Walk, transform: Any) -> list[Operation]:
    walk.settle(transform).layout = "chw"
    return []


def _taken(counterparts: Callable[[Words], list[Operation] | str]) -> Converter:
    """Converts a step by a function of its arguments; the operations are taken with its probability."""

    def convert(walk: Walk, transform: Any) -> list[Operation]:
        if type(transform).__name__ not in MOVES:
            walk.before_normalizing(transform)
        steps = counterparts(transform.get_transform_init_args())
        if isinstance(steps, str):
            raise walk.no_counterpart(transform, steps)
        p = _probability(walk, transform)
        if p >= 1.0:
            return steps
        if len(steps) == 1 and vars(steps[0]).get("p") == 1.0:
            return [type(steps[0])(**{**vars(steps[0]), "p": p})]
        return [RandomApply(steps, p)]

    return convert


def _probability(walk: Walk, transform: Any) -> float:
    return 1.0 if id(transform) in walk.certain else float(transform.p)


_TABLE: Table = {
    **{("albumentations", name): _taken(convert) for name, convert in {**MOVES, **COLORS}.items()},
    ("albumentations", "Compose"): _compose,
    ("albumentations", "Sequential"): _compose,
    ("albumentations", "OneOf"): _one_of,
    ("albumentations", "OneOrOther"): _one_or_other,
    ("albumentations", "NoOp"): _no_operation,
    ("albumentations", "Normalize"): _normalize,
    ("albumentations", "ToFloat"): _to_float,
    ("albumentations", "ToTensorV2"): _to_tensor,
}
