"""`DataPipeline`: a source and its stages, each a function from an iterator to an iterator."""

from __future__ import annotations

import copy
import functools
import itertools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

from ..errors import UsageError
from .drawing import Drawing, begun, draws, seeded
from .epochs import Epochs
from .ordinals import FirstOrdinals

if TYPE_CHECKING:

    class IterableDataset:
        """torch's, if it is installed."""
else:
    try:
        from torch.utils.data import IterableDataset
    except ModuleNotFoundError:

        class IterableDataset:
            """Replaces PyTorch's class if PyTorch is not installed."""


__all__ = ["DataPipeline", "FilterFunction", "IterableDataset", "PipelineStage", "pipelinefilter"]


class PipelineStage:
    """A stage with a state: `run(source)` returns the iterator."""

    def run(self, *source: Iterable[Any]) -> Iterator[Any]:
        """The iterator behind `source`."""
        raise NotImplementedError


class FilterFunction:
    """A stage: a function with all its arguments but the first."""

    def __init__(self, f: Callable[..., Any], *args: Any, **kw: Any) -> None:
        self.f, self.args, self.kw = f, args, kw

    def __call__(self, data: Iterable[Any]) -> Any:
        return self.f(data, *self.args, **self.kw)

    def seeded(self, drawing: Drawing) -> FilterFunction:
        """The stage in an iteration: its recipes draw for it, and samples of shards get their places."""
        if getattr(self.f, "takes_drawing", False):
            return FilterFunction(self.f, *self.args, **self.kw | {"drawing": drawing})
        args = [seeded(arg, drawing) for arg in self.args]
        return FilterFunction(self.f, *args, **{name: seeded(arg, drawing) for name, arg in self.kw.items()})

    def __repr__(self) -> str:
        return f"<{getattr(self.f, '__name__', self.f)} {self.args} {self.kw}>"


class _Curried:
    """A function whose first argument comes later."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        functools.update_wrapper(self, f)

    def __call__(self, *args: Any, **kw: Any) -> FilterFunction:
        return FilterFunction(self.f, *args, **kw)


def pipelinefilter(f: Callable[..., Any]) -> Callable[..., FilterFunction]:
    """From `f(data, ...)`, the function that takes the other arguments and returns a stage."""
    return _Curried(f)


class DataPipeline(IterableDataset, PipelineStage):
    """A source (a data set, a list, a function without arguments) and stages, run one behind the other."""

    def __init__(self, *stages: Any) -> None:
        super().__init__()
        self.pipeline: list[Any] = []
        for stage in stages:
            if isinstance(stage, list):
                self.pipeline += stage
            elif stage is not None:
                self.pipeline.append(stage)
        self.repetitions = 1
        self.nsamples = -1
        self.size: int | None = None
        self._epochs: Epochs | None = None
        self._epoch: int | None = None
        self._firsts = FirstOrdinals()
        self._count_epochs()

    def _count_epochs(self) -> None:
        """Counts the iterations if a stage has a recipe: before workers start, which count together."""
        if self._epochs is None and any(map(draws, self.pipeline)):
            self._epochs = Epochs()
            if self._epoch is not None:
                self._epochs.set(self._epoch)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration: recipes of `tarflume.transforms` draw by it. Iterations count on from it.
        Pipelines that are composed from this one begin with it, too."""
        self._epoch = epoch
        if self._epochs is not None:
            self._epochs.set(epoch)

    def _source(self) -> Iterator[Any]:
        first = self.pipeline[0]
        if isinstance(first, PipelineStage) and not isinstance(first, DataPipeline):
            return first.run()
        if hasattr(first, "__iter__"):
            return iter(first)
        if callable(first):
            return iter(first())
        raise UsageError(f"{first!r} is not a source of samples: a pipeline begins with a data set, a list or a function")

    def iterator1(self, drawing: Drawing | None = None) -> Iterator[Any]:
        """One pass; `drawing` is the iteration that it is part of, if a stage has a recipe."""
        if not self.pipeline:
            raise UsageError("this pipeline has no source")
        source = self._source()
        for stage in self.pipeline[1:]:
            if drawing is not None and isinstance(stage, FilterFunction):
                stage = stage.seeded(drawing)
            if isinstance(stage, PipelineStage):
                source = stage.run(source)
            elif callable(stage):
                source = iter(stage(source))
            else:
                raise UsageError(f"{stage!r} is not a stage, a function from an iterator to an iterator")
        return source

    def iterator(self) -> Iterator[Any]:
        """The passes set by `repeat`; a pass without samples is the last."""
        self._count_epochs()
        drawing = begun(self, self._epochs, self._firsts)
        for _ in range(self.repetitions):
            nothing = True
            for sample in self.iterator1() if drawing is None else self.iterator1(drawing):
                nothing = False
                yield sample
            if nothing:
                break

    def __iter__(self) -> Iterator[Any]:
        if self.repetitions != 1 and self.nsamples > 0:
            return itertools.islice(self.iterator(), self.nsamples)
        return self.iterator()

    def run(self, *source: Iterable[Any]) -> Iterator[Any]:
        """All samples, as a source of another pipeline."""
        return iter(self)

    def stage(self, i: int) -> Any:
        """Stage `i`; 0 is the source."""
        return self.pipeline[i]

    def append(self, f: Any) -> None:
        """Adds a stage to this pipeline."""
        self.pipeline.append(f)
        self._count_epochs()

    def compose(self, *stages: Any) -> Self:
        """A copy with these stages behind the others."""
        made = copy.copy(self)
        made.pipeline = [*self.pipeline, *stages]
        made._epochs = None
        made._count_epochs()
        return made

    def with_length(self, n: int, silent: bool = False) -> Self:
        """Sets the result of `len()`; the number of samples does not change."""
        if not silent:
            warnings.warn("with_length sets the result of len(), not the number of samples of an epoch", stacklevel=2)
        self.size = n
        self.__class__ = _with_length(type(self))
        return self

    def with_epoch(self, nsamples: int = -1, nbatches: int = -1) -> Self:
        """Sets the number of samples (or batches) of an epoch, over as many passes as needed. Each starts at the beginning."""
        self.repetitions, self.nsamples = sys.maxsize, max(nsamples, nbatches)
        return self

    def repeat(self, nepochs: int = -1, nbatches: int = -1) -> Self:
        """Sets the number of passes, by default without end, limited to `nbatches` samples (or batches)."""
        self.repetitions, self.nsamples = nepochs if nepochs > 0 else sys.maxsize, nbatches
        return self

    def close(self) -> None:
        """Closes the stages and removes them."""
        for stage in self.pipeline:
            if hasattr(stage, "close"):
                stage.close()
        self.pipeline = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Length:
    """The methods that `with_length` adds to a class."""

    size: int | None

    def __len__(self) -> int:
        return self.size or 0

    def __bool__(self) -> bool:
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self).__mro__[1], self.__dict__)


#: Classes with a `len()`, by those without.
_LENGTHS: dict[Any, Any] = {}


def _with_length(base: Any) -> Any:
    """The class with a `len()`. A class without a length must not have the method, because callers test for it."""
    if "__len__" in dir(base):
        return base
    body = {name: getattr(_Length, name) for name in ("__len__", "__bool__", "__reduce__")}
    if base not in _LENGTHS:
        _LENGTHS[base] = type(base.__name__, (base,), body | {"__module__": base.__module__, "__doc__": base.__doc__})
    return _LENGTHS[base]


def _again(base: Any, state: dict[str, Any]) -> Any:
    made = _with_length(base).__new__(_with_length(base))
    made.__dict__.update(state)
    return made
