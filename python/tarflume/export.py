"""`export`: writes a data set in the format of another loader."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Literal

from . import _core
from .arguments import Path, checked, dict_of, extensions_of, paths_of
from .progress import Progress, finished
from .results import Built


@checked("tarflume.pack.export")
def export(
    path: Path,
    out: Path,
    *,
    to: Literal["folder", "csv", "coco", "mds", "litdata", "tfrecord", "parquet", "hf", "megatron"],
    parts: str | Iterable[str] | None = None,
    json: Literal["columns", "text"] | None = None,
    numbers: Literal["exact", "text", "nearest"] = "exact",
    json_rules: Literal["strict", "python"] | None = None,
    encodings: Mapping[str, str] | None = None,
    shard_size: int | str | None = None,
    jobs: int | None = None,
    fsync: bool = True,
    storage: Mapping[str, object] | None = None,
    names: Literal["path=replace", "path=refuse"] | None = None,
    ignore_zeros: bool = False,
    progress: Progress = None,
) -> Built:
    """Writes a data set, or one tar, in the format of another loader.

    `out`: a new folder; for "csv" and "coco" a file; for "megatron", which takes data sets of `tokens`, the path without ".bin"
    and ".idx". `parts`: extensions to export, by default all. `json`: "columns" makes each field a column, "text" keeps
    the part as it is. `numbers`: a JSON number that columns do not hold, such as an integer of more than 63 bits, is an
    error with "exact"; "text" writes the numbers of its field as text, "nearest" rounds. `json_rules`: as for `build`; by
    default those with which the data set was packed. `encodings`: declares parts, such as `{"jpg": "bytes"}`.
    `shard_size`: bytes of a file. `fsync`: False does not wait for the disk. `storage`: of a URL in `path`, see `build`.
    `names`: "path=replace" cleans names such as "/a.jpg" and "a//b.jpg" in a folder; a leading "./" is always left out.
    `ignore_zeros`: reads a tar without a sidecar on behind its end markers, for tars that were joined. `jobs`,
    `progress`: as for `build`.

    Returns `samples`, `files`, `bytes` and `shards_without_checksums`; for "megatron" `documents`, `tokens` and
    `bytes`. `out` appears once every file is complete.
    """
    work = _core.pack_export(
        paths_of(path)[0],
        os.fspath(out),
        to=to,
        parts=extensions_of(parts),
        json=json,
        numbers=numbers,
        json_rules=json_rules,
        encodings=list((encodings or {}).items()),
        shard_size=shard_size,
        jobs=jobs,
        fsync=fsync,
        storage=dict_of(storage),
        names=names,
        ignore_zeros=ignore_zeros,
    )
    return Built(finished(work, progress), "exported")
