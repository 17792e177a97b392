"""`TarflumeLoader`, a data loader of DLIO. Importing this module imports DLIO."""

from __future__ import annotations

import json
import math
import os
import pathlib
from collections.abc import Iterator
from typing import Any

from .. import _core
from ..errors import FormatError, UsageError
from .files import is_gray, npy_array, npz_array
from .folder import part_of

try:
    from dlio_benchmark.common.enumerations import DataLoaderType, DatasetType
    from dlio_benchmark.data_loader.base_data_loader import BaseDataLoader
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "dlio_benchmark":
        raise
    raise ModuleNotFoundError(
        "tarflume.dlio needs DLIO: pip install --no-deps dlio_benchmark", name="dlio_benchmark"
    ) from None

__all__ = ["TarflumeLoader"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: Variables of the launchers of MPI: rank and number of processes.
LAUNCHERS = (("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))

#: The most pixels of a picture: twice the number from which Pillow refuses to open one.
MAX_PIXELS = 2 * 178_956_970

#: Pictures whose headers are read to find out whether the data set is gray.
LOOKED_AT = 16


class TarflumeLoader(BaseDataLoader):  # type: ignore[misc]
    """Delivers the samples of shards to DLIO: lists of `batch_size` NumPy arrays in host memory.

    DLIO makes one for training and one for evaluation. Training reads `TARFLUME_SHARDS`, evaluation
    `TARFLUME_SHARDS_EVAL`: folders or URLs. Formats are jpeg, png, npz and npy. Pictures have the shape (height, width,
    channels), with one channel if the pictures are gray. An array has the shape and dtype of the file; it is a view of
    the batch's memory unless the file is compressed.

    Batch size, rank, number of ranks, `read_threads` and `seed` are those of DLIO. As many batches are in preparation as
    in DLIO's loader for PyTorch. The order is an exact shuffle of the whole data set. It changes with each epoch if
    DLIO's `seed_change_epoch` is set. Samples that do not fill the last batch on all ranks are left out, as DLIO does.

    After each epoch, `OUTPUT_FOLDER/RANK_tarflume.json` contains the ledgers of delivered and of expected samples.

    Raises:
        UsageError: in `read`: a variable is missing; the shards have not the format, or not the number of samples that
            DLIO expects; rank and number of ranks differ from those of the launcher.
    """

    def __init__(self, format_type: Any, dataset_type: Any, epoch_number: int) -> None:
        super().__init__(format_type, dataset_type, epoch_number, DataLoaderType.PYTORCH)
        self.epoch_number: int = epoch_number
        self._loader: _core.Loader | None = None
        self._part = ""
        self._expected: _core.Ledger | None = None

    def read(self) -> None:
        """Opens the shards. DLIO calls it once, before the first epoch."""
        train = self.dataset_type is DatasetType.TRAIN
        dataset = _core.Dataset(_shards("TARFLUME_SHARDS" if train else "TARFLUME_SHARDS_EVAL"))
        if len(dataset) != self.num_samples:
            raise UsageError(
                f"the shards have {len(dataset)} samples, but DLIO expects {self.num_samples}: pack the files of this "
                "run, or set num_files_train (num_files_eval) times num_samples_per_file to the number of samples"
            )
        self._part = part_of(dataset, str(self.format_type))
        rank, world = _place(self._args.my_rank, self._args.comm_size)
        threads = max(1, self._args.read_threads)
        image = self._part in ("jpg", "jpeg", "png")
        self._loader = _core.Loader(
            dataset,
            batch_size=self.batch_size,
            shuffle="full",
            seed=self._args.seed,
            rank=rank,
            world_size=world,
            drop_last=True,
            num_threads=threads,
            prefetch=_prefetch(threads, self._args.prefetch_size),
            image=_picture(dataset, self._part) if image else None,
            columns=None if image else [self._part],
        )
        self._expected = self._loader.ledger()

    def next(self) -> Iterator[list[Any]]:
        """The batches of one epoch."""
        super().next()
        if self._loader is None or self._expected is None:
            raise UsageError("read() opens the shards: call it before next()")
        # DLIO counts epochs from 1, and leaves this generator after the last step without asking for its end.
        epoch, self.epoch_number = self.epoch_number - 1, self.epoch_number + 1
        number = epoch if self._args.seed_change_epoch else 0
        self._expected = self._expected.merge(self._loader.expected(number))
        with self._loader.epoch(number) as batches:
            for batch in batches:
                yield _arrays(batch, self._part)

    def finalize(self) -> None:
        """Writes the ledgers of all epochs so far. DLIO calls it after each epoch."""
        if self._loader is None:
            return
        stats = self._loader.stats()
        facts = {
            "epochs": self.epoch_number - 1,
            "rank": self._args.my_rank,
            "world_size": self._args.comm_size,
            "ledger": str(self._loader.ledger()),
            "expected": str(self._expected),
            "jpeg_blocks_skipped": stats["jpeg_blocks_skipped"],
        }
        kind = "" if self.dataset_type is DatasetType.TRAIN else "_eval"
        path = pathlib.Path(self._args.output_folder, f"{self._args.my_rank}_tarflume{kind}.json")
        path.write_text(json.dumps(facts, indent=4) + "\n")


def _shards(variable: str) -> str:
    """The folder or URL of the shards."""
    if not (shards := os.environ.get(variable)):
        raise UsageError(f"{variable} is not set: give it the folder or the URL of the shards")
    return shards


def _place(rank: int, world: int) -> tuple[int, int]:
    """DLIO's rank and number of ranks, after a comparison with the launcher's."""
    for names in LAUNCHERS:
        theirs = [os.environ.get(name) for name in names]
        if None not in theirs and theirs != [str(rank), str(world)]:
            raise UsageError(
                f"DLIO is rank {rank} of {world}, but {names[0]}={theirs[0]} and {names[1]}={theirs[1]}: mpi4py uses "
                "another MPI than the launcher; start DLIO with the mpiexec of mpi4py's MPI"
            )
    return rank, world


def _prefetch(threads: int, size: int) -> int:
    """The batches that DLIO's loader for PyTorch has in preparation with as many workers."""
    return threads * (math.ceil(size / threads) if size > 0 else 2)


def _picture(dataset: _core.Dataset, part: str) -> _core.Image:
    """The whole picture, in gray if the pictures are gray. Color pictures are never reduced to gray."""
    step = max(1, len(dataset) // LOOKED_AT)
    gray = all(is_gray(dataset[n][part]) for n in range(0, len(dataset), step))
    return _core.Image(_core.OriginalSize(MAX_PIXELS), part, channels="gray" if gray else "rgb", orientation=False)


def _arrays(batch: _core.Batch, part: str) -> list[Any]:
    """The samples of a batch."""
    if part not in ("npz", "npy"):
        return [row.numpy() for row in batch["image"]]
    column = batch[part]
    data, ends = column.values.numpy(), column.offsets.numpy()
    parse = npz_array if part == "npz" else npy_array
    arrays = []
    for row, (start, end) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
        try:
            arrays.append(parse(data[start:end]))
        except FormatError as error:
            key = batch["key"][row]
            raise FormatError(f"sample {key}, part {part}: {error}", key=key) from error
    return arrays
