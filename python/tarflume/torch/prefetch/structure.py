"""`mapped`: a batch of any nesting, in which each tensor is replaced by another."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import PackedSequence

__all__ = ["mapped"]

#: Leaves without an own look-up.
_PLAIN = (str, bytes, int, float, bool, complex, type(None))
#: Classes of transformers whose `to` moves each value, and does nothing else.
_TRANSPARENT = ("BatchEncoding", "BatchFeature")


def mapped(value: Any, change: Callable[[Any], Any], memo: dict[int, tuple[Any, Any]]) -> Any:
    """`value` with the results of `change` in place of its tensors, NumPy arrays and objects that `moves` accepts.

    Looks into mappings, tuples, lists, data classes, classes of attrs and `PackedSequence`, whose lengths stay on the host.
    Containers keep their classes; one in which nothing changes is returned itself, the others are copied. What `value`
    has several times is changed once. `memo` is empty at first, and afterward has what was seen, by its id.
    """
    if type(value) in _PLAIN or isinstance(value, type):
        return value
    known = memo.get(id(value))
    if known is not None:
        return known[1]

    def part(inner: Any) -> Any:
        return mapped(inner, change, memo)

    made = _made(value, change, part)
    memo[id(value)] = (value, made)
    return made


def _made(value: Any, change: Callable[[Any], Any], part: Callable[[Any], Any]) -> Any:
    if isinstance(value, (torch.Tensor, np.ndarray)):
        return change(value)
    if isinstance(value, PackedSequence):
        return _packed(value, part)
    kind: Any = type(value)
    if isinstance(value, Mapping) and (_is_transparent(kind) or not moves(kind)):
        return _mapping(value, part)
    if moves(kind):
        return change(value)
    if isinstance(value, tuple):
        return _tuple(value, part)
    if isinstance(value, MutableSequence) and not isinstance(value, (bytearray, memoryview)):
        return _sequence(value, part)
    return _fields(value, part)


@functools.lru_cache(maxsize=1024)
def moves(kind: type) -> bool:
    """Whether objects of this class have a `to` that takes a device. Quantities and times have a `to` of another kind."""
    to = getattr(kind, "to", None)
    if not callable(to):
        return False
    if callable(getattr(kind, "pin_memory", None)):
        return True
    try:
        parameters = inspect.signature(to).parameters
    except (TypeError, ValueError):
        return False
    return "device" in parameters or "non_blocking" in parameters


@functools.lru_cache(maxsize=1024)
def _is_transparent(kind: type) -> bool:
    for base in kind.__mro__:
        if base.__name__ in _TRANSPARENT and base.__module__.partition(".")[0] == "transformers":
            return getattr(kind, "to", None) is getattr(base, "to", None)
    return False


def _packed(value: PackedSequence, part: Callable[[Any], Any]) -> PackedSequence:
    names = ("data", "sorted_indices", "unsorted_indices")
    made = {name: part(getattr(value, name)) for name in names}
    if all(made[name] is getattr(value, name) for name in names):
        return value
    return value._replace(**made)


def _mapping(value: Mapping[Any, Any], part: Callable[[Any], Any]) -> Any:
    made = {key: part(inner) for key, inner in value.items()}
    changed = {key: new for key, new in made.items() if new is not value[key]}
    if not changed:
        return value
    if type(value) is dict:
        return made
    if isinstance(value, MutableMapping):
        copied = _copied(value, changed)
        return _of_class(type(value), made) if copied is None else copied
    return _of_class(type(value), made)


def _tuple(value: tuple[Any, ...], part: Callable[[Any], Any]) -> Any:
    made = [part(inner) for inner in value]
    if all(new is old for new, old in zip(made, value, strict=True)):
        return value
    kind = type(value)
    if kind is tuple:
        return tuple(made)
    try:
        again = tuple.__new__(kind, made)
    except TypeError:  # torch.return_types
        return _of_class(kind, made)
    if hasattr(value, "__dict__"):
        vars(again).update(vars(value))
    return again


def _sequence(value: MutableSequence[Any], part: Callable[[Any], Any]) -> Any:
    made = [part(inner) for inner in value]
    changed = {place: new for place, new in enumerate(made) if new is not value[place]}
    if not changed:
        return value
    if type(value) is list:
        return made
    copied = _copied(value, changed)
    return _of_class(type(value), made) if copied is None else copied


def _copied(value: Any, changed: dict[Any, Any]) -> Any:
    """A shallow copy with other items; None where a copy cannot be made, or shares its items with the original."""
    try:
        made = copy.copy(value)
    except (TypeError, copy.Error):
        return None
    for place, new in changed.items():
        old = value[place]
        made[place] = new
        if value[place] is not old:
            value[place] = old
            return None
    return made


def _of_class(kind: type, made: Any) -> Any:
    """An object of the class, if it is made of its items; otherwise the items."""
    try:
        return kind(made)
    except TypeError:
        return made


def _fields(value: Any, part: Callable[[Any], Any]) -> Any:
    """A data class with other values; anything else as it is. No `__init__` or `__post_init__` is called."""
    kind: Any = type(value)
    names = _names(kind)
    made = {name: part(getattr(value, name)) for name in names if hasattr(value, name)}
    changed = {name: new for name, new in made.items() if new is not getattr(value, name)}
    if not changed:
        return value
    again = copy.copy(value)
    for name, new in changed.items():
        object.__setattr__(again, name, new)
    return again


@functools.lru_cache(maxsize=1024)
def _names(kind: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return tuple(one.name for one in getattr(kind, "__attrs_attrs__", ()))
