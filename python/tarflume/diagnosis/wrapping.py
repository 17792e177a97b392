"""Stand-ins for a data set, its transforms and the collate function of a DataLoader, which measure each call.

A stand-in behaves as what it stands for: attributes, `isinstance`, length, truth and pickling are those of the original,
so workers, `worker_init_fn` and loaders with a state see no difference.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from .recording import Carried, Recorder

__all__ = ["TimedCollate", "TimedData", "restore"]

#: Attributes of data sets that hold what is done with a sample once it was read.
_TRANSFORMS = ("transform", "transforms", "target_transform", "augment", "augmentations", "preprocess")
#: Attributes of data sets that hold another data set: `Subset`, `ConcatDataset`, the wrapper of torchvision.
_INNER = ("dataset", "_dataset", "datasets")
#: The functions behind `map`, `map_dict` and `map_tuple` of webdataset, and of tarflume.webdataset.
_MAPS = ("map", "map_dict", "map_tuple", "mapped", "dict_mapped", "tuple_mapped")


class _Delegate:
    """Passes on everything to what it stands for."""

    __slots__ = ("_tarflume_inner", "_tarflume_recorder")
    _tarflume_inner: Any
    _tarflume_recorder: Recorder

    def __init__(self, inner: Any, recorder: Recorder) -> None:
        object.__setattr__(self, "_tarflume_inner", inner)
        object.__setattr__(self, "_tarflume_recorder", recorder)

    @property
    def __class__(self) -> Any:
        return type(self._tarflume_inner)

    @__class__.setter
    def __class__(self, kind: Any) -> None:
        raise TypeError("the class of a data set that is measured cannot be changed")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tarflume_inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._tarflume_inner, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._tarflume_inner, name)

    def __len__(self) -> int:
        return len(self._tarflume_inner)

    def __bool__(self) -> bool:
        return bool(self._tarflume_inner)

    def __dir__(self) -> list[str]:
        return dir(self._tarflume_inner)

    def __repr__(self) -> str:
        return repr(self._tarflume_inner)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return (type(self), (self._tarflume_inner, self._tarflume_recorder))


class _TimedCall(_Delegate):
    """A transform."""

    __slots__ = ()

    def __call__(self, *given: Any, **named: Any) -> Any:
        return _timed(self._tarflume_recorder, "transform", self._tarflume_inner, *given, **named)


class _TimedIterator(_Delegate):
    """An iterator of a data set."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return _timed(self._tarflume_recorder, "read", next, self._tarflume_inner)


class TimedData(_Delegate):
    """A data set. In each process, its transforms are replaced when the first sample is asked for."""

    __slots__ = ("_tarflume_process", "_tarflume_undo")
    _tarflume_process: int | None
    _tarflume_undo: list[Callable[[], None]]

    def __init__(self, inner: Any, recorder: Recorder) -> None:
        super().__init__(inner, recorder)
        object.__setattr__(self, "_tarflume_process", None)
        object.__setattr__(self, "_tarflume_undo", [])

    def __getitem__(self, index: Any) -> Any:
        _begin(self)
        return _timed(self._tarflume_recorder, "read", self._tarflume_inner.__getitem__, index)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._tarflume_inner, name)
        if name != "__getitems__" or not callable(found):
            return found
        return _Many(self, found)

    def __iter__(self) -> Iterator[Any]:
        _begin(self)
        made = _timed(self._tarflume_recorder, "read", iter, self._tarflume_inner)
        return _TimedIterator(made, self._tarflume_recorder)


class _Many:
    """The method of a data set that reads the samples of a whole batch."""

    def __init__(self, data: TimedData, method: Callable[[Any], Any]) -> None:
        self._data, self._method = data, method

    def __call__(self, indices: Any) -> Any:
        _begin(self._data)
        return _timed(self._data._tarflume_recorder, "read", self._method, indices)


class TimedCollate:
    """A collate function, which sends the record of each batch with it."""

    def __init__(self, function: Callable[[Any], Any], recorder: Recorder) -> None:
        self._function, self._recorder = function, recorder

    def __call__(self, samples: Any) -> Any:
        from torch.utils.data import get_worker_info

        made = _timed(self._recorder, "collate", self._function, samples)
        worker = get_worker_info()
        return Carried(made, self._recorder.finish(None if worker is None else worker.id))


def _timed(recorder: Recorder, phase: str, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    entered = recorder.enter(phase)
    try:
        return function(*given, **named)
    finally:
        if entered:
            recorder.leave()


def _begin(data: TimedData) -> None:
    """Replaces the transforms, once in each process: in a worker those of its copy of the data set."""
    if data._tarflume_process == os.getpid():
        return
    # A forked worker inherits what its parent has replaced.
    if data._tarflume_process is None:
        undo: list[Callable[[], None]] = []
        _replace(data._tarflume_inner, data._tarflume_recorder, undo, 8)
        object.__setattr__(data, "_tarflume_undo", undo)
    object.__setattr__(data, "_tarflume_process", os.getpid())


def restore(data: TimedData) -> None:
    """Puts the transforms back that were replaced in this process."""
    while data._tarflume_undo:
        data._tarflume_undo.pop()()
    object.__setattr__(data, "_tarflume_process", None)


def _replace(data: Any, recorder: Recorder, undo: list[Callable[[], None]], depth: int) -> None:
    for name in _TRANSFORMS:
        found = getattr(data, name, None)
        if isinstance(found, (list, tuple)) and found and all(map(callable, found)):
            _set(data, name, type(found)(_TimedCall(each, recorder) for each in found), undo)
        elif callable(found):
            _set(data, name, _TimedCall(found, recorder), undo)
    # Data sets of Hugging Face with `with_transform`.
    words = getattr(data, "_format_kwargs", None)
    if isinstance(words, dict) and callable(words.get("transform")):
        _set(data, "_format_kwargs", words | {"transform": _TimedCall(words["transform"], recorder)}, undo)
    for stage in getattr(data, "pipeline", None) or ():
        _replace_stage(stage, recorder, undo)
    if depth == 0:
        return
    for name in _INNER:
        inner = getattr(data, name, None)
        for each in inner if isinstance(inner, (list, tuple)) else [inner]:
            if each is not None and each is not data:
                _replace(each, recorder, undo, depth - 1)


def _replace_stage(stage: Any, recorder: Recorder, undo: list[Callable[[], None]]) -> None:
    """A stage of a pipeline of webdataset that calls functions of the user."""
    if getattr(getattr(stage, "f", None), "__name__", "").strip("_") not in _MAPS:
        return
    _set(stage, "args", tuple(_of_user(each, recorder) for each in stage.args), undo)
    named = {name: each if name == "handler" else _of_user(each, recorder) for name, each in stage.kw.items()}
    _set(stage, "kw", named, undo)


def _of_user(function: Any, recorder: Recorder) -> Any:
    """A function, measured. Recipes of tarflume are data, which pipelines take apart."""
    ours = type(function).__module__.startswith("tarflume")
    return _TimedCall(function, recorder) if callable(function) and not ours else function


def _set(data: Any, name: str, value: Any, undo: list[Callable[[], None]]) -> None:
    own = name in getattr(data, "__dict__", {})
    before = getattr(data, name)
    try:
        setattr(data, name, value)
    except (AttributeError, TypeError):  # read-only: its time counts as that of reading
        return
    undo.append(lambda: setattr(data, name, before) if own else delattr(data, name))
