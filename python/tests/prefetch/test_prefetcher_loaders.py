"""`tarflume.torch.Prefetcher` around loaders: their batches, and threads and memory that nothing is left of."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import webdataset as wds
from torch.utils.data import DataLoader
from torchdata import nodes
from torchdata.stateful_dataloader import StatefulDataLoader

import tarflume
import tarflume.torch as ours
from conftest import n_of
from patience import PATIENCE_S, until
from prefetch_gpu import same
from prefetching import DEVICES, Table, delivered, gpu, leaves, patient, prefetched, threads  # noqa: F401
from tarflume.errors import UsageError
from tarflume.torch import Prefetcher


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
    simulated = request.getfixturevalue("gpu") if device is None else None
    for _ in range(2):
        count = 0
        for right, made in zip(bare, wrapped, strict=True):
            if simulated is not None:
                simulated.drain()
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
    simulated = request.getfixturevalue("gpu") if device is None else None
    wrapped = prefetched((torch.tensor(n) for n in range(9)), device, request, depth=3)
    seen = []
    for limit in (2, 1, 4, 9):
        for taken, tensor in enumerate(wrapped, 1):
            if simulated is not None:
                simulated.drain()
            seen.append(int(tensor))
            if taken == limit:
                break
    assert seen == list(range(9))


# Threads and memory.


@DEVICES
@pytest.mark.parametrize("leave", ["break", "close", "with", "del", "end", "load", "exception"])
def test_nothing_is_left_running(request, device, leave):
    known = threading.enumerate()
    loader = StatefulDataLoader(Table(), batch_size=4, num_workers=1)
    wrapped = prefetched(loader, device, request)
    batches = iter(wrapped)
    next(batches)
    assert threads(known)
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
    assert not threads(known)
    del loader
    wrapped = batches = None
    until("its workers and their threads end", lambda: threading.active_count() <= len(known))


def leave_by_an_exception(wrapped: Any) -> None:
    for _ in wrapped:
        1 / 0  # noqa: B018


def test_a_prefetcher_of_an_iterator_ends_its_thread_when_it_is_dropped():
    known = threading.enumerate()
    wrapped = Prefetcher((torch.tensor(n) for n in range(9)), "cpu")
    for _ in wrapped:
        break
    assert threads(known)
    del wrapped
    assert not threads(known)


def test_an_iterator_that_is_not_used_asks_for_nothing():
    known = threading.enumerate()
    asked = []
    wrapped = Prefetcher((asked.append(n) for n in range(3)), "cpu")
    iter(wrapped)
    assert not asked and not threads(known)


def test_a_loader_that_does_not_return_is_left_with_a_warning(monkeypatch):
    monkeypatch.setattr("tarflume.torch.prefetch.iteration.PATIENCE_S", 0.01)
    known, gate, asked = threading.enumerate(), threading.Event(), threading.Event()
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
    until("the thread ends", lambda: not threads(known))
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
