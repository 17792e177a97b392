"""`Reader`: asks the loader for batches, and has each copied. It is the work of a thread, one item at a time."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from .channel import Channel, Item
from .copying import Copied, Copier, Passer
from .counts import Counts

__all__ = ["Reader", "Unknown"]


class Unknown:
    """In place of a state: why there is none."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Reader:
    """Reads an iterator of the loader into a channel.

    It keeps nothing of a batch after it was put into the channel.
    """

    def __init__(
        self, loader: Any, batches: Iterator[Any], mover: Copier | Passer, channel: Channel, counts: Counts, states: bool
    ) -> None:
        self._loader, self._batches, self._states = loader, batches, states
        self._mover, self._channel, self._counts = mover, channel, counts
        self._number = 0

    def run(self) -> None:
        """Reads until the end of the loader, or until nothing more is wanted."""
        try:
            self._mover.enter()
            while self._channel.wait_for_room() and self.read():
                self._mover.settle()
        except BaseException as error:  # of the device; those of the loader are items
            self._channel.put(self._failed(error, None))
            self._channel.put(Item())
        with contextlib.suppress(RuntimeError):  # a broken device, which the consumer sees itself
            self._mover.end()

    def read(self) -> bool:
        """Asks the loader once, and puts what it did into the channel; False at its end."""
        item = self._item()
        goes_on = not item.is_end
        self._channel.put(item)
        return goes_on

    def _item(self) -> Item:
        begun = perf_counter()
        self._number += 1
        try:
            value = next(self._batches)
        except StopIteration:
            return Item(last=self._last())
        except BaseException as error:
            return self._failed(error, self.state())
        finally:
            self._counts.loaded(perf_counter() - begun)
        try:
            return Item(self._copied(value), None, self.state(), self._last())
        except BaseException as error:
            return self._failed(error, None)

    def _copied(self, value: Any) -> Copied:
        try:
            return self._mover.copied(value)
        except StopIteration as error:  # of a batch's own method; here it would end the epoch
            raise RuntimeError("StopIteration was raised while a batch was copied") from error

    def _failed(self, error: BaseException, state: Any) -> Item:
        number = max(0, self._number - 1)
        error.add_note(f"batch {number} of this iteration, counted from 0, in the thread of tarflume.torch.Prefetcher")
        return Item(failure=error, state=state)

    def state(self) -> Any:
        """The state of the loader now. Later changes of the loader do not change it."""
        if not self._states:
            return None
        try:
            return copy.deepcopy(self._loader.state_dict())
        except Exception as error:
            return Unknown(error)

    def _last(self) -> tuple[bool, int] | None:
        """What Accelerate's loaders, and those of this package, say of the batch that they returned last."""
        if not hasattr(self._loader, "end_of_dataloader"):
            return None
        return bool(self._loader.end_of_dataloader), int(getattr(self._loader, "remainder", -1))
