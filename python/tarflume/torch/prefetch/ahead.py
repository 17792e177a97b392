"""`Ahead`: a thread that reads ahead, from its start to its end."""

from __future__ import annotations

import atexit
import contextvars
import os
import threading
import weakref

from ...errors import UsageError
from .channel import Channel, Item
from .reader import Reader

__all__ = ["PATIENCE_S", "Ahead"]

#: Seconds for which the end of an iterator or of the program waits for a batch that was requested of the loader.
PATIENCE_S = 5.0


class Ahead:
    """A thread of a reader.

    It has no reference to the object that the consumer iterates over: when that is dropped, the thread is ended.
    """

    def __init__(self, reader: Reader, channel: Channel) -> None:
        self._channel = channel
        self._process = os.getpid()
        # What is set by context, such as NumPy's treatment of errors, holds in the thread, too.
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(reader.run,), name="tarflume-prefetch", daemon=True)
        _running.add(self)
        self._thread.start()

    def take(self) -> Item:
        """The next item.

        Raises:
            UsageError: this process was forked from the one with the thread.
        """
        if self._process != os.getpid():
            raise UsageError(
                "this iteration began before the process was forked, and its thread is in the other process: begin one here, "
                "by iter(prefetcher)"
            )
        return self._channel.take()

    def close(self, seconds: float | None = None) -> bool:
        """Ends the thread: waits until the loader has returned the batch that it was asked for, but not longer than
        `seconds`. Returns whether the thread has ended."""
        if self._process != os.getpid():
            return True
        self._channel.close()
        if self._thread is threading.current_thread():
            return True  # the garbage collector drops the iteration in its thread, which ends after this item
        self._thread.join(seconds)
        return not self._thread.is_alive()


_running: weakref.WeakSet[Ahead] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Ends all threads before the interpreter ends: one that then returned from a call would end the process."""
    for ahead in list(_running):
        ahead.close(PATIENCE_S)
