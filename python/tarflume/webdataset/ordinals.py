"""`FirstOrdinals`: the ordinals of the samples of a list of shards, which recipes draw by."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping

from .. import _core

__all__ = ["FirstOrdinals"]

#: Ordinals set aside for each shard without a sidecar.
_OF_SHARD = 1 << 32
#: The front of a URL. Paths of this machine have none.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class FirstOrdinals:
    """The ordinal of the first sample of each shard. It is found once for a list of shards, and again after unpickling."""

    def __init__(self) -> None:
        self._urls: tuple[str, ...] | None = None
        self._found: Mapping[str, int] = {}

    def of(self, urls: Iterable[str]) -> Mapping[str, int]:
        """The ordinals by the shards: those of `tarflume.Loader`, if all shards are local paths with sidecars."""
        wanted = tuple(dict.fromkeys(urls))
        if wanted != self._urls:
            self._found = _first_ordinals(wanted)
            self._urls = wanted
        return self._found

    def __reduce__(self) -> tuple[type[FirstOrdinals], tuple[()]]:
        return FirstOrdinals, ()


def _first_ordinals(urls: tuple[str, ...]) -> dict[str, int]:
    if not urls or not all(_is_local(url) and _is_file(url) and _is_file(_sidecar(url)) for url in urls):
        return {url: place * _OF_SHARD for place, url in enumerate(urls)}
    ordinal, found = 0, {}
    for url, (samples, _) in zip(urls, _core.Dataset(list(urls)).shard_sizes, strict=True):
        found[url] = ordinal
        ordinal += samples
    return found


def _is_local(url: str) -> bool:
    return _SCHEME.match(url) is None


def _is_file(path: str) -> bool:
    """Whether there is a file.

    Raises:
        OSError: the file system cannot tell.
    """
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False  # no path has the characters that a ValueError is about


def _sidecar(tar: str) -> str:
    """The path of the sidecar of a tar, by the rule of `index_path` in Rust."""
    name = tar.rpartition("/")[2]
    for ending in (".tar", ".tar.zst"):
        if name.endswith(ending) and name != ending:
            return tar.removesuffix(ending) + ".index"
    return tar + ".index"
