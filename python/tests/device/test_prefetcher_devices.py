"""`tarflume.torch.Prefetcher`: the device of the process, and the calls of PyTorch."""

from __future__ import annotations

import inspect
import types
from typing import Any

import pytest
import torch

from tarflume.errors import UsageError
from tarflume.torch.prefetch import devices
from test_device import PROCESSES


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

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

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
    assert [(name, args) for name, args, _ in module.calls[-3:]] == [
        ("is_initialized", ()), ("device", (device,)), ("is_current_stream_capturing", ())]  # fmt: skip


def test_pytorch_has_these_calls_and_keywords():
    for module in (torch.cuda, torch.xpu):
        stream, event = inspect.signature(module.Stream.__new__).parameters, inspect.signature(module.Event.__new__).parameters
        assert {"device", "priority"} <= stream.keys() and "enable_timing" in event
        assert all(callable(getattr(module.Stream, name)) for name in ("wait_stream", "wait_event"))
        assert all(callable(getattr(module.Event, name)) for name in ("record", "synchronize", "query", "elapsed_time"))
        for name in ("device", "set_device", "set_stream", "current_stream", "device_count", "is_initialized", "current_device"):
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
