"""Array jobs of any scheduler: `pack run` is started for each index, killed, doubled and started again."""

from __future__ import annotations

import filecmp
import os
import pathlib
import subprocess

import pytest
from player import play

from conftest import PACK, pack, pairs, picture

SHARDS = 24
# What each scheduler tells the job of an index, of 8.
SCHEDULERS = {
    "kubernetes": lambda index: {"JOB_COMPLETION_INDEX": str(index)},
    "aws batch": lambda index: {"AWS_BATCH_JOB_ARRAY_INDEX": str(index), "AWS_BATCH_JOB_ARRAY_SIZE": "8"},
    "pbs": lambda index: {"PBS_ARRAY_INDEX": str(index)},
    "lsf": lambda index: {"LSB_JOBINDEX": str(index + 1), "LSB_JOBINDEX_END": "8"},
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, pathlib.Path]:
    """A folder of pairs, of which each shard takes some milliseconds, and the data set that one build makes of it."""
    root = tmp_path_factory.mktemp("source")
    folder = pairs(root / "pairs", 48)
    for n in range(48):
        picture(n).resize((700, 700)).save(folder / f"{n:04}.jpg", quality=95)
    for n in range(48, 1200):
        for ext in ("jpg", "json"):
            os.link(folder / f"{n % 48:04}.{ext}", folder / f"{n:04}.{ext}")
    pack("build", folder, "-o", root / "whole", "--shards", SHARDS)
    return folder, root / "whole"


def assert_same(left: pathlib.Path, right: pathlib.Path) -> None:
    names = sorted(path.name for path in right.iterdir())
    assert sorted(path.name for path in left.iterdir()) == names
    _, differ, errors = filecmp.cmpfiles(left, right, names, shallow=False)
    assert not differ and not errors, (differ, errors)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("steal", [(), ("--steal",)], ids=["shares", "steal"])
def test_indexes_are_killed_and_doubled_and_the_bytes_are_those_of_one_build(
    scheduler: str, steal: tuple[str, ...], source: tuple[pathlib.Path, pathlib.Path], tmp_path: pathlib.Path
) -> None:
    folder, whole = source
    out = tmp_path / "out"
    pack("plan", folder, "-o", out, "--shards", SHARDS)
    command = [PACK, "run", str(out), "--of", "8", "--jobs", "1", *steal]
    played = play(command, SCHEDULERS[scheduler], 8, seed=len(scheduler))
    assert played.done == set(range(8)) and not played.failed
    assert played.doubles == 2, played
    pack("finalize", out)
    assert_same(out, whole)
    print(f"{scheduler}: {played}")


def test_bad_data_fails_its_index_and_is_not_tried_again(
    source: tuple[pathlib.Path, pathlib.Path], tmp_path: pathlib.Path
) -> None:
    folder = pairs(tmp_path / "bad", 40)
    (folder / "0007.json").write_text("{")
    out = tmp_path / "out"
    pack("plan", folder, "-o", out, "--shards", 8)
    command = [PACK, "run", str(out), "--of", "8", "--jobs", "1"]
    played = play(command, SCHEDULERS["kubernetes"], 8, kills=0, doubles=0)
    assert len(played.failed) == 1 and len(played.done) == 7
    assert played.starts == 8 and played.restarts == 0
    finalized = subprocess.run([PACK, "finalize", str(out)], capture_output=True, text=True)
    assert finalized.returncode == 75 and "1 of 8 shards are not finished" in finalized.stderr
    pack("run", out, "--on-problem", "skip")
    pack("finalize", out)
