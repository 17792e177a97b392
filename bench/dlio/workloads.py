"""The two workloads of MLPerf Storage v3 for training, as options of DLIO, and their data."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    """Names and numbers as in the configurations of MLPerf Storage; `scale` says what is smaller here."""

    name: str
    format: str
    record_bytes: int
    batch: int
    step_s: float
    au: float
    files: int
    scale: str

    def data(self, folder: pathlib.Path, files: int | None = None) -> list[str]:
        """The options of the loose files."""
        return [
            f"++workload.dataset.data_folder={folder}",
            f"++workload.dataset.format={self.format}",
            f"++workload.dataset.num_files_train={files or self.files}",
            "++workload.dataset.num_files_eval=0",
            "++workload.dataset.num_subfolders_train=0",
            "++workload.dataset.num_subfolders_eval=0",
            "++workload.dataset.num_samples_per_file=1",
            *self.record(),
        ]

    def record(self) -> list[str]:
        """The length of a sample: PyPI's version and later ones call it differently."""
        return [f"++workload.dataset.{name}={self.record_bytes}" for name in ("record_length", "record_length_bytes")]

    def training(self, epochs: int, threads: int) -> list[str]:
        return [
            "++workload.reader.data_loader=pytorch",
            f"++workload.reader.batch_size={self.batch}",
            f"++workload.reader.read_threads={threads}",
            f"++workload.train.epochs={epochs}",
            f"++workload.train.computation_time={self.step_s}",
            f"++workload.metric.au={self.au}",
        ]


# Step times of a B200 in the configurations of MLPerf Storage v3.
RETINANET = Workload("retinanet", "jpeg", 322_957, 24, 0.04755, 0.85, 600, "600 of 1,170,301 files")
# A sample has 146.6 MB there and a step 0.162 s; both are divided by 16.
UNET3D = Workload("unet3d", "npz", 9_162_500, 7, 0.162 / 16, 0.90, 84, "samples of 1/16 of the bytes, steps of 1/16 of the time")
