"""`Steps` and `Batches`: a `Loader` as sampler and data set, for code that asks a DataLoader for them.

Lightning and Fabric set the epoch of `loader.sampler`. Accelerate's `skip_first_batches`, which the `Trainer` of
transformers uses to resume, makes a DataLoader of `loader.dataset` and of what is left of `loader.batch_sampler`, and
`Trainer` sets the epoch of the latter. The batches are read from the first step that is requested: none is skipped by
decoding it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import torch.utils.data

from ..errors import UsageError

__all__ = ["Batches", "Steps", "only"]


class Steppable(Protocol):
    """What this module needs of a `Loader`."""

    @property
    def samples(self) -> int: ...

    def set_epoch(self, epoch: int) -> None: ...

    def _iterate(self, step: int = 0) -> Iterator[Any]: ...

    def __len__(self) -> int: ...


class Batches(torch.utils.data.Dataset[Any]):
    """The batches of a loader by step, in order. Its length is that of an epoch in samples."""

    def __init__(self, loader: Steppable) -> None:
        self._loader = loader
        self._running: Iterator[Any] | None = None
        self._next = 0

    def __getitem__(self, step: int) -> Any:
        """The batch of a step. The first call begins the epoch at this step, and further ones continue it."""
        if self._running is None:
            self._running, self._next = self._loader._iterate(step), step
        if step != self._next:
            raise UsageError(f"step {step} was requested, and {self._next} is next: a Loader yields its batches in order")
        self._next += 1
        for batch in self._running:
            return batch
        raise UsageError(f"the epoch ended before step {step}")

    def __len__(self) -> int:
        return self._loader.samples

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_running": None}

    def end(self) -> None:
        """The last batch was used. The generator ends, and the loader leaves Accelerate's list."""
        if self._running is not None:
            next(self._running, None)
        self._running = None

    def drop(self) -> None:
        """The next call begins an epoch."""
        self._running = None


class Steps(torch.utils.data.SequentialSampler):
    """The steps of an epoch of a loader, each as a list of one number."""

    def __init__(self, loader: Steppable, batches: Batches) -> None:
        super().__init__(range(0))
        self._loader, self._batches = loader, batches

    def set_epoch(self, epoch: int) -> None:
        """`Loader.set_epoch`."""
        self._loader.set_epoch(epoch)

    def __iter__(self) -> Iterator[Any]:
        self._batches.drop()
        for step in range(len(self._loader)):
            yield [step]
        self._batches.end()

    def __len__(self) -> int:
        return len(self._loader)


def only(batches: list[Any]) -> Any:
    """The only element of a list: what a DataLoader collates of the batch of one step."""
    return batches[0]
