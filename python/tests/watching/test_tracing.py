"""Time lines of steps: what the Trace Event Format demands of a file, and that its spans are what was measured."""

from __future__ import annotations

import collections
import gzip
import json
import os

import pytest

import tarflume
from given_clock import injected
from tarflume import errors

#: The fields that each phase of an event has, beside `name`, `ph`, `ts`, `pid` and `tid`.
FIELDS = {"X": {"dur", "args", "cat"}, "M": {"args"}, "C": {"args", "cat"}, "s": {"id", "cat"}, "f": {"id", "bp", "cat"}}


def checked(path) -> list[dict]:
    """The events of a file that keeps the rules: fields and their types, spans that nest, arrows between spans, in order."""
    opened = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "rt") as file:
        made = json.load(file)
    assert set(made) == {"traceEvents", "displayTimeUnit", "otherData"} and made["displayTimeUnit"] in ("ms", "ns")
    events = made["traceEvents"]
    for event in events:
        assert set(event) == {"name", "ph", "ts", "pid", "tid"} | FIELDS[event["ph"]]
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and event["ts"] >= 0
        if event["ph"] == "C":
            assert event["args"] and all(isinstance(number, (int, float)) for number in event["args"].values())
    # Metadata come first, then what happened, from the first to the last.
    kinds = [event["ph"] for event in events]
    assert "M" in kinds and "M" not in kinds[kinds.count("M") :]
    times = [event["ts"] for event in events]
    assert times == sorted(times) and min(event["ts"] for event in events if event["ph"] != "M") == 0
    spans = [event for event in events if event["ph"] == "X"]
    threads = {(event["pid"], event["tid"]) for event in events}
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "process_name"}
    assert threads == named
    for thread in threads:
        nested([span for span in spans if (span["pid"], span["tid"]) == thread])
    arrows(events, spans)
    return events


def nested(spans: list[dict]) -> None:
    """Each span lies in the one that is open when it begins, or none is; numbers are rounded to nanoseconds."""
    open_ends: list[float] = []
    for span in spans:
        end = span["ts"] + span["dur"]
        while open_ends and open_ends[-1] <= span["ts"] + 0.005:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1] + 0.005, span
        open_ends.append(end)


def arrows(events: list[dict], spans: list[dict]) -> None:
    begins = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert begins.keys() == ends.keys()
    for number, begin in begins.items():
        end = ends[number]
        assert begin["ts"] <= end["ts"] and end["bp"] == "e" and begin["pid"] != end["pid"]
        for event, name in ((begin, "batch"), (end, "step")):
            (around,) = [
                span
                for span in spans
                if span["pid"] == event["pid"] and span["name"] == name and span["args"]["number"] == number
            ]
            assert around["ts"] - 0.005 <= event["ts"] <= around["ts"] + around["dur"] + 0.005


def counted(events: list[dict]) -> collections.Counter:
    return collections.Counter(event["name"] for event in events if event["ph"] == "X")


class Loader:
    def __init__(self, clock, batches):
        self.clock, self.batches = clock, batches

    def __iter__(self):
        for _ in range(self.batches):
            self.clock.passes(0.02)
            yield [1, 2]


def test_spans_are_what_was_measured(monkeypatch, tmp_path):
    clock = injected(monkeypatch)
    path = tarflume.trace(Loader(clock, 9), tmp_path / "steps.json", 3, step=lambda batch: clock.burns(0.03), warmup=2)
    assert path == tmp_path / "steps.json"
    events = checked(path)
    assert counted(events) == {"step": 3, "fetch": 3, "compute": 3}
    spans = [(event["name"], event["ts"], event["dur"]) for event in events if event["ph"] == "X"]
    expected = [
        span
        for begin in (0.0, 50e3, 100e3)
        for span in [("step", begin, 50e3), ("fetch", begin, 20e3), ("compute", begin + 20e3, 30e3)]
    ]
    assert spans == [(name, pytest.approx(begin), pytest.approx(dur)) for name, begin, dur in expected]
    names = {event["name"]: event["args"] for event in events if event["ph"] == "M"}
    assert names["process_name"] == {"name": "training, rank 0"} and names["process_sort_index"] == {"sort_index": 0}


@pytest.mark.parametrize("workers", [0, 2])
def test_workers_have_lines_of_their_own(monkeypatch, tmp_path, workers):
    torch = pytest.importorskip("torch")
    clock = injected(monkeypatch) if not workers else None  # each process would have a clock of its own

    class Data(torch.utils.data.Dataset):
        def transform(self, value):
            if clock:
                clock.burns(0.001)
            return value

        def __len__(self):
            return 64

        def __getitem__(self, index):
            if clock:
                clock.passes(0.002)
            return self.transform(torch.tensor(index))

    method = "fork" if workers else None
    loader = torch.utils.data.DataLoader(Data(), 4, num_workers=workers, multiprocessing_context=method)
    seen = []
    events = checked(tarflume.trace(loader, tmp_path / "made.json.gz", 5, step=seen.append, warmup=1))
    assert counted(events) == {"step": 5, "fetch": 5, "compute": 5, "batch": 5, "read": 20, "transform": 20, "collate": 5}
    assert len(seen) == 6 and "transform" not in vars(loader.dataset)
    by_worker = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert by_worker == {"training, rank 0"} | {f"worker {number}" for number in range(workers)}
    here = {event["pid"] == os.getpid() for event in events if event["name"] in ("read", "collate")}
    assert here == {not workers}
    assert sum(event["ph"] == "s" for event in events) == (5 if workers else 0)
    batch = next(event for event in events if event["name"] == "batch")
    assert batch["args"]["seconds"].keys() == {"read", "transform", "collate"}
    if clock:
        assert batch["dur"] == pytest.approx(12e3) and batch["args"]["seconds"]["read"]["asleep"] == pytest.approx(0.008)
        (read, transform) = [event for event in events if event["name"] in ("read", "transform")][:2]
        assert (read["name"], read["dur"], transform["dur"]) == ("read", pytest.approx(3e3), pytest.approx(1e3))


def test_threads_of_our_loader_are_counted_for_each_step(monkeypatch, tmp_path):
    """Half a thread read, and one and a half slept, over a step of 0.1 s."""
    clock = injected(monkeypatch)

    class Ours:
        steps = 0

        def __iter__(self):
            for _ in range(8):
                self.steps += 1
                clock.passes(0.1)
                yield [0]

        def stats(self):
            stage = {"busy_s": 0.05 * self.steps}
            stages = {"read": stage, "consumer": {"busy_s": 9.0}} | ({"late": stage} if self.steps > 3 else {})
            return {"stages": stages, "idle_s": {"plan": 0.02 * self.steps}, "reads_asleep_s": 0.15 * self.steps, "verdict": "v"}

    Ours.__module__ = "tarflume.played"
    path = tarflume.trace(Ours(), tmp_path / "ours.json", 4, warmup=1)
    counters = [(event["name"], event["args"]) for event in checked(path) if event["ph"] == "C"]
    assert [args for name, args in counters if name == "threads asleep in reads"] == [{"asleep": 1.5}] * 4
    assert [args for name, args in counters if name == "threads idle"] == [{"plan": 0.2}] * 4
    busy = [args for name, args in counters if name == "threads busy"]
    assert busy == [{"read": 0.5}, {"read": 0.5}, {"read": 0.5, "late": 0.0}, {"read": 0.5, "late": 0.5}]
    assert json.loads(path.read_text())["otherData"]["verdict"] == "v"


def test_a_real_loader_of_ours_is_traced(shards, tmp_path):
    with tarflume.Loader(shards, batch_size=5, image=tarflume.Resize((16, 24))) as loader:
        events = checked(tarflume.trace(loader, tmp_path / "real.json", 3))
    assert counted(events) == {"step": 3, "fetch": 3}
    names = {event["name"] for event in events if event["ph"] == "C"}
    assert names == {"threads busy", "threads idle", "threads asleep in reads"}


def test_a_batch_of_many_samples_keeps_some_spans(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("tarflume.diagnosis.recording.Recorder.MOST_SPANS", 10)
    events = checked(tarflume.trace(torch.utils.data.DataLoader(list(range(90)), 30), tmp_path / "a.json", 2))
    assert counted(events) == {"step": 2, "fetch": 2, "batch": 2, "read": 20}


def test_wrong_names_and_short_loaders_are_errors(tmp_path):
    with pytest.raises(errors.UsageError, match=r"end in \.json or \.json\.gz; write to .*a\.txt\.json"):
        tarflume.trace([[1]], tmp_path / "a.txt")
    with pytest.raises(errors.UsageError, match="gave 1 batches"):
        tarflume.trace([[1]], tmp_path / "a.json", warmup=1)
    with pytest.raises(errors.UsageError, match=r"trace takes a loader, not the path 'shards/'"):
        tarflume.trace("shards/", tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []
