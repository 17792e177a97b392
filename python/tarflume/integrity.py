"""`sign` and `repair`: the integrity of a data set that is finished."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from .arguments import Path, checked, dict_of, paths_of
from .progress import Progress, finished


@checked("tarflume.pack.sign")
def sign(folder: Path, *, key: Path, password: str | None = None) -> dict[str, Any]:
    """Signs a data set: writes `dataset.json.minisig` beside its `dataset.json`, whose digests cover all tars and sidecars.

    `folder`: the folder of the data set. `key`: the file of a secret key, which `pack sign --new-key` or minisign has
    made. `password`: of an encrypted key. Reads `dataset.json` alone: verify the data set before. After an append, sign
    again; `verify(signed_by=)` compares.

    Returns `path` of the signature, `root` (the root digest of the data set), `key` (its number) and `public_key`.

    Raises:
        UsageError: there is no data set or no key, or the password is wrong or missing.
    """
    return _core.pack_sign(os.fspath(folder), key=os.fspath(key), password=password)


@checked("tarflume.pack.repair")
def repair(
    folder: Path,
    source: Path | Sequence[Path],
    *,
    root: str | None = None,
    dry_run: bool = False,
    jobs: int | None = None,
    storage: Mapping[str, object] | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """Replaces what is damaged or missing in a data set by the bytes of copies, until each digest is that of `dataset.json`.

    `source`: copies of the data set, folders or URLs, also in other shards, and the folders that were packed; each part
    is taken from the first that has it. `root`: restores a damaged `dataset.json`, too: the one with this root digest.
    `dry_run`: writes nothing. `jobs`, `storage`, `progress`: as for `verify`.

    Returns `shards`, `sound` (those in which nothing was wrong), `files` (what was replaced: dicts of `path`, `bytes`,
    `from` and, for parts of a tar, `samples`, `parts` and `headers`) and `problems` (what no copy has, as in the report
    of `verify`).

    Raises:
        UsageError: there is no data set, or no such copy.
        PackError: `dataset.json` is damaged, and no `root` is given or no copy has it.
    """
    work = _core.pack_repair(
        os.fspath(folder), paths_of(source), root=root, dry_run=dry_run, jobs=jobs, storage=dict_of(storage)
    )
    return finished(work, progress)
