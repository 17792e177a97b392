"""`Channel`: what a thread read ahead, in order, of a bounded number."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from threading import Condition
from typing import Any

from ...errors import UsageError
from .copying import Copied

__all__ = ["Channel", "Item"]


@dataclass
class Item:
    """What the loader did when it was asked for a batch: it returned one, raised an error, or was at its end."""

    #: The batch; None of an error and of the end.
    copied: Copied | None = None
    failure: BaseException | None = None
    #: The state of the loader after it, or the error that there was instead; None if it has no states.
    state: Any = None
    #: What the loader tells Accelerate: whether this is the last batch, and how many rows are no repetition.
    last: tuple[bool, int] | None = None

    @property
    def is_end(self) -> bool:
        """Whether there is nothing after it."""
        return self.copied is None and self.failure is None


class Channel:
    """Items from one thread to another. At most `depth` batches are requested of the loader before they are taken."""

    def __init__(self, depth: int) -> None:
        self._room = depth
        self._items: deque[Item] = deque()
        self._changed = Condition()
        self._closed = self._paused = False

    def wait_for_room(self) -> bool:
        """Waits until another batch may be requested; False if none is wanted any more.

        After an error none is requested until the consumer asks for what comes after it: a loader is not asked for more than
        it would be without this thread.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._closed or (self._room > 0 and not self._paused))
            self._room -= 1
            return not self._closed

    def put(self, item: Item) -> None:
        """Adds an item, or drops it if it is not wanted any more."""
        with self._changed:
            self._paused = item.failure is not None
            if not self._closed:
                self._items.append(item)
            self._changed.notify_all()

    def take(self) -> Item:
        """Waits for the next item, and makes room for another."""
        with self._changed:
            if not self._items:
                self._paused = False
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._items or self._closed)
            if not self._items:
                raise UsageError(
                    "this iteration was ended while a batch was requested, by another one, by load_state_dict() or by close()"
                )
            self._room += 1
            self._changed.notify_all()
            return self._items.popleft()

    def has_item(self) -> bool:
        """Whether `take` would not wait."""
        with self._changed:
            return bool(self._items)

    def has_room(self) -> bool:
        """Whether `wait_for_room` would not wait."""
        with self._changed:
            return self._closed or (self._room > 0 and not self._paused)

    def close(self) -> None:
        """Nothing more is wanted. Items that were not taken are dropped."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()
