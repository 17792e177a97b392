"""`ShardWriter`: shards of samples that a program makes.

    with tarflume.ShardWriter("shards/", shard_size="256MiB") as writer:
        for n, (picture, label) in enumerate(pictures):          # picture: uint8 [height, width, 3]
            writer.write({"__key__": f"{n:08}", "jpg": picture, "cls": label})
"""

from __future__ import annotations

import io
import json
import operator
import os
import warnings
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from . import _core
from .errors import UsageError

__all__ = ["ShardWriter"]


def __dir__() -> list[str]:
    return sorted(__all__)


# What Pillow calls the kinds of pictures that readers know.
_PICTURES = {
    "jpg": "JPEG", "jpeg": "JPEG", "png": "PNG", "webp": "WEBP", "gif": "GIF", "bmp": "BMP", "tif": "TIFF",
    "tiff": "TIFF",
}  # fmt: skip


class ShardWriter:
    """Writes a data set sample by sample: tars, their sidecars, and at the end the manifest.

    Nothing stands in `out` before all is whole: finished shards wait in `out/.pack`, and `close()`, or the end
    of `with`, publishes them. An exception inside `with` publishes nothing, and says so in a note of its own.
    Parts stand in the order of their extensions, so the tars are those that `pack build` makes of the same
    files. Threads may share a writer; samples stand in the order in which they were written.

    Arguments:

    - `out`: the folder of the data set; created if it is not there.
    - `shard_size`: a shard's largest size, "256MiB" or bytes; a larger sample gets a shard of its own.
      `max_samples`: a shard's largest number of samples; given alone, it is the only limit.
    - `prefix`: shards are called PREFIX-000000.tar.
    - `names`: which keys are allowed that some reader misreads, as "space=allow" or {"dot": "allow"}.
    - `check`: how closely parts are looked at: "none", "structure" or "decode".
    - `entry_points`: notes places in JPEGs from which decoding can start; every Huffman code is read.
    - `quality`: of JPEG and WebP made of arrays and pictures. `encoders`: `{"ext": callable}`, what makes
      bytes of the parts of that extension.
    - `fsync`: waits until shards are on disk. `fresh`: forgets an unfinished data set in `out`.

    Raises `UsageError` if `out` holds a data set, or the rest of an attempt.
    """

    def __init__(
        self,
        out: str | os.PathLike[str],
        *,
        shard_size: int | str | None = None,
        max_samples: int | None = None,
        prefix: str = "shard",
        names: str | Mapping[str, str] = "",
        check: str = "structure",
        entry_points: bool = True,
        quality: int = 90,
        encoders: Mapping[str, Callable[[Any], bytes]] | None = None,
        fsync: bool = True,
        fresh: bool = False,
    ) -> None:
        if not isinstance(names, str):
            names = ",".join(f"{rule}={action}" for rule, action in names.items())
        self._out = os.fspath(out)
        self._quality = quality
        self._encoders = dict(encoders or {})
        self._manifest: dict[str, Any] | None = None
        self._writer: _core.Writer | None = _core.Writer(
            out,
            shard_size=shard_size,
            max_samples=max_samples,
            prefix=prefix,
            names=names,
            check=check,
            entry_points=entry_points,
            fsync=fsync,
            fresh=fresh,
        )

    def write(self, sample: Mapping[str, Any]) -> None:
        """Writes a sample: its key as `"__key__"`, and its parts by extension.

        A part is `bytes`; `str` (written as UTF-8); a whole number (in decimal); for "json" what `json.dumps`
        takes; for "npy" an array; for "jpg", "png" and other pictures a PIL image or a uint8 array
        [height, width], [height, width, 3] or [height, width, 4]. Other names with `__` at both ends, such as
        `__url__`, are left out.

        Raises `PackError` (with `problems`) if the sample is at fault: a key that repeats or that some reader
        misreads, a part that is empty or damaged. It is left out then, and others can be written. Raises
        `UsageError` for a part that can't be made bytes, `TryAgainError` if the machine failed.
        """
        key = sample.get("__key__")
        if not isinstance(key, str):
            raise UsageError(f'a sample needs its key as text: {{"__key__": "cats/001", ...}}, not {key!r}')
        parts = [
            (ext, self._bytes(key, ext, value))
            for ext, value in sample.items()
            if not (ext.startswith("__") and ext.endswith("__"))
        ]
        self._open().write(key, parts)

    @property
    def samples(self) -> int:
        """Samples written so far."""
        return self._open().samples

    @property
    def manifest(self) -> dict[str, Any]:
        """What was published, once it was: `samples`, `bytes`, `extensions`, `shards`."""
        if self._manifest is None:
            raise UsageError(f"{self._out} is not published: close the writer first")
        return self._manifest

    def close(self) -> dict[str, Any]:
        """Publishes the data set, and gives its manifest; again, if it was closed before.

        Raises `UsageError` if no sample was written, or the writer was given up.
        """
        if self._manifest is None:
            writer, self._writer = self._open(), None
            self._manifest = writer.finish()
        return self._manifest

    def abandon(self) -> str:
        """Gives up: nothing is published. Says what stays; a writer that was closed changes nothing."""
        if self._writer is None:
            return f"{self._out}: nothing was left to give up"
        writer, self._writer = self._writer, None
        shards, samples, folder = writer.abandon()
        if shards == 0:
            return f"{self._out} was not published, and nothing of it is left"
        return (
            f"{self._out} was not published; {shards} finished shards with {samples} samples are in {folder}; "
            "begin anew with fresh=True"
        )

    def _open(self) -> _core.Writer:
        if self._writer is None:
            raise UsageError(f"this writer of {self._out} is closed")
        return self._writer

    def _bytes(self, key: str, ext: str, value: Any) -> bytes:
        try:
            return self._encoded(ext.lower(), value)
        except Exception as error:
            text = f"key {key}: the part {ext!r} can't be made bytes of a {type(value).__name__}: {error}"
            raise UsageError(text, key=key) from error

    def _encoded(self, ext: str, value: Any) -> bytes:
        if ext in self._encoders:
            return bytes(self._encoders[ext](value))
        if isinstance(value, bytes):
            return value
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        if isinstance(value, str):
            return value.encode()
        last = ext.rsplit(".", 1)[-1]
        if last == "json":
            return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        if last == "npy":
            return _npy(value)
        if last in _PICTURES:
            return _picture(value, _PICTURES[last], self._quality)
        if hasattr(value, "__index__") and not isinstance(value, bool):
            return str(operator.index(value)).encode()
        raise TypeError("give bytes or text, or an encoder for this extension: encoders={...}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        if error is None:
            self.close()
        else:
            error.add_note(f"tarflume.ShardWriter: {self.abandon()}")

    def __del__(self, _warn: Callable[..., None] = warnings.warn) -> None:
        if getattr(self, "_writer", None) is not None:
            text = f"a ShardWriter was neither closed nor used with `with`: {self._out} is not published"
            _warn(text, ResourceWarning, stacklevel=2, source=self)


def _npy(value: Any) -> bytes:
    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, np.asarray(value), allow_pickle=False)
    return buffer.getvalue()


def _picture(value: Any, form: str, quality: int) -> bytes:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("pictures are made by Pillow: pip install pillow; or give bytes") from error
    if not isinstance(value, Image.Image):
        import numpy as np

        array = np.asarray(value)
        if array.dtype != np.uint8 or array.ndim not in (2, 3):
            shown = f"{array.dtype} {list(array.shape)}"
            raise TypeError(f"a picture is uint8 [height, width] or [height, width, channels], not {shown}")
        value = Image.fromarray(array)
    buffer = io.BytesIO()
    words = {"quality": quality} if form in ("JPEG", "WEBP") else {}
    value.save(buffer, format=form, **words)
    return buffer.getvalue()
