"""A data folder for DLIO with one file that stands for all samples, and the words of DLIO's command line for it."""

from __future__ import annotations

import os
import pathlib

from .. import _core
from ..errors import UsageError

__all__ = ["PARTS", "data_folder", "part_of"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: The parts that hold samples of a format of DLIO.
PARTS = {"jpeg": ("jpg", "jpeg"), "png": ("png",), "npz": ("npz",), "npy": ("npy",)}


def data_folder(shards: str | os.PathLike[str], folder: str | os.PathLike[str], form: str) -> list[str]:
    """Makes a folder that DLIO accepts as `data_folder`, and returns the words of DLIO's command line that belong to it.

    DLIO lists the files of its data folder in each process. This folder has one empty file, and DLIO is told that the
    file contains all samples. With `data_loader_sampler=none` DLIO keeps no entry for each sample.

    Arguments:
        shards: folder or URL of the shards.
        folder: the folder to make.
        form: the format of DLIO: jpeg, png, npz or npy.

    Raises:
        UsageError: the format is not supported, or a sample has no part of this format.
    """
    dataset = _core.Dataset(shards)
    part_of(dataset, form)
    place = pathlib.Path(folder)
    for name in ("train", "valid"):
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "train" / f"shards.{form}").touch()
    return [
        f"++workload.dataset.data_folder={place.absolute()}",
        f"++workload.dataset.format={form}",
        "++workload.dataset.num_files_train=1",
        f"++workload.dataset.num_samples_per_file={len(dataset)}",
        "++workload.dataset.num_subfolders_train=0",
        "++workload.dataset.num_files_eval=0",
        "++workload.dataset.num_subfolders_eval=0",
        "++workload.reader.data_loader_classname=tarflume.dlio.TarflumeLoader",
        "++workload.reader.data_loader_sampler=none",
    ]


def part_of(dataset: _core.Dataset, form: str) -> str:
    """The part with the samples of this format of DLIO.

    Raises:
        UsageError: the format is not supported, or a sample has no part of this format.
    """
    if form not in PARTS:
        raise UsageError(
            f"format {form}: tarflume.dlio reads {', '.join(PARTS)}; set workload.dataset.format to one of them"
        )
    found = dataset.extensions()
    for part in PARTS[form]:
        if found.get(part) == len(dataset):
            return part
    have = ", ".join(f"{count} {part}" for part, count in found.items())
    need = " or ".join(PARTS[form])
    raise UsageError(f"format {form}: each of the {len(dataset)} samples needs a part {need}; the shards have {have}")
