"""Calls a user's functions for each sample (`Apply`) and for each batch (`Epoch.map`), and shows the progress of an
epoch (`Epoch.progress`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import length_hint
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .calling import _called, _name
from .progress import shown

T = TypeVar("T")

if TYPE_CHECKING:
    from ._core import Epoch
    from .progress import Progress

__all__: list[str] = []


def _row(
    function: Callable[..., Any],
    value: bytes | bytearray | str,
    dtype: str,
    shape: list[int] | None,
    out_dtype: str,
    out_shape: tuple[int, ...] | None,
    words: dict[str, int],
) -> bytes:
    """The bytes of `function(value)`. `value` is the memory of an array unless it is bytes or text."""
    given: Any = value
    if isinstance(value, bytearray):
        given = np.frombuffer(value, dtype)
        given = given if shape is None else given.reshape(shape)[()]  # a single number is a scalar
    made = function(given, **words)
    if out_dtype == "text":
        if not isinstance(made, str):
            raise TypeError(f"returned {type(made).__name__}; with text=True it returns a str")
        return made.encode()
    if isinstance(made, (bytes, bytearray, memoryview)) and out_shape is None:
        return bytes(made)
    return _fitting(np.asarray(made), np.dtype(out_dtype), out_shape).tobytes()


def _fitting(made: np.ndarray[Any, Any], dtype: np.dtype[Any], shape: tuple[int, ...] | None) -> np.ndarray[Any, Any]:
    """The returned array as the column's type, if kind and shape fit."""
    if shape is None and made.ndim != 1:
        raise ValueError(f"returned an array of shape {made.shape}; with most= it returns one of one dimension")
    if shape is not None and made.shape != shape:
        raise ValueError(f"returned an array of shape {made.shape}; rows of this column have {shape}: give shape=")
    if not np.can_cast(made.dtype, dtype, "same_kind"):
        raise TypeError(f"returned {made.dtype}; elements of this column are {dtype}: give dtype=, or convert")
    return made.astype(dtype, copy=False)


def _mapped(epoch: Epoch, function: Callable[[Any], T]) -> Iterator[T]:
    with epoch:
        for batch in epoch:
            begun = perf_counter()
            made = _called(function, batch, partial(_of_batch, function, epoch, batch))
            epoch.charge(perf_counter() - begun)
            yield made


def _of_batch(function: Any, epoch: Epoch, batch: Any) -> str:
    """The note about a batch."""
    return f"in map({_name(function)}), called with batch {getattr(batch, 'step', '?')} of epoch {epoch.number}"


def _shown(epoch: Epoch, progress: Progress) -> Iterator[Any]:
    """The batches of an epoch, with a line of progress."""
    begun, taken = perf_counter(), 0

    def event() -> dict[str, Any]:
        seconds, left = max(perf_counter() - begun, 1e-9), length_hint(epoch)
        rate = epoch.samples / seconds
        remaining = left * seconds / taken if taken else 0.0
        line = (
            f"epoch {epoch.number}: {taken} of {taken + left} batches, {rate:,.0f} samples/s, "
            f"{int(remaining) // 60}:{int(remaining) % 60:02} left"
        )
        return {"epoch": epoch.number, "batches": taken, "batches_left": left, "samples": epoch.samples,
                "samples_per_s": rate, "left_s": remaining, "line": line}  # fmt: skip

    with shown(progress) as show, epoch:
        for batch in epoch:
            taken += 1
            show(event)
            yield batch
        show(event, last=True)
