"""`pack slurm` on a real Slurm cluster of three nodes, one of which dies; ranks of `srun`."""

from __future__ import annotations

import filecmp
import functools
import json
import os
import pathlib
import stat
import subprocess
import sys
from collections.abc import Iterator

import pytest
import tarflume
from slurm_cluster import Cluster, cluster, missing

from conftest import PACK, pack, picture
from patience import PATIENCE_S, until

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")

# The node n3 stops in the middle of a shard, as a machine does that is about to die. The first attempt of task 0 fails
# as if the network had failed.
PROGRAM = """\
#!/bin/bash
if [ "$1" = run ] && [ "$SLURMD_NODENAME" = n3 ] && mkdir '{folder}/stopped' 2>/dev/null; then
    '{pack}' "$@" & pack=$!
    until grep -qs "\\"pid\\":$pack," '{out}'/.pack/claims/*; do kill -0 "$pack" || exit 99; done
    kill -STOP "$pack"
    touch '{folder}/stopped/in-a-shard'
    wait
fi
if [ "$1" = run ] && [ "$SLURM_ARRAY_TASK_ID" = 0 ] && mkdir '{folder}/failed' 2>/dev/null; then
    '{pack}' "$@" --shard 0
    exit 75
fi
exec '{pack}' "$@"
"""

RANK = """\
import json, os, sys, tarflume
rank, world_size = tarflume.launcher_rank()
words = {"batch_size": 5, "shuffle": "full", "seed": 3, "label": "/n", "rank": rank, "world_size": world_size, "drop_last": "uneven"}
loader = tarflume.Loader(sys.argv[1], **words)
keys = [key for batch in loader.epoch(0) for key in batch["key"]]
told = {"rank": rank, "keys": keys, "ledger": str(loader.ledger()), "expected": str(loader.expected(0))}
open(f"{sys.argv[2]}/{rank}.json", "w").write(json.dumps(told))
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("slurm")) as made:
        yield made


def linked_pairs(folder: pathlib.Path, count: int) -> pathlib.Path:
    """Pairs that take a second to pack: a few large pictures under many names."""
    folder.mkdir(parents=True)
    for n in range(8):
        picture(n).resize((900 + n, 900)).save(folder.parent / f"large-{n}.jpg", quality=95)
    for n in range(count):
        os.link(folder.parent / f"large-{n % 8}.jpg", folder / f"{n:05}.jpg")
        (folder / f"{n:05}.json").write_text(json.dumps({"n": n}))
    return folder


def assert_same(left: pathlib.Path, right: pathlib.Path) -> None:
    names = sorted(path.name for path in left.iterdir())
    assert names == sorted(path.name for path in right.iterdir())
    _, differ, errors = filecmp.cmpfiles(left, right, names, shallow=False)
    assert not differ and not errors, (differ, errors)


def test_a_node_dies_and_the_bytes_are_those_of_one_machine(slurm: Cluster, tmp_path: pathlib.Path) -> None:
    photos = linked_pairs(tmp_path / "photos", 2400)
    whole, out = tmp_path / "whole", tmp_path / "out"
    pack("build", photos, "-o", whole, "--shards", 24)
    program = tmp_path / "program" / "pack"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(folder=tmp_path, out=out, pack=PACK))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    said = subprocess.run(
        [PACK, "slurm", photos, "-o", out, "--shards", "24", "--nodes", "3", "--cpus", "2", "--submit"]
        + ["--program", program],
        env=slurm.environment,
        text=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    assert said.returncode == 0, said.stderr
    assert [line.split(": ")[0] for line in said.stdout.splitlines()][-2:] == ["run", "finalize"], said.stdout
    until("the node n3 is in a shard", (tmp_path / "stopped" / "in-a-shard").exists)
    assert slurm.kill_node("n3") >= 3  # slurmd, slurmstepd, the script and pack

    def published() -> bool:
        slurm.release()
        return (out / "dataset.json").exists() and slurm.is_empty()

    until("the data set is published", published, pause_s=0.1)
    assert_same(out, whole)
    assert (tmp_path / "failed").exists()
    log = (tmp_path / "out-slurm" / "finalize.out").read_text()
    assert "published 2,400 samples" in log, log
    # The node comes back, and the cluster is whole again for the next test.
    slurm._process("n3", "slurmd", "-D", "-N", "n3")
    until("three idle nodes", lambda: slurm.run("sinfo", "-h", "-o", "%D %t").split() == ["3", "idle"], pause_s=0.1)


def test_ranks_of_srun_share_an_epoch(slurm: Cluster, shards: pathlib.Path, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "rank.py"
    program.write_text(RANK)
    slurm.run("srun", "-N3", "-n6", sys.executable, program, shards, tmp_path, cwd=tmp_path)
    told = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("*.json"))]
    assert sorted(one["rank"] for one in told) == list(range(6))
    ledger = functools.reduce(tarflume.Ledger.merge, (tarflume.Ledger(one["ledger"]) for one in told))
    ledger.prove(tarflume.Ledger(told[0]["expected"]))
    keys = [key for one in told for key in one["keys"]]
    assert len(keys) == ledger.samples and set(keys) == {f"{n:04}" for n in range(100)}
