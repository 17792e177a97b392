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
from typing import Any, Literal, Self

from . import _core
from .arguments import checked, dict_of, typed_columns
from .errors import UsageError

__all__ = ["ShardWriter"]


def __dir__() -> list[str]:
    return sorted(__all__)


# Pillow's names of the image formats that readers support.
_PICTURES = {
    "jpg": "JPEG", "jpeg": "JPEG", "png": "PNG", "webp": "WEBP", "gif": "GIF", "bmp": "BMP", "tif": "TIFF",
    "tiff": "TIFF", "jfif": "JPEG", "jpe": "JPEG", "ppm": "PPM", "pgm": "PPM", "pbm": "PPM", "pnm": "PPM",
}  # fmt: skip


class ShardWriter:
    """Writes a data set sample by sample: tars, their sidecars, and at the end the manifest.

    A folder `out` contains no shard before all are complete: finished shards stay in `out/.pack`, and `close()`, or the
    end of `with`, publishes them. In an object store, shards are uploaded under their names while others are written,
    and `close()` writes `dataset.json`, which makes them a data set. An exception inside `with` publishes nothing and gets a note about that. Parts are in the
    order of their extensions, so the tars are equal to those of `pack build` for the same files. Threads may share a
    writer; samples are in the order in which they were written.

    Arguments:

    - `out`: the folder of the data set; created if it does not exist. Or a URL: "s3://bucket/set", `gs://`, `az://`.
    - `shard_size`: the maximum size of a shard, "256MiB" or bytes; a larger sample gets a separate shard.
      `max_samples`: the maximum number of samples in a shard; without `shard_size` it is the only limit.
    - `prefix`: the names of shards are PREFIX-000000.tar.
    - `names`: allows keys that some reader misreads, as "space=allow" or {"dot": "allow"}.
    - `check`: the depth of the check of parts: "none", "structure" or "decode".
    - `json_rules`: which texts are JSON: "strict", or "python", which also accepts NaN, Infinity and halves of surrogate
      pairs. The data set records the rules: see `tarflume.pack.build`.
    - `entry_points`: stores places in JPEGs from which decoding can start; every Huffman code is read for them.
    - `quality`: of JPEG and WebP encoded from arrays and pictures. `encoders`: `{"ext": callable}`, which convert parts
      with these extensions to bytes.
    - `fsync`: waits until shards are on disk. `fresh`: removes an unfinished data set in `out`.
    - `compress`: "zstd" or "zstd:LEVEL" writes compressed shards, `.tar.zst`, of which any sample can still be read.
    - `columns`: typed values that sidecars have of each sample: see `tarflume.pack.build`.
    - `storage`: how the store of a URL is reached: see `tarflume.Dataset`. `single_writer`: goes on with a store that
      ignores conditional writes, if no other program writes to this prefix.

    Raises `UsageError` if `out` contains a data set or an unfinished one.
    """

    @checked("tarflume.ShardWriter")
    def __init__(
        self,
        out: str | os.PathLike[str],
        *,
        shard_size: int | str | None = None,
        max_samples: int | None = None,
        prefix: str = "shard",
        names: str | Mapping[str, str] = "",
        check: str = "structure",
        json_rules: Literal["strict", "python"] = "strict",
        entry_points: bool = True,
        quality: int = 90,
        encoders: Mapping[str, Callable[[Any], bytes]] | None = None,
        fsync: bool = True,
        fresh: bool = False,
        compress: str | None = None,
        columns: str | Mapping[str, str] | None = None,
        storage: Mapping[str, object] | None = None,
        single_writer: bool = False,
    ) -> None:
        if not isinstance(names, str):
            names = ",".join(f"{rule}={action}" for rule, action in names.items())
        self._out = os.fspath(out)
        self._quality = quality
        self._encoders = dict(encoders or {})
        self._json_rules = json_rules
        self._manifest: dict[str, Any] | None = None
        self._irregular: dict[str, Any] | None = None
        self._writer: _core.Writer | None = _core.Writer(
            out,
            shard_size=shard_size,
            max_samples=max_samples,
            prefix=prefix,
            names=names,
            check=check,
            json_rules=json_rules,
            entry_points=entry_points,
            fsync=fsync,
            fresh=fresh,
            compress=compress,
            columns=typed_columns(columns),
            storage=dict_of(storage),
            single_writer=single_writer,
        )
        for notice in self._writer.notices:
            warnings.warn(notice, stacklevel=2)

    def write(self, sample: Mapping[str, Any]) -> None:
        """Writes a sample: its key as `"__key__"`, and its parts by extension.

        A part is `bytes`; `str` (written as UTF-8); a whole number (in decimal); for "json" any value of `json.dumps`;
        for "npy" an array; for "jpg", "png" and other pictures a PIL image or a uint8 array [height, width],
        [height, width, 3] or [height, width, 4]. Other names with `__` at both ends, such as `__url__`, are left out.

        Raises `PackError` (with `problems`) for a bad sample: a key that repeats or that some reader misreads, an empty
        or damaged part, a value that does not fit its typed column. The sample is left out, and the writer can write
        others. Raises `UsageError` for a part that cannot be converted to bytes, and `TryAgainError` if the machine
        failed.
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
    def irregular_jpegs(self) -> dict[str, Any]:
        """The JPEGs so far that break rules of their format without losing a pixel (stray bytes, a missing end): their
        number `count`, and the `first` with `path`, `byte`, `key` and `reason`. They are no problem. They are found where
        all codes are read: with `entry_points`, or `check="decode"`."""
        return self._irregular if self._irregular is not None else self._open().irregular_jpegs

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest after `close()`: `samples`, `bytes`, `extensions`, `shards`."""
        if self._manifest is None:
            raise UsageError(f"{self._out} is not published: close the writer first")
        return self._manifest

    def close(self) -> dict[str, Any]:
        """Publishes the data set and returns its manifest; a second call returns the same manifest.

        Raises `UsageError` if no sample was written, or after `abandon()`.
        """
        if self._manifest is None:
            writer, self._writer = self._open(), None
            self._irregular = writer.irregular_jpegs
            self._manifest = writer.finish()
        return self._manifest

    def abandon(self) -> str:
        """Stops without publishing; returns a text about the files that remain. Does nothing after `close()`."""
        if self._writer is None:
            return f"{self._out}: the writer was closed before"
        writer, self._writer = self._writer, None
        shards, samples, folder = writer.abandon()
        if shards == 0:
            return f"{self._out} was not published, and no files of it remain"
        return (
            f"{self._out} was not published; {shards} finished shards with {samples} samples are in {folder}; "
            "start again with fresh=True"
        )

    def _open(self) -> _core.Writer:
        if self._writer is None:
            raise UsageError(f"this writer of {self._out} is closed")
        return self._writer

    def _bytes(self, key: str, ext: str, value: Any) -> bytes:
        try:
            return self._encoded(ext.lower(), value)
        except Exception as error:
            text = f"key {key}: the part {ext!r}, a {type(value).__name__}, cannot be converted to bytes: {error}"
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
            return _json(value, self._json_rules)
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


def _json(value: Any, rules: str) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:  # a UnicodeEncodeError for half of a surrogate pair, too
        text = json.dumps(value)  # raises if the rules are not the reason
        if rules == "python":
            return text.encode()
        raise ValueError(f'{error}; json_rules="python" writes it as Python\'s json does') from error


def _npy(value: Any) -> bytes:
    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, np.asarray(value), allow_pickle=False)
    return buffer.getvalue()


def _picture(value: Any, form: str, quality: int) -> bytes:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("Pillow encodes pictures: pip install pillow; or give bytes") from error
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
