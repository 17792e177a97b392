"""Unpickling of a loader: from its arguments and its state."""

from __future__ import annotations

from typing import Any

from ._core import Loader


def _again(shards: Any, words: dict[str, Any], state: dict[str, Any], epoch: int | None = None) -> Loader:
    loader = Loader(shards, **words)
    loader.load_state_dict(state)
    if epoch is not None:
        loader.set_epoch(epoch)
    return loader
