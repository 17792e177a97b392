"""`Epochs`: the epoch of an iteration, the same in all worker processes, where PyTorch is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["Epochs"]

if TYPE_CHECKING:
    from ..torch.epochs import Epochs
else:
    try:
        from ..torch.epochs import Epochs
    except ModuleNotFoundError:

        class Epochs:
            """Counts the iterations of this process, which has no workers."""

            def __init__(self) -> None:
                self._next = 0

            def set(self, epoch: int) -> None:
                """Sets the epoch of the next iteration."""
                self._next = epoch

            def begin(self) -> int:
                """The epoch of an iteration that begins."""
                self._next += 1
                return self._next - 1
