"""`RoundRobin`, `RandomMix` and `MockDataset`: samples of several sources, or of none."""

from __future__ import annotations

import bisect
import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..errors import UsageError
from .pipeline import IterableDataset

__all__ = ["MockDataset", "RandomMix", "RoundRobin"]

_NOTHING: Any = object()


class RoundRobin(IterableDataset):
    """A sample of each data set in turn, until one ends; with `longest` until all have ended."""

    def __init__(self, datasets: Sequence[Iterable[Any]], longest: bool = False) -> None:
        super().__init__()
        self.datasets, self.longest = datasets, longest

    def __iter__(self) -> Iterator[Any]:
        sources = [iter(dataset) for dataset in self.datasets]
        place = 0
        while sources:
            place %= len(sources)
            sample = next(sources[place], _NOTHING)
            if sample is not _NOTHING:
                yield sample
                place += 1
            elif self.longest:
                del sources[place]
            else:
                return


class RandomMix(IterableDataset):
    """Samples of data sets drawn by `probs` (weights, by default equal), until one ends; with `longest`, until all have
    ended. Draws with Python's `random`: with the same `random.seed` the choices are those of webdataset."""

    def __init__(
        self, datasets: Sequence[Iterable[Any]], probs: Sequence[float] | None = None, longest: bool = False
    ) -> None:
        super().__init__()
        if probs is not None and (len(probs) != len(datasets) or min(probs, default=1) < 0 or sum(probs) <= 0):
            raise UsageError(f"probs={list(probs)}: give a weight for each of {len(datasets)} data sets, not all 0")
        self.datasets, self.probs, self.longest = datasets, probs, longest

    def __iter__(self) -> Iterator[Any]:
        sources = [iter(dataset) for dataset in self.datasets]
        probs = [1.0] * len(sources) if self.probs is None else [float(weight) for weight in self.probs]
        while sources and sum(probs) > 0:
            whole = sum(probs)
            bounds = list(itertools.accumulate(weight / whole for weight in probs))
            place = min(bisect.bisect_left(bounds, random.random()), len(sources) - 1)
            sample = next(sources[place], _NOTHING)
            if sample is not _NOTHING:
                yield sample
            elif self.longest:
                del sources[place], probs[place]
            else:
                return


class MockDataset(IterableDataset):
    """The same sample, `length` times, to measure or test later stages."""

    def __init__(self, sample: Any, length: int) -> None:
        super().__init__()
        self.sample, self.length = sample, length

    def __iter__(self) -> Iterator[Any]:
        return itertools.repeat(self.sample, self.length)
