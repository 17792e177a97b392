"""`write`: the rows of a `ray.data.Dataset` as a data set of shards with sidecars and a manifest.

Each task writes its rows to a private folder in `OUT/.pack`. A task that Ray repeats uses another folder; only the
folders that Ray reports as results become part of the data set. The driver checks the keys and moves the shards.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from ray.data.block import BlockAccessor
from ray.data.datasource import Datasink

from .. import _core
from ..arguments import Path
from ..errors import PackError, UsageError
from ..results import Built
from ..writing import ShardWriter

__all__ = ["write"]


def write(
    dataset: Any,
    out: Path,
    *,
    prefix: str = "shard",
    shard_size: int | str | None = None,
    max_samples: int | None = None,
    key: str = "__key__",
    concurrency: int | None = None,
    ray_remote_args: Mapping[str, Any] | None = None,
    **options: Any,
) -> Built:
    """Writes the rows of a `ray.data.Dataset` as a data set in the folder `out`, which all machines must see.

    A row becomes a sample: the column `key` is its key, every other column a part with the column's name as extension
    (`bytes`, `str`, whole numbers, what `tarflume.ShardWriter.write` takes); None is no part.

    Arguments:

    - `prefix`, `shard_size`, `max_samples`, and further options: as in `tarflume.ShardWriter`. A task writes at least
      one shard.
    - `concurrency`, `ray_remote_args`: as in `ray.data.Dataset.write_datasink`.

    The shards are in the order of the tasks. Tasks that are repeated write no sample twice. `out` has no shard before
    all samples are written, and `dataset.json` comes last. A file system that all machines share is needed; for a
    store, write to such a folder and copy it with `pack sync`.

        tarflume.ray.write(ds.map(resize), "/shared/small", shard_size="128MiB")

    Returns the manifest. Raises `UsageError` if `out` holds a data set, `PackError` for a bad sample and for keys that
    repeat.
    """
    place = os.fspath(out)
    if "://" in place:
        raise UsageError(f"{place}: write to a folder that all machines share, and copy it with `pack sync`")
    sink = _Folder(pathlib.Path(place).absolute(), prefix, key, {"shard_size": shard_size, "max_samples": max_samples} | options)
    dataset.write_datasink(sink, concurrency=concurrency, ray_remote_args=dict(ray_remote_args or {}) or None)
    if sink.manifest is None:
        raise PackError(f"{place}: there are no rows, so no data set was written")
    return Built(sink.manifest | {"problems": []})


class _Folder(Datasink):  # type: ignore[misc]
    """A folder that becomes a data set."""

    def __init__(self, out: pathlib.Path, prefix: str, key: str, options: dict[str, Any]) -> None:
        self._out, self._prefix, self._key, self._options = out, prefix, key, options
        self._attempt = uuid.uuid4().hex
        self.manifest: dict[str, Any] | None = None

    @property
    def _parts(self) -> pathlib.Path:
        """The folder of this call: other calls do not touch it."""
        return self._out / ".pack" / "parts" / self._attempt

    def on_write_start(self, schema: Any = None) -> None:
        if (self._out / "dataset.json").exists():
            raise UsageError(f"{self._out} holds a data set already; choose another folder")
        self._parts.mkdir(parents=True)

    def write(self, blocks: Iterable[Any], ctx: Any) -> tuple[int, str] | None:
        """Writes the rows of one task; returns its number and its folder."""
        if not self._parts.is_dir():
            raise UsageError(f"this machine does not see {self._out}: all machines need the same path")
        folder = self._parts / f"{ctx.task_idx:06}-{uuid.uuid4().hex}"
        writer: ShardWriter | None = None
        for block in blocks:
            for row in BlockAccessor.for_block(block).iter_rows(public_row_format=True):
                # Created with the first row: a task may have none.
                writer = writer or ShardWriter(folder, prefix=self._prefix, **self._options)
                writer.write(self._sample(row))
        if writer is None:
            return None
        writer.close()
        return ctx.task_idx, folder.name

    def _sample(self, row: Mapping[str, Any]) -> dict[str, Any]:
        if self._key not in row:
            raise UsageError(f"a row has no column {self._key!r} with its key; its columns are {', '.join(row)}")
        parts = {name: value for name, value in row.items() if name != self._key and value is not None}
        return {"__key__": str(row[self._key]), **parts}

    def on_write_complete(self, write_result: Any) -> None:
        """Called on the driver with the results of the tasks that count, one for each."""
        folders = [result for result in getattr(write_result, "write_returns", write_result) if result is not None]
        parts = [self._parts / name for _, name in sorted(folders)]
        if parts:
            self.manifest = _core.merge_parts(self._out, parts, self._prefix)
        else:
            self._clean()

    def on_write_failed(self, error: Exception) -> None:
        self._clean()

    def _clean(self) -> None:
        """Removes what this call has written; other files in the working folder stay."""
        shutil.rmtree(self._parts, ignore_errors=True)
        for folder in (self._parts.parent, self._out / ".pack"):
            try:
                folder.rmdir()
            except OSError:
                return
