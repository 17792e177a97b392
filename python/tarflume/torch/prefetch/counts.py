"""`Counts`: what a prefetcher did."""

from __future__ import annotations

from time import perf_counter
from typing import Any

__all__ = ["Counts"]


class Counts:
    """Sums over all iterations. Each number has one thread that writes it."""

    def __init__(self) -> None:
        self._made = perf_counter()
        self._batches = self._bytes = self._staging_bytes = 0
        self._loader_s = self._staging_s = self._copying_s = self._waited_s = self._first_s = 0.0
        self._waiting_since: float | None = None
        self._warning: str | None = None

    def loaded(self, seconds: float) -> None:
        """The thread waited for a batch of the loader."""
        self._loader_s += seconds

    def staging(self, seconds: float, length: int, warning: str | None) -> None:
        """A batch was written to pinned memory, of which there are `length` bytes."""
        self._staging_s += seconds
        self._staging_bytes, self._warning = length, warning

    def copied(self, length: int) -> None:
        """Copies of `length` bytes were begun."""
        self._bytes += length

    def copying(self, seconds: float) -> None:
        """The copies of a batch took so long on the device."""
        self._copying_s += seconds

    def waited(self, seconds: float, first: bool) -> None:
        """The consumer waited for a batch, the first one of an iteration or another."""
        self._waited_s += seconds
        self._first_s += seconds if first else 0.0
        self._batches += 1

    def told(self) -> dict[str, Any]:
        """All numbers."""
        consumer = {"busy_s": 0.0, "waiting_input_s": self._waited_s, "items": self._batches}
        return {
            "batches": self._batches,
            "bytes": self._bytes,
            "loader_s": self._loader_s,
            "staging_s": self._staging_s,
            "staging_bytes": self._staging_bytes,
            "copy_s": self._copying_s,
            "waited_s": self._waited_s,
            "startup_s": self._first_s,
            "running_s": perf_counter() - self._made,
            "stages": {"consumer": consumer},
            "warning": self._warning,
        }
