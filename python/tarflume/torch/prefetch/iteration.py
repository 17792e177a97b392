"""`Iteration`: what a prefetcher returns to `iter`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, Protocol

from ...errors import UsageError
from .ahead import PATIENCE_S, Ahead
from .channel import Item
from .copying import Copier, Passer
from .counts import Counts

__all__ = ["Delivering", "Iteration"]


class Delivering(Protocol):
    """What an iteration needs of its prefetcher."""

    _running: Ahead | None
    _turn: int

    def _delivered(self, item: Item) -> None: ...
    def _enter_list(self) -> None: ...
    def _leave_list(self) -> None: ...


class Iteration(Iterator[Any]):
    """The batches of an iteration. The thread begins when the first is requested, and ends when this object is dropped."""

    def __init__(
        self,
        owner: Delivering,
        ahead: Ahead | Callable[[], Ahead],
        mover: Copier | Passer,
        counts: Counts,
        *,
        keeps: bool,
    ) -> None:
        self._owner, self._mover, self._counts = owner, mover, counts
        self._turn = owner._turn
        #: The thread, or what begins it.
        self._ahead: Ahead | Callable[[], Ahead] | None = ahead
        #: Whether the thread goes on when this object is dropped: the loader is an iterator itself, and what was read ahead
        #: of it is for the next iteration.
        self._keeps = keeps
        self._is_first, self._is_over = True, False

    def __next__(self) -> Any:
        if self._is_over or self._ahead is None:
            raise StopIteration
        if self._owner._turn != self._turn:
            raise UsageError(
                "this iteration was ended by another one, by load_state_dict() or by close(): a Prefetcher has one iteration "
                "at a time; make a second Prefetcher, of a second loader, for a second one"
            )
        self._mover.check_capture()
        begun = perf_counter()
        if not isinstance(self._ahead, Ahead):
            self._ahead = self._ahead()
        item = self._ahead.take()
        self._owner._delivered(item)
        if item.is_end:
            self.close()
            raise StopIteration
        if item.failure is not None:
            return self._raise(item)
        self._counts.waited(perf_counter() - begun, self._is_first)
        self._is_first = False
        if item.last is not None:
            self._owner._enter_list()
        assert item.copied is not None, "an item without a batch is an error or the end"
        return self._mover.deliver(item.copied)

    def _raise(self, item: Item) -> Any:
        """Raises an error with its own traceback; nothing here refers to it afterward."""
        failure, item.failure = item.failure, None
        assert failure is not None, "of an item that is none"
        try:
            raise failure
        finally:
            del failure

    def _leave_list(self) -> None:
        """Leaves Accelerate's list, unless a later iteration is the one that is listed."""
        if self._owner._turn == self._turn:
            self._owner._leave_list()

    def close(self, seconds: float | None = None) -> None:
        """Ends the thread, and leaves Accelerate's list."""
        self._is_over = True
        self._leave_list()
        ahead, self._ahead = self._ahead, None
        if isinstance(ahead, Ahead) and not ahead.close(seconds):
            warnings.warn(
                "a Prefetcher was left while its loader was asked for a batch, and the loader has not returned it yet: its "
                "thread ends when that is done",
                RuntimeWarning,
                stacklevel=2,
            )

    def __del__(self) -> None:
        if not hasattr(self, "_keeps"):
            return  # it was not made
        if self._keeps:
            self._leave_list()
        else:
            self.close(PATIENCE_S)
