"""Applies actions and draws recipes of tarflume's transforms, to be compared with other libraries."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import numpy as np

from tarflume import transforms
from tarflume._core import draw_many

Actions = list[dict[str, Any]]

if importlib.util.find_spec("torch") is not None:
    import torch

    # The pictures are small, and several threads would wait for each other.
    torch.set_num_threads(1)


def applied(actions: Actions, array: np.ndarray) -> np.ndarray:
    """The picture `[height, width, channels]` of uint8 after the actions."""
    return transforms.apply(actions, array)


def drawn(recipe: list[dict[str, Any]], count: int, height: int = 224, width: int = 224, channels: int = 3) -> list[Actions]:
    """The actions of the seeds 0 to `count`."""
    made: list[Actions] = json.loads(draw_many(json.dumps(recipe), 0, count, height, width, channels))
    return made
