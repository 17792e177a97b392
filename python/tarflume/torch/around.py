"""What iterates a data set: the `DataLoader` around it, and a layer that deals its samples out to the ranks.

Accelerate, and with it the `Trainer` of transformers, gives each rank the same samples and keeps those of the rank. It
tells a data set nothing of this. So a data set looks at the calls by which it was reached: of `DataLoader`, of
`IterableDatasetShard` (each rank iterates, and keeps its pieces) and of `DataLoaderDispatcher` (the first rank iterates,
and sends the pieces). In a forked worker these calls are those of the process that was forked. Into a spawned worker
`Dataset` carries what it saw when it was pickled.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import torch.utils.data

__all__ = ["Around", "around"]

#: The packages whose calls are left out: a data set that is diagnosed is reached through a stand-in.
_OWN = (__package__, "tarflume.diagnosis")
#: Methods by which a data set is reached; locals of other calls are not touched. Accelerate reads the state of a
#: StatefulDataLoader when it makes its own loader, and that begins an iteration.
_CALLS = ("__iter__", "__len__", "__init__", "state_dict", "load_state_dict")


@dataclass(frozen=True)
class Around:
    """The layers around a data set."""

    #: The class that deals samples out to several ranks.
    dealer: str | None = None
    #: Samples that the dealer takes from a worker together: those of one batch of all ranks.
    block: int = 1
    #: Whether the dealer iterates in the first rank only and sends pieces of batches; and of one batch, not of one for
    #: each rank.
    dispatches: bool = False
    splits: bool = False
    #: Whether there is a DataLoader, and its settings.
    loaded: bool = False
    batch_size: int | None = None
    workers: int = 0
    drop_last: bool = False
    #: Whether the DataLoader itself asks, without a layer between.
    directly: bool = False


def around() -> Around:
    """The layers around the data set whose method calls this, as far as this process sees them."""
    seen = Around()
    for number, owner in enumerate(_owners()):
        if isinstance(owner, torch.utils.data.DataLoader) and not seen.loaded:
            workers, last = owner.num_workers, owner.drop_last
            seen = replace(
                seen, loaded=True, batch_size=owner.batch_size, workers=workers, drop_last=last, directly=number == 0
            )
        if seen.dealer is None and (block := _dealt(owner)) is not None:
            splits = getattr(owner, "split_batches", True)
            seen = replace(seen, dealer=type(owner).__name__, block=block, dispatches=_dispatches(owner), splits=splits)
    return seen


def _owners() -> Iterator[Any]:
    """The objects whose methods run, from the innermost on, without those of this package."""
    frame: FrameType | None = sys._getframe(2)
    own = True
    while frame is not None:
        code = frame.f_code
        own = own and frame.f_globals.get("__package__") in _OWN
        if not own and code.co_name in _CALLS and code.co_argcount:
            yield frame.f_locals.get(code.co_varnames[0])
        frame = frame.f_back


def _dispatches(owner: Any) -> bool:
    module = sys.modules.get("accelerate.data_loader")
    return module is not None and isinstance(owner, module.DataLoaderDispatcher)


def _dealt(owner: Any) -> int | None:
    """The samples that `owner` takes together, if it deals samples out to several ranks."""
    if _dispatches(owner):
        several = sys.modules["accelerate.data_loader"].PartialState().num_processes > 1
        return (owner.batch_size or 1) if several else None
    if not isinstance(owner, torch.utils.data.IterableDataset):
        return None
    ranks, size = getattr(owner, "num_processes", None), getattr(owner, "batch_size", None)
    if not isinstance(ranks, int) or ranks <= 1 or not hasattr(owner, "process_index"):
        return None
    if not isinstance(size, int):
        return 1
    return size if getattr(owner, "split_batches", False) else size * ranks
