"""What a DataLoader does for one batch: `Recorder` counts the time of its phases where the batch is made."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import clocks

__all__ = ["PHASES", "Carried", "Phase", "Record", "Recorder", "Span", "together"]

#: The phases in which a batch is made. A record has a time for each.
PHASES = ("read", "transform", "collate")


class Phase(NamedTuple):
    """The time of one phase of one batch, in seconds, and what it read from a disk, in bytes.

    `wall` is the sum of `computing`, `asleep` and `queued`: the thread, or others that it waited for, computed; it slept
    (for a disk, the network, a lock); it could run and had no core.
    """

    wall: float = 0.0
    computing: float = 0.0
    asleep: float = 0.0
    queued: float = 0.0
    disk: int = 0

    def plus(self, begin: clocks.Moment, end: clocks.Moment) -> Phase:
        """With the time between two moments."""
        wall = max(0.0, end.wall - begin.wall)
        own = min(wall, max(0.0, end.cpu - begin.cpu))
        queued = min(wall - own, max(0.0, end.queued - begin.queued))
        # A thread that waits for others which compute, as one of OpenCV does, does not sleep for a disk.
        others = max(0.0, end.process - begin.process - own)
        helped = min(wall - own - queued, others)
        return Phase(
            self.wall + wall,
            self.computing + own + helped,
            self.asleep + wall - own - queued - helped,
            self.queued + queued,
            self.disk + max(0, end.disk - begin.disk),
        )


class Span(NamedTuple):
    """One piece of a phase: its name, and the times at which it began and ended, in seconds."""

    name: str
    begin: float
    end: float


class Record(NamedTuple):
    """What was measured while a batch was made."""

    #: The process that made the batch, and its number among the workers; None in the training process.
    pid: int
    worker: int | None
    #: When its first sample was asked for, and when it was ready, in seconds.
    begin: float
    end: float
    phases: dict[str, Phase]
    spans: tuple[Span, ...]


def together(records: Sequence[Record]) -> Record:
    """The record of a batch that was made of others: their sums. It is of the worker of the last one."""
    phases: dict[str, Phase] = {}
    for record in records:
        for name, phase in record.phases.items():
            sums = zip(phases.get(name, Phase()), phase, strict=True)
            phases[name] = Phase._make(one + other for one, other in sums)
    last = records[-1]
    spans = tuple(span for record in records if record.pid == last.pid for span in record.spans)
    begin = min(record.begin for record in records if record.pid == last.pid)
    return Record(last.pid, last.worker, begin, last.end, phases, spans)


class Carried:
    """A batch on its way from a worker, with its record."""

    __slots__ = ("batch", "record")

    def __init__(self, batch: Any, record: Record) -> None:
        self.batch, self.record = batch, record

    def pin_memory(self, device: str | None = None) -> Carried:
        """DataLoaders with `pin_memory=True` call this: pins the batch as they would."""
        from torch.utils.data._utils import pin_memory

        self.batch = pin_memory.pin_memory(self.batch, device)  # type: ignore[no-untyped-call]
        return self


class Recorder:
    """Counts the phases of the batch that is being made, in one thread of one process."""

    #: Spans of a batch that are kept: a batch of many tiny samples has too many to look at.
    MOST_SPANS = 2048

    def __init__(self, with_spans: bool) -> None:
        self._with_spans = with_spans
        self._clear()

    def _clear(self) -> None:
        self._process, self._thread = os.getpid(), threading.get_ident()
        self._phases: dict[str, Phase] = {}
        self._spans: list[Span] = []
        self._open: list[tuple[str, float]] = []
        self._begin = 0.0
        self._mark: clocks.Moment | None = None

    def enter(self, name: str) -> bool:
        """A phase begins; within another, that one pauses. False if it is already open, or in a thread of the user's:
        its time is not counted twice, and `leave` must not be called."""
        if self._process != os.getpid() or (not self._open and self._mark is None):
            self._clear()
        if threading.get_ident() != self._thread or (self._open and self._open[-1][0] == name):
            return False
        if self._mark is not None and self._phases and not self._open:
            at = self._mark.wall  # one sample after the other: the clocks were just read
        else:
            at = self._charge()
        if not self._phases and not self._open:
            self._begin = at
        self._open.append((name, at))
        return True

    def leave(self) -> None:
        """The innermost phase ends."""
        at = self._charge()
        name, begin = self._open.pop()
        if self._with_spans and len(self._spans) < self.MOST_SPANS:
            self._spans.append(Span(name, begin, at))

    def _charge(self) -> float:
        """Adds the time since the last change to the innermost phase."""
        moment = clocks.moment()
        if self._open and self._mark is not None:
            name = self._open[-1][0]
            self._phases[name] = self._phases.get(name, Phase()).plus(self._mark, moment)
        self._mark = moment
        return moment.wall

    def finish(self, worker: int | None) -> Record:
        """The batch is ready: its record. The next one begins."""
        end = self._mark.wall if self._mark is not None else clocks.now()
        record = Record(os.getpid(), worker, self._begin, end, self._phases, tuple(self._spans))
        self._clear()
        return record
