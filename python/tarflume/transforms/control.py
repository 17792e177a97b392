"""Operations that hold others: all, some, one, or all in a random order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, overload

from .arguments import Arguments
from .base import Operation, operation_or_error

__all__ = ["Compose", "RandomApply", "RandomChoice", "RandomOrder"]


class _Steps(Operation):
    """An operation with a list of operations."""

    transforms: tuple[Operation, ...]

    def _steps(self, transforms: object, *, may_be_empty: bool = False) -> tuple[Operation, ...]:
        check = Arguments(self)
        if isinstance(transforms, Operation) or not hasattr(transforms, "__iter__"):
            raise check.wrong("transforms", transforms, "it is a list of operations")
        steps = tuple(
            operation_or_error(step, check.operation, f"transforms[{at}]") for at, step in enumerate(transforms)
        )
        if not steps and not may_be_empty:
            raise check.wrong("transforms", transforms, "it is a list of at least one operation")
        return steps

    def __len__(self) -> int:
        return len(self.transforms)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.transforms)

    @overload
    def __getitem__(self, at: int) -> Operation: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Operation, ...]: ...
    def __getitem__(self, at: int | slice) -> Operation | tuple[Operation, ...]:
        return self.transforms[at]


class Compose(_Steps):
    """All operations, one after the other: the recipe of a column.

        recipe = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()])
        loader = tarflume.Loader("shards/", batch_size=256, image=recipe)

    Without an operation it keeps each picture as it is.
    """

    def __init__(self, transforms: Sequence[Operation]) -> None:
        self._keep(transforms=self._steps(transforms, may_be_empty=True))

    def to_json(self) -> str:
        """The recipe as JSON: the list of operations, as `pack view --transform` reads it."""
        return json.dumps([step.to_dict() for step in self.transforms])


class RandomApply(_Steps):
    """All operations with the probability `p`, else none of them.

        transforms.RandomApply([transforms.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8)
    """

    p: float

    def __init__(self, transforms: Sequence[Operation], p: float = 0.5) -> None:
        self._keep(transforms=self._steps(transforms), p=Arguments(self).probability("p", p))


class RandomChoice(_Steps):
    """One of the operations. `p` has a weight for each; without it all are equally probable.

        transforms.RandomChoice([transforms.Grayscale(3), transforms.RandomSolarize(128, p=1.0)], p=[3, 1])
    """

    p: tuple[float, ...] | None

    def __init__(self, transforms: Sequence[Operation], p: Sequence[float] | None = None) -> None:
        steps = self._steps(transforms)
        self._keep(transforms=steps, p=None if p is None else self._weights(p, len(steps)))

    def _weights(self, p: Any, count: int) -> tuple[float, ...]:
        check = Arguments(self)
        valid = f"it has a weight for each of the {count} operations"
        items = check.items("p", p, (count,), valid)
        weights = [check.number(f"p[{at}]", weight, 0.0) for at, weight in enumerate(items)]
        total = sum(weights)
        if total <= 0.0:
            raise check.wrong("p", p, "at least one weight is above 0")
        return tuple(weight / total for weight in weights)


class RandomOrder(_Steps):
    """All operations in a random order.

        transforms.RandomOrder([transforms.RandomAutocontrast(), transforms.RandomEqualize()])
    """

    def __init__(self, transforms: Sequence[Operation]) -> None:
        self._keep(transforms=self._steps(transforms))
