"""The recipe for Dask: a task for each shard, one worker killed; the bytes are those of one build."""

from __future__ import annotations

import filecmp
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from conftest import PACK, pack, pairs, picture

distributed = pytest.importorskip("distributed", reason="distributed is not installed")
SHARDS = 24


def pack_shard(out: str, number: int, program: str = PACK) -> int:
    """The task of docs/CLUSTERS.md."""
    ran = subprocess.run([program, "run", out, "--shard", str(number)], capture_output=True, text=True)
    if ran.returncode == 75 or ran.returncode < 0:
        raise OSError(ran.stderr)  # Dask tries again
    if ran.returncode != 0:
        raise ValueError(ran.stderr)
    return number


@pytest.fixture
def client() -> Iterator[distributed.Client]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_worker_dies_and_the_bytes_are_those_of_one_build(client: distributed.Client, tmp_path: pathlib.Path) -> None:
    source = pairs(tmp_path / "pairs", 24)
    for n in range(24):
        picture(n).resize((900, 900)).save(source / f"{n:04}.jpg", quality=95)
    for n in range(24, 960):
        for ext in ("jpg", "json"):
            os.link(source / f"{n % 24:04}.{ext}", source / f"{n:04}.{ext}")
    whole, out = tmp_path / "whole", tmp_path / "out"
    pack("build", source, "-o", whole, "--shards", SHARDS)
    pack("plan", source, "-o", out, "--shards", SHARDS)
    tasks = client.map(pack_shard, [str(out)] * SHARDS, range(SHARDS), pure=False, retries=3)
    done = distributed.as_completed(tasks)
    for _ in range(6):
        next(done)
    # In the middle of a task.
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    assert sorted(client.gather(tasks)) == list(range(SHARDS))
    pack("finalize", out)
    names = sorted(path.name for path in whole.iterdir())
    assert filecmp.cmpfiles(out, whole, names, shallow=False)[0] == names


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
