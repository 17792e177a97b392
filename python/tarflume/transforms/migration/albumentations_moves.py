"""Counterparts of albumentations' steps that move pixels: each a function of the step's arguments.

A function returns operations that are always taken, or what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ..base import Operation
from ..crop import (
    CenterCrop, Pad, PaddingMode, RandomCrop, RandomResizedCrop, RandomShortestSize, Resize, ResizeKeepRatio,
)  # fmt: skip
from ..turn import RandomAffine, RandomHorizontalFlip, RandomQuarterTurn, RandomRotation, RandomVerticalFlip

__all__ = ["MOVES", "letterbox"]

Words = dict[str, Any]
Found = list[Operation] | str

#: Filters and borders by the constants of OpenCV.
_FILTERS = {0: "nearest", 1: "bilinear", 2: "bicubic", 4: "lanczos", 5: "bilinear", 6: "nearest"}
_BORDERS = {0: "constant", 1: "edge", 2: "symmetric", 4: "reflect"}
_SAME_FILTER = "write interpolation=cv2.INTER_LINEAR: a resize is antialiased here"


def _filter(words: Words) -> str | None:
    return _FILTERS.get(words["interpolation"])


def _is_centered(limits: Any) -> bool:
    return bool(limits[0] == -limits[1])


def _horizontal_flip(words: Words) -> Found:
    return [RandomHorizontalFlip(1.0)]


def _vertical_flip(words: Words) -> Found:
    return [RandomVerticalFlip(1.0)]


def _quarter_turn(words: Words) -> Found:
    return [RandomQuarterTurn()]


def _transpose(words: Words) -> Found:
    return [RandomQuarterTurn((1,)), RandomVerticalFlip(1.0)]


def _all_of_a_square(words: Words) -> Found:
    return [RandomQuarterTurn(), RandomHorizontalFlip(0.5)]


def _rotate(words: Words) -> Found:
    if words["border_mode"] != 0 or words["crop_border"] or not _is_centered(words["limit"]) or not _is_warp(words):
        return "write Rotate(limit=degrees, border_mode=cv2.BORDER_CONSTANT, crop_border=False)"
    return [RandomRotation(words["limit"], _filter(words) or "bilinear", fill=words["fill"])]


def _is_warp(words: Words) -> bool:
    return _filter(words) in ("nearest", "bilinear", "bicubic")


def _affine(words: Words) -> Found:
    scale, translate, shear = words["scale"], words["translate_percent"], words["shear"]
    is_one_scale = scale["x"] == scale["y"] and (words["keep_ratio"] or scale["x"][0] == scale["x"][1])
    has_others = words["fit_output"] or words["balanced_scale"] or words["translate_px"] or words["border_mode"] != 0
    is_even = _is_centered(words["rotate"]) and all(_is_centered(shear[axis]) for axis in "xy")
    is_even = is_even and (translate is None or all(_is_centered(translate[axis]) for axis in "xy"))
    if not is_one_scale or has_others or not is_even or not _is_warp(words):
        return (
            "write Affine with keep_ratio=True, constant borders, and ranges to both sides: rotate=(-a, a), "
            "translate_percent=(-t, t), shear=(-s, s)"
        )
    return _warp(words, words["rotate"], translate, scale["x"], (*shear["x"], *shear["y"]))


def _shift_scale_rotate(words: Words) -> Found:
    shift = {"x": words["shift_limit_x"], "y": words["shift_limit_y"]}
    is_even = _is_centered(words["rotate_limit"]) and all(_is_centered(shift[axis]) for axis in "xy")
    if not is_even or words["border_mode"] != 0 or not _is_warp(words):
        return "write constant borders, and the most to both sides: shift_limit=t, rotate_limit=a"
    scale = [1.0 + limit for limit in words["scale_limit"]]
    return _warp(words, words["rotate_limit"], shift, scale, (0.0,) * 4)


def _warp(words: Words, degrees: Any, translate: Any, scale: Any, shear: tuple[float, ...]) -> Found:
    return [
        RandomAffine(
            degrees,
            translate=None if translate is None else (translate["x"][1], translate["y"][1]),
            scale=None if tuple(scale) == (1.0, 1.0) else scale,
            shear=shear if any(shear) else None,
            interpolation=_filter(words) or "bilinear",
            fill=words["fill"],
        )
    ]


def _random_resized_crop(words: Words) -> Found:
    filter_word = _filter(words)
    if filter_word is None:
        return _SAME_FILTER
    return [RandomResizedCrop(words["size"], words["scale"], words["ratio"], filter_word)]


def _resize(words: Words) -> Found:
    filter_word = _filter(words)
    return _SAME_FILTER if filter_word is None else [Resize((words["height"], words["width"]), filter_word)]


def _shorter(words: Words) -> Found:
    filter_word, sides = _filter(words), words["max_size"]
    if filter_word is None:
        return _SAME_FILTER
    if sides is None:
        return "write max_size=pixels instead of max_size_hw"
    if isinstance(sides, int):
        return [Resize(sides, filter_word)]
    return [RandomShortestSize(sides, interpolation=filter_word)]


def _longer(words: Words) -> Found:
    filter_word = _filter(words)
    if filter_word is None:
        return _SAME_FILTER
    if not isinstance(words["max_size"], int):
        return "write one number: max_size=pixels"
    return [ResizeKeepRatio(words["max_size"], interpolation=filter_word)]


def _center_crop(words: Words) -> Found:
    if words["pad_if_needed"] and (words["pad_position"], words["border_mode"], words["fill"]) != ("center", 0, 0):
        return "write CenterCrop(height, width), which pads a smaller picture with black"
    return [CenterCrop((words["height"], words["width"]))]


def _random_crop(words: Words) -> Found:
    if words["pad_if_needed"]:
        return "write PadIfNeeded as a Resize before the crop, or RandomCrop(height, width) of tarflume.transforms"
    return [RandomCrop((words["height"], words["width"]))]


def _pad(words: Words) -> Found:
    mode = _BORDERS.get(words["border_mode"])
    if mode is None:
        return "write border_mode=cv2.BORDER_REFLECT_101"
    return [Pad(words["padding"], words["fill"], cast(PaddingMode, mode))]


def letterbox(transforms: Any) -> Operation | None:
    """The operation that is LongestMaxSize and PadIfNeeded to the same square, if these are the two steps."""
    if [type(transform).__name__ for transform in transforms] != ["LongestMaxSize", "PadIfNeeded"]:
        return None
    resize, pad = (transform.get_transform_init_args() for transform in transforms)
    side, filter_word = resize["max_size"], _filter(resize)
    is_square = side == pad["min_height"] == pad["min_width"]
    is_plain = (pad["position"], pad["border_mode"]) == ("center", 0)
    is_certain = all(transform.p >= 1.0 for transform in transforms)
    if not (is_square and is_plain and is_certain and filter_word):
        return None
    return ResizeKeepRatio(side, letterbox=True, fill=pad["fill"], interpolation=filter_word)


def _pad_if_needed(words: Words) -> Found:
    return "write LongestMaxSize(side) before it, with the same side, for a letterbox"


MOVES: dict[str, Callable[[Words], Found]] = {
    "Affine": _affine,
    "CenterCrop": _center_crop,
    "D4": _all_of_a_square,
    "HorizontalFlip": _horizontal_flip,
    "LongestMaxSize": _longer,
    "Pad": _pad,
    "PadIfNeeded": _pad_if_needed,
    "RandomCrop": _random_crop,
    "RandomResizedCrop": _random_resized_crop,
    "RandomRotate90": _quarter_turn,
    "Resize": _resize,
    "Rotate": _rotate,
    "ShiftScaleRotate": _shift_scale_rotate,
    "SmallestMaxSize": _shorter,
    "Transpose": _transpose,
    "VerticalFlip": _vertical_flip,
}
