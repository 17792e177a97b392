"""`Recorded`: the tensors that are made while it is entered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

__all__ = ["Recorded"]


class Recorded(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records what each operation of this thread returns: an object of a foreign class does not say which tensors it has."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tensors: list[torch.Tensor] = []

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        self.tensors += [leaf for leaf in tree_leaves(made) if isinstance(leaf, torch.Tensor)]
        return made
