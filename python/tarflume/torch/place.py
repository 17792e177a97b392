"""Rank, world size, number of threads and device of this process."""

from __future__ import annotations

import os
from typing import Any

import torch.distributed

from .._core import device_of_process, launcher_rank
from ..errors import UsageError

__all__ = ["early_rank_and_world_size", "given", "local_device", "rank_and_world_size", "threads"]


def rank_and_world_size() -> tuple[int, int]:
    """Rank and world size: of the process group, otherwise of torchrun's environment, otherwise of another launcher's
    (`tarflume.launcher_rank`: Open MPI, MPICH, Slurm), otherwise (0, 1).

    Raises:
        UsageError: there is no process group, and only one of RANK and WORLD_SIZE is set, or launchers disagree.
    """
    if grouped():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    rank, world = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if (rank is None) != (world is None):
        raise UsageError(
            "only one of RANK and WORLD_SIZE is set: start the process group before the first epoch, or give rank= "
            "and world_size="
        )
    if rank is None or world is None:
        return launcher_rank()
    try:
        return int(rank), int(world)
    except ValueError:
        raise UsageError(f"RANK={rank!r} and WORLD_SIZE={world!r} are not numbers; give rank= and world_size=") from None


def grouped() -> bool:
    """Whether a process group is initialized."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def early_rank_and_world_size() -> tuple[int, int]:
    """As `rank_and_world_size`, but (0, 1) if only one of RANK and WORLD_SIZE is set: some launchers set the other
    one, or start the process group, later."""
    half = (os.environ.get("RANK") is None) != (os.environ.get("WORLD_SIZE") is None)
    return (0, 1) if half and not grouped() else rank_and_world_size()


def given(settings: dict[str, Any]) -> tuple[int, int] | None:
    """Removes rank and world size from `settings`; None if they are not given."""
    if ("rank" in settings) != ("world_size" in settings):
        raise UsageError("give rank= and world_size= together, or neither")
    return (settings.pop("rank"), settings.pop("world_size")) if "rank" in settings else None


def threads(settings: dict[str, Any], workers: int = 1) -> dict[str, Any]:
    """`settings` with this process's share of the cores, if other ranks or workers run on the same machine."""
    try:
        sharing = workers * int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    except ValueError:
        sharing = workers
    if "num_threads" in settings or sharing <= 1:
        return settings
    return settings | {"num_threads": max(1, len(os.sched_getaffinity(0)) // sharing)}


def local_device(visible: int, current: int | None) -> tuple[int, str]:
    """The number of this process's device, of `visible` ones, and why: the rule of `tarflume.Loader(device="cuda")`.
    `current` is PyTorch's current device, if PyTorch uses one."""
    if current is not None:
        return current, "PyTorch's current device"
    return device_of_process(visible)
