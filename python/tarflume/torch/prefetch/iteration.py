"""`Iteration`: what a prefetcher returns to `iter`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, Protocol

from ...errors import UsageError
from ..gradients import gradient_state
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
        self._is_first, self._is_over, self._is_listed = True, False, False

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
        self._list(item)
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

    def _list(self, item: Item) -> None:
        """Makes the prefetcher the loader that Accelerate asks for the end of the epoch: the loader itself is ahead of it."""
        if item.last is None or self._is_listed:
            return
        state = gradient_state()
        if state is not None:
            state._add_dataloader(self._owner)
            self._is_listed = True

    def close(self, seconds: float | None = None) -> None:
        """Ends the thread, and leaves Accelerate's list."""
        self._is_over = True
        if self._is_listed and (state := gradient_state()) is not None:
            state._remove_dataloader(self._owner)
        self._is_listed = False
        ahead, self._ahead = self._ahead, None
        if isinstance(ahead, Ahead) and not ahead.close(seconds):
            warnings.warn(
                "a Prefetcher was left while its loader was asked for a batch, and the loader has not returned it yet: its "
                "thread ends when that is done",
                RuntimeWarning,
                stacklevel=2,
            )

    def __del__(self) -> None:
        if not getattr(self, "_keeps", True):
            self.close(PATIENCE_S)
