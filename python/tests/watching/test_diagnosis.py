"""The diagnosis of loaders: what it measures, and what it says to change."""

from __future__ import annotations

import collections
import pickle
import sys
import types
from collections.abc import Callable

import numpy as np
import pytest

import tarflume
from given_clock import Clock, injected
from tarflume import errors


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return injected(monkeypatch)


class Loader:
    """Plays a DataLoader: each batch takes a while."""

    num_workers = 0
    pin_memory = False

    def __init__(self, batches: int, wait: Callable[[], None] = lambda: None) -> None:
        self.batches, self.wait = batches, wait

    def __iter__(self):
        for n in range(self.batches):
            self.wait()
            yield {"image": np.zeros((8, 2, 2, 3), np.uint8), "n": n}


def test_a_slow_loader_is_told_from_a_slow_step(clock):
    slow = tarflume.diagnose(Loader(20, lambda: clock.passes(0.02)), steps=8, step=lambda batch: None, warmup=2)
    assert (slow["steps"], slow["warmup"], slow["rows"], slow["bottleneck"]) == (8, 2, 8, "fetch")
    assert slow["fetch"]["p50_s"] == pytest.approx(0.02) and slow["transfer"] is None
    assert "num_workers=" in slow["verdict"]
    fast = tarflume.diagnose(Loader(20), steps=8, step=lambda batch: clock.passes(0.02), warmup=2)
    assert fast["bottleneck"] == "compute" and "keeps up" in fast["verdict"]
    assert fast["compute"]["mean_s"] == pytest.approx(0.02)
    assert sum(part["share"] for part in (fast["fetch"], fast["compute"])) == pytest.approx(1)


def test_the_steps_are_those_after_the_warm_up():
    seen = []
    found = tarflume.diagnose(Loader(50), steps=7, step=lambda batch: seen.append(batch["n"]), warmup=3)
    assert seen == list(range(10)) and found["steps"] == 7
    assert tarflume.diagnose(Loader(5), steps=7, warmup=3)["steps"] == 2
    with pytest.raises(errors.UsageError, match="gave 3 batches"):
        tarflume.diagnose(Loader(3), warmup=3)
    with pytest.raises(errors.UsageError):
        tarflume.diagnose(Loader(3), steps=0)


def test_it_prints_a_table_that_ends_in_the_verdict():
    found = tarflume.diagnose(Loader(9), warmup=0)
    lines = str(found).splitlines()
    assert lines[-1] == found["verdict"] and found["verdict"].startswith("The loader alone gives")
    assert [line.split()[0] for line in lines[1:4]] == ["fetch", "transfer", "compute"]
    assert "not measured" in lines[3]
    assert str(pickle.loads(pickle.dumps(found))) == str(found)


def test_our_loaders_are_diagnosed_by_their_own_statistics(shards):
    loader = tarflume.Loader(shards, batch_size=10, image=tarflume.Resize((16, 24)))
    found = tarflume.diagnose(loader, steps=5, warmup=2)
    assert found["rows"] == 10 and found["loader"]["kind"].endswith("Loader")
    own = loader.stats()["verdict"]
    assert own[1:20] in found["verdict"]
    loader.close()


def test_batches_that_tell_no_rows_and_iterators_are_taken():
    ours = iter(range(20))
    found = tarflume.diagnose(ours, steps=3, warmup=2)
    assert found["rows"] is None and found["samples_per_s"] is None
    assert next(ours) == 5


def test_copies_to_a_device_are_measured_by_its_events(monkeypatch, clock):
    """A PyTorch that plays a device: each copy takes 30 ms by its events."""
    moved = []

    class Tensor:
        shape = (4, 2)

        def to(self, device, non_blocking):
            moved.append((device, non_blocking))
            return self

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            pass

        def elapsed_time(self, other):
            return 30.0

    cuda = types.SimpleNamespace(is_available=lambda: True, Event=Event, synchronize=lambda: None)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor, cuda=cuda))

    class Pageable(list):
        pin_memory = False

    class Encoding(collections.UserDict):
        """What tokenizers of transformers return."""

    batches = Pageable([Encoding({"image": Tensor(), "more": [Tensor(), "text"]})] * 6)
    kinds = []
    found = tarflume.diagnose(batches, steps=4, step=lambda batch: kinds.append(type(batch)), warmup=1)
    assert set(kinds) == {Encoding} and batches[0]["more"][1] == "text"
    assert moved == [("cuda", True)] * 10 and found["rows"] == 4
    assert found["transfer"]["mean_s"] == pytest.approx(0.03) and found["bottleneck"] == "transfer"
    assert "pin_memory=True" in found["verdict"]


def test_loaders_of_any_kind_that_sleep_are_told_from_those_that_compute(clock):
    """Of an iterator, the time of this process is known, and not what it waits for."""
    asleep = tarflume.diagnose((clock.passes(0.01) for _ in range(9)), 6, warmup=2)
    computing = tarflume.diagnose((clock.burns(0.01) for _ in range(9)), 6, warmup=2)
    queued = tarflume.diagnose((clock.waits_for_a_core(0.01) for _ in range(9)), 6, warmup=2)
    assert [each["cause"] for each in (asleep, computing, queued)] == ["asleep", "computing", None]
    assert asleep["fetch"]["asleep_s"] == pytest.approx(0.01) and computing["fetch"]["computing_s"] == pytest.approx(0.01)
    assert "does not compute" in asleep["verdict"] and "the storage does not matter" in computing["verdict"]
    assert "prepare its batches ahead" in asleep["verdict"] and "asleep 100%" in str(asleep)
    assert queued["stages"] is None and queued["fetch"]["queued_s"] == pytest.approx(0.01)


def test_no_advice_claims_what_was_not_seen():
    """What a loader of an unknown kind does in its workers is not measured."""
    from tarflume.diagnosis.verdicts import judged

    part = {"mean_s": 1.0, "p50_s": 1.0, "share": 1.0, "computing_s": 0.0, "asleep_s": 0.0, "queued_s": 1.0}
    facts = {"fetch": part, "transfer": None, "compute": None, "bottleneck": "fetch", "batches_per_s": 1.0, "stages": None}
    for workers, cores, text in [
        (8, 8, "each core has a worker, and what these do cannot be seen"),
        (2, 8, "it has 2 workers for 8 cores; set num_workers=8"),
        (0, 8, "set num_workers=8"),
        (None, 8, "prepare its batches ahead"),
    ]:
        cause, advice = judged(facts | {"loader": {"num_workers": workers, "cores": cores}}, None)
        assert text in advice and cause is None
        assert not any(word in advice for word in ("crop", "decod", "idle"))
