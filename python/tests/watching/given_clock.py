"""Clocks of a thread that move only when a test says so, also in forked workers."""

from __future__ import annotations

import pytest

from tarflume.diagnosis import clocks


class Clock:
    """Time that passes while the thread sleeps, computes, or has no core."""

    def __init__(self) -> None:
        self.wall = self.cpu = self.queued = 0.0
        self.disk = 0

    def now(self) -> float:
        return self.wall

    def moment(self) -> clocks.Moment:
        return clocks.Moment(self.wall, self.cpu, self.queued, self.cpu, self.disk)

    def passes(self, seconds: float) -> None:
        """The thread sleeps."""
        self.wall += seconds

    def burns(self, seconds: float) -> None:
        """The thread computes."""
        self.wall += seconds
        self.cpu += seconds

    def waits_for_a_core(self, seconds: float) -> None:
        self.wall += seconds
        self.queued += seconds


def injected(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that is used in place of the machine's."""
    made = Clock()
    monkeypatch.setattr(clocks, "now", made.now)
    monkeypatch.setattr(clocks, "moment", made.moment)
    return made
