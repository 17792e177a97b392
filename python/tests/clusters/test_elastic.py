"""examples/elastic.py under torchrun with two machines, one of which dies: every sample takes part exactly once."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from conftest import ROOT, pack, picture
from patience import PATIENCE_S, until

torch = pytest.importorskip("torch", reason="torch is not installed")
EXAMPLE = ROOT / "python" / "examples" / "elastic.py"
SAMPLES = 2400


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("elastic")
    for n in range(8):
        picture(n).save(root / f"{n}.jpg", quality=90)
    (root / "pairs").mkdir()
    for n in range(SAMPLES):
        os.link(root / f"{n % 8}.jpg", root / "pairs" / f"{n:05}.jpg")
        (root / "pairs" / f"{n:05}.json").write_text(json.dumps({"class": n % 10}))
    pack("build", root / "pairs", "-o", root / "shards", "--shards", 6)
    return root / "shards"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Agents:
    """torchrun on each of several machines, which are processes here."""

    def __init__(self, command: list[str], folder: pathlib.Path, count: int) -> None:
        self.folder, self.running = folder, []
        port = free_port()
        for number in range(count):
            words = [
                *(sys.executable, "-m", "torch.distributed.run", f"--nnodes=1:{count}", "--max-restarts=3"),
                *("--nproc-per-node=1", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}"),
                # All agents are on the address of the endpoint, where each would try to hold the rendezvous.
                *("--rdzv-id=elastic", f"--rdzv-conf=last_call_timeout=10,join_timeout={int(PATIENCE_S)},is_host={int(number == 0)}"),
                *command,
            ]
            out = (folder / f"agent-{number}").open("wb")
            environment = os.environ | {"OMP_NUM_THREADS": "1"}
            agent = subprocess.Popen(words, stdout=out, stderr=out, start_new_session=True, env=environment)
            self.running.append(agent)

    def said(self, number: int) -> str:
        return (self.folder / f"agent-{number}").read_text(errors="replace")

    def kill(self, number: int) -> int:
        """Kills an agent and its workers, as a power failure does. Returns the number of processes."""
        agent = self.running[number]
        killed = [agent.pid, *descendants(agent.pid)]
        for process in killed:
            os.kill(process, signal.SIGKILL)
        agent.wait(timeout=PATIENCE_S)
        return len(killed)

    def stop(self) -> None:
        for agent in self.running:
            for process in [agent.pid, *descendants(agent.pid)] if agent.poll() is None else []:
                os.kill(process, signal.SIGKILL)
            agent.wait(timeout=PATIENCE_S)


def descendants(process: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        parents.setdefault(parent, []).append(int(folder.name))
    found, left = [], [process]
    while left:
        children = parents.get(left.pop(), [])
        found += children
        left += children
    return found


@pytest.fixture
def agents() -> Iterator[list[Agents]]:
    made: list[Agents] = []
    yield made
    for one in made:
        one.stop()


def test_a_machine_dies_in_an_epoch_and_each_sample_takes_part_once(
    photographs: pathlib.Path, tmp_path: pathlib.Path, agents: list[Agents]
) -> None:
    checkpoint = tmp_path / "checkpoint"
    both = Agents([str(EXAMPLE), str(photographs), str(checkpoint)], tmp_path, 2)
    agents.append(both)

    def saved() -> bool:
        assert both.running[0].poll() is None, both.said(0) + both.said(1)
        return checkpoint.exists()

    until("a checkpoint", saved, pause_s=0.002)
    # The first machine holds the rendezvous; the second one dies.
    assert both.kill(1) >= 2
    assert both.running[0].wait(timeout=PATIENCE_S) == 0, both.said(0)
    said = both.said(0)
    done = re.findall(r"rank (\d) of (\d): (\d+) samples, each once in its epoch", said)
    assert done == [("0", "1", str(2 * SAMPLES))], said
    state = torch.load(checkpoint)
    assert state["loader"] is not None
