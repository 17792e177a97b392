"""DLIO trains from shards: it counts and measures, each sample is delivered once, and arrays are those that DLIO reads."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

import tarflume
from conftest import ROOT, pack
from patience import PATIENCE_S

for needed in ("dlio_benchmark", "hydra", "mpi4py", "pydftracer", "torch"):
    if importlib.util.find_spec({"pydftracer": "dftracer"}.get(needed, needed)) is None:
        pytest.skip(f"{needed} is not installed", allow_module_level=True)

LAUNCH = ROOT / "bench" / "dlio" / "launch.py"
MPIEXEC = shutil.which("mpiexec", path=f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
FILES, BATCH = 120, 8


def run(command: list[object], **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in its own session: no process of it is left, also after the deadline."""
    words = [str(word) for word in command]
    env = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    child = subprocess.Popen(
        words, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        text, _ = child.communicate(timeout=PATIENCE_S)
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
    return subprocess.CompletedProcess(words, child.returncode, text, "")


def words(
    data: pathlib.Path, form: str, out: pathlib.Path, *more: str, files: int = FILES, each: int = 1, evaluated: int = 0
) -> list[str]:
    """DLIO's command line for small files of different sizes; `each` is the number of samples of a file."""
    dataset = {
        "data_folder": data, "format": form, "num_files_train": files, "num_files_eval": evaluated, "num_subfolders_train": 0,
        "num_subfolders_eval": 0, "num_samples_per_file": each, "record_length": 4096, "record_length_stdev": 2048,
    }  # fmt: skip
    made = ["workload=default", "++workload.framework=pytorch", "++workload.reader.data_loader=pytorch"]
    made += [f"++workload.dataset.{name}={value}" for name, value in dataset.items()]
    made += [f"++workload.workflow.{name}=False" for name in ("profiling", "checkpoint")]
    made.append(f"++workload.workflow.evaluation={evaluated > 0}")
    return [*made, f"hydra.run.dir={out}", "hydra.output_subdir=null", f"++workload.output.folder={out}", *more]


TRAIN = (
    "++workload.workflow.generate_data=False", "++workload.workflow.train=True", f"++workload.reader.batch_size={BATCH}",
    "++workload.reader.read_threads=2", "++workload.train.epochs=1", "++workload.train.computation_time=0.002",
    "++workload.reader.data_loader_classname=tarflume.dlio.TarflumeLoader",
)  # fmt: skip
GENERATE = ("++workload.workflow.generate_data=True", "++workload.workflow.train=False")
LISTED, UNLISTED = (f"++workload.reader.data_loader_sampler={sampler}" for sampler in ("iterative", "none"))

#: A folder for DLIO, and its shards.
Made = tuple[pathlib.Path, pathlib.Path]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    """Files that DLIO's generator wrote, and their shards, for each format once. "zip" is npz, compressed."""
    root = tmp_path_factory.mktemp("dlio")
    known: dict[str, Made] = {}

    def generated(form: str) -> Made:
        if form not in known:
            data, shards = root / form, root / f"{form}-shards"
            kind = "npz" if form == "zip" else form
            more = ["++workload.dataset.compression=zip"] if form == "zip" else []
            done = run([sys.executable, LAUNCH, *words(data, kind, root / "out", *more, *GENERATE)])
            assert done.returncode == 0, done.stdout[-3000:]
            part = "jpg" if form == "jpeg" else kind
            pack("build", data / "train", "-o", shards, "--require", part, "--shards", 3)
            known[form] = data, shards
        return known[form]

    return generated


def proved(out: pathlib.Path, ranks: int) -> int:
    """The samples that all ranks delivered: each expected one once."""
    notes = [json.loads((out / f"{rank}_tarflume.json").read_text()) for rank in range(ranks)]
    whole = tarflume.Ledger(notes[0]["ledger"])
    for note in notes[1:]:
        whole = whole.merge(tarflume.Ledger(note["ledger"]))
    whole.prove(tarflume.Ledger(notes[0]["expected"]))
    assert [(note["rank"], note["world_size"]) for note in notes] == [(rank, ranks) for rank in range(ranks)]
    assert all(note["jpeg_blocks_skipped"] == 0 for note in notes)
    return whole.samples


@pytest.mark.parametrize("form", ["jpeg", "npz"])
def test_an_epoch_of_dlio_takes_each_sample_once(made, form, tmp_path):
    data, shards = made(form)
    done = run([sys.executable, LAUNCH, *words(data, form, tmp_path, *TRAIN, LISTED)], TARFLUME_SHARDS=str(shards))
    assert done.returncode == 0, done.stdout[-3000:]
    utilization = re.search(r"Training Accelerator Utilization \[AU\] \(%\): ([\d.]+)", done.stdout)
    assert utilization and 0 < float(utilization[1]) <= 100
    assert f"Rank 0 step {FILES // BATCH} processed {BATCH} samples" in done.stdout
    assert proved(tmp_path, 1) == FILES


@pytest.mark.skipif(MPIEXEC is None, reason="mpiexec is not installed: pip install mpich")
def test_two_ranks_under_mpiexec_share_an_epoch(made, tmp_path):
    data, shards = made("jpeg")
    command = [MPIEXEC, "-n", 2, sys.executable, LAUNCH, *words(data, "jpeg", tmp_path, *TRAIN, LISTED)]
    done = run(command, TARFLUME_SHARDS=str(shards))
    assert done.returncode == 0, done.stdout[-3000:]
    assert "Number of Simulated Accelerators: 2" in done.stdout
    steps = FILES // (2 * BATCH)
    assert len(re.findall(rf"Rank \d step {steps} processed", done.stdout)) == 2
    assert proved(tmp_path, 2) == steps * 2 * BATCH


def test_dlio_that_lists_one_file_trains_from_all_samples(made, tmp_path):
    _, shards = made("jpeg")
    command = [sys.executable, "-m", "tarflume.dlio", str(shards), str(tmp_path / "one"), "jpeg"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    given = [word for word in printed.split() if word.startswith("++")]
    assert len(list((tmp_path / "one" / "train").iterdir())) == 1
    line = words(tmp_path, "jpeg", tmp_path / "out", *TRAIN, *given)
    done = run([sys.executable, LAUNCH, *line], TARFLUME_SHARDS=str(shards))
    assert done.returncode == 0, done.stdout[-3000:]
    assert proved(tmp_path / "out", 1) == FILES


def test_evaluation_reads_its_own_shards(made, tmp_path):
    _, shards = made("npy")
    data, count, batch = tmp_path / "data", 24, 4
    line = words(data, "npy", tmp_path / "made", *GENERATE, evaluated=count)
    done = run([sys.executable, LAUNCH, *line])
    assert done.returncode == 0, done.stdout[-3000:]
    pack("build", data / "valid", "-o", tmp_path / "valid", "--require", "npy")
    more = (f"++workload.reader.batch_size_eval={batch}", "++workload.evaluation.eval_time=0.001", LISTED)
    line = words(data, "npy", tmp_path / "out", *TRAIN, *more, evaluated=count)
    both = {"TARFLUME_SHARDS": str(shards), "TARFLUME_SHARDS_EVAL": str(tmp_path / "valid")}
    done = run([sys.executable, LAUNCH, *line], **both)
    assert done.returncode == 0, done.stdout[-3000:]
    assert proved(tmp_path / "out", 1) == FILES
    note = json.loads((tmp_path / "out" / "0_tarflume_eval.json").read_text())
    assert tarflume.Ledger(note["ledger"]) == tarflume.Ledger(note["expected"])
    assert tarflume.Ledger(note["ledger"]).samples == count


@pytest.mark.parametrize("form", ["jpeg", "png", "npz", "zip", "npy"])
def test_arrays_are_those_that_dlio_reads(made, form):
    data, shards = made(form)
    script = pathlib.Path(__file__).with_name("dlio_arrays.py")
    kind = "npz" if form == "zip" else form
    done = run([sys.executable, script, data, shards, kind], TARFLUME_SHARDS=str(shards))
    assert done.returncode == 0, done.stdout[-3000:]
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts["files"] == FILES
    assert facts["same"] == [True, True]
    assert facts["reordered"] and facts["ledger"]
    if form in ("npz", "npy"):
        assert facts["views"] == 2 * FILES


@pytest.mark.parametrize(
    ("form", "files", "environment", "text"),
    [
        ("jpeg", FILES, {"TARFLUME_SHARDS": ""}, "TARFLUME_SHARDS is not set: give it the folder or the URL"),
        ("jpeg", 100, {}, "the shards have 120 samples, but DLIO expects 100"),
        ("png", FILES, {}, "needs a part png; the shards have 120 jpg"),
        ("csv", FILES, {}, "format csv: tarflume.dlio reads jpeg, png, npz, npy"),
        (
            "jpeg",
            FILES,
            {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"},
            "DLIO is rank 0 of 1, but OMPI_COMM_WORLD_RANK=1 and OMPI_COMM_WORLD_SIZE=2",
        ),
    ],
    ids=["variable", "samples", "part", "format", "launcher"],
)
def test_wrong_settings_are_errors_with_a_remedy(made, tmp_path, form, files, environment, text):
    data, shards = made("jpeg")
    folder = tmp_path / "data"
    for name in ("train", "valid"):
        (folder / name).mkdir(parents=True)
    for path in (data / "train").iterdir():
        (folder / "train" / f"{path.stem}.{form}").symlink_to(path)
    line = words(folder, form, tmp_path / "out", *TRAIN, LISTED, files=files)
    done = run([sys.executable, LAUNCH, *line], **{"TARFLUME_SHARDS": str(shards)} | environment)
    assert done.returncode != 0
    assert text in done.stdout, done.stdout[-3000:]
