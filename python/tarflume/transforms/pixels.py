"""`draw` and `apply`: what a recipe does with a picture, for previews, tests and replay."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from .base import Operation
from .migration.converted import Converted
from .pictures import changed, pixels_of

__all__ = ["Action", "apply", "draw"]

#: What an operation drew, with all its numbers: `{"adjust_brightness": {"factor": 1.25}}`.
Action: TypeAlias = dict[str, Any]


def draw(
    recipe: Operation | Converted,
    seed: int,
    height: int,
    width: int,
    *,
    channels: int = 3,
    boxes: npt.ArrayLike | None = None,
) -> list[Action]:
    """The actions that a recipe draws for a picture of this size, from a seed of 0 to 2**64 - 1.

        actions = transforms.draw(recipe, seed=7, height=480, width=640)

    The actions are dicts with the names of torchvision's functionals; `apply` takes them. A recipe with `RandomIoUCrop`
    needs the `boxes` of the picture: `[count, 4]`, left, top, right and bottom in pixels.
    """
    from .._core import draw_actions

    numbers = None if boxes is None else np.ascontiguousarray(boxes, dtype=np.float64)
    if numbers is not None and numbers.size > 0 and (numbers.ndim != 2 or numbers.shape[1] != 4):
        raise UsageError(f"boxes are [count, 4]: left, top, right, bottom; not {list(numbers.shape)}")
    of_boxes = None if numbers is None else numbers.tobytes()
    drawn: list[Action] = json.loads(draw_actions(_json(recipe), seed, height, width, channels, of_boxes))
    return drawn


def apply(
    what: Operation | Converted | Sequence[Mapping[str, Any]], array: npt.NDArray[np.uint8], seed: int = 0
) -> npt.NDArray[np.uint8]:
    """The picture after a recipe with this seed, or after actions that `draw` returned.

        small = transforms.apply(transforms.Resize(64), array)
        same = transforms.apply(transforms.draw(recipe, 7, *array.shape[:2]), array)

    `array` is uint8 `[height, width, channels]` with 1 or 3 channels, or `[height, width]`, which the result is, too.
    It is not changed.
    """
    from .._core import apply_actions

    _refuse_mixes(what)
    if isinstance(what, (Operation, Converted)):
        return changed(_json(what), array, seed)
    pixels = pixels_of(array)
    height, width, channels = pixels.shape
    actions = json.dumps([dict(action) for action in what])
    size, made = apply_actions(actions, pixels.tobytes(), height, width, channels)
    return np.frombuffer(made, np.uint8).reshape(size if array.ndim == 2 else (*size, channels))


def _refuse_mixes(what: object) -> None:
    """Refuses what concerns two rows of a batch."""
    names = {name for action in what for name in action} if isinstance(what, (list, tuple)) else set()
    for name in sorted(names & {"mixup", "cutmix"}):
        raise UsageError(
            f"{name} mixes two rows of a batch: apply the actions before it to the pictures of the row and of its "
            "partner, and mix their results"
        )


def _json(recipe: Operation | Converted) -> str:
    """The recipe as Rust reads it."""
    if isinstance(recipe, Converted):
        return recipe.recipe.to_json()
    if isinstance(recipe, Operation):
        return recipe.to_json()
    raise UsageError(f"a recipe is an operation of tarflume.transforms, such as a Compose, not {recipe!r}")
