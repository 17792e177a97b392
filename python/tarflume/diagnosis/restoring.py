"""What iterating a DataLoader changes in the training process, put back as it was."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Before"]


class Before:
    """Generators, samplers and the data set of a loader, as they were."""

    def __init__(self, loaders: Sequence[Any]) -> None:
        self._undo: list[Callable[[], None]] = []
        self._seen: set[int] = set()
        random_state = random.getstate()
        self._undo.append(lambda: random.setstate(random_state))
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        if numpy is not None:
            numpy_state = numpy.random.get_state()
            self._undo.append(lambda: numpy.random.set_state(numpy_state))
        if torch is not None:
            torch_state = torch.get_rng_state()
            self._undo.append(lambda: torch.set_rng_state(torch_state))
        for loader in loaders:
            self._keep_loader(loader)

    def _keep_loader(self, loader: Any) -> None:
        """Keeps what belongs to a DataLoader of PyTorch."""
        import torch

        self._keep_generators(loader, torch.Generator)
        for name in ("sampler", "batch_sampler"):
            self._keep(getattr(loader, name, None), torch.Generator)
        if loader.num_workers == 0:  # workers have copies of it
            self._keep(loader.dataset, torch.Generator)
        # A data set of tarflume counts its iterations in memory that its workers share.
        keep = getattr(getattr(loader.dataset, "_epochs", None), "keep", None)
        if callable(keep):
            self._undo.append(keep())

    def _keep(self, thing: Any, generator: type) -> None:
        """Keeps the attributes of a sampler or data set, and of those in it."""
        fields = getattr(thing, "__dict__", None)
        if fields is None or id(thing) in self._seen:
            return
        self._seen.add(id(thing))
        kept = dict(fields)

        def back() -> None:
            fields.clear()
            fields.update(kept)

        self._undo.append(back)
        self._keep_generators(thing, generator)
        for name in ("sampler", "batch_sampler", "dataset", "data_source"):
            self._keep(fields.get(name), generator)

    def _keep_generators(self, thing: Any, generator: type) -> None:
        for found in list(getattr(thing, "__dict__", {}).values()):
            if isinstance(found, generator) and id(found) not in self._seen:
                self._seen.add(id(found))
                self._undo.append(_state_of(found))

    def restore(self) -> None:
        """Puts it back."""
        for undo in reversed(self._undo):
            undo()


def _state_of(generator: Any) -> Callable[[], None]:
    state = generator.get_state()
    return lambda: generator.set_state(state)
