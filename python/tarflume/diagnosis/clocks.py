"""The clocks of one thread: what its time was spent on."""

from __future__ import annotations

import os
import threading
import time
from typing import NamedTuple

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

__all__ = ["Moment", "moment", "now"]


class Moment(NamedTuple):
    """What the clocks of a thread show. All but `disk` are seconds."""

    #: A clock that all processes of a machine share.
    wall: float
    #: The time that the thread computed.
    cpu: float
    #: The time that the thread could run and had no core.
    queued: float
    #: The time that all threads of the process computed.
    process: float
    #: Bytes that the thread had read from a disk: what the page cache had is not counted.
    disk: int


class _Schedule:
    """The file in which Linux counts how long the calling thread waited for a core."""

    def __init__(self) -> None:
        self.process = os.getpid()
        try:
            self._file: int | None = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._file = None

    def seconds(self) -> float:
        """What it says; 0 if the system does not count it."""
        if self._file is None:
            return 0.0
        try:
            return int(os.pread(self._file, 64, 0).split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return 0.0

    def __del__(self) -> None:
        if self._file is not None:
            os.close(self._file)


_of_thread = threading.local()


def _queued() -> float:
    schedule: _Schedule | None = getattr(_of_thread, "schedule", None)
    if schedule is None or schedule.process != os.getpid():  # a fork inherits the file of its parent's thread
        schedule = _of_thread.schedule = _Schedule()
    return schedule.seconds()


def now() -> float:
    """Seconds of the clock that all processes of a machine share."""
    return time.perf_counter()


def moment() -> Moment:
    """The clocks of the calling thread."""
    disk = 0
    if resource is not None and hasattr(resource, "RUSAGE_THREAD"):
        disk = resource.getrusage(resource.RUSAGE_THREAD).ru_inblock * 512
    return Moment(time.perf_counter(), time.thread_time(), _queued(), time.process_time(), disk)
