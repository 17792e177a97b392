"""Encoders of `TarWriter`: from values to bytes, by the extension of the part."""

from __future__ import annotations

import gzip
import importlib
import io
import json
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import UsageError

__all__ = ["imageencoder", "make_encoder", "numpy_dumps", "torch_dumps"]

Encoder = Callable[[dict[str, Any]], dict[str, Any]]


def imageencoder(image: Any, format: str = "PNG") -> bytes:
    """A picture of Pillow, or an array: uint8, or floats from 0 to 1; [height, width] or [height, width, 1 or 3]."""
    import numpy as np
    from PIL import Image

    if isinstance(image, np.ndarray):
        if image.dtype.kind == "f":
            if image.size and not (image.min() > -0.001 and image.max() < 1.001):
                raise UsageError(f"values of a picture go from 0 to 1, not {image.min()} to {image.max()}")
            image = (np.clip(image, 0.0, 1.0) * 255.0).astype(np.uint8)
        if image.ndim not in (2, 3) or image.shape[2:] not in ((), (1,), (3,)):
            raise UsageError(f"a picture is [height, width] or [height, width, 1 or 3], not {list(image.shape)}")
        image = Image.fromarray(image[:, :, 0] if image.shape[2:] == (1,) else image)
    name = {"JPG": "JPEG", "PBM": "PPM", "PGM": "PPM", "PNM": "PPM", "TIF": "TIFF"}.get(format.upper(), format.upper())
    with io.BytesIO() as out:
        image.save(out, format=name, **({"quality": 100} if name in ("JPEG", "TIFF") else {}))
        return out.getvalue()


def numpy_dumps(data: Any) -> bytes:
    """An array as `.npy`."""
    import numpy as np

    with io.BytesIO() as out:
        np.lib.format.write_array(out, np.asanyarray(data), allow_pickle=False)
        return out.getvalue()


def _npz_dumps(data: Mapping[str, Any]) -> bytes:
    import numpy as np

    arrays = {name: np.asanyarray(value) for name, value in data.items()}
    if objects := [name for name, array in arrays.items() if array.dtype.hasobject]:
        raise UsageError(f"{objects} are arrays of Python objects, which only pickles hold: give arrays of numbers")
    with io.BytesIO() as out:
        np.savez_compressed(out, **arrays)
        return out.getvalue()


def torch_dumps(data: Any) -> bytes:
    """The output of `torch.save`."""
    with io.BytesIO() as out:
        importlib.import_module("torch").save(data, out)
        return out.getvalue()


def _tenbin(value: Any) -> bytes:
    """One array, or a list of arrays."""
    tenbin = importlib.import_module(".tenbin", __package__)
    made: bytes = tenbin.encode_buffer(value if isinstance(value, (list, tuple)) else [value])
    return made


def _image(format: str) -> Callable[[Any], bytes]:
    return lambda image: imageencoder(image, format)


ENCODERS: dict[str, Callable[[Any], bytes]] = {
    **dict.fromkeys("cls cls2 class count index inx id".split(), lambda value: str(value).encode("ascii")),
    **dict.fromkeys("json jsn".split(), lambda value: json.dumps(value).encode("utf-8")),
    **dict.fromkeys("pyd pickle pkl".split(), pickle.dumps),
    **dict.fromkeys("jpg jpeg".split(), _image("jpg")),
    **dict.fromkeys("img image ppm".split(), _image("ppm")),
    **dict.fromkeys("tiff tif".split(), _image("tiff")),
    **{name: _image(name) for name in ("png", "pbm", "pgm")},
    **dict.fromkeys("mp msgpack msg".split(), lambda value: importlib.import_module("msgpack").packb(value)),
    "cbor": lambda value: importlib.import_module("cbor").dumps(value),
    "npy": numpy_dumps,
    "npz": _npz_dumps,
    "pth": torch_dumps,
    **dict.fromkeys("ten tb".split(), _tenbin),
}


def _encoded(name: str, value: Any, encoders: Mapping[str, Callable[[Any], bytes]]) -> Any:
    if name.startswith("_"):
        if not isinstance(value, str):
            raise UsageError(f"{name}: a name that begins with _ describes the sample and has text, not {type(value).__name__}")
        return value
    packed = name.endswith(".gz")
    extension = name.removesuffix(".gz").rpartition(".")[2].lower()
    if isinstance(value, str):
        value = value.encode("utf-8")
    elif not isinstance(value, (bytes, bytearray, memoryview)):
        if extension not in encoders:
            raise UsageError(f"{name}: no encoder for this extension takes {type(value).__name__}: give bytes")
        value = encoders[extension](value)
    return gzip.compress(value, mtime=0) if packed else value


def make_encoder(spec: Any) -> Encoder:
    """True: by extensions; a dict: by these; False or None: values are bytes; or a function of the whole sample."""
    if callable(spec):
        made: Encoder = spec
        return made
    if not spec and not isinstance(spec, dict):
        return lambda sample: sample
    if spec is not True and not isinstance(spec, dict):
        raise UsageError(f"encoder={spec!r}: give True, False, a dict of functions by extension, or a function")
    encoders = ENCODERS if spec is True else spec
    return lambda sample: {name: _encoded(name, value, encoders) for name, value in sample.items()}
