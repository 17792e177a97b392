"""tenbin, the format of `.ten` and `.tb` parts: arrays of numbers, aligned to 64 bytes, as webdataset writes them.

Two chunks for each array. A chunk is the word `~TenBin~`, its length in bytes (int64), and the bytes, padded with
zeros to a multiple of 64. The first chunk of an array is its header: its type, a name of up to 8 letters, the number
of its dimensions and each of them, all int64; the second is its elements.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np

from ..errors import DecodeError, UsageError

__all__ = ["decode_buffer", "encode_buffer", "load", "read", "save", "write"]

MAGIC = b"~TenBin~"
ALIGN = 64
TYPES = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"}
#: The maximum number of dimensions, as in webdataset.
DIMENSIONS = 9

Array = np.ndarray[Any, Any]


def _padding(length: int) -> int:
    return -length % ALIGN


def _header(array: Array, name: str) -> bytes:
    short = array.dtype.newbyteorder("<").str[1:]
    if short not in TYPES:
        raise UsageError(f"tenbin has no type for {array.dtype}; there are {', '.join(sorted(TYPES))}")
    if array.ndim > DIMENSIONS:
        raise UsageError(f"tenbin has arrays of up to {DIMENSIONS} dimensions, not {array.ndim}")
    letters = name.encode("ascii")
    if len(letters) > 8:
        raise UsageError(f"names in tenbin have up to 8 letters, not {name!r}")
    return struct.pack(f"<8s8s{1 + array.ndim}q", short.encode(), letters, array.ndim, *array.shape)


def _chunks(arrays: Sequence[Any], infos: Sequence[str] | None) -> Iterator[bytes]:
    if infos is not None and len(infos) != len(arrays):
        raise UsageError(f"{len(arrays)} arrays and {len(infos)} infos: give one for each")
    for place, value in enumerate(arrays):
        array = np.asarray(value)
        for data in (_header(array, infos[place] if infos else ""), _elements(array)):
            yield MAGIC + struct.pack("<q", len(data)) + data + bytes(_padding(len(data)))


def _elements(array: Array) -> bytes:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()


def encode_buffer(l: Sequence[Any], infos: Sequence[str] | None = None) -> bytes:
    """The arrays of a list as bytes."""
    if not isinstance(l, (list, tuple)):
        raise UsageError(f"encode_buffer takes a list of arrays, not {type(l).__name__}")
    return b"".join(_chunks(l, infos))


def _parted(data: memoryview) -> Iterator[memoryview]:
    """The chunks of some bytes."""
    at = 0
    while at < len(data):
        if bytes(data[at : at + 8]) != MAGIC:
            raise DecodeError(f"not a tenbin: no chunk begins at byte {at}", byte=at)
        if len(data) < at + 16:
            raise DecodeError(f"this tenbin ends in the head of a chunk, at byte {at}", byte=at)
        (length,) = struct.unpack_from("<q", data, at + 8)
        if not 0 <= length <= len(data) - at - 16:
            raise DecodeError(f"the chunk at byte {at} should have {length} bytes, more than the data", byte=at)
        yield data[at + 16 : at + 16 + length]
        at += 16 + length + _padding(length)


def _array(header: memoryview, elements: memoryview) -> tuple[Array, str]:
    if len(header) < 24 or len(header) % 8:
        raise DecodeError(f"the header of an array in this tenbin has {len(header)} bytes")
    short, name, dimensions = struct.unpack_from("<8s8sq", header)
    kind = short.rstrip(b"\0").decode("ascii", "replace")
    if kind not in TYPES:
        raise DecodeError(f"the type {kind!r} is not one of tenbin's")
    if not 0 <= dimensions <= DIMENSIONS or len(header) < 24 + 8 * dimensions:
        raise DecodeError(f"an array in this tenbin has {dimensions} dimensions by its header")
    shape = struct.unpack_from(f"<{dimensions}q", header, 24)
    dtype = np.dtype("<" + kind)
    count = 1
    for side in shape:
        count *= side  # not NumPy's product, which wraps
    if min(shape, default=0) < 0 or count * dtype.itemsize > len(elements):
        raise DecodeError(f"an array of {dtype} and shape {list(shape)} does not fit into {len(elements)} bytes")
    return np.frombuffer(elements, dtype, count).reshape(shape), name.rstrip(b"\0").decode("ascii", "replace")


def decode_buffer(buf: Any, infos: bool = False) -> Any:
    """The inverse of `encode_buffer`: arrays as views of the bytes; with `infos` also their names."""
    chunks = list(_parted(memoryview(buf).cast("B")))
    if len(chunks) % 2:
        raise DecodeError("this tenbin ends behind a header, without its array")
    found = [_array(header, elements) for header, elements in zip(chunks[::2], chunks[1::2], strict=True)]
    arrays = [array for array, _ in found]
    return (arrays, [name for _, name in found]) if infos else arrays


def write(stream: IO[bytes], l: Sequence[Any], infos: Sequence[str] | None = None) -> None:
    """Writes arrays to an open file."""
    for chunk in _chunks(l, infos):
        stream.write(chunk)


def read(stream: IO[bytes], infos: bool = False) -> Any:
    """The arrays of an open file."""
    return decode_buffer(stream.read(), infos)


def save(fname: str | os.PathLike[str], *args: Any, infos: Sequence[str] | None = None, nocheck: bool = False) -> None:
    """Writes arrays to a file, whose name ends in `.ten` unless `nocheck` is True."""
    with open(_named(fname, nocheck), "wb") as stream:
        write(stream, args, infos)


def load(fname: str | os.PathLike[str], infos: bool = False, nocheck: bool = False) -> Any:
    """The arrays of a file, whose name ends in `.ten` unless `nocheck` is True."""
    with open(_named(fname, nocheck), "rb") as stream:
        return read(stream, infos)


def _named(fname: str | os.PathLike[str], nocheck: bool) -> str:
    name = os.fspath(fname)
    if not nocheck and not name.endswith(".ten"):
        raise UsageError(f"{name}: the name of a file of tenbin ends in .ten; nocheck=True takes any")
    return name
