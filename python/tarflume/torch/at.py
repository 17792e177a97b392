"""`At`: the position of an iteration of a `Dataset`, in one worker of one rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import UsageError

__all__ = ["At"]


@dataclass
class At:
    """What was yielded: whole batches of the core loader, rows of the next one, samples in total."""

    epoch: int
    rank: int
    world: int
    worker: int
    workers: int
    batches: int = 0
    rows: int = 0
    samples: int = 0
    #: Samples that a dealing layer takes together, and in which workers take turns; 0 where no layer deals samples out.
    block: int = 0

    def state(self) -> dict[str, int]:
        """The numbers by name."""
        return asdict(self)

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> At:
        """The inverse of `state`.

        Raises:
            UsageError: `state` is not a state of a `Dataset`.
        """
        numbers = {name: state.get(name) for name in cls.__dataclass_fields__}
        numbers["block"] = state.get("block", 0)  # states of older versions have none
        if not all(type(value) is int and value >= 0 for value in numbers.values()):
            raise UsageError(
                "this is not a state of a tarflume.torch.Dataset; states of a tarflume.torch.Loader are for loaders"
            )
        return cls(**numbers)  # type: ignore[arg-type]

    def belongs(self, now: At) -> None:
        """Checks that the state was taken in the rank and the worker of `now`.

        Raises:
            UsageError: it was taken in another one.
        """
        if self.block != now.block:
            raise UsageError(
                f"this state was taken where Accelerate dealt out {self.block or 'no'} samples at once, and here it is "
                f"{now.block or 'none'}: use the same batch size, number of processes, dispatch_batches and split_batches"
            )
        then, here = (self.rank, self.world, self.worker, self.workers), (now.rank, now.world, now.worker, now.workers)
        if then != here:
            raise UsageError(
                f"this state was taken in worker {then[2]} of {then[3]} on rank {then[0]} of {then[1]}, and this is "
                f"worker {here[2]} of {here[3]} on rank {here[0]} of {here[1]}: let torchdata's StatefulDataLoader keep "
                "the states, with as many workers, or use tarflume.torch.Loader, whose states work on any rank"
            )
