"""`At`: where an iteration of a `Dataset` is, in one worker of one rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import UsageError

__all__ = ["At"]


@dataclass
class At:
    """What was handed out: whole batches of the loader below, rows of the next one, samples in all."""

    epoch: int
    rank: int
    world: int
    worker: int
    workers: int
    batches: int = 0
    rows: int = 0
    samples: int = 0

    def state(self) -> dict[str, int]:
        """Its numbers by name."""
        return asdict(self)

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> At:
        """What `state` gave.

        Raises:
            UsageError: these are not its numbers.
        """
        numbers = {name: state.get(name) for name in cls.__dataclass_fields__}
        if not all(type(value) is int and value >= 0 for value in numbers.values()):
            raise UsageError(
                "this is no state of a tarflume.torch.Dataset; those of tarflume.torch.Loader are for loaders alone"
            )
        return cls(**numbers)  # type: ignore[arg-type]

    def belongs(self, now: At) -> None:
        """It was taken in the rank and the worker of `now`.

        Raises:
            UsageError: it was not.
        """
        then, here = (self.rank, self.world, self.worker, self.workers), (now.rank, now.world, now.worker, now.workers)
        if then != here:
            raise UsageError(
                f"this state was taken in worker {then[2]} of {then[3]} on rank {then[0]} of {then[1]}, and this is "
                f"worker {here[2]} of {here[3]} on rank {here[0]} of {here[1]}: let torchdata's StatefulDataLoader keep "
                "the states, with as many workers, or take tarflume.torch.Loader, whose states go on anywhere"
            )
