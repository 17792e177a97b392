"""`ElasticLoader`: batches by step, for jobs whose ranks change while they run, and whose steps can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .. import _core
from ..errors import UsageError
from .loader import Loader

__all__ = ["ElasticLoader"]


class ElasticLoader:
    """Batches by step, where the number of ranks may change before any step, and a step counts once it is committed.

        loader = tarflume.torch.ElasticLoader("shards/", place, batch_size=32, shuffle="full", seed=1, label="/class")
        while loader.current_epoch < 90:
            manager.start_quorum()                    # who takes part in this step
            batch = loader.batch()
            ...
            loader.commit(manager.should_commit())

    A step that is not committed is taken again, by the ranks that there are then. So each sample of an epoch is in one
    committed step, also if ranks die, return and are added within an epoch. docs/frameworks/checkpoints.md has the
    lines for torchft.

    Takes the settings of `Loader`, and:

    place: a function that returns the rank and the number of ranks of the next step. It is called by `batch()`. All
    ranks must see the same number, and each another rank.

    The state is that of the last committed step: a rank that comes back loads the one of any other. It is a state of
    `Loader`, which continues with any number of ranks, too.
    """

    def __init__(self, shards: _core.Shards, place: Callable[[], tuple[int, int]], **settings: Any) -> None:
        if given := [name for name in ("rank", "world_size") if name in settings]:
            raise UsageError(f"tarflume.torch.ElasticLoader takes no {given[0]}=: place() returns rank and number of ranks")
        if not callable(place):
            raise UsageError(f"place= is a function that returns rank and number of ranks, not {place!r}")
        if settings.get("drop_last") == "uneven":
            raise UsageError('drop_last="uneven" gives ranks different numbers of steps, and here all take the same: leave it out')
        if settings.get("divide") == "shard":
            raise UsageError('divide="shard" keeps the number of ranks, and here it changes: leave it out')
        self._place = place
        self._loader = Loader(shards, rank=0, world_size=1, **settings)
        self._committed = self._loader.state_dict()
        self._now: tuple[int, int] | None = None
        self._batches: Iterator[Any] = iter(())

    def batch(self) -> Any:
        """The next batch of this rank. After the last of an epoch, the first of the next one. A step may take several."""
        now = self._place()
        if now != self._now:
            self._begin(now)
        for batch in self._batches:
            return batch
        self._batches = iter(self._loader)
        return next(self._batches)  # an epoch has a step: the core refuses settings that leave all samples out

    def commit(self, done: bool = True) -> None:
        """Ends a step. `done`: whether it counts; if not, `batch()` delivers its samples again."""
        if done:
            self._committed = self._loader.state_dict()
        else:
            self._now = None

    def _begin(self, now: tuple[int, int]) -> None:
        """Continues behind the last committed step, as one of the ranks that there are now."""
        self._loader._given = now
        self._loader.load_state_dict(self._committed)
        self._batches, self._now = iter(self._loader), now

    @property
    def current_epoch(self) -> int:
        """The epoch of the first sample that is in no committed step."""
        return int(self._committed["epoch"])

    def state_dict(self) -> dict[str, Any]:
        """The position behind the last committed step: a dict of a few numbers and strings, the same on every rank."""
        return dict(self._committed)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next step is the one behind the state. What was taken and not committed is forgotten.

        Raises:
            tarflume.Error: the state has another data set, shuffle, seed or selection. The loader does not change.
        """
        self._loader.load_state_dict(state_dict)
        self._committed, self._now = dict(state_dict), None

    def close(self) -> None:
        """Ends all work. Batches that were delivered stay valid."""
        self._loader.close()

    def __enter__(self) -> ElasticLoader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ElasticLoader({self._loader!r})"
