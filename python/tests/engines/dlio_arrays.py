"""Compares each array of two epochs of `TarflumeLoader` with what DLIO reads: `dlio_arrays.py DATA SHARDS FORMAT`.

A process of its own, because the modules that stand in for TensorFlow and DALI stay in sys.modules. Prints JSON.
"""

from __future__ import annotations

import collections
import hashlib
import json
import pathlib
import sys
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench" / "dlio"))

import launch

launch.stand_in()

from dlio_benchmark.common.enumerations import DatasetType, FormatType
from dlio_benchmark.utils.config import ConfigArguments
from dlio_benchmark.utils.utility import DLIOMPI

from tarflume.dlio import TarflumeLoader

BATCH = 8


def as_dlio_reads(path: pathlib.Path) -> npt.NDArray[Any]:
    """The statements of DLIO's readers."""
    if path.suffix == ".npz":
        return np.load(path, allow_pickle=True)["x"]
    return np.load(path) if path.suffix == ".npy" else np.asarray(Image.open(path))


def digest(array: npt.NDArray[Any]) -> str:
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]  # a gray picture
    head = f"{array.dtype} {array.shape} ".encode()
    return hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).hexdigest()


def main() -> None:
    data, shards, form = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    files = sorted((data / "train").iterdir())
    DLIOMPI.get_instance().initialize()
    args = ConfigArguments.get_instance()
    args.total_samples_train, args.batch_size, args.read_threads = len(files), BATCH, 2
    loader = TarflumeLoader(FormatType(form), DatasetType.TRAIN, 1)
    with tempfile.TemporaryDirectory() as out:
        args.output_folder = out
        loader.read()
        epochs: list[list[str]] = []
        views = 0
        for _ in range(2):
            epochs.append([])
            for batch in loader.next():
                assert isinstance(batch, list) and len(batch) == BATCH
                epochs[-1] += [digest(array) for array in batch]
                views += sum(not array.flags.owndata for array in batch)
            loader.finalize()
        note = json.loads((pathlib.Path(out) / "0_tarflume.json").read_text())
    expected = collections.Counter(digest(as_dlio_reads(path)) for path in files)
    same = [collections.Counter(epoch) == expected for epoch in epochs]
    facts = {"files": len(files), "same": same, "reordered": epochs[0] != epochs[1], "views": views}
    print(json.dumps(facts | {"ledger": note["ledger"] == note["expected"], "shards": shards}))


if __name__ == "__main__":
    main()
