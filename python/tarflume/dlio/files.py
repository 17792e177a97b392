"""Files that DLIO's generator writes, in memory: arrays of npy and npz without a copy; whether a picture is gray."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import FormatError

__all__ = ["is_gray", "npy_array", "npz_array"]


def __dir__() -> list[str]:
    return sorted(__all__)


Bytes: TypeAlias = npt.NDArray[np.uint8]

#: Bytes of a zip's local header without name and extra field, and where their two lengths are.
LOCAL_HEADER, LENGTHS = 30, 26


class _File(io.RawIOBase):
    """Bytes in memory as a file, without a copy of the whole."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: len(self._data)}[whence]
        if start + offset < 0:
            raise OSError("a position before the file")
        self._at = start + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        piece = self._data[self._at : self._at + len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


def npz_array(data: Bytes, name: str = "x") -> npt.NDArray[Any]:
    """The array `name` of an npz.

    Arguments:
        data: the bytes of the file.
        name: the array; DLIO reads "x".

    Returns:
        A view of `data` if the member is stored, as `numpy.savez` does; a new array if it is compressed. The zip's
        checksum is compared for compressed members only.

    Raises:
        FormatError: the file is no npz, lacks the array, or is damaged.
    """
    view = data.data
    try:
        with zipfile.ZipFile(_File(view)) as archive:
            member = archive.getinfo(f"{name}.npy")
            if member.compress_type != zipfile.ZIP_STORED:
                return npy_array(np.frombuffer(archive.read(member), np.uint8))
    except KeyError:
        raise FormatError(f"an npz without the array {name!r}") from None
    except (zipfile.BadZipFile, OSError, EOFError, struct.error, zlib.error) as error:
        raise FormatError(f"not an npz, or a damaged one: {error}") from error
    start = member.header_offset + LOCAL_HEADER
    start += sum(struct.unpack_from("<HH", view, member.header_offset + LENGTHS))
    if start + member.file_size > len(data):
        raise FormatError(f"an npz that ends inside the array {name!r}")
    return npy_array(data[start : start + member.file_size])


def npy_array(data: Bytes) -> npt.NDArray[Any]:
    """The array of an npy: a view of its bytes `data`.

    Raises:
        FormatError: the file is no npy, contains Python objects, or is shorter than its header states.
    """
    file = _File(data.data)
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except ValueError as error:
        raise FormatError(f"not an npy: {error}") from error
    if dtype.hasobject:
        raise FormatError("an npy of Python objects")
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    body = data[file.tell() :]
    if len(body) < size:
        raise FormatError(f"an npy of {size} bytes has only {len(body)}")
    return body[:size].view(dtype).reshape(shape, order="F" if fortran else "C")


def is_gray(data: bytes) -> bool:
    """Whether a JPEG or PNG has one channel. False for other files.

    Example:
        >>> is_gray(bytes.fromhex("ffd8ffc0000b080010001001011100"))
        True
    """
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return data[25:26] == b"\0"  # the color type in IHDR: 0 is gray without alpha
    at = 2 if data[:2] == b"\xff\xd8" else len(data)
    while at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return data[at + 9] == 1
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big") if marker != 0xFF else 1
    return False
