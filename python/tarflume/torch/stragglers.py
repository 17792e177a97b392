"""`stragglers`: which rank of a running job waits for its data, by how much, and why."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

import torch.distributed

from ..diagnosis import Diagnosis
from ..errors import UsageError
from . import place
from .ranks import Ranks, compared

__all__ = ["stragglers"]


def stragglers(loader: Any, *, group: torch.distributed.ProcessGroup | None = None) -> Ranks:
    """Compares the ranks of a running job: each sends a few numbers of its loader's `stats()` to all others.

        if step % 1000 == 0:
            report = tarflume.torch.stragglers(loader)     # on every rank
            if rank == 0:
                print(report)

    In a synchronous job all ranks wait for the slowest, and that one waits for data. The numbers are sums since the loader
    was made. Without a process group there is one rank.

    loader: a loader of tarflume, or what `tarflume.diagnose(loader, step=train)` has returned on this rank, for any loader.

    group: the process group; by default all ranks. Every rank of it must call this, as with any collective operation.

    Raises:
        UsageError: this is neither.
    """
    line = _numbers(loader) | {"rank": place.rank_and_world_size()[0], "host": socket.gethostname()}
    if not place.grouped():
        return compared([line])
    lines: list[Any] = [None] * torch.distributed.get_world_size(group)
    torch.distributed.all_gather_object(lines, line, group=group)
    return compared(lines)


_KEYS = ("running_s", "startup_s", "bottleneck", "reads_asleep_s", "batch_wait_s")


def _numbers(loader: Any) -> dict[str, Any]:
    if isinstance(loader, Diagnosis):
        return _diagnosed(loader)
    stats = getattr(loader, "stats", None)
    if not callable(stats):
        raise UsageError(
            f"stragglers takes a loader of tarflume, or what tarflume.diagnose(loader, step=...) returned, not "
            f"{type(loader).__name__}"
        )
    found = stats()
    stages = {
        name: {key: numbers[key] for key in ("busy_s", "waiting_input_s", "items")} for name, numbers in found["stages"].items()
    }
    return {key: found[key] for key in _KEYS if key in found} | {"stages": stages}


def _diagnosed(found: Diagnosis) -> dict[str, Any]:
    """The same numbers of any loader, as measured."""
    steps, rows = found["steps"], found["rows"] or 1
    waited, items = found["fetch"]["mean_s"] * steps, steps * rows
    stages: dict[str, Any] = {"consumer": {"busy_s": 0.0, "waiting_input_s": waited, "items": steps}}
    parts: Mapping[str, Any] = found["stages"] or {}
    for name in ("read", "transform", "collate"):
        if parts.get(name) is not None:
            busy = parts[name]["computing_s"] + (0.0 if name == "read" else parts[name]["asleep_s"])
            stages[name] = {"busy_s": busy * steps, "waiting_input_s": 0.0, "items": items}
    asleep = parts["read"]["asleep_s"] * steps if parts else 0.0
    return {
        "running_s": found["step_s"] * steps,
        "startup_s": 0.0,
        "bottleneck": found["cause"],
        "reads_asleep_s": asleep,
        "batch_wait_s": {"p95": found["fetch"]["p95_s"]},
        "stages": stages,
    }
