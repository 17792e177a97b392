"""A DataLoader of PyTorch that is looked into: its batches, with what making them took."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .recording import Carried, Record, Recorder, together
from .restoring import Before
from .wrapping import TimedCollate, TimedData, restore

__all__ = ["Batches", "opened"]


class Batches:
    """The batches of any loader. `records` are those of the batch that came last; none if it could not be looked into."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches
        self.records: list[Record] = []

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.records.clear()
        return next(self._batches)

    @property
    def record(self) -> Record | None:
        """The record of the batch. One that was made of several, as those of `WebLoader` may be, has their sums."""
        return together(self.records) if self.records else None


@contextmanager
def opened(loader: Iterable[Any], *, with_spans: bool = False) -> Iterator[Batches]:
    """Iterates a loader. A DataLoader of PyTorch is copied, and the copy's data set and collate function are measured in
    its workers: the loader itself, its samplers, its data set and the random numbers are afterwards as they were. The
    same is done with a DataLoader within one of Accelerate or a pipeline of webdataset. A pipeline that has none makes
    samples in the training process, and is measured there.

    with_spans: records have the time of each sample.
    """
    inner = _inner(loader)
    if inner is None and not _is_pipeline(loader):
        given = iter(loader)
        try:
            yield Batches(given)
        finally:
            if given is not loader:
                _close(given)
        return
    before = Before([each for each in (loader, inner) if _is_data_loader(each)])
    look = _Pipeline(loader, with_spans) if inner is None else _Workers(loader, inner, with_spans)
    try:
        yield look.batches()
    finally:
        look.end()
        before.restore()


def _close(batches: Iterator[Any]) -> None:
    """Closes an iterator of tarflume; others end when they are dropped."""
    close = getattr(batches, "close", None)
    if callable(close):
        close()


def _data_loaders() -> Any:
    """The module of DataLoader, if a program has imported it."""
    return sys.modules.get("torch.utils.data")


def _is_data_loader(loader: object) -> bool:
    module = _data_loaders()
    return module is not None and isinstance(loader, module.DataLoader)


def _inner(loader: Any) -> Any:
    """The DataLoader of PyTorch that makes the batches, if there is one."""
    found = getattr(loader, "__dict__", {}).get("base_dataloader")  # Accelerate iterates another DataLoader that it makes
    if _is_data_loader(found):
        return found
    if _is_data_loader(loader):
        return loader
    first = loader.pipeline[0] if _is_pipeline(loader) and loader.pipeline else None
    return first if _is_data_loader(first) else None


def _is_pipeline(loader: object) -> bool:
    """Whether this is a pipeline of webdataset, or of `tarflume.webdataset`."""
    kinds = {base.__name__ for base in type(loader).__mro__}
    return "DataPipeline" in kinds and isinstance(getattr(loader, "pipeline", None), list)


class _Pipeline:
    """A pipeline that runs in this process."""

    def __init__(self, pipeline: Any, with_spans: bool) -> None:
        self._recorder = Recorder(with_spans)
        self._data = TimedData(pipeline, self._recorder)
        self._samples: Iterator[Any] = iter(())

    def batches(self) -> Batches:
        self._samples = iter(self._data)
        made = Batches(iter(()))
        made._batches = self._each(made.records)
        return made

    def _each(self, records: list[Record]) -> Iterator[Any]:
        for batch in self._samples:
            records.append(self._recorder.finish(None))
            yield batch

    def end(self) -> None:
        restore(self._data)
        _close(self._samples)


class _Workers:
    """A copy of a DataLoader whose data set is measured, and of the loader around it."""

    def __init__(self, outer: Any, inner: Any, with_spans: bool) -> None:
        self._inner = copy.copy(inner)
        self._outer = self._inner if outer is inner else copy.copy(outer)
        if _is_pipeline(outer):
            self._outer.pipeline = [self._inner, *outer.pipeline[1:]]
        elif outer is not inner:
            self._outer.base_dataloader = self._inner
        self._batches = Batches(iter(()))
        fields = vars(self._inner)
        fields["_iterator"] = None  # the workers of the loader stay with it
        if fields.get("_initial_iter_for_state_dict"):
            fields["_initial_iter_for_state_dict"] = False
            fields["next_iter_state"] = inner.state_dict()
        self._data: TimedData | None = None
        if not self._is_pipe(fields["dataset"]):
            recorder = Recorder(with_spans)
            self._data = TimedData(fields["dataset"], recorder)
            # `DataLoader` refuses to set these after it was made.
            fields["dataset"] = self._data
            fields["collate_fn"] = TimedCollate(fields["collate_fn"], recorder)
            self._inner.__class__ = _measured(type(self._inner), self._batches.records)

    @staticmethod
    def _is_pipe(data: Any) -> bool:
        """DataPipes are taken apart by PyTorch: they are measured from outside."""
        module = _data_loaders()
        return isinstance(data, (module.IterDataPipe, module.MapDataPipe))

    def batches(self) -> Batches:
        self._batches._batches = iter(self._outer)
        return self._batches

    def end(self) -> None:
        _close(self._batches._batches)
        stop = getattr(vars(self._inner).get("_iterator"), "_shutdown_workers", None)
        if callable(stop):
            stop()
        self._batches._batches = iter(())
        vars(self._inner)["_iterator"] = None
        if self._data is not None:
            restore(self._data)
        if hasattr(self._outer, "gradient_state"):  # an epoch that Accelerate thinks it is in
            with suppress(ValueError):
                self._outer.end()


def _measured(kind: type, records: list[Record]) -> type:
    """A class of DataLoader whose iterators take the record off each batch."""

    def __iter__(self: Any) -> Iterator[Any]:
        return _Unpacked(kind.__iter__(self), records)  # type: ignore[attr-defined]

    return type(kind.__name__, (kind,), {"__iter__": __iter__, "__module__": kind.__module__})


class _Unpacked:
    """An iterator of a DataLoader."""

    def __init__(self, inner: Any, records: list[Record]) -> None:
        self._inner, self._records = inner, records

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        carried = next(self._inner)
        if not isinstance(carried, Carried):
            return carried
        self._records.append(carried.record)
        return carried.batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def close(self) -> None:
        stop = getattr(self._inner, "_shutdown_workers", None)
        if callable(stop):
            stop()
