"""The exceptions. Every exception is an `Error` with `path`, `byte` and `key`, if they are known.

Some are also built-in exceptions, which programs catch already: a missing part is a `KeyError`, a failed read an
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
    "NetworkError",
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
    """The base of all exceptions. The text contains the problem, its place and the remedy.

    Attributes:
        path: the file, if there is one.
        byte: the position in the file where the problem begins.
        key: the key of the sample.
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

    # KeyError shows the repr of its text, and OSError its number; here every class shows the text.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[object, ...]:
        return (_again, (type(self), str(self), self.path, self.byte, self.key))


def _again(kind: type[Error], text: str, path: str | None, byte: int | None, key: str | None) -> Error:
    return kind(text, path=path, byte=byte, key=key)


class UsageError(Error, ValueError):
    """A wrong argument or an impossible combination; nothing was read yet."""


class ReadError(Error, OSError):
    """The operating system failed to read. `errno` and `filename` are set if they are known."""

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
    """A file or folder does not exist."""


class PermissionDeniedError(ReadError, PermissionError):
    """This user may not read a file or folder."""


class NetworkError(ReadError, ConnectionError):
    """A store or the network failed. A later try may succeed."""


class MissingSourceError(UsageError, MissingFileError):
    """A path to pack, verify or index does not exist."""


class TruncatedError(Error, tarfile.ReadError):
    """A file is shorter than its headers state."""


class DamagedError(Error):
    """Stored bytes do not match their checksum, or contradict each other."""


class FormatError(Error, tarfile.ReadError):
    """A file has another format than its name or use requires, or a newer version."""


class StaleError(Error):
    """A shard, sidecar or saved state belongs to another state of the data set."""


class StaleShardError(StaleError, tarfile.ReadError):
    """A shard is not the one that its sidecar describes: it was cut or replaced."""


class MissingPartError(Error, KeyError):
    """A sample lacks a part that a column needs."""


class DecodeError(Error):
    """A part cannot be decoded."""


class LimitError(Error):
    """Something is larger than the memory or than a limit."""


class TooManyBadError(Error):
    """More bad samples than `bad_budget` allows."""


class DeviceError(Error):
    """A GPU or its driver failed, or does not exist."""


class PackError(Error):
    """Bad data in packing, writing or indexing; nothing incomplete was published.

    Attributes:
        problems: dicts of `path`, `reason` and, if known, `kind`, `byte` and `key`.
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
    """The machine failed in packing (such as a full disk), or another program works in that folder."""
