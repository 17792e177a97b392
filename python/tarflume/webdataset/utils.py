"""The functions of webdataset's `utils` that other pipelines use: worker, seeds, repetition."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .pipeline import PipelineStage
from .shardlists import make_seed, pytorch_worker_seed, worker_info

__all__ = [
    "PipelineStage",
    "enforce_security",
    "identity",
    "make_seed",
    "pytorch_worker_info",
    "pytorch_worker_seed",
    "repeatedly",
]

pytorch_worker_info = worker_info

#: Refuses pickles, `.pth`, commands in URLs, files of this machine and rewritten URLs, also those that `allow=` allows.
#: `WDS_SECURE=1` in the environment sets it.
enforce_security: bool = bool(int(os.environ.get("WDS_SECURE", "0")))


def identity(x: Any) -> Any:
    """`x`."""
    return x


def _rows(batch: Any) -> int:
    return len(batch[0])


def repeatedly(
    source: Iterable[Any],
    nepochs: int | None = None,
    nbatches: int | None = None,
    nsamples: int | None = None,
    batchsize: Callable[[Any], int] = _rows,
) -> Iterator[Any]:
    """Repeats `source` until `nepochs` passes, `nbatches` batches or `nsamples` rows of batches were yielded.

    A pass without a sample is the last.
    """
    batches = rows = 0
    for epoch in itertools.count(1):
        before = batches
        for sample in source:
            yield sample
            batches += 1
            if nbatches is not None and batches >= nbatches:
                return
            if nsamples is not None:
                rows += batchsize(sample)
                if rows >= nsamples:
                    return
        if (nepochs is not None and epoch >= nepochs) or batches == before:
            return
