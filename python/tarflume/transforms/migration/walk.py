"""`Walk`: goes through the steps of another library's recipe, and finds their counterparts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ...errors import UsageError
from ..base import Operation
from ..control import Compose
from .converted import Converted

__all__ = ["Converter", "Settings", "Table", "Walk", "converted"]

#: Levels from 0 to 255 as integers or floats, floats from 0 to 1, or normalized ones.
Scale: TypeAlias = Literal["levels", "float levels", "unit", "normalized"]

#: A step's counterparts.
Converter: TypeAlias = "Callable[[Walk, Any], list[Operation]]"
#: Converters by the package and the name of a class.
Table: TypeAlias = "Mapping[tuple[str, str], Converter]"

#: Text of an error shows this many characters of a step.
_SHOWN = 100
_APPLY = (
    "leave it out, and call it after the others: image=tarflume.Apply(function, {function}(others).image()), where "
    "function takes and returns an array of the row"
)


@dataclass
class Settings:
    """What the steps up to a place decided about the column."""

    layout: Literal["hwc", "chw"] = "hwc"
    channels: Literal["rgb", "gray"] = "rgb"
    dtype: Literal["uint8", "float32", "float16", "bfloat16"] = "uint8"
    scale: Scale = "levels"
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)


@dataclass
class Walk:
    """The way through one recipe."""

    #: `from_torchvision`, or another.
    function: str
    table: Table
    #: What the whole recipe decides; None in the first of two walks, which finds it.
    final: Settings | None = None
    settings: Settings = field(default_factory=Settings)
    #: Operations that are others, or errors, if they are not the last of the recipe, by their number (`id`).
    inside: dict[int, Callable[[], Operation]] = field(default_factory=dict)
    #: Of the step at hand.
    place: str = ""
    #: The numbers (`id`) of steps that are taken for certain, whatever their probability.
    certain: set[int] = field(default_factory=set)
    #: A step before the one at hand changes colors.
    has_changed_colors: bool = False
    #: The step at hand is not taken for each picture.
    is_random: bool = False

    def steps(self, transforms: Iterable[Any]) -> list[Operation]:
        """The counterparts of the steps of a list."""
        place = self.place
        found: list[Operation] = []
        for at, transform in enumerate(transforms):
            self.place = f"{place}transforms[{at}]"
            found += self.step(transform)
        self.place = place
        return found

    def random_steps(self, transforms: Iterable[Any]) -> list[Operation]:
        """The counterparts of a list: one operation for each step, which is not taken for each picture."""
        place, was_random, self.is_random = self.place, self.is_random, True
        found = []
        for at, transform in enumerate(transforms):
            self.place = f"{place}.transforms[{at}]"
            steps = self.step(transform)
            found.append(steps[0] if len(steps) == 1 else Compose(steps))
        self.place, self.is_random = place, was_random
        return found

    def inner(self, transforms: Iterable[Any]) -> list[Operation]:
        """The counterparts of a list inside a step."""
        place = self.place
        self.place = f"{place}." if place else ""
        found = self.steps(transforms)
        self.place = place
        return found

    def step(self, transform: Any) -> list[Operation]:
        """The counterparts of one step."""
        if isinstance(transform, Operation):
            return [transform]
        if isinstance(transform, (list, tuple)):
            return self.inner(transform)
        kind = type(transform)
        convert = self.table.get((kind.__module__.partition(".")[0], kind.__name__))
        if convert is None:
            raise self.no_counterpart(transform)
        try:
            return convert(self, transform)
        except _Placed:
            raise
        except UsageError as error:
            raise _Placed(f"{self.function}: {self._at(transform)}: {error}") from None

    def settle(self, transform: Any) -> Settings:
        """The settings, for a step that decides about the whole column."""
        if self.is_random:
            raise self.refused(
                transform, "decides about the column, and cannot be taken for some pictures only: put it at the end"
            )
        return self.settings

    def before_normalizing(self, transform: Any) -> None:
        """Refuses a step that computes with colors after they were normalized."""
        if self.settings.scale == "normalized":
            raise self.refused(transform, "comes after Normalize: put it before, where pixels are levels")

    def levels_of(self, operation: Operation) -> Operation:
        """An operation that is not the last: one that writes values of the row writes levels instead."""
        return self.inside.get(id(operation), lambda: operation)()

    def no_counterpart(self, transform: Any, advice: str | None = None) -> UsageError:
        """The error for a step that cannot be converted. `advice` says what to write instead."""
        more = _APPLY.format(function=f"tarflume.transforms.{self.function}")
        told = f"{advice}; or {more}" if advice else more
        return _Placed(f"{self.function}: {self._at(transform)} has no counterpart in tarflume.transforms: {told}")

    def refused(self, transform: Any, reason: str) -> UsageError:
        """The error for a step that cannot be converted at its place."""
        return _Placed(f"{self.function}: {self._at(transform)} {reason}")

    def _at(self, transform: Any) -> str:
        shown = " ".join(repr(transform).split())
        name = type(transform).__name__
        shown = shown if shown.startswith(name) or name == "function" else f"{name}: {shown}"
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
        return f"{self.place or 'the transform'}, {shown},"


class _Placed(UsageError):
    """An error whose text has the place already. Users see a `UsageError`."""


def converted(function: str, table: Table, transform: Any) -> Converted:
    """The recipe and the settings for another library's recipe."""
    try:
        first = Walk(function, table)
        first.step(transform)
        second = Walk(function, table, final=first.settings)
        steps = second.step(transform)
        steps = [*(second.levels_of(step) for step in steps[:-1]), *steps[-1:]]
    except _Placed as error:
        raise UsageError(str(error)) from None
    settings = second.settings
    is_plain = settings.mean == (0.0, 0.0, 0.0) and settings.std == (1.0, 1.0, 1.0)
    return Converted(
        Compose(steps),
        layout=settings.layout,
        channels=settings.channels,
        dtype=settings.dtype,
        mean=None if is_plain else settings.mean,
        std=None if is_plain else settings.std,
    )
