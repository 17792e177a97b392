"""Recipes of `tarflume.transforms` in a pipeline: what they draw for a sample depends on seed, epoch and sample alone.

A sample is known by its ordinal, as in `tarflume.Loader`, if all shards of the list are local paths with sidecars. Otherwise
it is known by the place of its shard in the list and its place in the shard; and without a shard, by its key. Workers and the
order of samples never matter.
"""

from __future__ import annotations

import copy
import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from .. import _core
from ..errors import UsageError
from ..transforms.base import Operation
from ..transforms.migration.converted import Converted
from .epochs import Epochs
from .handlers import RefusedError
from .ordinals import FirstOrdinals

__all__ = [
    "Drawing",
    "PictureDecoder",
    "Place",
    "begun",
    "draws",
    "is_recipe",
    "placed",
    "processing",
    "seeded",
    "takes_drawing",
]

_MOST = (1 << 64) - 1
_Stage = TypeVar("_Stage", bound=Callable[..., Any])


@dataclass(frozen=True)
class Place:
    """Where a sample comes from: its ordinal, and how often its shard was read before in this iteration."""

    ordinal: int
    visit: int


class _PlacedDict(dict[str, Any]):
    """A sample that knows its place."""

    place: Place


class _PlacedTuple(tuple[Any, ...]):
    """A sample that knows its place."""

    place: Place


def placed(made: Any, place: Place | None) -> Any:
    """A sample with a place, if it has none."""
    if place is None or type(made) not in (dict, tuple):
        return made
    known: Any = _PlacedDict(made) if type(made) is dict else _PlacedTuple(made)
    known.place = place
    return known


class _Processing(threading.local):
    """The sample that a stage of this thread works on."""

    sample: Any = None


_processing = _Processing()


def processing(work: Callable[[Any], Any], sample: Any) -> Any:
    """`work(sample)`, in which recipes draw for this sample. The result has its place."""
    before, _processing.sample = _processing.sample, sample
    try:
        return placed(work(sample), getattr(sample, "place", None))
    finally:
        _processing.sample = before


def is_recipe(value: object) -> bool:
    """Whether it is a recipe of `tarflume.transforms`."""
    return isinstance(value, (Operation, Converted))


def takes_drawing(function: _Stage) -> _Stage:
    """Marks a function of a stage that takes `drawing=`, the iteration that it is part of, and binds recipes itself."""
    vars(function)["takes_drawing"] = True
    return function


def _has_draws(value: object) -> bool:
    return is_recipe(value) or isinstance(value, _core.Image) or bool(getattr(value, "draws", False))


def draws(stage: Any) -> bool:
    """Whether a stage, a function with arguments, has a recipe among them."""
    given = [*getattr(stage, "args", ()), *getattr(stage, "kw", {}).values()]
    return any(map(_has_draws, given))


class Drawing:
    """One iteration of a pipeline: what its recipes draw."""

    def __init__(self, seed: Any, epoch: int, firsts: Mapping[str, int]) -> None:
        self.seed, self.epoch = _number(seed), epoch
        self._firsts = firsts
        self._visits: Counter[str] = Counter()

    def shard(self, url: str) -> Callable[[int], Place]:
        """Begins a shard: the place of each of its samples, by their numbers."""
        first, visit = self._firsts.get(url), self._visits[url]
        self._visits[url] += 1
        start = _hashed(url) if first is None else first
        return lambda number: Place((start + number) & _MOST, visit)

    def sample_seed(self) -> int:
        """The seed of the sample that the stage works on.

        Raises:
            RefusedError: nothing is known of the sample.
        """
        sample = _processing.sample
        place = getattr(sample, "place", None)
        if place is None and isinstance(sample, dict) and isinstance(sample.get("__key__"), str):
            place = Place(_hashed(sample["__key__"]), 0)
        if place is None:
            raise RefusedError(
                "a recipe draws by the shard or the key of a sample, and this sample has neither: put the recipe before "
                "batched() and before functions that make new tuples, or call recipe(picture, seed=...) in your function"
            )
        seed = _core.sample_seed(self.seed, self.epoch, place.ordinal)
        return seed if place.visit == 0 else _core.sample_seed(seed, place.visit, place.ordinal)


class _SeededRecipe:
    """A recipe that draws for the sample that a stage works on."""

    def __init__(self, recipe: Any, drawing: Drawing) -> None:
        _refuse_bfloat16(recipe)
        self.recipe, self.drawing = recipe, drawing
        self.__qualname__ = type(recipe).__name__

    def __call__(self, picture: Any) -> Any:
        return self.recipe(picture, seed=self.drawing.sample_seed())


class PictureDecoder:
    """Decodes pictures by a recipe or a `tarflume.Image` in Rust: to the rows of a loader, as NumPy arrays."""

    #: It is a stage's argument that has a recipe.
    draws = True

    def __init__(self, column: Any) -> None:
        self.column = column
        self._open()
        self.drawing: Drawing | None = None

    def _open(self) -> None:
        _refuse_bfloat16(self.column)
        self._decoder = _core.PartDecoder(self.column)
        self._extensions = [extension.split(".") for extension in self._decoder.extensions]

    def __call__(self, key: str, data: bytes) -> Any:
        parts = key.lower().split(".")
        if not any(parts[-len(wanted) :] == wanted for wanted in self._extensions):
            return None
        if self.drawing is None:
            raise RefusedError("decode(recipe) draws in a pipeline: call recipe(picture, seed=...) elsewhere")
        made, dtype, shape = self._decoder.decode(data, self.drawing.sample_seed())
        return np.frombuffer(made, dtype).reshape(shape)

    def seeded(self, drawing: Drawing) -> PictureDecoder:
        """The decoder in an iteration."""
        made = copy.copy(self)
        made.drawing = drawing
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {"column": self.column}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.column, self.drawing = state["column"], None
        self._open()


def seeded(value: Any, drawing: Drawing) -> Any:
    """An argument of a stage, with its recipes bound to an iteration."""
    if is_recipe(value):
        return _SeededRecipe(value, drawing)
    return value.seeded(drawing) if getattr(value, "draws", False) else value


def _refuse_bfloat16(column: Any) -> None:
    """Refuses a recipe or a column whose rows NumPy cannot have."""
    words = column.__getnewargs_ex__()[1] if hasattr(column, "__getnewargs_ex__") else vars(column)
    if words.get("dtype") == "bfloat16":
        raise UsageError('NumPy has no bfloat16: give tarflume.Image(..., dtype="float32")')


def begun(pipeline: Any, epochs: Epochs | None, firsts: FirstOrdinals) -> Drawing | None:
    """Begins an iteration of a pipeline; None if it has no recipe. No handler gets an error about the list of shards."""
    if epochs is None:
        return None
    source = pipeline.pipeline[0] if pipeline.pipeline else None
    urls = [url for url in getattr(source, "urls", ()) if isinstance(url, str)]
    found = firsts.of(urls)
    return Drawing(getattr(pipeline, "seed", 0), epochs.begin(), found)


def _hashed(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _number(seed: Any) -> int:
    """The seed of a pipeline, of any kind, as a number of 64 bits."""
    try:
        return int(seed) & _MOST
    except (TypeError, ValueError):
        return _hashed(repr(seed))
