"""Calls a user's functions for each sample (`Apply`) and for each batch (`Epoch.map`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

T = TypeVar("T")

if TYPE_CHECKING:
    from ._core import Batch, Epoch

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


def _mapped(epoch: Epoch, function: Callable[[Batch], T]) -> Iterator[T]:
    with epoch:
        for batch in epoch:
            begun = perf_counter()
            made = function(batch)
            epoch.charge(perf_counter() - begun)
            yield made
