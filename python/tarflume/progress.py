"""Shows progress: a line on a terminal, a line in a notebook, events for a callable, or nothing."""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

from . import _core
from .errors import UsageError

__all__ = ["Progress", "finished", "shown"]

# The values of `progress=`; a function that reads an event.
Progress: TypeAlias = bool | Callable[[dict[str, Any]], object] | None
Read: TypeAlias = Callable[[], dict[str, Any]]

# Seconds between two events or two lines.
_EVERY = 0.25


class Show(Protocol):
    """A function that receives a reader of events; it reads one if enough time has passed, or if it is the last."""

    def __call__(self, read: Read, last: bool = False) -> None: ...


@contextlib.contextmanager
def shown(progress: Progress) -> Iterator[Show]:
    """Yields a function to call with a reader of events at any rate; it reads a few times a second.

    The last event is always read. A callable runs in the waiting thread.
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
    """A function that shows a line, and one to call at the end."""
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
    # A closed terminal must not end the job.
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _notebook() -> Callable[[str], None] | None:
    """A function that replaces a line in a notebook's output; None outside of notebooks."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or type(shell).__name__ != "ZMQInteractiveShell":
        return None
    handle = importlib.import_module("IPython.display").display({"text/plain": ""}, raw=True, display_id=True)

    def show(line: str) -> None:
        handle.update({"text/plain": line}, raw=True)

    return show


# The longest wait before Ctrl-C or an event is handled, in seconds.
_TICK = 0.1


def finished(work: _core.Work, progress: Progress) -> dict[str, Any]:
    """Waits for the job and shows its progress. An exception stops the job and waits for its end."""
    try:
        with shown(progress) as show:
            while not work.wait(_TICK):
                show(work.progress)
            show(work.progress, last=True)
    except BaseException:
        work.stop()
        while not work.wait(_TICK):
            pass
        raise
    result: dict[str, Any] = work.result()
    return result
