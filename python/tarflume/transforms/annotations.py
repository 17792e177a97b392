"""`apply_to_boxes`, `apply_to_keypoints`, `apply_to_masks`: what a recipe does with the annotations of a picture."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from .base import Operation
from .migration.converted import Converted
from .pixels import Action, draw

__all__ = ["BoxFormat", "apply_to_boxes", "apply_to_keypoints", "apply_to_masks", "sanitize_boxes"]

#: Of torchvision, in small letters: the last three have an angle or four corners.
BoxFormat: TypeAlias = Literal["xyxy", "xywh", "cxcywh", "cxcywhr", "xywhr", "xyxyxyxy"]
_PLAIN = ("xyxy", "xywh", "cxcywh")
_ROTATED = ("cxcywhr", "xywhr", "xyxyxyxy")
_What: TypeAlias = Operation | Converted | Sequence[Mapping[str, Any]]
_Numbers: TypeAlias = npt.NDArray[np.float64]


def apply_to_boxes(
    what: _What, boxes: npt.ArrayLike, height: int, width: int, seed: int = 0, *, format: BoxFormat = "xyxy"
) -> _Numbers:
    """The boxes after a recipe with this seed, or after actions that `draw` returned, for a picture of this size.

        actions = transforms.draw(recipe, 7, height=480, width=640)
        moved = transforms.apply_to_boxes(actions, [[10, 20, 110, 220]], 480, 640)

    `boxes` are numbers of pixels `[count, 4]`; `"cxcywhr"` and `"xywhr"` have 5, with an angle in degrees, and
    `"xyxyxyxy"` has 8. The result is float64 of the same shape and format, in pixels of the result. No box is left out:
    one that is outside of the picture has no area, and one that `RandomIoUCrop` left out has zeros. `sanitize_boxes` tells
    which remain.
    """
    edges, kind = _edges(boxes, format)
    actions = _actions(what, seed, height, width, _around(edges, kind))
    moved = _moved(actions, kind, edges, height, width)[1]
    return _written(moved, format)


def sanitize_boxes(
    what: _What,
    boxes: npt.ArrayLike,
    height: int,
    width: int,
    seed: int = 0,
    *,
    format: BoxFormat = "xyxy",
    min_size: float = 1.0,
    min_area: float = 1.0,
    min_visibility: float = 0.0,
) -> npt.NDArray[np.bool_]:
    """Which of the boxes remain after a recipe or after actions: `[count]` of bool, for the labels and masks, too.

        keep = transforms.sanitize_boxes(actions, boxes, 480, 640, min_visibility=0.1)
        boxes, labels = moved[keep], labels[keep]

    A box remains if its sides have `min_size` pixels, its area `min_area`, and if this part of it is still in the picture. As
    in torchvision's `SanitizeBoundingBoxes`, a box with a coordinate outside of the picture does not remain. A box with an
    angle may have corners outside: it is clamped to the smallest one with its angle around what is inside, and the area and
    the part are those that the picture shows.
    """
    from .._core import kept_boxes

    edges, kind = _edges(boxes, format)
    actions = _actions(what, seed, height, width, _around(edges, kind))
    size, moved, visible = _moved(actions, kind, edges, height, width)
    kept = kept_boxes(kind, moved.tobytes(), visible.tobytes(), *size, min_size, min_area, min_visibility)
    return np.frombuffer(kept, np.bool_)


def apply_to_keypoints(
    what: _What,
    keypoints: npt.ArrayLike,
    height: int,
    width: int,
    seed: int = 0,
    *,
    flip_pairs: Sequence[tuple[int, int]] = (),
) -> _Numbers:
    """The points after a recipe with this seed, or after actions: numbers `[..., points, 2 or 3]`, x and y first.

        moved = transforms.apply_to_keypoints(actions, points, 480, 640, flip_pairs=[(1, 2), (3, 4)])

    A third number, such as a visibility, is kept. If the picture is mirrored, the two points of each pair of `flip_pairs`
    exchange their places in the list: the left eye of the picture is the right one of the person. Points outside of the
    picture stay there.
    """
    from .._core import mirrors

    points = _float64("keypoints", keypoints)
    if points.ndim < 1 or points.shape[-1] not in (2, 3):
        raise UsageError(f"keypoints are [..., points, 2] or [..., points, 3], not {list(points.shape)}: x and y first")
    actions = _actions(what, seed, height, width, None)
    made = points.copy()
    places = np.ascontiguousarray(points[..., :2])
    made[..., :2] = _moved(actions, "points", places, height, width)[1].reshape(places.shape)
    order = _flipped(flip_pairs, points.shape[-2] if points.ndim > 1 else 1)
    if flip_pairs and mirrors(actions):
        made = np.take(made, order, axis=-2)
    return made


def apply_to_masks(
    what: _What, masks: npt.NDArray[np.uint8], seed: int = 0, *, fill: int = 0
) -> npt.NDArray[np.uint8]:
    """The masks after a recipe with this seed, or after actions: uint8 `[height, width]` or `[count, height, width]`.

        moved = transforms.apply_to_masks(actions, mask, fill=255)

    Pixels are those of the mask, the nearest ones, and `fill` where the picture was not. Masks of bool are accepted, too.
    """
    from .._core import apply_actions, mask_actions

    array = np.asarray(masks)
    if array.dtype not in (np.dtype(np.uint8), np.dtype(np.bool_)) or array.ndim not in (2, 3):
        raise UsageError(
            f"masks are arrays of uint8 or bool [height, width] or [count, height, width], not of {array.dtype} "
            f"{list(array.shape)}"
        )
    if isinstance(fill, bool) or not isinstance(fill, (int, np.integer)) or not 0 <= fill <= 255:
        raise UsageError(f"fill is {fill!r}; it is a whole number from 0 to 255")
    height, width = array.shape[-2:]
    actions = mask_actions(_actions(what, seed, height, width, None), int(fill))
    planes = array.reshape(-1, height, width)
    size = _moved(actions, "points", np.empty((0, 2)), height, width)[0]
    made = np.empty((len(planes), *size), np.uint8)
    for plane, moved in zip(planes, made, strict=True):
        moved[:] = np.frombuffer(apply_actions(actions, plane.tobytes(), height, width, 1)[1], np.uint8).reshape(size)
    return made.reshape(*array.shape[:-2], *size).astype(array.dtype)


def _actions(what: _What, seed: int, height: int, width: int, edges: _Numbers | None) -> str:
    """The actions as JSON."""
    drawn: Sequence[Mapping[str, Action]]
    if isinstance(what, (Operation, Converted)):
        drawn = draw(what, seed, height, width, boxes=edges)
    else:
        drawn = what
    return json.dumps([dict(action) for action in drawn])


def _moved(
    actions: str, kind: str, numbers: _Numbers, height: int, width: int
) -> tuple[tuple[int, int], _Numbers, _Numbers]:
    """The size after the actions, the numbers, and for boxes the part of each that is visible."""
    from .._core import move_annotations

    size, moved, visible = move_annotations(actions, kind, numbers.tobytes(), height, width)
    return size, np.frombuffer(moved).reshape(numbers.shape), np.frombuffer(visible)


def _float64(name: str, value: npt.ArrayLike) -> _Numbers:
    try:
        return np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} are numbers of pixels, as an array: {error}") from None


def _edges(boxes: npt.ArrayLike, format: str) -> tuple[_Numbers, str]:
    """Boxes as left, top, right, bottom, or as four corners; and which of both."""
    if format not in (*_PLAIN, *_ROTATED):
        raise UsageError(f"format is {format!r}; it is one of {', '.join(map(repr, (*_PLAIN, *_ROTATED)))}")
    array = _float64("boxes", boxes)
    count = {"xyxyxyxy": 8, "cxcywhr": 5, "xywhr": 5}.get(format, 4)
    if array.size == 0:
        array = array.reshape(0, count)
    if array.ndim != 2 or array.shape[1] != count:
        raise UsageError(f"boxes of the format {format!r} are [count, {count}], not {list(array.shape)}")
    if format in ("xyxy", "xyxyxyxy"):
        return array, "boxes" if count == 4 else "rotated"
    first, sides = array[:, :2], array[:, 2:4]
    if format in _PLAIN:
        first = first - sides / 2 if format == "cxcywh" else first
        return np.concatenate([first, first + sides], axis=1), "boxes"
    across, down = _axes(array[:, 4])
    if format == "cxcywhr":
        first = first - np.abs(sides[:, :1] / 2) * across - np.abs(sides[:, 1:] / 2) * down
    right, below = sides[:, :1] * across, sides[:, 1:] * down
    return np.concatenate([first, first + right, first + right + below, first + below], axis=1), "rotated"


def _around(edges: _Numbers, kind: str) -> _Numbers:
    """The boxes that a recipe draws with: of boxes with an angle those around them."""
    if kind == "boxes":
        return edges
    corners = edges.reshape(-1, 4, 2)
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def _axes(degrees: _Numbers) -> tuple[_Numbers, _Numbers]:
    """The directions across and down of boxes with an angle."""
    angle = np.radians(degrees)[:, None]
    across = np.concatenate([np.cos(angle), -np.sin(angle)], axis=1)
    return across, np.concatenate([np.sin(angle), np.cos(angle)], axis=1)


def _written(edges: _Numbers, format: str) -> _Numbers:
    """Boxes in a format, from their edges or corners."""
    first = edges[:, :2]
    if format in ("xyxy", "xyxyxyxy"):
        return edges
    if format in _PLAIN:
        sides = edges[:, 2:] - first
        return np.concatenate([first + sides / 2 if format == "cxcywh" else first, sides], axis=1)
    right, below = edges[:, 2:4] - first, edges[:, 4:6] - edges[:, 2:4]
    sides = np.stack([np.hypot(*right.T), np.hypot(*below.T)], axis=1)
    angle = np.degrees(np.arctan2(-right[:, 1], right[:, 0]))
    if format == "cxcywhr":
        across, down = _axes(angle)
        first = first + sides[:, :1] / 2 * across + sides[:, 1:] / 2 * down
    return np.concatenate([first, sides, angle[:, None]], axis=1)


def _flipped(pairs: Sequence[tuple[int, int]], count: int) -> list[int]:
    """The number of the point that comes to each place if the picture is mirrored."""
    order = list(range(count))
    for pair in pairs:
        if len(pair) != 2 or not all(isinstance(at, (int, np.integer)) and 0 <= at < count for at in pair):
            raise UsageError(f"flip_pairs has {pair!r}; a pair is two numbers of points, from 0 to {count - 1}")
        left, right = pair
        if order[left] != left or order[right] != right:
            raise UsageError(f"flip_pairs has {pair!r}, and a point of it is in another pair; a point is in one pair")
        order[left], order[right] = right, left
    return order
