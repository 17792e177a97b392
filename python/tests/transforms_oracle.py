"""Applies actions and draws recipes of tarflume's transforms, to be compared with other libraries."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from typing import Any

import numpy as np

Actions = list[dict[str, Any]]


@cache
def server() -> subprocess.Popen[bytes]:
    return subprocess.Popen([os.environ["TARFLUME_ACT"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def ask(request: dict[str, Any], pixels: bytes = b"") -> Any:
    to, answers = server().stdin, server().stdout
    assert to is not None and answers is not None
    to.write(json.dumps(request).encode() + b"\n" + pixels)
    to.flush()
    return json.loads(answers.readline())


def applied(actions: Actions, array: np.ndarray) -> np.ndarray:
    """The picture `[height, width, channels]` of uint8 after the actions."""
    height, width, channels = array.shape
    request = {"height": height, "width": width, "channels": channels, "actions": actions}
    size = ask(request, np.ascontiguousarray(array).tobytes())
    answers = server().stdout
    assert answers is not None
    pixels = answers.read(size["height"] * size["width"] * channels)
    return np.frombuffer(pixels, np.uint8).reshape(size["height"], size["width"], channels)


def drawn(recipe: list[dict[str, Any]], count: int, height: int = 224, width: int = 224, channels: int = 3) -> list[Actions]:
    """The actions of the seeds 0 to `count`."""
    return ask({"height": height, "width": width, "channels": channels, "recipe": recipe, "seeds": [0, count]})
