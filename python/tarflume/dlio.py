"""A data loader for DLIO, the benchmark behind MLPerf Storage: DLIO measures tarflume as it measures its own loaders.

    export TARFLUME_SHARDS=/data/shards
    python -m tarflume.dlio /data/shards /data/dlio jpeg         # a folder for DLIO, and the options to give it
    dlio_benchmark workload=... ++workload.reader.data_loader_classname=tarflume.dlio.TarflumeLoader ...

Each picture is decoded whole and each array is in memory before its batch is delivered, as in DLIO's own readers. DLIO
allows such a loader under its OPEN rules. A run of it is no result of MLPerf.

DLIO lists the files of `data_folder` and examines each. `python -m tarflume.dlio` makes a folder with one file that
stands for all samples, so nothing has to be listed. With `data_loader_sampler=none` DLIO keeps no entry for each sample.
"""

from __future__ import annotations

import argparse
import io
import itertools
import os
import pathlib
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy
from dlio_benchmark.common.enumerations import DataLoaderType
from dlio_benchmark.data_loader.base_data_loader import BaseDataLoader

from . import _core
from .errors import DamagedError, UsageError

__all__ = ["TarflumeLoader", "npz_array", "options"]

# DLIO's names of formats, and the extensions of parts.
_EXTENSIONS = {"jpeg": "jpg", "png": "png", "npz": "npz", "npy": "npy"}


class TarflumeLoader(BaseDataLoader):  # type: ignore[misc]
    """Reads the data set that TARFLUME_SHARDS names, exactly shuffled; for the formats jpeg, png, npz and npy.

    Batch size, number of threads (`read_threads`), prefetch, seed, rank and world size are DLIO's. A batch is a list of
    arrays with a picture or an array each.

    Raises `UsageError` if TARFLUME_SHARDS is not set, for other formats, and if the data set has fewer samples than
    DLIO expects.
    """

    def __init__(self, format_type: Any, dataset_type: Any, epoch_number: int) -> None:
        super().__init__(format_type, dataset_type, epoch_number, DataLoaderType.PYTORCH)
        self._loader: _core.Loader | None = None
        self._epoch = epoch_number
        self._column: Callable[[_core.Batch], list[Any]] = list

    def read(self, *_: object) -> None:
        """Opens the data set; DLIO calls it once."""
        if self._loader is not None:
            return
        args = self._args
        shards = os.environ.get("TARFLUME_SHARDS")
        if not shards:
            raise UsageError("set TARFLUME_SHARDS to the data set that DLIO's samples were packed into")
        word = str(getattr(self.format_type, "value", self.format_type))
        if word not in _EXTENSIONS:
            raise UsageError(f"the format {word!r} is not supported; {', '.join(_EXTENSIONS)} are")
        dataset = _core.Dataset(shards)
        if len(dataset) < self.num_samples:
            raise UsageError(f"{shards} has {len(dataset)} samples and DLIO expects {self.num_samples}")
        settings: dict[str, Any] = {
            "rank": args.my_rank,
            "world_size": args.comm_size,
            "num_threads": max(1, args.read_threads),
            "prefetch": max(2, args.prefetch_size),
            "shuffle": "full",
            "seed": args.seed,
            "drop_last": True,
        }
        column, self._column = _decoding(dataset, _EXTENSIONS[word])
        self._loader = _core.Loader(dataset, batch_size=self.batch_size, **settings, **column)

    def next(self) -> Iterator[list[Any]]:
        """The batches of an epoch."""
        super().next()
        if self._loader is None:
            self.read()
        assert self._loader is not None
        epoch, self._epoch = self._epoch, self._epoch + 1  # DLIO leaves the loop at its last step
        for batch in self._loader.epoch(epoch):
            yield self._column(batch)

    def finalize(self) -> None:
        """Nothing: the next epoch uses the same loader."""

    @property
    def ledger(self) -> _core.Ledger | None:
        """What was delivered."""
        return None if self._loader is None else self._loader.ledger()


def _decoding(dataset: _core.Dataset, ext: str) -> tuple[dict[str, Any], Callable[[_core.Batch], list[Any]]]:
    """The column of a loader for these parts, and what makes arrays of it."""
    if ext in ("jpg", "png"):
        few = range(0, len(dataset), max(1, len(dataset) // 64))
        frames = [_frame(dataset.get(n, [ext])[ext]) for n in few]
        # DLIO generates pictures of about one size; the others of a data set may be larger than these.
        most = 2 * max(height * width for height, width, _ in frames)
        channels: Any = "gray" if all(grey for *_, grey in frames) else "rgb"
        image = _core.Image(_core.OriginalSize(most), ext, channels=channels)
        return {"image": image}, lambda batch: list(batch["image"])
    read = npz_array if ext == "npz" else _npy_array
    return {"columns": [ext]}, lambda batch: [read(file) for file in _files(batch[ext])]


def _files(column: Any) -> list[Any]:
    """The bytes of each row as views (uint8 [bytes])."""
    values, offsets = numpy.asarray(column.values).view(numpy.uint8), numpy.asarray(column.offsets).tolist()
    return [values[start:end] for start, end in itertools.pairwise(offsets)]


def _frame(file: bytes) -> tuple[int, int, bool]:
    """Height, width, and whether there is one channel, by the headers of a JPEG or PNG."""
    if file.startswith(b"\x89PNG"):
        return int.from_bytes(file[20:24], "big"), int.from_bytes(file[16:20], "big"), file[25] == 0
    at = 2
    while at + 9 < len(file):
        marker, length = file[at + 1], int.from_bytes(file[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            sides = file[at + 5 : at + 9]
            return int.from_bytes(sides[:2], "big"), int.from_bytes(sides[2:], "big"), file[at + 9] == 1
        at += 2 + length
    raise DamagedError("a JPEG has no frame header")


def npz_array(file: Any, name: str = "x") -> Any:
    """The array `name` of an .npz file in memory (uint8 [bytes]), as a view of these bytes if it is stored.

    Raises `DamagedError` if the file has no such array.
    """
    stored = _stored_member(file, f"{name}.npy")
    if stored is not None:
        return _npy_array(stored)
    with numpy.load(io.BytesIO(file.tobytes()), allow_pickle=False) as arrays:
        if name not in arrays:
            raise DamagedError(f"the .npz file has no array {name!r}")
        return arrays[name]


def _stored_member(file: Any, name: str) -> Any | None:
    """The bytes of a member of a zip that is not compressed; None if it is compressed or the zip is unusual."""
    with zipfile.ZipFile(_View(file)) as members:
        try:
            found = members.getinfo(name)
        except KeyError:
            raise DamagedError(f"the .npz file has no array {name.removesuffix('.npy')!r}") from None
    if found.compress_type != zipfile.ZIP_STORED:
        return None
    head = file[found.header_offset : found.header_offset + 30].tobytes()
    start = found.header_offset + 30 + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
    return file[start : start + found.file_size]


class _View(io.RawIOBase):
    """A file whose bytes are an array: the directory of a zip is read without a copy of the zip."""

    def __init__(self, file: Any) -> None:
        self._file, self._at = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = {0: 0, 1: self._at, 2: len(self._file)}[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, into: Any) -> int:
        piece = self._file[self._at : self._at + len(into)]
        into[: len(piece)] = piece.tobytes()
        self._at += len(piece)
        return len(piece)


def _npy_array(file: Any) -> Any:
    """The array of a .npy file in memory, as a view."""
    head = io.BytesIO(file[:16384].tobytes())
    version = numpy.lib.format.read_magic(head)
    read = numpy.lib.format.read_array_header_1_0 if version == (1, 0) else numpy.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(head)
    if dtype.hasobject:
        raise DamagedError("the .npy file has Python objects")
    values = file[head.tell() :][: int(numpy.prod(shape)) * dtype.itemsize].view(dtype)
    return values.reshape(shape, order="F" if fortran else "C")


def options(shards: str | os.PathLike[str], folder: str | os.PathLike[str], format: str) -> list[str]:
    """Makes a folder that DLIO accepts as `data_folder`, and returns the options that belong to it.

    The folder has one file, which stands for all samples, so that DLIO lists one name and not millions.

    Raises `UsageError` for a format that is not supported.
    """
    if format not in _EXTENSIONS:
        raise UsageError(f"the format {format!r} is not supported; {', '.join(_EXTENSIONS)} are")
    place = pathlib.Path(folder)
    for part in ("train", "valid"):
        (place / part).mkdir(parents=True, exist_ok=True)
    (place / "train" / f"all.{format}").write_text(f"stands for all samples of {os.fspath(shards)}\n")
    return [
        f"++workload.dataset.data_folder={place.absolute()}",
        f"++workload.dataset.format={format}",
        "++workload.dataset.num_files_train=1",
        f"++workload.dataset.num_samples_per_file={len(_core.Dataset(shards))}",
        "++workload.dataset.num_subfolders_train=0",
        "++workload.dataset.num_files_eval=0",
        "++workload.dataset.num_subfolders_eval=0",
        "++workload.reader.data_loader_classname=tarflume.dlio.TarflumeLoader",
        "++workload.reader.data_loader_sampler=none",
    ]


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tarflume.dlio", description=options.__doc__)
    parser.add_argument("shards", help="the data set")
    parser.add_argument("folder", help="the folder that is made for DLIO")
    parser.add_argument("format", choices=_EXTENSIONS)
    words = parser.parse_args()
    print(" \\\n".join(options(words.shards, words.folder, words.format)))
    print(f"# and: export TARFLUME_SHARDS={words.shards}")


if __name__ == "__main__":
    _main()
