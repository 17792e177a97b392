"""Which rank this process is, of how many, and how many threads it may have."""

from __future__ import annotations

import os
from typing import Any

import torch.distributed

from ..errors import UsageError

__all__ = ["early_rank_and_world", "given", "rank_and_world", "threads"]


def rank_and_world() -> tuple[int, int]:
    """This process's rank and how many there are: of the process group, of torchrun's environment, or (0, 1).

    Raises:
        UsageError: there is no process group, and of RANK and WORLD_SIZE one is set and the other is not.
    """
    if grouped():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    rank, world = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if (rank is None) != (world is None):
        raise UsageError(
            "of RANK and WORLD_SIZE one is set and the other is not: start the process group before the first "
            "epoch, or give rank= and world="
        )
    if rank is None or world is None:
        return 0, 1
    try:
        return int(rank), int(world)
    except ValueError:
        raise UsageError(f"RANK={rank!r} and WORLD_SIZE={world!r} are no numbers; give rank= and world=") from None


def grouped() -> bool:
    """Whether a process group runs."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def early_rank_and_world() -> tuple[int, int]:
    """What is known of it so far: a launcher may set half of the environment and start the process group later."""
    half = (os.environ.get("RANK") is None) != (os.environ.get("WORLD_SIZE") is None)
    return (0, 1) if half and not grouped() else rank_and_world()


def given(settings: dict[str, Any]) -> tuple[int, int] | None:
    """Takes rank and world out of `settings`; None if they are not there."""
    if ("rank" in settings) != ("world" in settings):
        raise UsageError("give rank= and world= together, or neither")
    return (settings.pop("rank"), settings.pop("world")) if "rank" in settings else None


def threads(settings: dict[str, Any], workers: int = 1) -> dict[str, Any]:
    """`settings` with this process's share of the cores, if it has them with other ranks or workers."""
    try:
        sharing = workers * int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    except ValueError:
        sharing = workers
    if "threads" in settings or sharing <= 1:
        return settings
    return settings | {"threads": max(1, len(os.sched_getaffinity(0)) // sharing)}
