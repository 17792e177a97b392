"""DLIO with tarflume as its data loader: it computes its AU, and each sample is delivered exactly once an epoch."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

from conftest import ROOT, pack

for name in ("dlio_benchmark", "torch", "mpi4py"):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed", allow_module_level=True)

LAUNCH = ROOT / "bench" / "dlio" / "launch.py"
FILES = 120
BASE = [
    "workload=default", "++workload.framework=pytorch", "++workload.workflow.profiling=False",
    "++workload.workflow.evaluation=False", "++workload.workflow.checkpoint=False",
    "++workload.dataset.num_subfolders_train=0", "++workload.dataset.num_subfolders_eval=0",
    "++workload.dataset.num_files_eval=0", "++workload.dataset.record_length=40000", "hydra.output_subdir=null",
]  # fmt: skip
TRAIN = [
    "++workload.workflow.generate_data=False", "++workload.workflow.train=True", "++workload.reader.data_loader=pytorch",
    "++workload.reader.batch_size=12", "++workload.reader.read_threads=2", "++workload.train.epochs=2",
    "++workload.train.computation_time=0.001", "++workload.metric.au=0.01",
]  # fmt: skip
# A loader that writes what it has delivered.
LEDGER = """\
import json, os, pathlib
from dlio_benchmark.data_loader.base_data_loader import BaseDataLoader
from tarflume.dlio import TarflumeLoader as Usual
class Told(Usual):
    def next(self):
        for batch in super().next():
            self.shapes = {numbers.shape for numbers in batch}
            yield batch
    def finalize(self):
        expected = str(self._loader.expected(self._epoch - 1))
        text = json.dumps([str(self.ledger), expected, sorted(self.shapes)])
        pathlib.Path(os.environ["TOLD"], f"{self._args.my_rank}-{self._epoch}").write_text(text)
"""


def dlio(folder: pathlib.Path, *options: str, ranks: int = 1, **variables: str) -> None:
    out = folder / "out"
    words = [sys.executable, str(LAUNCH), *BASE, *options, f"hydra.run.dir={out}", f"++workload.output.folder={out}"]
    if ranks > 1:
        words = [str(pathlib.Path(sys.executable).parent / "mpiexec"), "-n", str(ranks), *words]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder)} | variables
    ran = subprocess.run(words, capture_output=True, text=True, timeout=180, cwd=folder, env=environment)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]


def options_of(shards: pathlib.Path, folder: pathlib.Path, format: str) -> list[str]:
    """`python -m tarflume.dlio`, with the stand-ins that DLIO's import needs."""
    code = "import launch, runpy, sys; launch.stand_in(); sys.argv[1:] = sys.argv[1:]; runpy.run_module('tarflume.dlio', run_name='__main__')"
    words = [sys.executable, "-c", code, str(shards), str(folder), format]
    environment = os.environ | {"PYTHONPATH": str(LAUNCH.parent)}
    said = subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout
    return [word for word in said.replace("\\\n", " ").split("#")[0].split() if word.startswith("++")]


@pytest.mark.parametrize(("format", "ext", "ranks"), [("jpeg", "jpg", 1), ("npz", "npz", 1), ("jpeg", "jpg", 2)])
def test_dlio_judges_the_loader_and_each_sample_comes_once(
    format: str, ext: str, ranks: int, tmp_path: pathlib.Path
) -> None:
    loose, shards = tmp_path / "loose", tmp_path / "shards"
    for part in ("train", "valid"):
        (loose / part).mkdir(parents=True)
    data = [
        f"++workload.dataset.data_folder={loose}", f"++workload.dataset.format={format}",
        f"++workload.dataset.num_files_train={FILES}", "++workload.dataset.num_samples_per_file=1",
    ]  # fmt: skip
    dlio(tmp_path, *data, "++workload.workflow.generate_data=True", "++workload.workflow.train=False")
    pack("build", loose / "train", "-o", shards, "--require", ext, "--shards", 3)
    (tmp_path / "told.py").write_text(LEDGER)
    made = options_of(shards, tmp_path / "link", format)
    assert len(list((tmp_path / "link" / "train").iterdir())) == 1
    ours = [word.replace("tarflume.dlio.TarflumeLoader", "told.Told") for word in made]
    dlio(tmp_path, *ours, *TRAIN, ranks=ranks, TARFLUME_SHARDS=str(shards), TOLD=str(tmp_path))
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())["metric"]
    assert summary["train_au_mean_percentage"] > 0 and summary["train_au_meet_expectation"] == "success"
    import tarflume

    ledgers = [[json.loads((tmp_path / f"{rank}-{epoch}").read_text()) for rank in range(ranks)] for epoch in (2, 3)]
    first = [tarflume.Ledger(told[0]) for told in ledgers[0]]
    whole = first[0] if ranks == 1 else first[0].merge(first[1])
    assert whole.samples == FILES
    whole.prove(tarflume.Ledger(ledgers[0][0][1]))
    assert ledgers[1][0][2] == [[200, 200, 1]], ledgers


def test_arrays_of_npz_files_are_views_if_they_are_stored() -> None:
    sys.path.insert(0, str(LAUNCH.parent))
    import launch

    launch.stand_in()
    from tarflume.dlio import npz_array

    import io

    values = numpy.arange(600, dtype=numpy.uint16).reshape(20, 30)
    for save, view in ((numpy.savez, True), (numpy.savez_compressed, False)):
        out = io.BytesIO()
        save(out, x=values, y=[1])
        file = numpy.frombuffer(out.getvalue(), dtype=numpy.uint8)
        found = npz_array(file)
        assert (found == values).all() and found.dtype == values.dtype
        assert numpy.shares_memory(found, file) == view
    with pytest.raises(Exception, match="no array 'z'"):
        npz_array(file, "z")
