"""`reshard`: packs the samples of existing shards into other shards."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _core
from .arguments import Path, checked, dict_of, pairs_of, paths_of, typed_columns
from .progress import Progress, finished
from .results import Built


@checked("tarflume.pack.reshard")
def reshard(
    src: Path | Sequence[Path],
    out: Path,
    *,
    where: str | Sequence[str] | None = None,
    keys: Path | None = None,
    exclude: str | Sequence[str] | None = None,
    parts: Sequence[str] = (),
    drop: Sequence[str] = (),
    rename: str | Mapping[str, str] | None = None,
    key_prefix: Sequence[str] = (),
    shards: int | None = None,
    shard_size: int | str | None = None,
    shard_samples: int | None = None,
    prefix: str | None = None,
    shuffle: int | None = None,
    split: str | Mapping[str, float] | None = None,
    stratify: str | None = None,
    split_by: str | None = None,
    split_list: str | Mapping[str, Path] | None = None,
    split_group: str | None = None,
    names: str | Mapping[str, str] = "allow",
    dedupe: bool = False,
    limit: int | None = None,
    check: Literal["none", "structure", "decode"] | None = None,
    on_problem: Literal["fail", "skip", "quarantine"] = "fail",
    entry_points: bool = True,
    compress: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    json_rules: Literal["strict", "python"] | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    storage: Mapping[str, object] | None = None,
    single_writer: bool = False,
    key_by: Literal["first-dot", "last-dot"] = "first-dot",
    ignore_zeros: bool = False,
    provenance: Mapping[str, str] | None = None,
    progress: Progress = None,
) -> Built:
    """Packs the samples of existing shards into other shards: splits, merges, shuffles and filters data sets.

    Parts pass unchanged. They are compared with the checksums of their sidecars, and entry points are taken over.

    - `src`: local data sets, folders of tars, and tars, also compressed ones (gzip, bzip2, xz, zstd).
    - `where`: conditions that each sample meets, such as "json:/width >= 224" or "key ~ 'cat/*'"; all must hold.
      `keys`: a file that lists the keys to pack. `exclude`: globs of members, or "@FILE", a list of keys.
    - `parts`: extensions that are packed; `drop`: extensions that are not. `rename`: renames extensions,
      `{"txt": "caption.txt"}`.
    - `key_prefix`: a text for each source that is put before its keys, so that no key repeats.
    - Samples keep their order without `shuffle`. Splits stay, unless `split`, `split_list` or `split_by` is given; `split_by="none"`
      joins them.
    - `key_by`: the dot of a name at which its key ends. "last-dot" makes "22.05.jpg" and "22.06.jpg" two samples, and
      replaces dots in keys by "_"; extensions with dots that `parts` names stay whole.
    - `ignore_zeros`: reads tars on behind their end markers, for tars that were joined; without it such a tar is an
      error.
    - `columns`: typed columns of the sidecars, as for `build`; by default those of the sources, "" for none.
    - `json_rules`: as for `build`; by default those with which the sources were packed.
    - The other arguments are those of `build`.

    Returns and raises as `build`.
    """
    conditions = [where] if isinstance(where, str) else list(where or ())
    work = _core.pack_reshard(
        paths_of(src),
        os.fspath(out),
        conditions=conditions,
        keys=keys,
        exclude=[exclude] if isinstance(exclude, str) else list(exclude or ()),
        parts=list(parts),
        drop=list(drop),
        rename=pairs_of(rename) or "",
        key_prefix=list(key_prefix),
        shards=shards,
        shard_size=shard_size,
        shard_samples=shard_samples,
        prefix=prefix,
        shuffle=shuffle,
        split=pairs_of(split),
        stratify=stratify,
        split_by=split_by,
        split_list=pairs_of(split_list),
        split_group=split_group,
        names=pairs_of(names) or "",
        dedupe=dedupe,
        limit=limit,
        check=check,
        on_problem=on_problem,
        entry_points=entry_points,
        compress=compress,
        columns=typed_columns(columns),
        json_rules=json_rules,
        jobs=jobs,
        fresh=fresh,
        dry_run=dry_run,
        storage=dict_of(storage),
        single_writer=single_writer,
        key_by=key_by,
        ignore_zeros=ignore_zeros,
        provenance=[f"{name}={value}" for name, value in (provenance or {}).items()],
    )
    done = finished(work, progress)
    manifest: dict[str, Any] = done.pop("manifest")
    return Built(manifest | done, "planned" if dry_run else "published")
