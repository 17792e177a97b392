"""Ranks under mpiexec: `pack run` and loaders take them from the launcher; a job that MPI has aborted is resumed."""

from __future__ import annotations

import filecmp
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import tarflume

from conftest import PACK, pack, pairs
from patience import PATIENCE_S

HERE = pathlib.Path(__file__).resolve().parent
MPIEXEC = shutil.which("mpiexec", path=f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="mpiexec is not installed: PyPI's package mpich has it")


def mpiexec(ranks: int, *command: object) -> subprocess.CompletedProcess[str]:
    words = [str(MPIEXEC), "-n", str(ranks), *map(str, command)]
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)


def told(folder: pathlib.Path, name: str) -> list[dict[str, str]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob(f"{name}-*.json"))]


def merged(ledgers: list[str]) -> tarflume.Ledger:
    return functools.reduce(tarflume.Ledger.merge, map(tarflume.Ledger, ledgers))


def test_ranks_of_mpiexec_share_an_epoch(shards: pathlib.Path, tmp_path: pathlib.Path) -> None:
    done = mpiexec(3, sys.executable, HERE / "mpi_rank.py", shards, tmp_path)
    assert done.returncode == 0, done.stderr
    ranks = told(tmp_path, "rank")
    assert [(one["rank"], one["world_size"]) for one in ranks] == [(0, 3), (1, 3), (2, 3)]
    merged([one["ledger"] for one in ranks]).prove(tarflume.Ledger(ranks[0]["expected"]))


def test_a_job_that_mpi_has_aborted_goes_on_with_other_ranks(shards: pathlib.Path, tmp_path: pathlib.Path) -> None:
    aborted = mpiexec(3, sys.executable, HERE / "mpi_rank.py", shards, tmp_path, "--kill", 4)
    assert aborted.returncode != 0
    killed = told(tmp_path, "killed")
    assert len(killed) == 3 and not told(tmp_path, "rank")
    done = mpiexec(2, sys.executable, HERE / "mpi_rank.py", shards, tmp_path, tmp_path / "killed-0.json")
    assert done.returncode == 0, done.stderr
    ranks = told(tmp_path, "rank")
    assert [one["world_size"] for one in ranks] == [2, 2]
    whole = merged([one["ledger"] for one in killed + ranks])
    whole.prove(tarflume.Ledger(ranks[0]["expected"]))


def test_pack_run_takes_its_share_from_mpiexec(tmp_path: pathlib.Path) -> None:
    photos = pairs(tmp_path / "photos", 60)
    whole, out = tmp_path / "whole", tmp_path / "out"
    pack("build", photos, "-o", whole, "--shards", 12)
    pack("plan", photos, "-o", out, "--shards", 12)
    done = mpiexec(4, PACK, "run", out)
    assert done.returncode == 0, done.stderr
    assert sorted(set(done.stderr.split("rank ")[1:][n][:6] for n in range(4))) == [f"{n} of 4" for n in range(4)]
    pack("finalize", out)
    names = sorted(path.name for path in whole.iterdir())
    assert filecmp.cmpfiles(out, whole, names, shallow=False)[0] == names


def test_open_mpi_and_mpich_that_disagree_are_an_error() -> None:
    variables = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMI_RANK": "0", "PMI_SIZE": "2"}
    code = "import tarflume; print(tarflume.launcher_rank())"
    run = functools.partial(subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True)
    both = run(env=os.environ | variables)
    assert both.returncode != 0 and "UsageError" in both.stderr and "rank=" in both.stderr
    alone = run(env=os.environ | dict(list(variables.items())[:2]))
    assert alone.stdout.strip() == "(1, 2)"
