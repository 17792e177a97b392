"""Decodes pictures of kinds that the reader does not decode with Pillow: `Image(..., fallback="pillow")`."""

from __future__ import annotations

import io
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from .errors import UsageError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__: list[str] = []

_ORIENTATION = 0x0112  # the EXIF tag
# Pillow's modes of channels.
_MODES = {"gray": "L", "luma": "L", "rgb": "RGB", "rgba": "RGBA"}


# Packages that add formats to Pillow: the name to import and to install, and the format.
_PLUGINS = (("pillow_heif", "pillow-heif", "HEIC"), ("pillow_jxl", "pillow-jxl-plugin", "JPEG XL"))


def _pillow() -> None:
    """Loads the plugins of Pillow that are installed. Raises an error if Pillow is not."""
    if find_spec("PIL") is None:
        raise UsageError('fallback="pillow" needs Pillow: run `pip install pillow`')
    for name, _, _ in _PLUGINS:
        if find_spec(name) is not None:
            plugin = import_module(name)
            if name == "pillow_heif":
                plugin.register_heif_opener()


def _open(data: bytes, upright: bool) -> tuple[Image, int, int, bool]:
    """The picture, of which only the header was read, its width and height, and whether it has more than 8 bits a channel.
    `upright`: they are those after the turn of its orientation, otherwise those as it is stored."""
    from PIL import Image, UnidentifiedImageError

    try:
        picture = Image.open(io.BytesIO(data))
    except UnidentifiedImageError:
        known = ", ".join(f"`pip install {package}` for {kind}" for _, package, kind in _PLUGINS)
        raise ValueError(f"it does not know this kind; plugins add some: {known}") from None
    width, height = picture.size
    turned = upright and picture.getexif().get(_ORIENTATION, 1) in (5, 6, 7, 8)
    exceeds = picture.mode.startswith(("I", "F"))
    return (picture, height, width, exceeds) if turned else (picture, width, height, exceeds)


def _decode(picture: Image, channels: str, upright: bool) -> bytes:
    """The pixels as 8 bits a channel; `channels` are those of `tarflume.Image`, `upright` as for `_open`."""
    from PIL import ImageOps

    if upright:
        picture = ImageOps.exif_transpose(picture)
    if channels == "index":
        return _numbers(picture)
    if channels == "gray" and picture.mode in ("P", "PA"):
        raise ValueError(
            'it has a palette: channels="index" reads its indices, such as the classes of a mask, and channels="luma" the '
            "gray of its colors"
        )
    mode = _MODES[channels]
    if picture.mode.startswith(("I;16", "F")):
        picture = _narrowed(picture)
    elif picture.mode == "I":
        raise ValueError("its pixels have 32 bits: convert it to 8 or 16 bits")
    if picture.mode in ("P", "PA", "La", "RGBa"):
        picture = picture.convert("RGBA")
    elif picture.mode not in ("1", "L", "LA", "RGB", "RGBA"):
        picture = picture.convert("RGB")
    if mode != "RGBA" and picture.mode in ("LA", "RGBA"):
        picture = picture.convert(picture.mode[:-1])  # opacity is dropped, as of other pictures
    return picture.convert(mode).tobytes()


def _numbers(picture: Image) -> bytes:
    """The indices of a palette, or gray levels, as they are stored."""
    if picture.mode == "1":
        return np.asarray(picture).astype(np.uint8).tobytes()
    if picture.mode not in ("P", "L"):
        raise ValueError(
            f'channels="index" reads indices of a palette or gray levels of 8 bits, and its pixels are "{picture.mode}"'
        )
    return picture.tobytes()


def _narrowed(picture: Image) -> Image:
    """Gray of 16 bits or of floats as 8 bits, as the reader narrows them. Pillow would clip them."""
    from PIL import Image

    values = np.asarray(picture)
    if picture.mode == "F":
        return Image.fromarray(np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8))
    return Image.fromarray(((values.astype(np.uint32) + 128) // 257).astype(np.uint8))
