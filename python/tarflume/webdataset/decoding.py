"""`decode()`: decoders for parts, by extension."""

from __future__ import annotations

import copy
import functools
import gzip
import importlib
import io
import json
import pickle
from collections.abc import Callable, Collection, Iterable
from fnmatch import fnmatch
from typing import IO, Any

from .. import _core
from ..calling import _error_text
from ..errors import DecodeError, UsageError
from .allowing import VARIABLE, allowed, enforced
from .drawing import Drawing, PictureDecoder, is_recipe
from .handlers import RefusedError
from .images import SPECS as imagespecs
from .images import ImageHandler, imagehandler

__all__ = [
    "Continue",
    "Decoder",
    "DecodingError",
    "ImageHandler",
    "PatternDecoder",
    "cbor_loads",
    "decoders",
    "gzfilter",
    "handle_extension",
    "imagehandler",
    "imagespecs",
    "msgpack_loads",
    "npy_loads",
    "npz_loads",
    "tenbin_loads",
    "torch_loads",
    "unpickle_loads",
]

PartDecoder = Callable[[str, bytes], Any]


class DecodingError(DecodeError):
    """A part cannot be decoded. `url`, `key`, `k` (the part) and `sample` identify it."""

    def __init__(self, text: str = "", *, url: Any = None, k: Any = None, sample: Any = None, **place: Any) -> None:
        super().__init__(text, **place)
        self.url, self.k, self.sample = url, k, sample


class Continue:
    """The result of a decoder that did a part of the work: the next decoders continue with `key` and `data`."""

    def __init__(self, key: str, data: bytes) -> None:
        self.key, self.data = key, data


def gzfilter(key: str, data: bytes) -> Continue | None:
    """Decompresses parts whose extension ends in `.gz`."""
    return Continue(key[:-3], gzip.decompress(data)) if key.endswith(".gz") else None


def _text(data: bytes) -> str:
    return data.decode("utf-8")


def npy_loads(data: bytes) -> Any:
    """The array of a part `.npy`; one of objects is an error, because it is a pickle."""
    import numpy as np

    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)


def npz_loads(data: bytes) -> Any:
    """The arrays of a part `.npz` by their names."""
    import numpy as np

    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return dict(arrays)


def torch_loads(data: bytes, allow: Collection[str] = ()) -> Any:
    """What `torch.save` wrote, on the CPU; values other than tensors and plain types if pickles are allowed."""
    if enforced():
        raise RefusedError("utils.enforce_security is set: what torch.save wrote is not loaded")
    weights_only = "pickle" not in allowed(allow)
    return importlib.import_module("torch").load(io.BytesIO(data), weights_only=weights_only, map_location="cpu")


def may_unpickle(allow: Collection[str] = ()) -> None:
    """Raises an error unless pickles are allowed."""
    if enforced():
        raise RefusedError("utils.enforce_security is set: a pickle can run any code and is not loaded")
    if "pickle" not in allowed(allow):
        raise RefusedError(
            "this part is a pickle, which can run any code: if you trust the source of the shards, give "
            f'allow=("pickle",) to WebDataset or to decode, or set {VARIABLE}=pickle in the environment'
        )


def unpickle_loads(data: bytes, allow: Collection[str] = ()) -> Any:
    """The object of a pickle, if pickles are allowed."""
    may_unpickle(allow)
    return pickle.loads(data)


def tenbin_loads(data: bytes) -> Any:
    """The arrays of a part in the format tenbin."""
    return importlib.import_module(".tenbin", __package__).decode_buffer(data)


def msgpack_loads(data: bytes) -> Any:
    """The object of a part in the format MessagePack; needs the package `msgpack`."""
    return importlib.import_module("msgpack").unpackb(data)


def cbor_loads(data: bytes) -> Any:
    """The object of a part in the format CBOR; needs the package `cbor`."""
    return importlib.import_module("cbor").loads(data)


#: Functions by extension. A program may add others.
decoders: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("txt", "text", "transcript"), _text),
    **dict.fromkeys(("cls", "cls2", "index", "inx", "id"), int),
    **dict.fromkeys(("json", "jsn"), json.loads),
    **dict.fromkeys(("pkl", "pickle", "pyd"), unpickle_loads),
    **dict.fromkeys(("ten", "tb"), tenbin_loads),
    **dict.fromkeys(("mp", "msg"), msgpack_loads),
    "cbor": cbor_loads,
    "npy": npy_loads,
    "npz": npz_loads,
    "pth": torch_loads,
}


def basichandlers(key: str, data: bytes, allow: Collection[str] = ()) -> Any:
    """Text, numbers, JSON, arrays by the last extension of `key`; None for all others."""
    decoder = decoders.get(key.rpartition(".")[2])
    if decoder in (unpickle_loads, torch_loads):
        return decoder(data, allow)
    return None if decoder is None else decoder(data)


def _call(key: str, data: bytes, f: Callable[[bytes], Any], extensions: list[list[str]]) -> Any:
    has = key.lower().split(".")
    return f(data) if any(has[-len(wanted) :] == wanted for wanted in extensions) else None


def handle_extension(extensions: str, f: Callable[[bytes], Any]) -> PartDecoder:
    """A decoder that applies `f` to parts with one of these extensions ("jpg jpeg", "seg.png")."""
    wanted = [extension.split(".") for extension in extensions.lower().split()]
    return functools.partial(_call, f=f, extensions=wanted)


def _decoder(handler: Any) -> PartDecoder:
    if is_recipe(handler) or isinstance(handler, _core.Image):
        return PictureDecoder(handler)
    made = ImageHandler(handler) if isinstance(handler, str) else handler
    if not callable(made):
        raise UsageError(
            "decode takes names of image forms, functions (key, bytes), recipes of tarflume.transforms and tarflume.Image, not "
            f"{handler!r}"
        )
    return made


class Decoder:
    """Decodes all parts of a sample: applies functions to each part until one returns a value.

    handlers: names of image formats, functions of the part's name (with a dot before it) and its bytes, and recipes of
    `tarflume.transforms` or a `tarflume.Image`, by which Rust decodes pictures to the rows of a loader. pre: functions before
    them, by default `gzfilter`; post: functions after them, by default for text, numbers, JSON and arrays. only:
    the parts to decode. partial: keeps values that are not bytes. allow: "pickle" unpickles.
    """

    def __init__(
        self,
        handlers: Iterable[Any],
        pre: Iterable[Any] | None = None,
        post: Iterable[Any] | None = None,
        only: str | Iterable[str] | None = None,
        partial: bool = False,
        allow: Collection[str] = (),
    ) -> None:
        first = [gzfilter] if pre is None else pre
        last = [functools.partial(basichandlers, allow=allowed(allow))] if post is None else post
        self.handlers = [_decoder(handler) for handler in (*first, *handlers, *last)]
        self.only = None if only is None else set(only.split() if isinstance(only, str) else only)
        self.partial = partial

    @property
    def draws(self) -> bool:
        """Whether pictures are decoded by a recipe."""
        return any(isinstance(handler, PictureDecoder) for handler in self.handlers)

    def seeded(self, drawing: Drawing) -> Decoder:
        """The decoder in an iteration of a pipeline."""
        made = copy.copy(self)
        made.handlers = [
            handler.seeded(drawing) if isinstance(handler, PictureDecoder) else handler for handler in self.handlers
        ]
        return made

    def decode1(self, key: str, data: bytes) -> Any:
        """One part."""
        name = "." + key
        for handler in self.handlers:
            result = handler(name, data)
            if isinstance(result, Continue):
                name, data = result.key, result.data
            elif result is not None:
                return result
        return data

    def decode(self, sample: dict[str, Any]) -> dict[str, Any]:
        """All parts; those that describe the sample (`__key__`) stay text."""
        return {name: self._part(name, value, sample) for name, value in sample.items()}

    __call__ = decode

    def _part(self, name: str, value: Any, sample: dict[str, Any]) -> Any:
        if name.startswith("__"):
            return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
        if (self.only is not None and name not in self.only) or (self.partial and not isinstance(value, bytes)):
            return value
        key, url = sample.get("__key__"), sample.get("__url__")
        try:
            if not isinstance(value, bytes):
                raise UsageError(f"its value is {type(value).__name__}, not bytes: give partial=True to leave such")
            return self.decode1(name, value)
        except RefusedError as refused:
            raise RefusedError(f"{url}: {key}.{name}: {refused}", path=url, key=key) from None
        except Exception as error:
            text = f"{url}: {key}.{name}: {_error_text(error)}"
            raise DecodingError(text, path=url, key=key, url=url, k=name, sample=sample) from error


def _bin(stream: IO[bytes]) -> bytes:
    return stream.read()


def _txt(stream: IO[bytes]) -> str:
    return stream.read().decode("utf-8")


def _unpickled(stream: IO[bytes], allow: Collection[str]) -> Any:
    return unpickle_loads(stream.read(), allow)


class PatternDecoder:
    """Decodes the parts of a sample by patterns of their names: each decoder receives an open file.

    decoders: pairs of a pattern ("*.txt") and a function; the last matching pattern applies, and False keeps the bytes.
        `*.bin` and `*.txt` are known, and `*.pyd` if pickles are allowed. must_decode: a part without a matching pattern
        is an error.
    """

    def __init__(self, decoders: Iterable[tuple[str, Any]], must_decode: bool, allow: Collection[str] = ()) -> None:
        unpickled = functools.partial(_unpickled, allow=allowed(allow))
        self.decoders = [("*.bin", _bin), ("*.txt", _txt), ("*.pyd", unpickled), *decoders]
        self.must_decode = must_decode

    def __call__(self, sample: dict[str, Any]) -> dict[str, Any]:
        return {name: self._part(name, value) for name, value in sample.items()}

    def _part(self, name: str, value: Any) -> Any:
        base = name.rpartition("/")[2].lower()
        if base.startswith("__"):
            return value
        fits = (f for pattern, f in reversed(self.decoders) if fnmatch(base, pattern) or fnmatch("." + base, pattern))
        decoder = next(fits, None)
        if decoder is None and self.must_decode:
            raise UsageError(f"xdecode: no pattern fits {name!r}: give one, or must_decode=False")
        if decoder is None or decoder is False:
            return value
        return decoder(io.BytesIO(value) if isinstance(value, bytes) else value)
