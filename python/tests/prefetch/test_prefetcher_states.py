"""`tarflume.torch.Prefetcher`: states are those of what was delivered, and so is what Accelerate learns."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset
from torchdata.stateful_dataloader import StatefulDataLoader

import tarflume
import tarflume.torch as ours
from conftest import n_of
from patience import until
from prefetch_gpu import Gpu
from prefetching import DEVICES, Table, Unmovable, gpu, numbers, patient, prefetched  # noqa: F401
from tarflume.errors import UsageError
from tarflume.torch import Prefetcher


@runtime_checkable
class HasState(Protocol):
    """How Lightning recognizes a loader with states."""

    def state_dict(self) -> Any: ...

    def load_state_dict(self, state_dict: Any) -> None: ...


class Live(IterableDataset[Any]):
    """A data set whose state is its own dict, which changes while it is read."""

    def __init__(self) -> None:
        self.state = {"at": 0, "seen": []}

    def __iter__(self) -> Iterator[Any]:
        while self.state["at"] < 40:
            n = self.state["at"]
            self.state["at"] += 1
            self.state["seen"].append(n)
            yield {"n": n}
        self.state = {"at": 0, "seen": []}

    def state_dict(self) -> Any:
        return self.state

    def load_state_dict(self, state: Any) -> None:
        self.state = copy.deepcopy(state)


class Again:
    """A loader of tarflume whose batches have `n`."""

    def __init__(self, shards: Any) -> None:
        self._made = ours.Loader(shards, batch_size=9, shuffle="full", seed=3, collate=lambda batch: {"n": torch.tensor(n_of(batch))})

    def __iter__(self) -> Iterator[Any]:
        return iter(self._made)

    def state_dict(self) -> Any:
        return self._made.state_dict()

    def load_state_dict(self, state: Any) -> None:
        self._made.load_state_dict(state)


def shuffled(**words: Any) -> StatefulDataLoader:
    return StatefulDataLoader(Table(), batch_size=7, shuffle=True, generator=torch.Generator().manual_seed(5), **words)


STATEFUL = {
    "one process": lambda shards: shuffled(), "workers": lambda shards: shuffled(num_workers=2),
    "few snapshots": lambda shards: shuffled(num_workers=1, snapshot_every_n_steps=3),
    "live": lambda shards: StatefulDataLoader(Live(), batch_size=7), "tarflume": Again,
}  # fmt: skip


#: Where the loaders are copied to makes no difference to their states.
CASES = [
    *((name, steps, None) for name in ("one process", "live") for steps in (0, 1, 4, "all", "end")),
    *(("tarflume", steps, "cpu") for steps in (0, 1, 4, "all", "end")),
    *((name, steps, "cpu") for name in ("workers", "few snapshots") for steps in (0, 4, "end")),
]


@pytest.mark.parametrize(("name", "steps", "device"), CASES)
def test_a_state_is_that_of_what_was_delivered(shards, request, name, steps, device):
    """The loader itself, asked for as many batches, is the oracle: both states lead to the same batches."""
    simulated = request.getfixturevalue("gpu") if device is None else None
    bare, loader = STATEFUL[name](shards), STATEFUL[name](shards)
    wrapped = prefetched(loader, device, request, depth=3)
    assert isinstance(wrapped, HasState)
    count = 6 if name == "live" else 12 if name == "tarflume" else 9
    states = []
    for batches, owner in ((iter(bare), bare), (iter(wrapped), wrapped)):
        for _ in range(steps if isinstance(steps, int) else count):
            next(batches)
        if steps == "end":
            assert next(batches, None) is None
        elif owner is wrapped and steps not in (0, "all"):
            until("it is ahead", lambda: not wrapped._running._channel.has_room())
        states.append(copy.deepcopy(owner.state_dict()))
    del batches, owner
    after = []
    for state in states:
        fresh = STATEFUL[name](shards)
        fresh.load_state_dict(state)
        after.append([numbers(fresh), numbers(fresh)])
    if simulated is not None:
        simulated.drain()
    assert after[0] == after[1] and (after[0][0] or steps == "all")
    # Loading it into the prefetcher itself is the same.
    wrapped.load_state_dict(states[1])
    assert [[simulated_numbers(simulated, batch) for batch in wrapped] for _ in range(2)] == after[0]


def simulated_numbers(simulated: Gpu | None, batch: Any) -> list[int]:
    if simulated is not None:
        simulated.drain()
    numbers: list[int] = batch["n"].tolist()
    return numbers


@DEVICES
def test_a_state_after_a_loop_was_left_is_that_of_its_last_batch(shards, request, device):
    wrapped = prefetched(Again(shards), device, request, depth=4)
    bare = Again(shards)
    for one in (wrapped, bare):
        for n, _ in enumerate(one):
            if n == 2:
                break
    assert wrapped.state_dict() == bare.state_dict() != Again(shards).state_dict()


class Bad(Table):
    """A table with a row that cannot be read."""

    def __getitem__(self, n: int) -> Any:
        if n == 17:
            raise LookupError("row 17")
        return super().__getitem__(n)


def test_a_state_after_an_error_of_the_loader_is_that_of_the_loader():
    states, rest = [], []
    for wraps in (False, True):
        loader = StatefulDataLoader(Bad(), batch_size=8)
        owner = Prefetcher(loader, "cpu", depth=4) if wraps else loader
        batches = iter(owner)
        assert numbers([next(batches), next(batches)])[1][-1] == 15
        with pytest.raises(LookupError, match="row 17"):
            next(batches)
        states.append(owner.state_dict())
        rest.append(numbers(batches))
    assert states[0] == states[1] and rest[0] == rest[1] and len(rest[0]) == 5


class Positions:
    """A loader whose state is the number of batches that it yielded."""

    def __init__(self, batches: list[Any]) -> None:
        self.batches, self.at = batches, 0

    def __iter__(self) -> Iterator[Any]:
        for batch in self.batches:
            self.at += 1
            yield batch

    def state_dict(self) -> Any:
        return {"at": self.at}

    def load_state_dict(self, state: Any) -> None:
        self.at = state["at"]


@pytest.mark.parametrize("place", [0, 2])
def test_a_batch_that_could_not_be_copied_is_not_behind_the_state(gpu, place):  # noqa: F811
    batches = [torch.ones(2) for _ in range(4)]
    batches[place] = Unmovable(MemoryError("full"))
    wrapped = Prefetcher(Positions(batches), depth=4)
    iterator = iter(wrapped)
    for n in range(place):
        next(iterator)
        assert wrapped.state_dict() == {"at": n + 1}
    with pytest.raises(MemoryError):
        next(iterator)
    assert wrapped.state_dict() == {"at": place}
    next(iterator)
    assert wrapped.state_dict() == {"at": place + 2}


def test_a_state_that_cannot_be_taken_is_an_error_where_it_is_asked_for():
    class Stubborn(list[Any]):
        def state_dict(self) -> Any:
            raise ArithmeticError("no state")

        def load_state_dict(self, state: Any) -> None:
            pass

    wrapped = Prefetcher(Stubborn([1, 2]), "cpu")
    batches = iter(wrapped)
    assert next(batches) == 1
    with pytest.raises(ArithmeticError, match="no state"):
        wrapped.state_dict()
    assert list(batches) == [2]


def test_without_states_there_are_none():
    wrapped = Prefetcher(shuffled(), "cpu", states=False)
    assert not hasattr(wrapped, "state_dict") and not isinstance(wrapped, HasState)
    assert not isinstance(Prefetcher(DataLoader(Table()), "cpu"), HasState)
    with pytest.raises(AttributeError, match="states=False"):
        wrapped.load_state_dict


class Named(Prefetcher):
    """A prefetcher of a class of its own, with other arguments."""

    def __init__(self, loader: Any, *, name: str = "", **words: Any) -> None:
        super().__init__(loader, "cpu", **words)
        self.name = name


class Counting(Prefetcher):
    """One that has states of its own."""

    def state_dict(self) -> Any:
        return {"loader": self.loader.state_dict()}


def test_classes_derived_from_a_prefetcher_have_the_states_of_their_loaders():
    wrapped = Named(shuffled(), name="train")
    assert isinstance(wrapped, HasState) and isinstance(wrapped, Named) and type(wrapped).__name__ == "Named"
    assert wrapped.name == "train" and not isinstance(Named(DataLoader(Table())), HasState)
    assert not isinstance(Named(shuffled(), states=False), HasState)
    batches = iter(wrapped)
    next(batches)
    again = Named(shuffled())
    again.load_state_dict(wrapped.state_dict())
    assert numbers(again) == numbers(batches)
    copied = pickle.loads(pickle.dumps(Named([1, 2], name="train")))
    assert isinstance(copied, Named) and copied.name == "train" and list(copied) == [1, 2]
    assert set(Counting(shuffled(), "cpu").state_dict()) == {"loader"}


# Others that look at a loader.


class Ending(Iterator[Any]):
    """An iterator that tells Accelerate of its end, as its own loaders do."""

    def __init__(self, count: int) -> None:
        self.left, self.remainder = count, -1

    @property
    def end_of_dataloader(self) -> bool:
        return not self.left

    def __next__(self) -> int:
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left


def test_a_loop_over_an_iterator_that_is_left_is_no_epoch_for_accelerate():
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState, GradientState

    Accelerator(cpu=True)
    state = GradientState()
    try:
        wrapped = Prefetcher(Ending(9), "cpu")
        for batch in wrapped:
            assert state.in_dataloader and batch == 8
            break
        assert not state.in_dataloader
        # Of two iterations the later one is listed, whatever becomes of the earlier one.
        earlier = iter(wrapped)
        assert next(earlier) == 7
        later = iter(wrapped)
        assert not state.in_dataloader
        assert next(later) == 6
        del earlier
        assert state.in_dataloader and state.active_dataloader is wrapped
        wrapped.close()
        assert not state.in_dataloader
    finally:
        AcceleratorState._reset_state(True)
        GradientState._reset_state()


def test_accelerate_learns_of_the_end_when_it_is_delivered(shards):
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState, GradientState

    def seen(loader: Any) -> list[Any]:
        found = []
        for _ in loader:
            if isinstance(loader, Prefetcher):
                running = loader._running
                until("it is ahead", lambda: not running._channel.has_room() or not running._thread.is_alive())
            found.append((state.end_of_dataloader, state.remainder, state.in_dataloader))
        return found

    accelerator = Accelerator(cpu=True)
    state = GradientState()
    try:
        for make in (lambda: ours.Loader(shards, batch_size=8), lambda: accelerator.prepare(DataLoader(Table(), batch_size=8))):
            bare, wrapped = make(), Prefetcher(make(), "cpu", depth=4)
            right = seen(bare)
            assert right[-1][0] and not any(end for end, *_ in right[:-1])
            for _ in range(2):
                assert seen(wrapped) == right and not state.in_dataloader
            for _ in wrapped:
                break
            gc.collect()
    finally:
        AcceleratorState._reset_state(True)
        GradientState._reset_state()


def test_diagnose_takes_a_prefetcher():
    found = tarflume.diagnose(Prefetcher(DataLoader(Table(), batch_size=4), "cpu"), 5, step=lambda batch: batch["x"].sum())
    assert found["steps"] == 5 and found["rows"] == 4 and found["verdict"]


def test_stragglers_takes_a_prefetcher():
    wrapped = Prefetcher([1, 2, 3], "cpu")
    assert list(wrapped) == [1, 2, 3]
    report = ours.stragglers(wrapped)
    assert report["ranks"][0]["batches"] == 3


def test_loaders_with_a_device_are_refused(shards):
    loader = ours.Loader(shards, batch_size=8)
    loader._settings = loader._settings | {"device": "cuda:0"}
    with pytest.raises(UsageError, match="device='cuda:0' and copies its batches itself.*for batch in loader"):
        Prefetcher(loader)
    with pytest.raises(UsageError, match=r"tarflume\.torch\.Loader\(\.\.\., device=\"cuda\"\)"):
        Prefetcher(tarflume.Loader(shards, batch_size=8))
    with pytest.raises(UsageError, match="ElasticLoader"):
        Prefetcher(ours.ElasticLoader(shards, lambda: (0, 1), batch_size=8))
    data = ours.Dataset(shards, batch_size=8)
    data._settings = data._settings | {"device": "cuda"}
    with pytest.raises(UsageError, match="device='cuda'"):
        Prefetcher(DataLoader(data, batch_size=None))
