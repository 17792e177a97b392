"""Handlers of errors: functions of the exception that return True to continue, False to end, or raise."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from ..errors import UsageError

__all__ = [
    "Handler",
    "RefusedError",
    "ignore_and_continue",
    "ignore_and_stop",
    "reraise_exception",
    "warn_and_continue",
    "warn_and_stop",
]

Handler = Callable[[Exception], bool]


class RefusedError(UsageError):
    """A call that no sample can pass: a wrong or unsupported one, or an unsafe one that is not in `allow=`.

    It passes all handlers, which would hide it.
    """


def reraise_exception(exn: Exception) -> bool:
    """Raises the exception."""
    raise exn


def ignore_and_continue(exn: Exception) -> bool:
    """Leaves out the sample and continues."""
    return True


def warn_and_continue(exn: Exception) -> bool:
    """Warns, leaves out the sample and continues."""
    warnings.warn(repr(exn), stacklevel=2)
    return True


def ignore_and_stop(exn: Exception) -> bool:
    """Ends the samples here."""
    return False


def warn_and_stop(exn: Exception) -> bool:
    """Warns, and ends the samples here."""
    warnings.warn(repr(exn), stacklevel=2)
    return False


def told(handler: Handler, exn: Exception) -> bool:
    """Whether to continue after `exn`: the result of `handler`. A `RefusedError` is always raised."""
    if isinstance(exn, RefusedError):
        raise exn
    return handler(exn)
