"""Waits that only a hang exceeds, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

#: What has not happened by then never will.
PATIENCE_S = 1800.0


def until(what: str, met: Callable[[], bool], pause_s: float = 0.01) -> None:
    """Waits for a condition; an error names it if it is never met."""
    end = time.monotonic() + PATIENCE_S
    while not met():
        if time.monotonic() > end:
            raise AssertionError(f"never happened: {what}")
        time.sleep(pause_s)
