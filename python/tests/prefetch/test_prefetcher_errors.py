"""`tarflume.torch.Prefetcher`: errors have their place, settings are checked, statistics add up."""

from __future__ import annotations

import copy
import gc
import pickle
import traceback
import types
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from patience import until
from prefetch_gpu import Gpu
from prefetching import Unmovable, gpu, number  # noqa: F401
from tarflume.errors import UsageError
from tarflume.torch import Prefetcher


def broken(at: int, count: int = 6) -> Iterator[Any]:
    for n in range(count):
        if n == at:
            raise LookupError(f"batch {n}")
        yield torch.tensor(n)


def collected(gpu: Gpu, batches: Iterator[Any]) -> list[Any]:
    """Numbers of batches, and errors, until the end."""
    found: list[Any] = []
    while True:
        try:
            found.append(number(gpu, next(batches)))
        except StopIteration:
            return found
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")


@pytest.mark.parametrize("at", [0, 3, 5])
@pytest.mark.parametrize("device", ["cpu", None])
def test_an_error_comes_in_place_of_its_batch_with_its_own_traceback(gpu, request, monkeypatch, at, device):
    if device == "cpu":
        monkeypatch.undo()
    batches = iter(Prefetcher(broken(at), device, depth=3))
    taken = [number(gpu, next(batches)) for _ in range(at)]
    with pytest.raises(LookupError, match=f"batch {at}") as error:
        next(batches)
    assert taken == list(range(at)) and next(batches, "end") == "end" == next(batches, "end")
    assert "broken" in [frame.name for frame in traceback.extract_tb(error.value.__traceback__)]
    assert error.value.__notes__ == [f"batch {at} of this iteration, counted from 0, in the thread of tarflume.torch.Prefetcher"]


class Resilient:
    """An iterator that goes on after errors, as those of a DataLoader with workers do. It counts what it is asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def __iter__(self) -> Resilient:
        return self

    def __next__(self) -> torch.Tensor:
        self.asked += 1
        if self.asked in (2, 3, 5):
            raise ValueError(str(self.asked))
        if self.asked == 7:
            raise StopIteration
        return torch.tensor(self.asked)


def test_a_loader_that_goes_on_after_an_error_does_so(gpu):
    expected = [1, "ValueError: 2", "ValueError: 3", 4, "ValueError: 5", 6]
    assert collected(gpu, Resilient()) == expected
    assert collected(gpu, iter(Prefetcher(Resilient(), depth=4))) == expected


def test_after_an_error_the_loader_is_asked_only_when_the_consumer_asks(gpu):
    loader = Resilient()
    prefetcher = Prefetcher(loader, depth=4)
    batches = iter(prefetcher)
    assert number(gpu, next(batches)) == 1
    with pytest.raises(ValueError, match="2"):
        next(batches)
    assert loader.asked == 2 and not prefetcher._running._channel.has_room()


def test_an_error_of_a_copy_comes_in_place_of_its_batch(gpu):
    batches = [torch.tensor(0), [torch.ones(3), Unmovable(MemoryError("full"))], torch.tensor(2), Unmovable(StopIteration()), torch.tensor(4)]
    assert collected(gpu, iter(Prefetcher(batches, depth=5))) == [
        0, "MemoryError: full", 2, "RuntimeError: StopIteration was raised while a batch was copied", 4]  # fmt: skip


def test_an_error_of_the_device_is_raised_and_ends_the_iteration(gpu, monkeypatch):
    def fails() -> None:
        raise RuntimeError("no such device")

    monkeypatch.setattr(gpu, "enter", fails)
    batches = iter(Prefetcher([torch.ones(2)] * 2))
    with pytest.raises(RuntimeError, match="no such device"):
        next(batches)
    assert next(batches, "end") == "end"


def test_nothing_refers_to_an_error_that_was_handled(gpu):
    class Held(Exception):
        pass

    def loader() -> Iterator[Any]:
        yield torch.ones(2)
        raise Held

    batches = iter(Prefetcher(loader()))
    next(batches)
    gc.disable()
    try:
        try:
            next(batches)
        except Held as error:
            alive = weakref.ref(error)
        del batches
        until("the error is gone", lambda: alive() is None)
    finally:
        gc.enable()


def test_memory_that_cannot_be_pinned_is_a_warning(gpu):
    gpu.pinned_limit = 0
    prefetcher = Prefetcher([torch.full((5,), n) for n in range(4)])
    taken = list(prefetcher)
    gpu.drain()
    assert [tensor.tolist() for tensor in taken] == [[n] * 5 for n in range(4)]
    said = prefetcher.stats()["warning"]
    assert said == "256 bytes could not be pinned, so batches are copied more slowly: CUDA error: out of memory"
    assert len(gpu.pageable) == 4


# Settings.


@pytest.mark.parametrize("depth", [0, -1, 1.5, True, "2"])
def test_a_depth_is_a_number_of_batches(depth):
    with pytest.raises(UsageError, match="give 1 or more"):
        Prefetcher([], depth=depth)


def test_what_is_no_loader_is_refused():
    for thing, said in [(5, "not int"), (Prefetcher([]), "Prefetcher already"), (types.SimpleNamespace(), "not SimpleNamespace")]:
        with pytest.raises(UsageError, match=said):
            Prefetcher(thing)


def test_attributes_are_those_of_the_loader():
    loader = torch.utils.data.DataLoader(torch.arange(10), batch_size=4)
    prefetcher = Prefetcher(loader, "cpu")
    assert len(prefetcher) == 3 and prefetcher.batch_size == 4 and prefetcher.sampler is loader.sampler
    assert prefetcher.dataset is loader.dataset and prefetcher.drop_last is False and prefetcher
    with pytest.raises(AttributeError, match="nothing_such"):
        prefetcher.nothing_such
    assert not Prefetcher([], "cpu") and not hasattr(prefetcher, "state_dict") and not hasattr(prefetcher, "set_epoch")
    with pytest.raises(TypeError):
        len(Prefetcher(iter([]), "cpu"))
    assert repr(prefetcher) == "Prefetcher(DataLoader, device='cpu', depth=2)"
    again = pickle.loads(pickle.dumps(prefetcher))
    assert [batch.tolist() for batch in again] == [batch.tolist() for batch in loader]
    assert copy.copy(prefetcher)._loader is loader


def test_statistics_add_up(gpu):
    prefetcher = Prefetcher([{"x": torch.zeros(1000), "y": torch.zeros(3, dtype=torch.int64)} for _ in range(5)], depth=1)
    for _ in range(2):
        for _ in prefetcher:
            pass
    stats = prefetcher.stats()
    assert stats["batches"] == 10 and stats["bytes"] == 10 * 4024 and stats["device"] == "cuda:0 (simulated)"
    assert stats["copy_s"] == pytest.approx(0.010) and stats["depth"] == 1 and stats["warning"] is None
    assert stats["staging_bytes"] == 2 * 8192  # a power of two for each of two slots
    assert 0 <= stats["startup_s"] <= stats["waited_s"] <= stats["running_s"] and stats["loader_s"] >= 0
    assert stats["stages"]["consumer"]["items"] == 10
