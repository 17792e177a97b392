"""Shards copied to a folder of this machine: `FileCache`, `LRUCleanup`, `StreamingOpen`, with webdataset's names.

They are steps between a list of shards and `tariterators.tar_file_expander`, in place of `url_opener`. Neither
`WebDataset` nor `tarflume.Loader` needs them: both read object stores, and the loader has a cache of blocks (`cache=`).
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import urllib.parse
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from ..errors import FormatError, UsageError
from .gopen import gopen, local_path
from .handlers import Handler, reraise_exception, told

__all__ = ["FileCache", "LRUCleanup", "StreamingOpen", "check_tar_format", "islocal", "url_to_cache_name"]

#: URLs whose path names the file; other URLs are quoted as a whole.
_BY_PATH = ("", "file", "http", "https", "ftp", "ftps", "gs", "s3", "ais")
#: Beside a file of the cache: the URL that it was copied from.
_ORIGIN = ".url"
_CHUNK = 1 << 20
#: How often a file is looked for again that another process has removed from the cache.
_TRIES = 3


def islocal(url: str) -> bool:
    """Whether `url` is a file of this machine."""
    return urllib.parse.urlsplit(url).scheme in ("", "file")


def url_to_cache_name(url: str, ndir: int = 0) -> str:
    """The file name of a URL, with the last `ndir` of its folders; an unknown scheme gives the quoted URL."""
    if not isinstance(url, str):
        raise UsageError(f"url_to_cache_name takes a text, not {url!r:.80}")
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in _BY_PATH:
        return urllib.parse.quote(url, safe="_+{}*,-")[-128:]
    return "/".join(parts.path.lstrip("/").split("/")[-1 - ndir :])


def check_tar_format(fname: str) -> bool:
    """Whether the first bytes of a file are those of a tar, or of gzip."""
    with open(fname, "rb") as file:
        head = file.read(512)
    return head.startswith(b"\x1f\x8b") or head[257:262] == b"ustar"


class LRUCleanup:
    """Removes the oldest files of `cache_dir` while all of them together exceed `cache_size` bytes.

    keyfn: the age of a file by its path, by default the time of its last change. interval: seconds in which `cleanup`
    runs at most once; None for every call.
    """

    def __init__(
        self,
        cache_dir: str | os.PathLike[str] | None = None,
        cache_size: float = 1e12,
        keyfn: Callable[[str], float] = os.path.getctime,
        verbose: bool = False,
        interval: float | None = 30,
    ) -> None:
        self.cache_dir, self.cache_size, self.keyfn = cache_dir, cache_size, keyfn
        self.verbose, self.interval = verbose, interval
        self.last_run: float | None = None

    def set_cache_dir(self, cache_dir: str | os.PathLike[str]) -> None:
        """Sets the folder."""
        self.cache_dir = cache_dir

    def cleanup(self) -> None:
        """Removes files. A file that another process removes meanwhile is no error."""
        now = time.monotonic()
        if self.interval is not None and self.last_run is not None and now - self.last_run < self.interval:
            return
        self.last_run = now
        files: list[tuple[float, int, str]] = []
        for folder, _, names in os.walk(self.cache_dir or "."):
            for name in names:
                path = os.path.join(folder, name)
                if not name.endswith(_ORIGIN):
                    with contextlib.suppress(FileNotFoundError):
                        files.append((self.keyfn(path), os.path.getsize(path), path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self.cache_size:
                break
            if self.verbose:
                print(f"# deleting {path}", file=sys.stderr)
            for gone in (path, path + _ORIGIN):
                with contextlib.suppress(FileNotFoundError):
                    os.remove(gone)
            total -= size


def _urls(data: Iterable[Any]) -> Iterator[str]:
    return (shard["url"] if isinstance(shard, dict) else shard for shard in data)


class StreamingOpen:
    """Opens shards as `gopen` does: dicts of `url` and `stream`, and of `local_path` for a file of this machine."""

    def __init__(
        self, verbose: bool = False, handler: Handler = reraise_exception, *, allow: Collection[str] = ()
    ) -> None:
        self.verbose, self.handler, self.allow = verbose, handler, allow

    def __call__(self, urls: Iterable[Any]) -> Iterator[dict[str, Any]]:
        """The open shards."""
        for url in _urls(urls):
            try:
                stream = gopen(url, "rb", allow=self.allow)
                place = {"local_path": local_path(url)} if islocal(url) else {}
            except Exception as exn:
                if told(self.handler, exn):
                    continue
                return
            yield {"url": url, "stream": stream, **place}


class FileCache:
    """Opens shards from copies in `cache_dir`, and makes the copies that are missing.

    cache_dir: by default that of the environment's `WDS_CACHE`, or `./_cache`. url_to_name: the name of a copy. verbose:
    prints what is copied. validator: whether a copy is a shard; None for no check. cache_size: bytes of all copies, of
    which the oldest are removed; -1 for no limit. allow: as for `gopen`. Two URLs whose copies would have one name are
    an error; webdataset reads the copy of the first for both.
    """

    def __init__(
        self,
        cache_dir: str | os.PathLike[str] | None = None,
        *,
        url_to_name: Callable[[str], str] = url_to_cache_name,
        verbose: bool = False,
        validator: Callable[[str], bool] | None = check_tar_format,
        handler: Handler = reraise_exception,
        cache_size: int = -1,
        cache_cleanup_interval: float | None = 30,
        allow: Collection[str] = (),
    ) -> None:
        self.cache_dir = os.fspath(os.environ.get("WDS_CACHE", "./_cache") if cache_dir is None else cache_dir)
        self.url_to_name, self.validator, self.handler = url_to_name, validator, handler
        self.verbose, self.allow = verbose, allow
        self.cleaner = None
        if cache_size > 0:
            self.cleaner = LRUCleanup(self.cache_dir, cache_size, verbose=verbose, interval=cache_cleanup_interval)

    def get_file(self, url: str) -> str:
        """The path of a shard: of its copy, or of the file itself if it is on this machine.

        Raises:
            FormatError: the copy is no tar. UsageError: the copy of another URL has this name.
        """
        if islocal(url):
            return local_path(url)
        name = self.url_to_name(url)
        path = os.path.join(self.cache_dir, name)
        if not name or os.path.isabs(name) or ".." in name.split("/"):
            raise UsageError(f"{url}: {name!r} is no name of a copy: give another url_to_name", path=url)
        if not os.path.exists(path):
            self._copy(url, path)
        elif (origin := _origin(path)) not in (None, url):
            raise UsageError(
                f"{url}: {path} is the copy of {origin}: give url_to_name=lambda url: url_to_cache_name(url, ndir=1), or "
                "more folders",
                path=url,
            )
        return path

    def _copy(self, url: str, path: str) -> None:
        if self.verbose:
            print(f"# downloading {url} to {path}", file=sys.stderr)
        if self.cleaner is not None:
            self.cleaner.cleanup()
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        partial = f"{path}.temp{os.getpid()}"
        try:
            with gopen(url, "rb", allow=self.allow) as stream, open(partial, "wb") as out:
                while data := stream.read(_CHUNK):
                    out.write(data)
            if self.validator is not None and not self.validator(partial):
                raise FormatError(f"{url}: the server's answer is no tar", path=url)
            with open(partial + _ORIGIN, "w", encoding="utf-8") as out:
                out.write(url)
            os.rename(partial + _ORIGIN, path + _ORIGIN)
            os.rename(partial, path)
        finally:
            for rest in (partial, partial + _ORIGIN):
                with contextlib.suppress(FileNotFoundError):
                    os.remove(rest)

    def _opened(self, url: str) -> dict[str, Any]:
        for left in reversed(range(_TRIES)):
            path = self.get_file(url)
            try:
                return {"url": url, "stream": open(path, "rb"), "local_path": path}
            except FileNotFoundError:
                if left == 0 or islocal(url):
                    raise
        raise AssertionError("the loop returns or raises")

    def __call__(self, urls: Iterable[Any]) -> Iterator[dict[str, Any]]:
        """The open shards."""
        for url in _urls(urls):
            try:
                shard = self._opened(url)
            except Exception as exn:
                if told(self.handler, exn):
                    continue
                return
            yield shard


def _origin(path: str) -> str | None:
    """The URL of a copy; None for a copy that webdataset made."""
    try:
        with open(path + _ORIGIN, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None
