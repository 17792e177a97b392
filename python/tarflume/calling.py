"""Calls of functions that users gave: their exceptions get a note with the sample or the batch, and none of them ends an
iteration unnoticed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

__all__: list[str] = []

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


def _called(function: Callable[[_Given], _Made], value: _Given, where: Callable[[], str]) -> _Made:
    """`function(value)`. An exception gets the note `where()`.

    Raises:
        RuntimeError: the function raised StopIteration, which an iterator would take for the end of the data.
    """
    try:
        return function(value)
    except StopIteration as error:
        raised = RuntimeError(f"{_name(function)} raised StopIteration")
        raised.add_note(where())
        raise raised from error
    except Exception as error:
        error.add_note(where())
        raise


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or type(function).__name__


def _of_sample(what: str, function: Any, sample: Any) -> str:
    """The note about a sample: `in transform=f, called with sample cat/3`."""
    key = sample.get("__key__", sample.get("key")) if isinstance(sample, Mapping) else None
    url = sample.get("__url__") if isinstance(sample, Mapping) else None
    place = f" of {url}" if isinstance(url, str) else ""
    called = "" if not isinstance(key, (str, bytes)) else f", called with sample {key!r}{place}"
    return f"in {what}{_name(function)}{called}"


def _error_text(error: BaseException) -> str:
    """The text of an exception, also if it fails to make one."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return f"{type(error).__name__}: (its text cannot be made)"
