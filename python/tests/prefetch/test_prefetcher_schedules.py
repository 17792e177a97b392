"""`Prefetcher` on a simulated GPU: all schedules of small cases, random schedules of larger ones, and planted faults."""

from __future__ import annotations

import itertools
import random
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from prefetch_gpu import FAULTS, Gpu
from tarflume.torch import Prefetcher
from tarflume.torch.prefetch.channel import Channel
from tarflume.torch.prefetch.copying import Copier
from tarflume.torch.prefetch.counts import Counts
from tarflume.torch.prefetch.reader import Reader
from tarflume.torch.prefetch.staging import Staging


class Script:
    """Draws what a list says, and 0 behind it: the tree of all draws, one path after the other."""

    def __init__(self) -> None:
        self.path: list[int] = []
        self._widths: list[int] = []
        self._at = 0

    def __call__(self, width: int) -> int:
        if self._at == len(self.path):
            self.path.append(0)
            self._widths.append(width)
        self._at += 1
        return self.path[self._at - 1]

    def next(self) -> bool:
        """Goes to the next path; False behind the last."""
        self._at = 0
        while self.path and self.path[-1] + 1 == self._widths[-1]:
            self.path.pop()
            self._widths.pop()
        if self.path:
            self.path[-1] += 1
        return bool(self.path)


def staged(gpu: Gpu, count: int) -> Iterator[Any]:
    """Batches in memory that is not pinned, which the loader writes again for each."""
    memory = torch.empty(24, dtype=torch.uint8)
    for n in range(count):
        memory.fill_(n + 1)
        yield memory


def pinned(gpu: Gpu, count: int) -> Iterator[Any]:
    """Batches in pinned memory, which the loader writes again for each."""
    memory = gpu.pinned(24)
    for n in range(count):
        memory.fill_(n + 1)
        yield memory


def dropped(gpu: Gpu, count: int) -> Iterator[Any]:
    """Batches in pinned memory of their own, which is gone when they are dropped."""
    for n in range(count):
        memory = gpu.pinned(24)
        memory.fill_(n + 1)
        yield memory
        del memory


def there(gpu: Gpu, count: int) -> Iterator[Any]:
    """Batches that the loader itself makes on the device."""
    for n in range(count):
        gpu.kept.append(gpu.pinned(24).fill_(n + 1))
        made = gpu.empty(torch.Size([24]), (1,), torch.uint8)
        gpu.copy(made, gpu.kept[-1])
        yield made
        del made


def play(loader: Callable[[Gpu, int], Iterator[Any]], count: int, depth: int, choose: Callable[[int], int],
         faults: tuple[str, ...] = (), held: int = 0) -> Gpu:
    """One schedule of the steps of the thread, of the consumer and of both streams. The consumer holds `held` batches."""
    gpu = Gpu(choose, faults=faults)
    gpu.enter()
    channel, counts = Channel(depth), Counts()
    copier = Copier(gpu, False, counts)  # type: ignore[arg-type]
    reader = Reader(None, loader(gpu, count), copier, channel, counts, states=False)
    copier.prepare()
    reads, settles, taken, kept = True, False, 0, []
    while True:
        steps = [("thread", "")] * (settles or reads and channel.has_room()) + [("consumer", "")] * channel.has_item()
        steps += [("stream", name) for name in gpu.able()]
        if not steps:
            break
        who, name = steps[choose(len(steps)) if len(steps) > 1 else 0]
        if who == "thread" and settles:
            copier.settle()
            settles = False
        elif who == "thread":
            assert channel.wait_for_room()
            reads = settles = reader.read()
        elif who == "stream":
            gpu.run(name)
        else:
            item = channel.take()
            if item.failure is not None:
                raise item.failure
            if item.copied is not None:
                taken += 1
                kept.append(copier.deliver(item.copied))
                gpu.kernel(kept[-1], torch.full((24,), taken, dtype=torch.uint8), f"batch {taken}")
                del kept[:max(0, len(kept) - held)]
            del item
    gpu.drain()
    assert taken == count and gpu.kernels == count
    return gpu


def explore(limit: int = 10**6, **case: Any) -> tuple[int, list[str]]:
    """The number of schedules until one is wrong, and what is wrong in it."""
    script = Script()
    for number in itertools.count(1):
        wrong = play(choose=script, **case).wrong
        if wrong or not script.next() or number == limit:
            return number, wrong
    raise AssertionError


LOADERS = [staged, pinned, dropped, there]


@pytest.mark.parametrize(("loader", "count", "depth", "held", "schedules"), [
    (staged, 2, 1, 0, 100), (staged, 2, 2, 0, 100), (staged, 2, 1, 1, 100), (pinned, 2, 1, 0, 100), (pinned, 2, 2, 1, 100),
    (dropped, 2, 2, 0, 100), (there, 2, 2, 0, 100),
])  # fmt: skip
def test_every_schedule_is_right(monkeypatch, loader, count, depth, held, schedules):
    """One slot of pinned memory, so that it is written again for the second batch."""
    monkeypatch.setattr("tarflume.torch.prefetch.staging._SLOTS", 1)
    number, wrong = explore(loader=loader, count=count, depth=depth, held=held)
    assert not wrong
    assert number > schedules  # or nothing was drawn


@pytest.mark.parametrize("loader", LOADERS)
def test_schedules_of_more_batches_are_right(loader):
    for seed in range(150):
        drawn = random.Random(seed)
        gpu = play(loader, count=6, depth=1 + seed % 3, choose=drawn.randrange, held=seed % 4)
        assert not gpu.wrong, seed


#: Faults of a prefetcher itself: the loader that shows it, and what a method does in place of what it should.
OWN_FAULTS = {
    "a slot is written before it was read": (staged, Staging, "read_until", lambda self, mark: None),
    "memory of the loader is not waited for": (pinned, Copier, "settle", lambda self: self._sources.clear()),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("loader", LOADERS)
def test_each_call_that_is_left_out_is_found(monkeypatch, fault, loader):
    if loader is there and fault == "host does not wait":
        pytest.skip("it has no memory of the host that is written again")
    monkeypatch.setattr("tarflume.torch.prefetch.staging._SLOTS", 1)
    _, wrong = explore(loader=loader, count=2, depth=2, faults=(fault,))
    assert wrong


@pytest.mark.parametrize("fault", OWN_FAULTS)
def test_each_fault_of_a_prefetcher_is_found(monkeypatch, fault):
    monkeypatch.setattr("tarflume.torch.prefetch.staging._SLOTS", 1)
    loader, owner, method, instead = OWN_FAULTS[fault]
    monkeypatch.setattr(owner, method, instead)
    assert explore(loader=loader, count=2, depth=2)[1]


def test_every_path_of_draws_is_taken_once():
    script, seen = Script(), []
    while True:
        seen.append([script(width) for width in (2, 3)][: 2] + ([script(2)] if script.path[0] else []))
        if not script.next():
            break
    assert seen == [[0, n] for n in range(3)] + [[1, n, m] for n in range(3) for m in range(2)]


#: A batch by its number: tensors of several sizes, some pinned.
def batch_of(gpu: Gpu, n: int) -> dict[str, Any]:
    large, label = torch.full((3, n % 4 * 40 + 9), n, dtype=torch.float32), torch.tensor([n, n + 1])
    if n % 3 == 0:
        fixed = gpu.pinned(label.numel() * 8).view(torch.int64)
        label = fixed.copy_(label)
    return {"large": large, "small": (torch.tensor(n), label), "name": str(n)}


@pytest.mark.parametrize("seed", range(25))
def test_random_schedules_of_threads_and_streams_are_right(monkeypatch, seed):
    wrong = threaded(monkeypatch, seed)
    assert not wrong


@pytest.mark.parametrize("fault", FAULTS)
def test_random_schedules_find_each_call_that_is_left_out(monkeypatch, fault):
    assert any(threaded(monkeypatch, seed, faults=(fault,)) for seed in range(1000))


def threaded(monkeypatch: pytest.MonkeyPatch, seed: int, faults: tuple[str, ...] = ()) -> list[str]:
    """An iteration with a real thread. The consumer takes batches in several streams and keeps some."""
    drawn = random.Random(seed)
    lock = threading.Lock()

    def choose(width: int) -> int:
        with lock:
            return drawn.randrange(width)

    gpu = Gpu(choose, faults=faults, eager=True)
    monkeypatch.setattr("tarflume.torch.prefetch.prefetcher.Accelerator", lambda device: gpu)
    monkeypatch.setattr("tarflume.torch.prefetch.prefetcher.chosen", lambda device: (gpu.device, "simulated"))
    right = [batch_of(gpu, n) for n in range(COUNT)]
    kept: deque[Any] = deque()
    most = drawn.randrange(1, 4)
    prefetcher = Prefetcher((batch_of(gpu, n) for n in range(COUNT)), depth=drawn.randrange(1, 4))
    batches = iter(prefetcher)
    for n in range(COUNT):
        gpu.use(stream := STREAMS[choose(len(STREAMS))])
        kept.append((stream, n, next(batches)))
        use(gpu, kept[-1], right[n])
        gpu.hurry()
        if len(kept) == most:  # it is used once more, in its stream, and dropped before that is done
            use(gpu, kept[0], right[kept[0][1]])
            kept.popleft()
    assert next(batches, None) is None
    kept.clear()
    gpu.drain()
    return gpu.wrong


COUNT = 12
STREAMS = ("default", "side", "other")


def use(gpu: Gpu, taken: tuple[str, int, Any], right: Any) -> None:
    """A step that reads each tensor of a batch in the stream in which it was taken."""
    stream, n, batch = taken
    gpu.use(stream)
    assert batch["name"] == str(n)
    gpu.kernel(batch["large"], right["large"], f"large {n}")
    for one, other in zip(batch["small"], right["small"], strict=True):
        gpu.kernel(one, other, f"small {n}")
