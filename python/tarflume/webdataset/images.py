"""`decode("pil")`, `decode("rgb8")` and the others: pictures by Pillow, as arrays or tensors."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterable
from typing import Any

from ..errors import UsageError

__all__ = ["IMAGE_EXTENSIONS", "ImageHandler", "imagehandler"]

#: Extensions that Pillow opens.
IMAGE_EXTENSIONS = (
    "apng blp bmp bufr bw cur dcx dds dib emf eps fit fits flc fli ftc ftu gbr gif grib h5 hdf icb icns ico iim im "
    "j2c j2k jfif jp2 jpc jpe jpeg jpf jpg jpx mpeg mpg msp pbm pcd pcx pgm png pnm ppm ps psd pxr ras rgb rgba sgi "
    "tga tif tiff vda vst webp wmf xbm xpm"
).split()


def _specs() -> dict[str, tuple[str, bool, str]]:
    """By name: "numpy", "torch" or "pil"; whether values are float32 from 0 to 1; Pillow's mode."""
    specs = {}
    for mode in ("l", "rgb", "rgba"):
        specs["pil" + mode] = ("pil", False, mode.upper())
        for prefix, kind in (("", "numpy"), ("torch", "torch")):
            specs[f"{prefix}{mode}"] = (kind, True, mode.upper())
            specs[f"{prefix}{mode}8"] = (kind, False, mode.upper())
    return specs | {"pil": ("pil", False, "RGB"), "torch": ("torch", True, "RGB")}


SPECS = _specs()


class ImageHandler:
    """A decoder of pictures.

    imagespec: "l8", "rgb8", "rgba8": uint8 arrays [height, width] or [height, width, channels]; "l", "rgb", "rgba":
        float32, 0 to 1; "torch" before one of these: tensors, channels first; "pil", "pill", "pilrgb", "pilrgba".
    extensions: the parts that are pictures.
    """

    def __init__(self, imagespec: str, extensions: Iterable[str] = IMAGE_EXTENSIONS) -> None:
        if imagespec not in SPECS:
            raise UsageError(f"decode({imagespec!r}): there are {', '.join(sorted(SPECS))}")
        self.imagespec = imagespec
        self.extensions = set(extensions)

    def __call__(self, key: str, data: bytes) -> Any:
        if key.rpartition(".")[2].lower() not in self.extensions:
            return None
        import numpy as np
        from PIL import Image

        kind, is_float, mode = SPECS[self.imagespec]
        with Image.open(io.BytesIO(data)) as opened:
            picture = opened.convert(mode)
        if kind == "pil":
            return picture
        pixels = np.asarray(picture)
        if is_float:
            pixels = pixels.astype(np.float32) / 255.0
        if kind == "numpy":
            return pixels
        torch = importlib.import_module("torch")
        return torch.from_numpy((pixels.transpose(2, 0, 1) if pixels.ndim == 3 else pixels).copy())


def imagehandler(imagespec: str, extensions: Iterable[str] = IMAGE_EXTENSIONS) -> ImageHandler:
    """`ImageHandler`."""
    return ImageHandler(imagespec, extensions)
