"""How progress is shown: a line on a terminal, a line in a notebook, events for a callable, or nothing."""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

from .errors import UsageError

__all__ = ["Progress", "shown"]

# What users may give as `progress=`; what reads an event.
Progress: TypeAlias = bool | Callable[[dict[str, Any]], object] | None
Read: TypeAlias = Callable[[], dict[str, Any]]

# Seconds between two events, or two lines: people can't read faster.
_EVERY = 0.25


class Show(Protocol):
    """Called with what reads an event; reads it if it is time, or the last one."""

    def __call__(self, read: Read, last: bool = False) -> None: ...


@contextlib.contextmanager
def shown(progress: Progress) -> Iterator[Show]:
    """What is called with a reader of events, as often as one likes; it reads a few times a second.

    The last event is always read. A callable runs in the thread that waits.
    """
    show: Callable[[Any], object]
    end: Callable[[], None]
    if callable(progress):
        show, end = progress, _at_end
    elif progress not in (None, True, False):
        raise UsageError(f"progress= takes True, False, None or a callable, not {progress!r}")
    else:
        show, end = _display(progress)
    before = -_EVERY

    def now_and_then(read: Read, last: bool = False) -> None:
        nonlocal before
        now = time.monotonic()
        if last or now - before >= _EVERY:
            before = now
            event = read()
            line = event.pop("line")
            show(event if callable(progress) else line)

    try:
        yield now_and_then
    finally:
        end()


def _nothing(_line: object) -> None:
    pass


def _at_end() -> None:
    pass


def _display(wanted: bool | None) -> tuple[Callable[[Any], object], Callable[[], None]]:
    """What shows a line, and what ends the showing."""
    if wanted is False:
        return _nothing, _at_end
    notebook = _notebook()
    if notebook is not None:
        return notebook, _at_end
    stream = sys.stderr
    terminal = stream is not None and stream.isatty()
    if stream is None or not (terminal or wanted):
        return _nothing, _at_end
    if terminal:
        return (lambda line: _write(f"\r\x1b[K{line}")), (lambda: _write("\r\x1b[K"))
    return (lambda line: _write(f"{line}\n")), _at_end


def _write(text: str) -> None:
    # Nobody may be reading: that is no reason to end the work.
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _notebook() -> Callable[[str], None] | None:
    """A line in a notebook's output that replaces itself; None where there is no notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or type(shell).__name__ != "ZMQInteractiveShell":
        return None
    handle = importlib.import_module("IPython.display").display({"text/plain": ""}, raw=True, display_id=True)

    def show(line: str) -> None:
        handle.update({"text/plain": line}, raw=True)

    return show
