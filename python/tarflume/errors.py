"""What can go wrong. Every exception is an `Error` and knows `path`, `byte` and `key` where they are known.

Some are also exceptions of Python that programs catch already: a missing part is a `KeyError`, a refused read an
`OSError` (a missing file a `FileNotFoundError`), a cut tar a `tarfile.ReadError`, a wrong argument a `ValueError`.
"""

from __future__ import annotations

import os
import pathlib  # an error's path becomes one, also where no file can be opened to import this
import tarfile
from collections.abc import Sequence
from typing import Any

__all__ = [
    "DamagedError",
    "DecodeError",
    "DeviceError",
    "Error",
    "FormatError",
    "LimitError",
    "MissingFileError",
    "MissingPartError",
    "MissingSourceError",
    "PackError",
    "PermissionDeniedError",
    "ReadError",
    "StaleError",
    "StaleShardError",
    "TooManyBadError",
    "TruncatedError",
    "TryAgainError",
    "UsageError",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class Error(Exception):
    """Something went wrong; the text says what, where and what to do.

    Attributes:
        path: the file, if it is about one.
        byte: where in the file the trouble begins.
        key: the sample's key.
    """

    def __init__(
        self,
        text: str,
        *,
        path: str | os.PathLike[str] | None = None,
        byte: int | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(text)
        self.path = None if path is None else os.fspath(path)
        self.byte = byte
        self.key = key

    # KeyError shows the repr of its text, OSError its number; here the text is for people in every class.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[object, ...]:
        return (_again, (type(self), str(self), self.path, self.byte, self.key))


def _again(kind: type[Error], text: str, path: str | None, byte: int | None, key: str | None) -> Error:
    return kind(text, path=path, byte=byte, key=key)


class UsageError(Error, ValueError):
    """Something impossible was asked for; nothing was read yet."""


class ReadError(Error, OSError):
    """The operating system refused a read. `errno` and `filename` are set where they are known."""

    def __init__(
        self,
        text: str,
        *,
        path: str | os.PathLike[str] | None = None,
        byte: int | None = None,
        key: str | None = None,
        errno: int | None = None,
    ) -> None:
        super().__init__(text, path=path, byte=byte, key=key)
        self.errno = errno
        self.strerror = None if errno is None else os.strerror(errno)
        self.filename = self.path

    def __reduce__(self) -> tuple[object, ...]:
        return (_read_again, (type(self), str(self), self.path, self.byte, self.key, self.errno))


def _read_again(
    kind: type[ReadError], text: str, path: str | None, byte: int | None, key: str | None, errno: int | None
) -> ReadError:
    return kind(text, path=path, byte=byte, key=key, errno=errno)


class MissingFileError(ReadError, FileNotFoundError):
    """There is no such file or folder."""


class PermissionDeniedError(ReadError, PermissionError):
    """A file or folder may not be read."""


class MissingSourceError(UsageError, MissingFileError):
    """What was to be packed, verified or indexed is not there."""


class TruncatedError(Error, tarfile.ReadError):
    """A file ends before the bytes it promised."""


class DamagedError(Error):
    """Stored bytes do not match their checksum, or lie."""


class FormatError(Error, tarfile.ReadError):
    """A file is not of the format that its name or use promises, or of a newer version."""


class StaleError(Error):
    """A shard, sidecar or saved state belongs to another state of the data set."""


class StaleShardError(StaleError, tarfile.ReadError):
    """A shard is not the one that its sidecar describes: it was cut, or replaced."""


class MissingPartError(Error, KeyError):
    """A sample lacks a part that a column needs."""


class DecodeError(Error):
    """A part can't be decoded."""


class LimitError(Error):
    """Something is larger than the memory or the limit that was set."""


class TooManyBadError(Error):
    """More bad samples than `bad_budget` allows."""


class DeviceError(Error):
    """A GPU or its driver refused something, or there is none."""


class PackError(Error):
    """Data was refused while it was packed, written or indexed; nothing half-made was published.

    Attributes:
        problems: what is wrong: dicts of `path`, `reason` and, where they are known, `kind`, `byte` and `key`.
    """

    def __init__(
        self,
        text: str,
        *,
        path: str | os.PathLike[str] | None = None,
        byte: int | None = None,
        key: str | None = None,
        problems: Sequence[dict[str, Any]] = (),
    ) -> None:
        super().__init__(text, path=path, byte=byte, key=key)
        self.problems = list(problems)

    def __reduce__(self) -> tuple[object, ...]:
        return (_again_with, (type(self), str(self), self.path, self.byte, self.key, self.problems))


def _again_with(
    kind: type[PackError],
    text: str,
    path: str | None,
    byte: int | None,
    key: str | None,
    problems: list[dict[str, Any]],
) -> PackError:
    return kind(text, path=path, byte=byte, key=key, problems=problems)


class TryAgainError(Error):
    """The machine failed while it packed (a full disk), or another program is at work in that folder."""
