"""A worker of Ray Train that dies once, in the middle of an epoch."""

from __future__ import annotations

import os
import pathlib
import signal
from collections.abc import Callable


def once_after(train: Callable[[dict], None], mark: pathlib.Path, step: int) -> Callable[[dict], None]:
    """`train`, in which the worker of rank 1 kills itself after some steps, the first time."""

    def dying(config: dict) -> None:
        import torch
        import torch.distributed as dist

        usual, steps = torch.optim.SGD.step, 0

        def counted(self: torch.optim.SGD, *words: object, **more: object) -> object:
            nonlocal steps
            steps += 1
            if steps == step and dist.get_rank() == 1 and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return usual(self, *words, **more)

        torch.optim.SGD.step = counted  # type: ignore[method-assign]
        try:
            train(config)
        finally:
            torch.optim.SGD.step = usual  # type: ignore[method-assign]

    return dying
