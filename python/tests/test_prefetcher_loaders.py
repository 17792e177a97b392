"""`tarflume.torch.Prefetcher` around loaders: their batches and states, threads that end, and what Accelerate is told."""

from __future__ import annotations

import copy
import gc
import inspect
import json
import subprocess
import sys
import textwrap
import threading
import types

import weakref
from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import pytest

torch = pytest.importorskip("torch")

import webdataset as wds  # noqa: E402
from torch.utils.data import DataLoader, IterableDataset  # noqa: E402
from torchdata import nodes  # noqa: E402
from torchdata.stateful_dataloader import StatefulDataLoader  # noqa: E402

import tarflume  # noqa: E402
import tarflume.torch as ours  # noqa: E402
from conftest import n_of  # noqa: E402
from patience import PATIENCE_S, until  # noqa: E402
from prefetch_gpu import Gpu, same  # noqa: E402
from tarflume.errors import UsageError  # noqa: E402
from tarflume.torch import Prefetcher  # noqa: E402
from tarflume.torch.prefetch import devices  # noqa: E402
from test_device import PROCESSES  # noqa: E402
from test_prefetcher import gpu, leaves, threads  # noqa: E402, F401

DEVICES = pytest.mark.parametrize("device", ["cpu", None], ids=["cpu", "played"])


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine ends threads late."""
    for module in ("ahead", "iteration", "prefetcher"):
        monkeypatch.setattr(f"tarflume.torch.prefetch.{module}.PATIENCE_S", PATIENCE_S)


def prefetched(loader: Any, device: str | None, request: pytest.FixtureRequest, **words: Any) -> Prefetcher:
    """A prefetcher for the CPU, or for the played GPU."""
    if device is None:
        request.getfixturevalue("gpu")
    return Prefetcher(loader, device, **words)


class Table(torch.utils.data.Dataset[Any]):
    def __init__(self, rows: int = 60) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, n: int) -> Any:
        return {"x": torch.full((3, 5), n, dtype=torch.float32), "n": n, "name": str(n)}


def numbers(batches: Any) -> list[list[int]]:
    return [batch["n"].tolist() for batch in batches]


# The batches of loaders.


def webdataset(shards: Any, workers: int) -> Any:
    tars = sorted(str(path) for path in shards.glob("*.tar"))
    data = wds.WebDataset(tars, shardshuffle=False).to_tuple("json", "jpg")
    data = data.map(lambda sample: (torch.tensor(json.loads(sample[0])["n"]), torch.tensor(list(sample[1][:900])))).batched(6)
    return wds.WebLoader(data, batch_size=None, num_workers=workers)


MADE = {
    "DataLoader": lambda shards: DataLoader(Table(), batch_size=8),
    "DataLoader with workers": lambda shards: DataLoader(Table(), batch_size=8, num_workers=2, persistent_workers=True),
    "StatefulDataLoader": lambda shards: StatefulDataLoader(Table(), batch_size=8, num_workers=2),
    "webdataset": lambda shards: webdataset(shards, 0),
    "webdataset with workers": lambda shards: webdataset(shards, 2),
    "torchdata.nodes": lambda shards: nodes.Loader(nodes.Batcher(nodes.IterableWrapper(range(50)), 8)),
    "tarflume": lambda shards: ours.Loader(shards, batch_size=8, image=tarflume.Resize((9, 8)), label="/class"),
    "list": lambda shards: [{"x": torch.full((4,), n)} for n in range(6)],
}


@pytest.mark.parametrize("name", MADE)
@DEVICES
def test_batches_are_those_of_the_loader(shards, request, name, device):
    bare, wrapped = MADE[name](shards), prefetched(MADE[name](shards), device, request)
    played = request.getfixturevalue("gpu") if device is None else None
    for _ in range(2):
        count = 0
        for right, made in zip(bare, wrapped, strict=True):
            if played is not None:
                played.drain()
            one, other = leaves(right), leaves(made)
            assert len(one) == len(other) and all(map(same, one, other))
            assert type(right) is type(made) and (not isinstance(right, dict) or right.keys() == made.keys())
            count += 1
        assert count > 5
    assert wrapped.stats()["batches"] == 2 * count


@DEVICES
def test_a_second_iteration_is_a_new_epoch_and_ends_the_first(shards, request, device):
    loader = ours.Loader(shards, batch_size=10, label="/class", shuffle="full", seed=3)
    wrapped = prefetched(loader, device, request)
    right = [[n_of(batch) for batch in tarflume.Loader(shards, batch_size=10, shuffle="full", seed=3).epoch(e)] for e in range(4)]
    first = iter(wrapped)
    assert n_of(next(first)) == right[0][0]
    assert [n_of(batch) for batch in wrapped] == right[1]
    with pytest.raises(UsageError, match="ended by another one"):
        next(first)
    wrapped.set_epoch(3)
    assert [n_of(batch) for batch in wrapped] == right[3]
    assert [n_of(batch) for batch in wrapped.epoch(2)] == right[2]
    assert wrapped.stats()["batches"] == 1 + 3 * 10 and wrapped.loader is loader
    assert wrapped.samples == 100 and len(wrapped) == 10


@DEVICES
def test_at_most_depth_batches_are_ahead(request, device):
    asked = []

    def loader() -> Iterator[torch.Tensor]:
        for n in range(12):
            asked.append(n)
            yield torch.tensor(n)

    wrapped = prefetched(loader(), device, request, depth=3)
    for n, _ in enumerate(wrapped, 1):
        until("it reads ahead", lambda: len(asked) >= min(12, n + 3))
        assert len(asked) <= n + 3


@DEVICES
def test_of_an_iterator_nothing_is_lost_when_a_loop_is_left(request, device):
    played = request.getfixturevalue("gpu") if device is None else None
    wrapped = prefetched((torch.tensor(n) for n in range(9)), device, request, depth=3)
    seen = []
    for limit in (2, 1, 4, 9):
        for taken, tensor in enumerate(wrapped, 1):
            if played is not None:
                played.drain()
            seen.append(int(tensor))
            if taken == limit:
                break
    assert seen == list(range(9))


# Threads and memory.


@DEVICES
@pytest.mark.parametrize("leave", ["break", "close", "with", "del", "end", "load", "exception"])
def test_nothing_is_left_running(request, device, leave):
    before = threading.active_count()
    loader = StatefulDataLoader(Table(), batch_size=4, num_workers=1)
    wrapped = prefetched(loader, device, request)
    batches = iter(wrapped)
    next(batches)
    assert threads()
    if leave == "break":
        del batches
        for _ in wrapped:
            break
    elif leave == "close":
        wrapped.close()
    elif leave == "with":
        with wrapped:
            pass
    elif leave == "del":
        del wrapped, batches
    elif leave == "end":
        assert len(list(batches)) == 14
    elif leave == "load":
        wrapped.load_state_dict({})
    else:
        with pytest.raises(ZeroDivisionError):
            leave_by_an_exception(wrapped)
        del batches
        gc.collect()
    assert not threads()
    del loader
    wrapped = batches = None
    until("its workers and their threads end", lambda: threading.active_count() <= before)


def leave_by_an_exception(wrapped: Any) -> None:
    for _ in wrapped:
        1 / 0  # noqa: B018


def test_a_prefetcher_of_an_iterator_ends_its_thread_when_it_is_dropped():
    wrapped = Prefetcher((torch.tensor(n) for n in range(9)), "cpu")
    for _ in wrapped:
        break
    assert threads()
    del wrapped
    assert not threads()


def test_an_iterator_that_is_not_used_asks_for_nothing():
    asked = []
    wrapped = Prefetcher((asked.append(n) for n in range(3)), "cpu")
    iter(wrapped)
    assert not asked and not threads()


def test_a_loader_that_does_not_return_is_left_with_a_warning(monkeypatch):
    monkeypatch.setattr("tarflume.torch.prefetch.iteration.PATIENCE_S", 0.01)
    gate, asked = threading.Event(), threading.Event()
    late: list[Any] = []

    class Slow:
        def __iter__(self) -> Iterator[torch.Tensor]:
            yield torch.ones(1)
            asked.set()
            gate.wait()
            yield self.late()

        def late(self) -> torch.Tensor:
            made = torch.ones(2)
            late.append(weakref.ref(made))
            return made

    wrapped = Prefetcher(Slow(), "cpu")
    batches = iter(wrapped)
    next(batches)
    asked.wait()
    with pytest.warns(RuntimeWarning, match="has not returned it yet"):
        del batches
    gate.set()
    until("the thread ends", lambda: not threads())
    assert late[0]() is None and wrapped  # what came too late is not kept


@DEVICES
def test_a_batch_is_kept_by_the_consumer_alone(request, device):
    alive: list[Any] = []

    def made(n: int) -> Any:
        batch = [torch.full((5,), n)]
        alive.append(weakref.ref(batch[0]))
        return batch

    batches = iter(prefetched(map(made, range(6)), device, request, depth=1))
    gc.disable()
    try:
        for n in range(3):
            batch = next(batches)
            delivered = weakref.ref(batch[0])
            del batch
            assert delivered() is None, "the prefetcher kept a batch that was delivered"
            until("the thread has what comes next", lambda: len(alive) > n + 1)
        if device is None:  # the host's tensors are dropped as soon as they were copied
            until("the host's batches are gone", lambda: all(one() is None for one in alive))
    finally:
        gc.enable()


def program(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], text=True, capture_output=True, check=False, timeout=PATIENCE_S)


def test_an_interpreter_ends_with_a_prefetcher_that_nobody_closed():
    done = program("""
        import torch, tarflume.torch
        from torch.utils.data import DataLoader
        tarflume.torch.prefetch.ahead.PATIENCE_S = 1800
        batches = iter(tarflume.torch.Prefetcher(DataLoader(torch.arange(10**6), batch_size=4, num_workers=1), "cpu"))
        endless = iter(tarflume.torch.Prefetcher((torch.ones(10**5) * n for n in range(10**6)), "cpu"))
        for _ in range(3):
            next(batches), next(endless)
        print("ends")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ends\n", "")


def test_a_forked_process_has_no_thread_and_says_so():
    done = program("""
        import os, tarflume.torch, torch
        wrapped = tarflume.torch.Prefetcher([torch.tensor(n) for n in range(5)], "cpu")
        batches = iter(wrapped)
        next(batches)
        child = os.fork()
        if child == 0:
            try:
                next(batches)
            except tarflume.errors.UsageError as error:
                assert "in the other process" in str(error)
                assert [int(one) for one in wrapped] == [0, 1, 2, 3, 4]
                wrapped.close()
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert [int(one) for one in batches] == [1, 2, 3, 4]
    """)
    assert (done.returncode, done.stderr) == (0, "")


# States.


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
    played = request.getfixturevalue("gpu") if device is None else None
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
    if played is not None:
        played.drain()
    assert after[0] == after[1] and (after[0][0] or steps == "all")
    # Loading it into the prefetcher itself is the same.
    wrapped.load_state_dict(states[1])
    assert [[played_numbers(played, batch) for batch in wrapped] for _ in range(2)] == after[0]


def played_numbers(played: Gpu | None, batch: Any) -> list[int]:
    if played is not None:
        played.drain()
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


# Others that look at a loader.


def test_accelerate_learns_of_the_end_when_it_is_delivered(shards):
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState, GradientState

    def seen(loader: Any) -> list[Any]:
        return [(state.end_of_dataloader, state.remainder, state.in_dataloader) for _ in loader]

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


# The device, and the calls of PyTorch.


@pytest.mark.parametrize(("words", "current", "device", "why"), PROCESSES)
def test_a_process_takes_the_device_that_loaders_take(monkeypatch, words, current, device, why):
    """The table is that of the loaders' own test."""
    for name in ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"):
        monkeypatch.setenv(name, words.get(name, ""))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: int(words["FAKECUDA_DEVICES"]))
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: current is not None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: current)
    for given in (None, "cuda", torch.device("cuda")):
        chosen, reason = devices.chosen(given)
        assert chosen == torch.device("cuda", device) and why in reason
    assert devices.chosen("cuda:0") == (torch.device("cuda", 0), "as given")
    assert devices.chosen("cpu")[0] == torch.device("cpu")


def test_devices_that_there_are_not_are_errors(monkeypatch):
    assert devices.chosen(None) == (torch.device("cpu"), "PyTorch sees no GPU: batches stay in host memory")
    for given, said in [("cuda", "sees none: leave device= out"), ("mps", "in the loop"), ("nothing", "none of PyTorch")]:
        with pytest.raises(UsageError, match=said):
            devices.chosen(given)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(UsageError, match="sees 2: 0 to 1"):
        devices.chosen("cuda:2")


class Recorder:
    """A module of devices that records its calls."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **words: Any) -> Any:
            self.calls.append((name, args, words))
            return Recorded(self, name)

        return call


class Recorded:
    def __init__(self, owner: Recorder, name: str) -> None:
        self._owner, self._name = owner, name

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **words: self._owner.calls.append((f"{self._name}.{name}", args, words)) or 5.0


def test_the_calls_of_pytorch_are_these(monkeypatch):
    module = Recorder()
    monkeypatch.setattr(torch, "get_device_module", lambda device: module)
    device = torch.device("cuda", 1)
    accelerator = devices.Accelerator(device)
    accelerator.prepare()
    accelerator.enter()
    mark = accelerator.mark()
    accelerator.wait(mark)
    assert accelerator.seconds(mark, mark) == 0.005
    used = types.SimpleNamespace(record_stream=lambda stream: module.calls.append(("record_stream", (stream._name,), {})))
    accelerator.deliver(mark, [used, used])
    names = [name for name, *_ in module.calls]
    assert names == [
        "Stream", "current_stream", "Stream.wait_stream", "set_device", "set_stream", "Event", "Event.record",
        "Event.synchronize", "Event.elapsed_time", "current_stream", "current_stream.wait_event", "record_stream", "record_stream",
    ]  # fmt: skip
    assert [words for name, _, words in module.calls if name in ("Stream", "Event")] == [
        {"device": device, "priority": -1}, {"enable_timing": True, "blocking": True}]  # fmt: skip
    assert all(args == (device,) for name, args, _ in module.calls if name in ("current_stream", "set_device"))
    with pytest.raises(UsageError, match="CUDA graph is captured"):
        accelerator.check_capture()  # the recorder says yes to everything


def test_pytorch_has_these_calls_and_keywords():
    for module in (torch.cuda, torch.xpu):
        stream, event = inspect.signature(module.Stream.__new__).parameters, inspect.signature(module.Event.__new__).parameters
        assert {"device", "priority"} <= stream.keys() and "enable_timing" in event
        assert all(callable(getattr(module.Stream, name)) for name in ("wait_stream", "wait_event"))
        assert all(callable(getattr(module.Event, name)) for name in ("record", "synchronize", "query", "elapsed_time"))
        for name in ("set_device", "set_stream", "current_stream", "device_count", "is_initialized", "current_device"):
            assert callable(getattr(module, name))
    assert "blocking" in inspect.signature(torch.cuda.Event.__new__).parameters
    assert callable(torch.cuda.is_current_stream_capturing) and callable(torch.Tensor.record_stream)


def test_what_an_object_makes_is_recorded():
    class Pair:
        def __init__(self, x: torch.Tensor) -> None:
            self.x = x

        def to(self, device: Any) -> Any:
            return Pair(self.x.to(device, torch.float64)), torch.nested.nested_tensor([self.x])

    accelerator = devices.Accelerator(torch.device("cpu"))
    (made, nested), recorded = accelerator.moved(Pair(torch.ones(2)))
    addresses = {tensor.untyped_storage().data_ptr() for tensor in recorded if not tensor.is_nested}
    assert made.x.untyped_storage().data_ptr() in addresses and any(tensor is nested for tensor in recorded)
