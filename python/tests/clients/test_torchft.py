"""docs/frameworks/checkpoints.md with torchft: a group is killed in the middle of a step and comes back."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

import tarflume
from headings import blocks, changed
from launched import QUIET
from patience import PATIENCE_S

torchft = pytest.importorskip("torchft")
from torchft.coordination import LighthouseServer  # noqa: E402

PAGE = "docs/frameworks/checkpoints.md"
JOB = pathlib.Path(__file__).with_name("torchft_job.py")
COUNT, KILL = 100, 4


def started(folder: pathlib.Path, lighthouse: str, name: str, run: int, kill: int = 0) -> subprocess.Popen:
    path = os.pathsep.join([str(folder), str(JOB.parents[1]), os.environ.get("PYTHONPATH", "")])
    env = os.environ | QUIET | {"PYTHONPATH": path, "TORCHFT_LIGHTHOUSE": lighthouse}
    with (folder / f"{name}-{run}.log").open("w") as log:
        return subprocess.Popen([sys.executable, JOB, name, str(run), str(kill)], cwd=folder, env=env, stdout=log, stderr=log)


def steps(folder: pathlib.Path) -> list[dict]:
    """What each group took in each of its steps, and whether it committed it."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            if "rows" in line:
                found.append(line | {"done": False})
            else:
                found[-1] |= line
    return found


def test_each_sample_is_in_one_committed_step_though_a_group_dies(shards, tmp_path):
    (tmp_path / "shards").symlink_to(shards)
    (tmp_path / "block.py").write_text(changed(blocks(PAGE, "torchft")[0], {'"/class"': '"/n"'}))
    lighthouse = LighthouseServer(bind="[::]:0", min_replicas=2, join_timeout_ms=1000, heartbeat_timeout_ms=2000)
    address = lighthouse.address()
    jobs = [started(tmp_path, address, name, 0) for name in ("a", "b")]
    dies = started(tmp_path, address, "c", 0, KILL)
    assert dies.wait(PATIENCE_S) == -signal.SIGKILL
    jobs.append(started(tmp_path, address, "c", 1))
    codes = [job.wait(PATIENCE_S) for job in jobs]
    logs = "\n".join(f"{path.name}:\n{path.read_text()[-3000:]}" for path in tmp_path.glob("*.log"))
    assert codes == [0, 0, 0], logs
    lighthouse.shutdown()
    found = steps(tmp_path)
    assert {groups for _, groups in (step["place"] for step in found)} > {2}, "the number of groups changed"
    committed = sorted({(*step["from"], *step["to"], step["place"][1]) for step in found if step["done"]})
    for before, after in zip(committed, committed[1:], strict=False):
        assert before[2:4] == after[:2], "committed steps follow one another, without a gap and without a repetition"
    assert committed[0][:2] == (0, 0) and committed[-1][2] > 0
    with tarflume.Loader(shards, batch_size=4, shuffle="full", seed=42) as loader:
        orders = {epoch: [int(key) for batch in loader.epoch(epoch) for key in batch["key"]] for epoch in range(committed[-1][0] + 1)}
    for epoch, begin, _, end, groups in committed:
        end = end or COUNT
        mine = [step for step in found if step["from"] == [epoch, begin] and step["place"][1] == groups]
        by_rank = {step["place"][0]: step["rows"] for step in mine}
        right = orders[epoch][begin:end]
        rows = sum((by_rank[rank] for rank in sorted(by_rank)), [])
        assert sorted(by_rank) == list(range(groups)) and rows[: len(right)] == right
