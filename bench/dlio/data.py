"""Makes the data of the workloads: DLIO's generator writes the files, `pack build` packs them."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent

#: Files that the hard links of the list of files refer to. A file system allows about 65,000 links of one file.
LINKED = 40


@dataclass(frozen=True)
class Workload:
    """A workload of MLPerf Storage, as words of DLIO's command line. `part` is the extension of the packed files."""

    name: str
    form: str
    part: str
    record: int
    stdev: int
    batch: int
    step: float
    au: float
    more: tuple[str, ...] = field(default=())

    def words(self, folder: pathlib.Path, files: int, per_file: int = 1) -> list[str]:
        """What both loaders and the generator have in common."""
        dataset = {
            "data_folder": folder, "format": self.form, "num_files_train": files, "num_files_eval": 0,
            "num_subfolders_train": 0, "num_subfolders_eval": 0, "num_samples_per_file": per_file,
            "record_length": self.record, "record_length_stdev": self.stdev,
        }  # fmt: skip
        words = ["workload=default", "++workload.framework=pytorch", "++workload.reader.data_loader=pytorch"]
        words += [f"++workload.dataset.{name}={value}" for name, value in dataset.items()]
        words += [f"++workload.workflow.{name}=False" for name in ("profiling", "evaluation", "checkpoint")]
        return [*words, *self.more]

    def training(self, threads: int, epochs: int, steps: int = -1) -> list[str]:
        """The words of a run."""
        reader = {"batch_size": self.batch, "read_threads": threads, "sample_shuffle": "seed"}
        train = {"epochs": epochs, "computation_time": self.step, "total_training_steps": steps}
        words = [f"++workload.reader.{name}={value}" for name, value in reader.items()]
        words += [f"++workload.train.{name}={value}" for name, value in train.items()]
        words += ["++workload.workflow.generate_data=False", "++workload.workflow.train=True"]
        return [*words, f"++workload.metric.au={self.au}"]


#: As MLPerf Storage defines it for a B200.
RETINANET = Workload("retinanet", "jpeg", "jpg", 322_957, 0, 24, 0.04755, 0.85)
#: The same for samples of a sixteenth of the bytes and steps of a tenth of the time.
UNET3D = Workload("unet3d", "npz", "npz", 146_600_628 // 16, 68_341_808 // 16, 7, 0.0162, 0.90)
#: Pictures of 32 x 32, to make a list of many files from a small data set.
TINY = Workload("files", "jpeg", "jpg", 1_024, 0, 24, 0.04755, 0.85)


def dlio(words: list[str], out: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """Runs DLIO with its outputs in the folder `out`."""
    here = [f"hydra.run.dir={out}", "hydra.output_subdir=null", f"++workload.output.folder={out}"]
    command = [sys.executable, str(HERE / "launch.py"), *words, *here]
    return subprocess.run(command, text=True, capture_output=True, check=True)


def generate(
    workload: Workload, root: pathlib.Path, files: int, pack: pathlib.Path
) -> tuple[pathlib.Path, pathlib.Path]:
    """The folder of files and the folder of shards; both are kept for the next run."""
    data, shards = root / f"{workload.name}-{files}", root / f"{workload.name}-{files}-shards"
    if not (shards / "dataset.json").exists():
        for folder in (data, shards):
            shutil.rmtree(folder, ignore_errors=True)
        words = ["++workload.workflow.generate_data=True", "++workload.workflow.train=False"]
        dlio([*workload.words(data, files), *words], root / "generated")
        pack_files(pack, data / "train", shards, workload.part)
    return data, shards


def links(root: pathlib.Path, files: int, pack: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """`files` hard links to the files that DLIO generated, and their shards."""
    data, shards = root / f"files-{files}", root / f"files-{files}-shards"
    if not (shards / "dataset.json").exists():
        few, _ = generate(TINY, root, LINKED, pack)
        for folder in (data, shards):
            shutil.rmtree(folder, ignore_errors=True)
        (data / "train").mkdir(parents=True)
        (data / "valid").mkdir()
        originals = sorted((few / "train").iterdir())
        digits = len(str(files))
        for n in range(files):
            os.link(originals[n % LINKED], data / "train" / f"img_{n:0{digits}}_of_{files}.jpeg")
        pack_files(pack, data / "train", shards, "jpg")
    return data, shards


def placeholder(root: pathlib.Path) -> pathlib.Path:
    """A data folder with one empty file, for DLIO to list: the plug-in reads the shards and no file of the list."""
    data = root / "placeholder"
    for folder in ("train", "valid"):
        (data / folder).mkdir(parents=True, exist_ok=True)
    (data / "train" / "shards.jpeg").touch()
    return data


def pack_files(pack: pathlib.Path, source: pathlib.Path, shards: pathlib.Path, part: str) -> None:
    command = [pack, "build", source, "-o", shards, "--require", part, "-q"]
    subprocess.run([str(word) for word in command], check=True)


def patched(root: pathlib.Path) -> pathlib.Path:
    """A folder with a copy of the installed DLIO that has reader_handler.patch."""
    spec = importlib.util.find_spec("dlio_benchmark")
    assert spec is not None and spec.submodule_search_locations, "DLIO is not installed"
    folder = root / "patched"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(next(iter(spec.submodule_search_locations)), folder / "dlio_benchmark")
    # The lines of the file end with CR LF, as those of the patch.
    command = ["patch", "--binary", "-s", "-p1", "-i", str(HERE / "reader_handler.patch")]
    subprocess.run(command, cwd=folder, check=True)
    return folder


def forget(folders: list[pathlib.Path]) -> None:
    """Asks the kernel to drop the files of the folders from the page cache."""
    os.sync()
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
