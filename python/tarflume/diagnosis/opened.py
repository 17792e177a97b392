"""A DataLoader of PyTorch that is looked into: its batches, with what making them took."""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .recording import Carried, Record, Recorder
from .wrapping import TimedCollate, TimedData, restore

__all__ = ["Batches", "opened"]


class Batches:
    """The batches of any loader. `record` is that of the batch which came last, or None if it could not be looked into."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches
        self.record: Record | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._batches)


@contextmanager
def opened(loader: Iterable[Any], *, with_spans: bool = False) -> Iterator[Batches]:
    """Iterates a loader. A DataLoader of PyTorch is copied, and the copy's data set and collate function are measured in
    its workers: the loader itself, its samplers, its data set and the random numbers are afterwards as they were.

    with_spans: records have the time of each sample.
    """
    if not _is_data_loader(loader):
        given = iter(loader)
        try:
            yield Batches(given)
        finally:
            if given is not loader:
                _close(given)
        return
    before = _Before(loader)
    look = _Look(loader, with_spans)
    try:
        look.begin()
        yield look.batches
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


class _Look:
    """A copy of a DataLoader whose data set is measured."""

    def __init__(self, loader: Any, with_spans: bool) -> None:
        self._outer = copy.copy(loader)
        self._inner = self._outer
        # Accelerate iterates a DataLoader of its own.
        of_accelerate = vars(loader).get("base_dataloader")
        if _is_data_loader(of_accelerate):
            self._inner = copy.copy(of_accelerate)
            self._outer.base_dataloader = self._inner
        self.batches = Batches(iter(()))
        fields = vars(self._inner)
        fields["_iterator"] = None  # the workers of the loader stay with it
        if fields.get("_initial_iter_for_state_dict"):
            fields["_initial_iter_for_state_dict"] = False
            fields["next_iter_state"] = (of_accelerate or loader).state_dict()
        self._data: TimedData | None = None
        if not self._is_pipe(fields["dataset"]):
            recorder = Recorder(with_spans)
            self._data = TimedData(fields["dataset"], recorder)
            # `DataLoader` refuses to set these after it was made.
            fields["dataset"] = self._data
            fields["collate_fn"] = TimedCollate(fields["collate_fn"], recorder)
            self._inner.__class__ = _measured(type(self._inner), self.batches)

    @staticmethod
    def _is_pipe(data: Any) -> bool:
        """DataPipes are taken apart by PyTorch: they are measured from outside."""
        module = _data_loaders()
        return isinstance(data, (module.IterDataPipe, module.MapDataPipe))

    def begin(self) -> None:
        self.batches._batches = iter(self._outer)

    def end(self) -> None:
        _close(self.batches._batches)
        for loader in (self._outer, self._inner):
            stop = getattr(vars(loader).get("_iterator"), "_shutdown_workers", None)
            if callable(stop):
                stop()
        self.batches._batches = iter(())
        vars(self._inner)["_iterator"] = None
        if self._data is not None:
            restore(self._data)
        if hasattr(self._outer, "gradient_state"):  # an epoch that Accelerate thinks it is in
            with suppress(ValueError):
                self._outer.end()


def _measured(kind: type, batches: Batches) -> type:
    """A class of DataLoader whose iterators take the record off each batch."""

    def __iter__(self: Any) -> Iterator[Any]:
        return _Unpacked(kind.__iter__(self), batches)  # type: ignore[attr-defined]

    return type(kind.__name__, (kind,), {"__iter__": __iter__, "__module__": kind.__module__})


class _Unpacked:
    """An iterator of a DataLoader."""

    def __init__(self, inner: Any, batches: Batches) -> None:
        self._inner, self._batches = inner, batches

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        carried = next(self._inner)
        if not isinstance(carried, Carried):
            return carried
        self._batches.record = carried.record
        return carried.batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def close(self) -> None:
        stop = getattr(self._inner, "_shutdown_workers", None)
        if callable(stop):
            stop()


class _Before:
    """What iterating a DataLoader changes in the training process, as it was."""

    def __init__(self, loader: Any) -> None:
        import torch

        self._undo: list[Callable[[], None]] = []
        self._seen: set[int] = set()
        random_state = random.getstate()
        self._undo.append(lambda: random.setstate(random_state))
        torch_state = torch.get_rng_state()
        self._undo.append(lambda: torch.set_rng_state(torch_state))
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            numpy_state = numpy.random.get_state()
            self._undo.append(lambda: numpy.random.set_state(numpy_state))
        for each in (loader, vars(loader).get("base_dataloader")):
            self._keep_generators(each, torch.Generator)
            for name in ("sampler", "batch_sampler"):
                self._keep(getattr(each, name, None), torch.Generator)
        if loader.num_workers == 0:  # workers have copies of it
            self._keep(loader.dataset, torch.Generator)
        # A data set of tarflume counts its iterations in memory that its workers share.
        keep = getattr(getattr(loader.dataset, "_epochs", None), "keep", None)
        if callable(keep):
            self._undo.append(keep())

    def _keep(self, thing: Any, generator: type) -> None:
        """Keeps the attributes of a sampler or data set, and of those in it."""
        fields = getattr(thing, "__dict__", None)
        if fields is None or id(thing) in self._seen:
            return
        self._seen.add(id(thing))
        kept = dict(fields)

        def back() -> None:
            fields.clear()
            fields.update(kept)

        self._undo.append(back)
        self._keep_generators(thing, generator)
        for name in ("sampler", "batch_sampler", "dataset", "data_source"):
            self._keep(fields.get(name), generator)

    def _keep_generators(self, thing: Any, generator: type) -> None:
        for found in list(getattr(thing, "__dict__", {}).values()):
            if isinstance(found, generator) and id(found) not in self._seen:
                self._seen.add(id(found))
                self._undo.append(_state_of(found))

    def restore(self) -> None:
        """Puts it back."""
        for undo in reversed(self._undo):
            undo()


def _state_of(generator: Any) -> Callable[[], None]:
    state = generator.get_state()
    return lambda: generator.set_state(state)
