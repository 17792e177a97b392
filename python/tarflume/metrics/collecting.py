"""The loaders whose numbers are given out, and the labels of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

from ..errors import UsageError
from ..statistics import rank_and_world_size

__all__ = ["Loaders", "Place", "Watched", "watched"]


class _HasStats(Protocol):
    def stats(self) -> Mapping[str, Any]: ...


#: A loader, or several by their names.
Loaders: TypeAlias = "_HasStats | Mapping[str, _HasStats]"


class Place(NamedTuple):
    """The rank of a process, and how many there are."""

    rank: int
    world_size: int


class Watched:
    """Loaders with their names."""

    #: The labels that every number has.
    LABELS = ("loader", "rank", "world_size")

    def __init__(self, loaders: Mapping[str, _HasStats], place: Place | None) -> None:
        self._loaders, self._place = dict(loaders), place

    def place(self) -> Place:
        """Rank and world size: those that were given, or those of now."""
        return self._place or Place(*rank_and_world_size())

    def stats(self) -> list[tuple[tuple[str, ...], Mapping[str, Any]]]:
        """The labels of each loader, and its numbers."""
        rank, world_size = self.place()
        return [((name, str(rank), str(world_size)), each.stats()) for name, each in self._loaders.items()]


def watched(loaders: Loaders, rank: int | None, world_size: int | None) -> Watched:
    """The loaders with their names; one alone is named `train`.

    Raises:
        UsageError: one has no statistics, or only one of rank and world size is given.
    """
    if (rank is None) != (world_size is None):
        raise UsageError("give rank= and world_size= together, or neither")
    named = loaders if isinstance(loaders, Mapping) else {"train": loaders}
    for name, each in named.items():
        if not callable(getattr(each, "stats", None)):
            raise UsageError(
                f"{name!r} has no stats(): it is {type(each).__name__}, and metrics are those of a loader of tarflume; "
                "tarflume.diagnose(loader) measures any loader"
            )
    place = None if rank is None or world_size is None else Place(rank, world_size)
    return Watched(named, place)
