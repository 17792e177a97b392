"""What the tests of `Prefetcher` share: the simulated GPU as a fixture, loaders, and objects in batches."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
import torch

from patience import PATIENCE_S
from prefetch_gpu import Gpu
from tarflume.torch import Prefetcher
from tarflume.torch.prefetch.structure import mapped

#: On the CPU, and on the simulated GPU.
DEVICES = pytest.mark.parametrize("device", ["cpu", None], ids=["cpu", "simulated"])


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    """A simulated GPU, which prefetchers find as the device of this process. All that its kernels read was right."""
    drawn, lock = random.Random(7), threading.Lock()

    def choose(width: int) -> int:
        with lock:
            return drawn.randrange(width)

    made = Gpu(choose, eager=True)
    monkeypatch.setattr("tarflume.torch.prefetch.prefetcher.Accelerator", lambda device: made)
    monkeypatch.setattr("tarflume.torch.prefetch.prefetcher.chosen", lambda device: (made.device, "simulated"))
    yield made
    made.drain()
    assert not made.wrong
    assert threading.get_ident() not in made.pageable, "the consumer's thread copied"


def delivered(gpu: Gpu, batch: Any, **words: Any) -> Any:
    """A batch as it is delivered, after the device has done all work."""
    made, = Prefetcher([batch], **words)
    gpu.drain()
    return made


def threads(known: Iterable[threading.Thread] = ()) -> list[threading.Thread]:
    """The threads of prefetchers that were begun since others were `known`."""
    return [thread for thread in threading.enumerate() if thread.name == "tarflume-prefetch" and thread not in known]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine ends threads late."""
    for module in ("ahead", "iteration", "prefetcher"):
        monkeypatch.setattr(f"tarflume.torch.prefetch.{module}.PATIENCE_S", PATIENCE_S)


def prefetched(loader: Any, device: str | None, request: pytest.FixtureRequest, **words: Any) -> Prefetcher:
    """A prefetcher for the CPU, or for the simulated GPU."""
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


def number(gpu: Gpu, tensor: torch.Tensor) -> int:
    """What is in a tensor when all copies are done."""
    gpu.drain()
    return int(tensor)


def leaves(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    mapped(value, lambda leaf: found.append(leaf) or leaf, {})
    return found


class Graph:
    """An object that moves itself, in place, as those of torch_geometric do."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def to(self, device: Any, non_blocking: bool = False) -> Any:
        self.x = device.put(self.x, non_blocking=non_blocking)
        return self


class Unmovable(Graph):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def to(self, device: Any) -> Any:  # type: ignore[override]
        raise self.error
