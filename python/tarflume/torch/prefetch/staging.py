"""`Staging`: pinned memory through which batches reach the device."""

from __future__ import annotations

from typing import Any

import torch

from .devices import Accelerator

__all__ = ["Staging"]

#: Slots of the ring: one is written while the other is copied.
_SLOTS = 2


class Staging:
    """A ring of slots of pinned memory, each as large as the largest batch that went through it, rounded up
    to a power of two.

    A slot is written again when the device has read it.
    """

    def __init__(self, device: Accelerator) -> None:
        self._device = device
        self._slots: list[torch.Tensor | None] = [None] * _SLOTS
        self._marks: list[Any] = [None] * _SLOTS
        self._at = 0
        #: Why memory is not pinned; None if it is.
        self.warning: str | None = None

    def take(self, length: int) -> torch.Tensor | None:
        """The next slot, with room for `length` bytes, when the device has read what was in it. None if the system has no
        pinned memory left."""
        if self.warning is not None:
            return None
        self._at = (self._at + 1) % _SLOTS
        mark = self._marks[self._at]
        if mark is not None:
            self._device.wait(mark)
        slot = self._slots[self._at]
        if slot is None or slot.numel() < length:
            self._slots[self._at] = slot = None
            slot = self._slots[self._at] = self._pinned(length)
        return slot

    def read_until(self, mark: Any) -> None:
        """The device has read the slot that was taken last when it reaches `mark`."""
        self._marks[self._at] = mark

    @property
    def length(self) -> int:
        """Bytes of pinned memory."""
        return sum(slot.numel() for slot in self._slots if slot is not None)

    def _pinned(self, length: int) -> torch.Tensor | None:
        # PyTorch rounds up to a power of two itself.
        try:
            return self._device.pinned(1 << max(12, (length - 1).bit_length()))
        except RuntimeError as error:
            reason = str(error).strip().partition("\n")[0]
            self.warning = f"{length} bytes could not be pinned, so batches are copied more slowly: {reason}"
            return None
