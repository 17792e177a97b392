"""The diagnosis of DataLoaders: what their workers do, with planted causes."""

from __future__ import annotations

import time

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, Dataset  # noqa: E402

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
    assert found["workers"] == {"count": 0, "busy": pytest.approx(0.8), "computing": pytest.approx(0.8), "disk_bytes": 0}
    text = str(found)
    assert "in the training process, busy in 80% of its time" in text and "computing 100%" in text


def test_threads_without_a_core_are_no_cause_but_told(clock):
    """Time without a core belongs to no stage: it depends on other programs."""
    found = diagnosed(Data(Costs(clock, asleep=0.001, queued=0.01)), 0)
    assert found["cause"] == "storage" and "For 91% of the time of that work the process had no core" in found["verdict"]
    assert found["stages"]["read"]["queued_s"] == pytest.approx(0.04)
    assert found["workers"]["busy"] == pytest.approx(1) and found["workers"]["computing"] == pytest.approx(0)
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
