"""Ranks compared from Python: by the rules of `pack doctor --ranks`, over a process group, and for any loader."""

from __future__ import annotations

import json
import pathlib
import pickle
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import forked  # noqa: E402
import tarflume  # noqa: E402
import tarflume.torch as ours  # noqa: E402
from conftest import PACK  # noqa: E402
from given_clock import injected  # noqa: E402
from patience import PATIENCE_S  # noqa: E402
from tarflume.torch.ranks import compared  # noqa: E402
from tarflume.torch.stragglers import _numbers  # noqa: E402
from ranks import told  # noqa: E402


def line(rank, host, waited, **stages):
    made = {name: {"busy_s": busy, "waiting_input_s": 0.0, "items": 1000} for name, busy in stages.items()}
    consumer = {"busy_s": 50.0, "waiting_input_s": waited, "items": 100}
    return {"rank": rank, "world_size": 4, "host": host, "running_s": 100.0, "startup_s": 1.0, "reads_asleep_s": 0.25,
            "bottleneck": "decode" if rank else "unknown", "stages": made | {"consumer": consumer}}  # fmt: skip


JOBS = {
    "one slow reader": [line(n, f"n{n // 2}", [2, 2, 41, 1][n], read=[1, 1, 30, 1][n], decode=20.0 + n) for n in range(4)],
    "a slow machine": [line(n, f"n{n // 2}", [2, 2, 40, 50][n], read=1.0, decode=[20, 20, 70, 90][n]) for n in range(4)],
    "no stage is slower": [line(n, "n0", [2, 3, 4, 60][n], read=1.0, decode=[20, 20, 20, 25][n]) for n in range(4)],
    "alike": [line(n, "n0", 30.0 + n, read=1.0, decode=20.0) for n in range(4)],
    "without a host": [line(n, None, [1, 90, 2, 3][n], read=1.0, decode=20.0) for n in range(4)],
    "streams": [line(n, "n0", [2, 3, 4, 60][n], read=[1, 1, 1, 8][n]) for n in range(4)],
    "one rank": [line(0, "n0", 90.0, read=1.0, decode=20.0) | {"world_size": 1}],
    "no sample": [{**line(n, "n0", 9.0), "world_size": 2} for n in range(2)],
}


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_the_comparison_is_that_of_the_command(tmp_path, job):
    """`pack doctor --ranks` is another program in another language."""
    file = tmp_path / "ranks.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in job))
    done = subprocess.run([PACK, "doctor", "--ranks", str(file), "--format", "json"], capture_output=True, text=True)
    expected = json.loads(done.stdout)
    assert expected.pop("missing") == [] and done.returncode == bool(expected["slow"])
    report = json.loads(json.dumps(compared(job)))
    for rank in report["ranks"]:
        assert rank.pop("batch_wait_p95_s") is None
    assert report == expected
    text = subprocess.run([PACK, "doctor", "--ranks", str(file)], capture_output=True, text=True).stdout
    assert str(compared(job)).split() == text.replace(" %", "%").split()


def test_ranks_tell_each_other_what_they_waited_for(shards, tmp_path):
    script = pathlib.Path(__file__).parents[1] / "ranks.py"
    command = [sys.executable, str(script), "stragglers", shards, str(tmp_path)]
    done = forked.run(command, text=True, capture_output=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    found = told(tmp_path, "stragglers", 3)
    for each in found:
        assert each["played"] == found[0]["played"] and each["text"] == found[0]["text"] and each["steps"] == found[0]["steps"]
        assert [rank["rank"] for rank in each["real"]["ranks"]] == [0, 1, 2]
        assert [rank["batches"] for rank in each["real"]["ranks"]] == [each["steps"]] * 3
    (slow,) = found[2]["played"]["slow"]
    assert (slow["rank"], slow["stage"]) == (1, ["read", 30.0, 1.0])
    assert slow["waited"] == pytest.approx(0.41) and slow["median_waited"] == pytest.approx(0.02)
    assert [rank["batch_wait_p95_s"] for rank in found[0]["played"]["ranks"]] == [0.01, 0.7, 0.01]
    assert "rank 1 on" in found[0]["text"] and "its stage `read` takes 30.00 ms" in found[0]["text"]
    assert [rank["rank"] for rank in found[0]["some"]["ranks"]] == [0, 2] and found[1]["some"] is None
    assert found[0]["some"]["slow"] == []


def test_without_a_group_there_is_one_rank(shards):
    with ours.Loader(shards, batch_size=10, label="/n") as loader:
        batches = sum(1 for _ in loader)
        report = ours.stragglers(loader)
    assert [(rank["rank"], rank["batches"]) for rank in report["ranks"]] == [(0, batches)] and report["slow"] == []
    assert "no rank waits longer" in str(report) and str(pickle.loads(pickle.dumps(report))) == str(report)


def test_loaders_of_others_are_compared_by_their_diagnosis(monkeypatch):
    """The data set of the second rank sleeps ten times as long."""
    clock = injected(monkeypatch)

    class Data(torch.utils.data.Dataset):
        def __init__(self, asleep):
            self.asleep, self.transform = asleep, lambda value: clock.burns(0.002) or value

        def __len__(self):
            return 40

        def __getitem__(self, index):
            clock.passes(self.asleep)
            return self.transform(torch.tensor(index))

    lines = []
    for rank, asleep in enumerate((0.001, 0.01, 0.001)):
        found = tarflume.diagnose(torch.utils.data.DataLoader(Data(asleep), 4), 6, step=lambda batch: clock.burns(0.02), warmup=1)
        lines.append(_numbers(found) | {"rank": rank, "host": "n0"})
        assert ours.stragglers(found)["ranks"][0]["waited_s"] == pytest.approx(6 * found["fetch"]["mean_s"])
    report = compared(lines)
    (slow,) = report["slow"]
    assert slow["rank"] == 1 and slow["waited"] == pytest.approx(48 / 68) and slow["median_waited"] == pytest.approx(12 / 32)
    assert slow["stage"] == ("read", pytest.approx(10.0), pytest.approx(1.0))
    assert [rank["bottleneck"] for rank in report["ranks"]] == ["transform", "storage", "transform"]


def test_what_has_no_numbers_is_refused():
    with pytest.raises(tarflume.errors.UsageError, match=r"or what tarflume\.diagnose\(loader, step=\.\.\.\) returned, not list"):
        ours.stragglers([])
