"""`read`: a data set as a `ray.data.Dataset`, with a task for each shard."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow
import ray.data
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from .. import _core
from ..arguments import Path
from ..errors import UsageError

__all__ = ["read"]

# Samples of a block.
_BLOCK = 2048


def read(
    shards: Path | Sequence[Path],
    *,
    parts: Sequence[str] | None = None,
    split: str | None = None,
    storage: Mapping[str, object] | None = None,
    override_num_blocks: int | None = None,
    **options: Any,
) -> Any:
    """Reads a data set as a `ray.data.Dataset` with a column `__key__` and a column of bytes for each part.

    Arguments:

    - `shards`: a data set, as in `tarflume.Dataset`: a folder, a URL, tars. All machines must see it.
    - `parts`: the extensions that are read, for example `["jpg", "cls"]`; by default all. Bytes of other parts are not
      read. A sample that lacks a part has None there.
    - `split`: the samples of this split alone. `storage`: how the store of a URL is reached.
    - `override_num_blocks`: the number of tasks at most; by default one for each shard.
    - `options`: further arguments of `ray.data.read_datasource`.

    The number of samples and of bytes is known before anything is read.

        ds = tarflume.ray.read("/shared/shards", parts=["json"])
        ds.count()                                   # without reading
        ds.filter(lambda row: b'"cat"' in row["json"])

    Raises `UsageError` for a part that no sample has.
    """
    source = _Shards(shards, parts, split, storage)
    return ray.data.read_datasource(source, override_num_blocks=override_num_blocks, **options)


class _Shards(Datasource):  # type: ignore[misc]
    """The shards of a data set. Tasks get paths, and open them themselves."""

    def __init__(
        self,
        shards: Path | Sequence[Path],
        parts: Sequence[str] | None,
        split: str | None,
        storage: Mapping[str, object] | None,
    ) -> None:
        super().__init__()
        self._storage = None if storage is None else dict(storage)
        found = _core.Dataset(shards, split=split, storage=self._storage)
        known = found.extensions()
        missing = [part for part in parts or () if part not in known]
        if missing:
            raise UsageError(f"no sample has a part {missing[0]!r}; the parts are {', '.join(known)}")
        self._parts = sorted(known) if parts is None else list(parts)
        self._paths = [os.fspath(shard) for shard in found.shards]
        self._sizes = found.shard_sizes
        # The shares of parts that are not read are not known without the sidecars: all parts are counted as equal.
        self._share = len(self._parts) / max(1, len(known))

    def get_name(self) -> str:
        return "tarflume"

    def estimate_inmemory_data_size(self) -> int:
        return int(sum(size for _, size in self._sizes) * self._share)

    def get_read_tasks(self, parallelism: int, *_: object, **__: object) -> list[Any]:
        """A task for each shard; for several if there are more shards than tasks are wanted."""
        count = len(self._paths)
        groups = min(count, parallelism) if parallelism > 0 else count
        bounds = [count * n // groups for n in range(groups + 1)]
        return [self._task(range(start, end)) for start, end in zip(bounds, bounds[1:], strict=False) if start < end]

    def _task(self, shards: range) -> Any:
        paths = [self._paths[n] for n in shards]
        metadata = BlockMetadata(
            num_rows=sum(self._sizes[n][0] for n in shards),
            size_bytes=int(sum(self._sizes[n][1] for n in shards) * self._share),
            input_files=paths,
            exec_stats=None,
        )
        schema = pyarrow.schema([("__key__", pyarrow.string()), *((part, pyarrow.binary()) for part in self._parts)])
        return ReadTask(_reader(paths, self._parts, self._storage, schema), metadata, schema=schema)


def _reader(
    paths: list[str], parts: list[str], storage: dict[str, object] | None, schema: pyarrow.Schema
) -> Callable[[], Iterable[pyarrow.Table]]:
    def tables() -> Iterator[pyarrow.Table]:
        for path in paths:
            shard = _core.Dataset(path, storage=storage)
            for start in range(0, len(shard), _BLOCK):
                yield _table(shard, range(start, min(start + _BLOCK, len(shard))), parts, schema)

    return tables


def _table(shard: _core.Dataset, rows: range, parts: list[str], schema: pyarrow.Schema) -> pyarrow.Table:
    samples = [shard.get(n, parts) if parts else {"__key__": shard.key(n)} for n in rows]
    columns = {name: [sample.get(name) for sample in samples] for name in schema.names}
    return pyarrow.table(columns, schema=schema)
