"""Takes batches of a loader as a training does, and measures each step."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any, NamedTuple

from ..errors import UsageError
from . import clocks
from .opened import opened
from .recording import Phase, Record

__all__ = ["Run", "Step", "run"]


class Step(NamedTuple):
    """One step, in seconds; None if not measured."""

    #: When its batch was asked for, came, was on the device, and was used: times of one clock.
    asked: float
    got: float
    moved: float
    done: float
    transfer: float | None
    compute: float | None
    record: Record | None
    #: What the training's thread did while it waited for the batch.
    waited: Phase

    @property
    def fetch(self) -> float:
        """How long the training waited for the batch."""
        return self.got - self.asked


class Run(NamedTuple):
    """The steps of a loader."""

    steps: list[Step]
    #: From the start of the iteration to the first batch, in seconds.
    first_batch: float
    #: Samples of a batch, if it can be determined.
    rows: int | None


def run(
    loader: Iterable[Any],
    steps: int,
    warmup: int,
    step: Callable[[Any], object] | None,
    *,
    what: str = "diagnose",
    with_spans: bool = False,
    look: Callable[[], object] | None = None,
) -> Run:
    """Measures the steps after the warm-up. `look` is called after each step, also those of the warm-up.

    Raises:
        UsageError: this is no loader, or it ends within the warm-up.
    """
    _check(loader, steps, warmup, what)
    clock = _Cuda() if _has_cuda() else _Host()
    taken: list[Step] = []
    first, rows, count = 0.0, None, 0
    began = clocks.now()
    with opened(loader, with_spans=with_spans) as batches:
        while count < warmup + steps:
            before = clocks.moment()
            asked = before.wall
            try:
                batch = next(batches)
            except StopIteration:
                break
            after = clocks.moment()
            got = after.wall
            if count == 0:
                first, rows = got - began, _rows(batch)
            waited = Phase().plus(before, after)
            transfer, moved, compute = clock.step(batch, step)
            count += 1
            if count > warmup:
                taken.append(Step(asked, got, moved, clocks.now(), transfer, compute, batches.record, waited))
            if look is not None:
                look()
    if count <= warmup:
        raise UsageError(f"the loader gave {count} batches, and warmup={warmup} are left out: give a smaller warmup=")
    return Run(taken, first, rows)


def _check(loader: object, steps: int, warmup: int, what: str) -> None:
    if isinstance(loader, (str, bytes, os.PathLike)):
        path = os.fspath(loader)
        raise UsageError(
            f"{what} takes a loader, not the path {path!r}: "
            f"{what}(tarflume.Loader({path!r}, batch_size=256, image=tarflume.Resize(224)))"
        )
    if not hasattr(loader, "__iter__"):
        raise UsageError(f"{what} takes a loader, an iterable of batches, not {type(loader).__name__}")
    if steps < 1 or warmup < 0:
        raise UsageError(f"steps={steps}, warmup={warmup}: steps must be at least 1, and warmup at least 0")


class _Host:
    """Times of a step without a device."""

    def step(
        self, batch: Any, step: Callable[[Any], object] | None
    ) -> tuple[float | None, float, float | None]:
        """Seconds of the transfer, when it was over, and seconds of the computation; None if not measured."""
        start = clocks.now()
        if step is None:
            return None, start, None
        step(batch)
        return None, start, clocks.now() - start


class _Cuda:
    """Times of a step by events on the current CUDA device."""

    def __init__(self) -> None:
        self._torch = sys.modules["torch"]
        self._events = [self._torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def step(
        self, batch: Any, step: Callable[[Any], object] | None
    ) -> tuple[float | None, float, float | None]:
        """Seconds of the transfer, when it was over, and seconds of the computation; None if not measured."""
        start, moved = self._events
        start.record()
        batch = self._moved(batch)
        moved.record()
        self._torch.cuda.synchronize()
        transfer = start.elapsed_time(moved) / 1e3
        # Wall clock time: work of the step on the host counts, too.
        began = clocks.now()
        if step is None:
            return transfer, began, None
        step(batch)
        self._torch.cuda.synchronize()
        return transfer, began, clocks.now() - began

    def _moved(self, value: Any) -> Any:
        if isinstance(value, self._torch.Tensor):
            return value.to("cuda", non_blocking=True)
        if isinstance(value, Mapping):
            parts = {name: self._moved(part) for name, part in value.items()}
            if not isinstance(value, MutableMapping) or isinstance(value, dict):
                return parts
            made = copy.copy(value)
            made.update(parts)
            return made
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self._moved, value))
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._moved, value))
        return value


def _has_cuda() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_available())


def _rows(batch: Any) -> int | None:
    """The number of samples of a batch, if it can be determined."""
    rows = getattr(batch, "rows", None)
    if isinstance(rows, int):
        return rows
    shape = getattr(batch, "shape", None)
    if shape:
        return int(shape[0])
    if isinstance(batch, Mapping):
        found = (_rows(value) for value in batch.values())
    elif isinstance(batch, (list, tuple)):
        found = (_rows(value) for value in batch)
    else:
        return None
    return next((rows for rows in found if rows is not None), None)
