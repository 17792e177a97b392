"""Batches and lists of samples, and back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..calling import _called, _of_sample
from ..errors import UsageError

__all__ = ["batched_samples", "default_collation_fn", "unbatched_samples", "unlisted_samples"]


def _column(values: list[Any], combine_tensors: bool, combine_scalars: bool) -> Any:
    """Numbers and arrays of one shape become an array [rows, ...], tensors a tensor, other values a list."""
    import numpy as np

    torch: Any = sys.modules.get("torch")
    first = values[0]
    if isinstance(first, (int, float)):
        return np.array(values) if combine_scalars else values
    is_tensor = torch is not None and isinstance(first, torch.Tensor)
    if not is_tensor and not isinstance(first, np.ndarray):
        return values
    if not combine_tensors:
        return values
    shapes = {tuple(value.shape) for value in values}
    if len(shapes) > 1:
        raise UsageError(
            f"arrays of the shapes {sorted(shapes)} cannot form a batch: bring them to one shape before batched(), or give "
            "another collation_fn"
        )
    return torch.stack(values) if is_tensor else np.array(values)


def default_collation_fn(
    samples: Sequence[Any], combine_tensors: bool = True, combine_scalars: bool = True
) -> tuple[Any, ...] | dict[Any, Any]:
    """A batch: a tuple of columns for tuples, a dict of them for dicts."""

    def columns(rows: Iterable[Any]) -> list[Any]:
        return [_column(list(values), combine_tensors, combine_scalars) for values in zip(*rows, strict=True)]

    first = samples[0]
    if not isinstance(first, dict):
        if len({len(sample) for sample in samples}) > 1:
            raise UsageError("tuples of different lengths cannot form a batch")
        return tuple(columns(samples))
    for sample in samples:
        if sample.keys() != first.keys():
            raise UsageError(
                f"samples with different parts cannot form a batch: {list(first)} and {list(sample)}; choose parts with "
                "to_tuple or rename"
            )
    return dict(zip(first, columns([sample[name] for name in first] for sample in samples), strict=True))


def batched_samples(
    data: Iterable[Any],
    batchsize: int = 20,
    collation_fn: Callable[[list[Any]], Any] | None = default_collation_fn,
    partial: bool = True,
) -> Iterator[Any]:
    """Applies `collation_fn` to `batchsize` samples at a time; without `partial`, leaves out a smaller last batch."""
    batch: list[Any] = []
    for sample in data:
        batch.append(sample)
        if len(batch) >= batchsize:
            yield _collated(batch, collation_fn)
            batch = []
    if batch and partial:
        yield _collated(batch, collation_fn)


def _collated(batch: list[Any], function: Callable[[list[Any]], Any] | None) -> Any:
    if function is None:
        return batch

    def where() -> str:
        first = _of_sample("", function, batch[0])
        return f"{first}, the first of {len(batch)} in batched(collation_fn=)"

    return _called(function, batch, where)


def unbatched_samples(data: Iterable[Any]) -> Iterator[Any]:
    """The rows of batches, as tuples or dicts."""
    for batch in data:
        if isinstance(batch, (list, tuple)):
            yield from (tuple(column[row] for column in batch) for row in range(len(batch[0])))
        elif isinstance(batch, dict):
            lengths = {len(column) for column in batch.values()}
            if len(lengths) != 1:
                raise UsageError(f"the columns of this batch have {sorted(lengths)} rows: they do not belong together")
            yield from ({name: column[row] for name, column in batch.items()} for row in range(lengths.pop()))
        else:
            raise UsageError(f"unbatched takes batches, tuples or dicts of columns, not {type(batch).__name__}")


def unlisted_samples(data: Iterable[Any]) -> Iterator[Any]:
    """The items of lists."""
    for batch in data:
        if not isinstance(batch, list):
            raise UsageError(f"unlisted takes lists, not {type(batch).__name__}")
        yield from batch
