"""The diagnosis of DataLoaders: what their workers do, with planted causes, and that nothing of a loader changes."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import (  # noqa: E402
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Subset,
)

import tarflume  # noqa: E402
from given_clock import Clock, injected  # noqa: E402
from tarflume.diagnosis import clocks  # noqa: E402

FORK = "fork"


class Nothing:
    """Plays a disk, a transform or a collate function that costs nothing."""

    def __call__(self, *given):
        return given[0] if given else None


class Costs:
    """One that takes a while of a given clock: asleep, computing, without a core."""

    def __init__(self, clock, asleep=0.0, burning=0.0, queued=0.0, disk=0):
        self.clock, self.asleep, self.burning, self.queued, self.disk = clock, asleep, burning, queued, disk

    def __call__(self, *given):
        self.clock.passes(self.asleep)
        self.clock.burns(self.burning)
        self.clock.waits_for_a_core(self.queued)
        self.clock.disk += self.disk
        return given[0] if given else None


class Data(Dataset):
    """Samples by number; `transform` is that of torchvision's data sets."""

    def __init__(self, read=Nothing(), transform=None, length=64):
        self.read, self.transform, self.length = read, transform, length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        self.read()
        sample = torch.full((3,), float(index))
        return sample if self.transform is None else self.transform(sample)


class Collate:
    def __init__(self, cost):
        self.cost = cost

    def __call__(self, samples):
        self.cost()
        return torch.stack(samples)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return injected(monkeypatch)


def diagnosed(data, workers, collate=None, step=None, **words):
    method = FORK if workers else None
    loader = DataLoader(data, 4, num_workers=workers, collate_fn=collate, multiprocessing_context=method, **words)
    return tarflume.diagnose(loader, 6, step=step, warmup=2)


@pytest.mark.parametrize("workers", [0, 2])
def test_each_planted_cause_is_named(clock, workers):
    """Four samples a batch: the causes cost 8 ms of it, everything else 0.4 ms."""
    little, much = {"asleep": 0.0001}, 0.002
    slow_disk = Data(Costs(clock, asleep=much, disk=4096), Costs(clock, burning=0.0001))
    slow_decoder = Data(Costs(clock, burning=much))
    slow_transform = Data(Costs(clock, **little), Costs(clock, burning=much))
    slow_service = Data(Costs(clock, **little), Costs(clock, asleep=much))
    slow_collate = Collate(Costs(clock, burning=4 * much))
    found = {
        "disk": diagnosed(slow_disk, workers),
        "decoder": diagnosed(slow_decoder, workers),
        "transform": diagnosed(slow_transform, workers),
        "service": diagnosed(slow_service, workers),
        "collate": diagnosed(Data(Costs(clock, **little)), workers, slow_collate),
        "two": diagnosed(Data(Costs(clock, asleep=much), Costs(clock, burning=much)), workers, slow_collate),
    }
    causes = {name: each["cause"] for name, each in found.items()}
    assert causes == {"disk": "storage", "decoder": "read", "transform": "transform", "service": "transform",
                      "collate": "collate", "two": "mixed"}  # fmt: skip
    verdicts = {name: each["verdict"] for name, each in found.items()}
    assert "storage is the limit" in verdicts["disk"] and "Cheaper transforms do not help" in verdicts["disk"]
    assert not any(word in verdicts["disk"] for word in ("crop", "decod", "comput"))
    assert "does not wait for the storage" in verdicts["decoder"]
    assert "Faster storage does not help" in verdicts["transform"] and "asleep" not in verdicts["transform"]
    assert "sleeps" in verdicts["service"] and "making one batch" in verdicts["collate"]
    stages = found["disk"]["stages"]
    assert stages["read"]["asleep_s"] == pytest.approx(0.008) and stages["read"]["computing_s"] == pytest.approx(0)
    assert stages["transform"]["computing_s"] == pytest.approx(0.0004)
    assert stages["read"]["mean_s"] == pytest.approx(0.008) and stages["collate"]["mean_s"] == pytest.approx(0)
    assert found["disk"]["workers"]["disk_bytes"] == 4 * 4096 and found["decoder"]["stages"]["transform"] is None
    assert found["collate"]["stages"]["collate"]["p99_s"] == pytest.approx(0.008)


def test_what_more_workers_would_give_is_told(clock):
    """A batch costs 40 ms, the step 10: with c cores it cannot take less than 40 / c."""
    transform = Data(transform=Costs(clock, burning=0.01))
    found = diagnosed(transform, 0, step=lambda batch: clock.burns(0.01))
    cores = found["loader"]["cores"]
    assert found["step_s"] == pytest.approx(0.05) and found["bottleneck"] == "fetch"
    least = max(0.01, 0.04 / cores) * 1e3
    assert f"num_workers={cores} would take {least:.1f} ms a step at best, now 50.0" in found["verdict"]
    assert found["workers"] == {"count": 0, "busy": pytest.approx(0.8), "disk_bytes": 0}
    text = str(found)
    assert "in the training process, busy in 80% of its time" in text and "computing 100%" in text


def test_threads_without_a_core_are_no_cause_but_told(clock):
    """Time without a core belongs to no stage: it depends on other programs."""
    found = diagnosed(Data(Costs(clock, asleep=0.001, queued=0.01)), 0)
    assert found["cause"] == "storage" and "For 91% of the time of that work the process had no core" in found["verdict"]
    assert found["stages"]["read"]["queued_s"] == pytest.approx(0.04)
    assert "no core" not in diagnosed(Data(Costs(clock, asleep=0.01, queued=0.001)), 0)["verdict"]


def test_a_loader_that_keeps_up_is_not_blamed(clock):
    found = diagnosed(Data(transform=Costs(clock, burning=0.01)), 2, step=lambda batch: clock.burns(0.01))
    assert (found["cause"], found["bottleneck"]) == (None, "compute") and "keeps up" in found["verdict"]
    assert found["stages"]["transform"]["mean_s"] == pytest.approx(0.04)


def test_idle_workers_and_late_batches_are_causes():
    """Judged over given numbers."""
    from tarflume.diagnosis.verdicts import judged

    stage = {"mean_s": 0.01, "computing_s": 0.01, "asleep_s": 0.0, "queued_s": 0.0}
    part = {"mean_s": 0.1, "p50_s": 0.1, "share": 0.9}
    facts = {
        "fetch": part, "transfer": None, "compute": {"mean_s": 0.01, "share": 0.1}, "bottleneck": "fetch", "step_s": 0.11,
        "stages": {"read": stage, "transform": None, "collate": stage, "handover": {"mean_s": 0.0}},
        "workers": {"count": 4, "busy": 0.05, "disk_bytes": 0}, "loader": {"cores": 8},
    }  # fmt: skip
    verdict = judged(facts, None)
    assert verdict.cause == "bursts" and "idle for 95% of their time" in verdict.text
    facts["stages"]["handover"] = {"mean_s": 0.08}
    verdict = judged(facts, None)
    assert verdict.cause == "handover" and "80.0 ms before the training has them" in verdict.text


def test_the_clocks_tell_sleeping_from_computing():
    """Lower limits hold on any machine: a sleep takes at least its time, and a loop at least its processor time."""
    from tarflume.diagnosis.recording import Phase

    before = clocks.moment()
    time.sleep(0.03)
    slept = clocks.moment()
    while clocks.moment().cpu < slept.cpu + 0.03:
        pass
    after = clocks.moment()
    asleep, computing = Phase().plus(before, slept), Phase().plus(slept, after)
    assert asleep.wall >= 0.03 and computing.computing >= 0.03
    assert after.process >= after.cpu and after.queued >= before.queued
    for phase in (asleep, computing):
        assert phase.wall == pytest.approx(phase.computing + phase.asleep + phase.queued)


# What the loader yields, and that it is as before


class Drawing(Dataset):
    """Every kind of random numbers, and a lazily opened file."""

    def __init__(self):
        self.transform, self.opened = self.change, None

    def change(self, sample):
        return sample + random.random() + np.random.random() + torch.rand(())

    def __len__(self):
        return 40

    def __getitem__(self, index):
        self.opened = self.opened or object()
        return self.transform(torch.full((2,), float(index)))


class ByMany(Drawing):
    def __getitems__(self, indices):
        return [self[index] * 2 for index in indices]


class Stream(IterableDataset):
    """Counts in itself where it is, as data sets with a state do."""

    def __init__(self, batches=False):
        self.at, self.batches, self.transform = 0, batches, lambda value: value + 0.5

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        assert info is None or isinstance(info.dataset, Stream)
        step, first = (1, 0) if info is None else (info.num_workers, info.id)
        while self.at < 60:
            self.at += 1
            if self.at % step == first:
                value = self.transform(self.at)
                yield torch.full((3,), value) if self.batches else {"n": value, "name": str(self.at)}
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def pairs(samples):
    return len(samples), samples


def seeded(worker):
    torch.utils.data.get_worker_info().dataset.opened = worker


def loaders():
    from torchdata.stateful_dataloader import StatefulDataLoader

    drawing, generator = Drawing(), torch.Generator().manual_seed(3)
    yield "map", DataLoader(drawing, 4, shuffle=True)
    yield "workers", DataLoader(drawing, 4, shuffle=True, num_workers=2, multiprocessing_context=FORK)
    yield "generator", DataLoader(drawing, 4, shuffle=True, generator=generator)
    yield "many", DataLoader(ByMany(), 4, shuffle=True, num_workers=1, multiprocessing_context=FORK)
    yield "collate", DataLoader(drawing, 5, collate_fn=pairs, drop_last=True)
    yield "samples", DataLoader(drawing, batch_size=None, shuffle=True)
    yield "batch sampler", DataLoader(drawing, batch_sampler=BatchSampler(RandomSampler(drawing), 3, False))
    yield "subset", DataLoader(ConcatDataset([Subset(drawing, range(20)), drawing]), 4, shuffle=True)
    yield "list", DataLoader([torch.tensor(n) for n in range(40)], 4, shuffle=True)
    yield "stream", DataLoader(Stream(), 4)
    yield "stream in workers", DataLoader(Stream(), 4, num_workers=2, multiprocessing_context=FORK)
    yield "stream of batches", DataLoader(Stream(True), batch_size=None)
    yield "stateful", StatefulDataLoader(drawing, 4, shuffle=True)
    yield "stateful stream", StatefulDataLoader(Stream(), 4)
    words = {"num_workers": 2, "multiprocessing_context": FORK}
    yield "stateful in workers", StatefulDataLoader(Stream(), 4, snapshot_every_n_steps=1, **words)
    yield "persistent", DataLoader(drawing, 4, shuffle=True, persistent_workers=True, worker_init_fn=seeded, **words)


def same(one, other):
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.mark.parametrize(("name", "loader"), list(loaders()), ids=lambda value: value if isinstance(value, str) else "")
def test_batches_are_equal_and_the_loader_is_as_before(name, loader):
    torch.manual_seed(1)
    random.seed(1)
    np.random.seed(1)
    fields, data = dict(vars(loader)), dict(getattr(loader.dataset, "__dict__", {}))
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    seen = []
    found = tarflume.diagnose(loader, 5, step=seen.append, warmup=1)
    assert found["steps"] == 5 and len(seen) == 6
    assert vars(loader) == fields and getattr(loader.dataset, "__dict__", {}) == data
    assert torch.equal(states[0], torch.get_rng_state())
    assert states[1:] == (random.getstate(), np.random.get_state()[1].tolist())
    has_transform = hasattr(loader.dataset, "transform") or name == "subset"
    assert (found["stages"]["transform"] is not None) == has_transform and found["stages"]["read"] is not None
    again = []
    for batch in loader:
        again.append(batch)
        if len(again) == 6:
            break
    assert all(map(same, seen, again))


def test_transforms_below_other_data_sets_are_put_back():
    inner = Data(transform=torch.nn.Identity())
    joined = ConcatDataset([Subset(inner, range(20)), Data(transform=Nothing())])
    before = inner.transform, joined.datasets[1].transform
    tarflume.diagnose(DataLoader(joined, 4), 3, warmup=1)
    assert inner.transform is before[0] and joined.datasets[1].transform is before[1]


def test_a_saved_position_of_a_stateful_loader_stays():
    from torchdata.stateful_dataloader import StatefulDataLoader

    made = StatefulDataLoader(Data(), 4)
    walked = iter(made)
    expected = [next(walked) for _ in range(5)][-1]
    made = StatefulDataLoader(Data(), 4)
    walked = iter(made)
    for _ in range(4):
        next(walked)
    state = made.state_dict()
    other = StatefulDataLoader(Data(), 4)
    other.load_state_dict(state)
    seen = []
    tarflume.diagnose(other, 2, step=seen.append, warmup=1)
    assert same(seen[0], expected) and same(next(iter(other)), expected)


def test_an_epoch_that_runs_goes_on():
    """Persistent workers of the loader are its own."""
    loader = DataLoader(Data(), 4, num_workers=1, persistent_workers=True, multiprocessing_context=FORK)
    walked = iter(loader)
    first = next(walked)
    tarflume.diagnose(loader, 3, warmup=1)
    assert loader._iterator is walked and same(first, torch.arange(4.0)[:, None].expand(4, 3))
    assert same(next(walked), torch.arange(4.0, 8.0)[:, None].expand(4, 3))


def test_spawned_workers_send_what_they_measured():
    loader = DataLoader(Data(transform=torch.nn.Identity()), 4, num_workers=1, multiprocessing_context="spawn")
    found = tarflume.diagnose(loader, 3, warmup=1)
    assert all(found["stages"][name]["mean_s"] > 0 for name in ("read", "transform", "collate"))


def test_pinned_batches_are_unpacked(monkeypatch):
    """The thread that pins finds tensors where they are."""
    from tarflume.diagnosis.recording import Carried, Record

    pinned = []
    module = __import__("torch.utils.data._utils.pin_memory", fromlist=["pin_memory"])
    monkeypatch.setattr(module, "pin_memory", lambda batch, device=None: pinned.append(batch) or [batch])
    carried = Carried("batch", Record(1, 0, 0.0, 0.0, {}, ()))
    assert carried.pin_memory() is carried and (carried.batch, pinned) == (["batch"], ["batch"])


def test_an_error_of_the_data_set_is_its_own():
    class Broken(Data):
        def __getitem__(self, index):
            raise KeyError("no such sample")

    data = Broken()
    with pytest.raises(KeyError, match="no such sample"):
        tarflume.diagnose(DataLoader(data, 4), 3)
    assert vars(data) == vars(Broken(data.read))


def test_data_sets_of_others_are_looked_into():
    """torchvision keeps transforms in two places, Hugging Face in its format; Accelerate wraps the loader."""
    from accelerate import Accelerator
    from datasets import Dataset as Table
    from torchvision.datasets import FakeData

    vision = FakeData(12, (3, 4, 4), transform=lambda picture: torch.zeros(3), target_transform=lambda label: label)
    table = Table.from_dict({"n": list(range(24))}).with_transform(lambda rows: {"n": [torch.tensor(n) for n in rows["n"]]})
    prepared = Accelerator(cpu=True).prepare(DataLoader(Data(transform=Nothing()), 4, shuffle=True))
    for loader in (DataLoader(vision, 2), DataLoader(table, 2), prepared):
        found = tarflume.diagnose(loader, 3, warmup=1)
        assert found["stages"]["transform"]["mean_s"] > 0, loader
    assert not hasattr(vision.transform, "_tarflume_inner") and callable(table._format_kwargs["transform"])
    assert len([*prepared]) == 16 and prepared.gradient_state.active_dataloader is None


def keys(batches):
    return [list(batch["key"]) if "key" in batch else list(batch["__key__"]) for batch in batches]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["batches", "samples", "numbered", "stateful"])
def test_our_data_sets_deliver_the_same_in_a_data_loader(shards, kind, workers):
    """They look at the calls by which they are reached, and count epochs: a diagnosis is none."""
    import tarflume.torch as ours
    from torchdata.stateful_dataloader import StatefulDataLoader

    settings = {"shuffle": "full", "seed": 3, "label": "/n"}
    words = {"num_workers": workers, "multiprocessing_context": FORK if workers else None}

    def made():
        if kind == "numbered":
            return DataLoader(ours.MapDataset(shards, parts=["json"]), 10, **words)
        if kind == "samples":
            return DataLoader(ours.Dataset(shards, **settings), 10, **words)
        loader = StatefulDataLoader if kind == "stateful" else DataLoader
        return loader(ours.Dataset(shards, batch_size=10, **settings), batch_size=None, **words)

    expected = made()
    epochs, length = [keys(expected) for _ in range(2)], len(expected)
    loader, seen = made(), []
    found = tarflume.diagnose(loader, 5, step=seen.append, warmup=1)
    assert keys(seen) == epochs[0][:6] and found["stages"]["read"]["mean_s"] > 0
    assert len(loader) == length and [keys(loader) for _ in range(2)] == epochs


def test_our_data_set_in_a_data_loader_computes_in_threads(shards):
    """Threads of Rust decode while the worker's thread waits: that is not sleeping for a disk."""
    import tarflume.torch as ours

    data = ours.Dataset(shards, batch_size=5, image=tarflume.Resize((16, 24)))
    found = tarflume.diagnose(DataLoader(data, batch_size=None), 4, warmup=1)
    assert found["stages"]["read"]["mean_s"] > 0 and found["rows"] == 5
