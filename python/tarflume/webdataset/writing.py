"""`TarWriter` and `ShardWriter`: write samples into tars. Closing a shard writes its sidecar."""

from __future__ import annotations

import io
import os
import sys
import tarfile
import time
import warnings
from collections.abc import Callable
from typing import IO, Any, Self, cast

from .._core import write_sidecar
from ..errors import UsageError
from .encoding import make_encoder
from .gopen import gopen

__all__ = ["ShardWriter", "TarWriter"]


def _mode(name: str | None, compress: bool | str | None) -> Any:
    """The mode for `tarfile`: compressed as `compress` or the end of the name requires."""
    if compress is False:
        return "w|"
    if compress is True:
        return "w|gz"
    kinds = ("gz", "bz2", "xz")
    if compress and compress not in kinds:
        raise UsageError(f"compress={compress!r} is not known; there are True, False, {', '.join(map(repr, kinds))}")
    return "w|" + next((kind for kind in kinds if (compress or name or "").endswith(kind)), "")


class TarWriter:
    """Writes samples, dicts with a `__key__`, into one tar.

    fileobj: a path, or an open file. encoder: see `make_encoder`. compress: True, "gz", "bz2", "xz", by default from the
    end of the name. keep_meta: also writes names that begin with `_`. mtime: seconds, by default the time of writing.
    format: the format of headers, "PAX_FORMAT" (the default, which is ustar where possible) or another of `tarfile`.
    """

    def __init__(
        self,
        fileobj: str | os.PathLike[str] | IO[bytes],
        user: str = "bigdata",
        group: str = "bigdata",
        mode: int = 0o0444,
        compress: bool | str | None = None,
        encoder: Any = True,
        keep_meta: bool = False,
        mtime: float | None = None,
        format: Any = None,
    ) -> None:
        name = os.fspath(fileobj) if isinstance(fileobj, (str, os.PathLike)) else None
        tar_mode = _mode(name, compress)
        self.own_fileobj = None if name is None else _created(name)
        self.stream = cast(Any, fileobj if name is None else self.own_fileobj)
        kind = getattr(tarfile, format) if isinstance(format, str) else format
        self.tarstream: Any = tarfile.open(
            fileobj=self.stream, mode=tar_mode, format=tarfile.PAX_FORMAT if kind is None else kind
        )
        self.encoder = make_encoder(encoder)
        self.user, self.group, self.mode = user, group, mode
        self.keep_meta, self.mtime, self.compress = keep_meta, mtime, compress

    def write(self, obj: dict[str, Any]) -> int:
        """Writes a sample, its parts in the order of their names; returns their size in bytes."""
        obj = self.encoder(obj)
        if "__key__" not in obj:
            raise UsageError(f"this sample has no __key__, only {list(obj)}")
        key = obj["__key__"]
        parts = {name: obj[name] for name in sorted(obj) if name != "__key__" and (self.keep_meta or name[0] != "_")}
        # All parts are checked before the first is written: a tar never contains half a sample.
        members = [self._member(key, name, value) for name, value in parts.items()]
        for member, data in members:
            self.tarstream.addfile(member, io.BytesIO(data))
        self.tarstream.members = []  # tarfile would remember all members of the tar
        return sum(member.size for member, _ in members)

    def _member(self, key: str, name: str, value: Any) -> tuple[tarfile.TarInfo, bytes]:
        data = value.encode("utf-8") if isinstance(value, str) else value
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise UsageError(f"{key}.{name} is {type(value).__name__}, not bytes: give an encoder", key=key)
        member = tarfile.TarInfo(f"{key}.{name}")
        member.size = len(memoryview(data).cast("B"))
        member.mtime = int(time.time()) if self.mtime is None else self.mtime
        member.mode, member.uname, member.gname = self.mode, self.user, self.group
        member.tobuf(self.tarstream.format)  # raises for names that do not fit
        return member, bytes(data)

    def close(self) -> None:
        """Ends the tar."""
        self.tarstream.close()
        if self.own_fileobj is not None:
            self.own_fileobj.close()
            self.own_fileobj = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _created(url: str) -> IO[bytes]:
    if url == "-":
        return os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    if url.startswith("pipe:"):
        opened: IO[bytes] = gopen(url, "wb")
        return opened
    scheme = url.partition(":")[0] if ":" in url.partition("/")[0] else ""
    if scheme not in ("", "file"):
        raise UsageError(f"{url}: shards are written to files, not to {scheme}: copy them from there, as post= can")
    return open(url.removeprefix("file:"), "wb")


class ShardWriter:
    """Writes samples into one shard after the other, and the sidecar of each when it is closed.

    pattern: a path with a number in it, "train-%06d.tar", or a function from numbers to paths. maxcount: samples of a
    shard; maxsize: bytes of its parts, which the last sample may exceed. post: called with the path of each shard after
    its sidecar is written. start_shard: the first number. opener: returns an open file for a path. verbose: prints each
    path. sidecar: False writes none; compressed tars and those of an opener have none. entry_points: stores those of
    JPEGs, which takes as long as decoding them. All other arguments are those of `TarWriter`.
    """

    def __init__(
        self,
        pattern: str | os.PathLike[str] | Callable[[int], str],
        maxcount: int = 100000,
        maxsize: float = 3e9,
        post: Callable[[str], Any] | None = None,
        start_shard: int = 0,
        verbose: int = 1,
        opener: Callable[[str], IO[bytes]] | None = None,
        *,
        sidecar: bool = True,
        entry_points: bool = False,
        **kw: Any,
    ) -> None:
        self.pattern = os.fspath(pattern) if isinstance(pattern, os.PathLike) else pattern
        self.maxcount, self.maxsize, self.post, self.verbose, self.opener = maxcount, maxsize, post, verbose, opener
        self.sidecar, self.entry_points, self.kw = sidecar, entry_points, kw
        self.shard, self.total, self.count, self.size = start_shard, 0, 0, 0
        self.fname: str | None = None
        self.tarstream: TarWriter | None = None
        self.next_stream()

    def next_stream(self) -> None:
        """Closes the shard, and starts the next one."""
        self.finish()
        self.fname = self.pattern(self.shard) if callable(self.pattern) else self.pattern % self.shard
        if self.verbose:
            print("# writing", self.fname, self.count, f"{self.size / 1e9:.1f} GB", self.total)
        self.shard += 1
        self.tarstream = TarWriter(self.opener(self.fname) if self.opener else self.fname, **self.kw)
        self.count, self.size = 0, 0

    def write(self, obj: dict[str, Any]) -> None:
        """Writes a sample."""
        if self.tarstream is None or self.count >= self.maxcount or self.size >= self.maxsize:
            self.next_stream()
        assert self.tarstream is not None
        self.size += self.tarstream.write(obj)
        self.count += 1
        self.total += 1

    def finish(self) -> None:
        """Closes the shard, writes its sidecar, calls `post`."""
        writer, self.tarstream = self.tarstream, None
        if writer is None or self.fname is None:
            return
        packed = _mode(self.fname, self.kw.get("compress")) != "w|"
        writer.close()
        if self.sidecar and not packed and not self.opener and self.count:
            _, notes = write_sidecar(self.fname, entry_points=self.entry_points)
            for note in notes:
                warnings.warn(f"{self.fname}: {note}", stacklevel=2)
        if self.post is not None:
            self.post(self.fname)

    def close(self) -> None:
        """Closes the last shard."""
        self.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
