"""The single steps from shards to samples, for pipelines with additional steps between them.

`tarfile_to_samples` does all of them at once, and a thread in Rust reads the tars ahead; these use Python's `tarfile`.
A tar that is cut is an error in both.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from ..errors import DamagedError, FormatError, TruncatedError, UsageError
from .filters import tarfile_to_samples
from .gopen import gopen
from .handlers import Handler, reraise_exception, told
from .reading import tarfile_samples

__all__ = [
    "base_plus_ext",
    "group_by_keys",
    "tar_file_expander",
    "tar_file_iterator",
    "tarfile_samples",
    "tarfile_to_samples",
    "url_opener",
    "valid_sample",
]

#: Names that belong to no sample.
META = re.compile(r"__[^/]*__($|/)")


def base_plus_ext(path: str) -> tuple[str | None, str | None]:
    """A name as key and extension: "a/b.seg.png" is ("a/b", "seg.png"); (None, None) if it belongs to no sample."""
    folder, slash, base = path.rpartition("/")
    stem, dot, ext = base.partition(".")
    return (folder + slash + stem, ext) if stem and dot else (None, None)


def valid_sample(sample: dict[str, Any] | None) -> bool:
    """Whether this is a sample: a dict that is not empty and has no `__bad__`."""
    return isinstance(sample, dict) and len(sample) > 0 and not sample.get("__bad__", False)


def url_opener(
    data: Iterable[dict[str, Any]], handler: Handler = reraise_exception, **kw: Any
) -> Iterator[dict[str, Any]]:
    """Shards (`{"url": ...}`) with an open file as `stream`. `kw` is `gopen`'s: `allow=("pipe",)`."""
    for shard in data:
        if not isinstance(shard, dict) or "url" not in shard:
            raise UsageError(f'url_opener takes dicts with a "url", not {shard!r:.80}')
        try:
            stream = gopen(shard["url"], "rb", **kw)
        except Exception as exn:
            if told(handler, exn):
                continue
            return
        yield {**shard, "stream": stream}


class _Front(io.RawIOBase):
    """An open file whose first bytes were read."""

    def __init__(self, first: bytes, file: Any) -> None:
        self.first, self.file = first, file

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        data, self.first = (self.first or self.file.read(len(into)))[: len(into)], self.first[len(into) :]
        into[: len(data)] = data
        return len(data)


def unpacked(file: Any) -> Any:
    """The bytes of a file that may be compressed, of all its members: `tarfile` reads the first one alone."""
    first = b""
    while len(first) < 6 and (more := file.read(6 - len(first))):
        first += more
    plain = io.BufferedReader(_Front(first, file), 1 << 18)
    if first.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=plain, mode="rb")
    if first.startswith(b"BZh"):
        return bz2.BZ2File(plain)
    if first.startswith((b"\xfd7zXZ\x00", b"\x5d\x00\x00\x80")):
        return lzma.LZMAFile(plain)
    return plain


def first_nonzero(file: Any, place: int) -> int | None:
    """The place of the next byte that is not zero; `place` is that of the next byte."""
    while data := file.read(1 << 18):
        rest = data.lstrip(b"\0")
        if rest:
            return place + len(data) - len(rest)
        place += len(data)
    return None


class _Header(tarfile.TarInfo):
    """A header that records whether the end marker was read."""

    @classmethod
    def fromtarfile(cls, tarfile: Any) -> Any:
        try:
            header = super().fromtarfile(tarfile)
        except _End:
            tarfile.ended = True
            raise
        except _Invalid as exn:
            # With `ignore_zeros`, tarfile would pass over damaged headers, too.
            raise _Refused(f"byte {tarfile.offset}: {exn}") from None
        tarfile.ended = False
        return header


_End: type[Exception] = tarfile.EOFHeaderError  # type: ignore[attr-defined]
_Invalid: type[Exception] = tarfile.InvalidHeaderError  # type: ignore[attr-defined]
_Refused = tarfile.ReadError


def tar_file_iterator(
    fileobj: Any,
    skip_meta: str | None = META.pattern,
    handler: Handler = reraise_exception,
    select_files: Callable[[str], bool] | None = None,
    rename_files: Callable[[str], str] | None = None,
    ignore_zeros: bool = False,
) -> Iterator[dict[str, Any]]:
    """The files of an open tar (plain, gzip, bzip2, xz) as dicts: `fname`, and `data` in bytes.

    ignore_zeros: reads on behind the end marker, for tars that were joined, as `tarfile` does.

    Raises:
        TruncatedError: the tar is cut, or has no end marker; `handler` decides first.
        FormatError: the file is not a tar; `handler` decides first.
        DamagedError: more than zeros follows the end marker; `handler` decides first.
    """
    name = str(getattr(fileobj, "name", None) or getattr(fileobj, "url", None) or fileobj)
    wrong: type[FormatError | TruncatedError] = FormatError
    try:
        plain = unpacked(fileobj)
        with tarfile.open(fileobj=plain, mode="r|", tarinfo=_Header, ignore_zeros=ignore_zeros) as tar:
            wrong = TruncatedError
            for member in tar:
                fname = member.name
                if not member.isreg() or (skip_meta is not None and re.match(skip_meta, fname)):
                    continue
                try:
                    fname = rename_files(fname) if rename_files else fname
                    wanted = select_files is None or select_files(fname)
                except Exception as exn:
                    exn.add_note(f"called with the file {fname!r} of {name}")
                    raise _OfUserError(exn) from None
                if not wanted:
                    continue
                file = tar.extractfile(member)
                assert file is not None
                yield {"fname": fname, "data": file.read()}
                tar.members = []  # type: ignore[attr-defined]  # tarfile would remember all members of the tar
            if not getattr(tar, "ended", False):
                raise TruncatedError(f"{name}: this tar ends without its end marker: it was cut", path=name)
            stream: Any = tar.fileobj
            place = None if ignore_zeros else first_nonzero(stream, stream.tell())
            if place is not None:
                raise DamagedError(
                    f"{name}: byte {place}: more than zeros follows the end marker, where readers of tars stop: read on "
                    "with ignore_zeros=True if tars were joined, or cut the file before this byte",
                    path=name,
                    byte=place,
                )
    except _OfUserError as failed:
        raise failed.error
    except (tarfile.TarError, DamagedError, EOFError, OSError, zlib.error, lzma.LZMAError) as exn:
        if isinstance(exn, OSError) and exn.errno is not None:
            raise  # the machine's
        if not told(handler, _known(exn, name, wrong)):
            raise _Stop from None


def _known(exn: Exception, name: str, wrong: type[FormatError | TruncatedError]) -> Exception:
    """The error of this package for one of `tarfile` or of a decompressor."""
    if isinstance(exn, (TruncatedError, DamagedError)):
        return exn
    if isinstance(exn, EOFError):
        return TruncatedError(f"{name}: {exn}", path=name)
    if isinstance(exn, tarfile.TarError):
        return wrong(f"{name}: {exn}", path=name)
    return DamagedError(f"{name}: the compressed data is damaged: {exn}", path=name)


class _OfUserError(Exception):
    """A function of the user failed: its exception says nothing about the tar."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class _Stop(Exception):
    """A handler ended the iteration."""


def tar_file_expander(
    data: Iterable[dict[str, Any]],
    handler: Handler = reraise_exception,
    select_files: Callable[[str], bool] | None = None,
    rename_files: Callable[[str], str] | None = None,
    eof_value: Any = None,
    ignore_zeros: bool = False,
) -> Iterator[dict[str, Any]]:
    """The files of shards with a `stream`: dicts of `fname`, `data`, `__url__` and, if known, `__local_path__`.

    eof_value: an item to yield after each shard, if not None. ignore_zeros: as for `tar_file_iterator`. This package's `group_by_keys` needs none.
    """
    for shard in data:
        about = {"__url__": shard["url"]}
        if shard.get("local_path") is not None:
            about["__local_path__"] = shard["local_path"]
        words: Any = {"handler": handler, "select_files": select_files, "rename_files": rename_files}
        words["ignore_zeros"] = ignore_zeros
        try:
            for file in tar_file_iterator(shard["stream"], **words):
                yield {**file, **about}
            shard["stream"].close()
        except _Stop:
            return
        except Exception as exn:
            if not told(handler, exn):
                return
        if eof_value is not None:
            yield eof_value


def group_by_keys(
    data: Iterable[dict[str, Any]],
    keys: Callable[[str], tuple[str | None, str | None]] = base_plus_ext,
    lcase: bool = True,
    suffixes: Collection[str] | None = None,
    handler: Handler = reraise_exception,
) -> Iterator[dict[str, Any]]:
    """Samples of neighboring files with the same key; files of different shards never form one sample.

    Raises:
        DamagedError: a sample has a part twice; `handler` decides first, and the second one is left out.
    """
    sample: dict[str, Any] | None = None
    for file in data:
        if not file:  # the end of a shard
            if sample is not None and valid_sample(sample):
                yield sample
            sample = None
            continue
        key, suffix = keys(file["fname"])
        if key is None or suffix is None:
            continue
        suffix = suffix.lower() if lcase else suffix
        if sample is None or (key, file["__url__"]) != (sample["__key__"], sample["__url__"]):
            if sample is not None and valid_sample(sample):
                yield sample
            sample = {"__key__": key, "__url__": file["__url__"]}
        if suffix in sample:
            twice = f"{file['__url__']}: {key}: this sample has the part {suffix!r} twice"
            if not told(handler, DamagedError(twice, path=file["__url__"], key=key)):
                break
            continue
        if suffixes is None or suffix in suffixes:
            sample[suffix] = file["data"]
        if "__local_path__" in file:
            sample["__local_path__"] = file["__local_path__"]
    if sample is not None and valid_sample(sample):
        yield sample
