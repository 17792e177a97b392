"""Pictures as arguments of recipes: NumPy arrays, Pillow's images and PyTorch's tensors, all of bytes."""

from __future__ import annotations

import random
import struct
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import UsageError

__all__ = ["Pixels", "bitmap", "called", "changed", "pixels_of", "seed_or_random"]

#: Bytes `[height, width, channels]` with 1 or 3 channels.
Pixels = npt.NDArray[np.uint8]


def seed_or_random(seed: int | None) -> int:
    """The seed, or one of Python's `random`, which a DataLoader seeds in each worker."""
    return random.getrandbits(64) if seed is None else seed


def pixels_of(array: Any) -> Pixels:
    """The pixels of an array `[height, width, channels]` or `[height, width]`.

    Raises:
        UsageError: it is no picture of bytes with 1 or 3 channels.
    """
    if not isinstance(array, np.ndarray):
        raise UsageError(f"a picture is a NumPy array, not {type(array).__name__}: give numpy.asarray(picture)")
    if array.dtype != np.uint8:
        advice = "multiply floats from 0 to 1 by 255, divide 16 bits by 257, and convert by astype(numpy.uint8)"
        raise UsageError(f"a picture is an array of uint8, not of {array.dtype}: {advice}")
    pixels = array[:, :, None] if array.ndim == 2 else array
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3):
        raise UsageError(
            f"a picture is [height, width, channels] with 1 or 3 channels, not {list(array.shape)}: take alpha away by "
            "array[:, :, :3], and give each picture of a batch alone"
        )
    if 0 in pixels.shape:
        raise UsageError(f"a picture has at least one pixel, not {list(array.shape)}")
    return pixels


def changed(recipe: str, array: Pixels, seed: int) -> Pixels:
    """An array after a recipe, which is JSON, with as many dimensions as before."""
    from .._core import apply_recipe

    pixels = pixels_of(array)
    height, width, channels = pixels.shape
    size, made = apply_recipe(recipe, seed, pixels.tobytes(), height, width, channels)
    return np.frombuffer(made, np.uint8).reshape(size if array.ndim == 2 else (*size, channels))


def called(recipe: str, picture: Any, seed: int | None) -> Any:
    """A picture after a recipe, which is JSON: of the kind that was given."""
    seed = seed_or_random(seed)
    if _is_of_pillow(picture):
        from PIL import Image

        return Image.fromarray(changed(recipe, _of_pillow(picture), seed))
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(picture, torch.Tensor):
        made = changed(recipe, _of_torch(picture), seed)
        return torch.from_numpy(made.transpose(2, 0, 1).copy())
    return changed(recipe, picture, seed)


def bitmap(picture: Any) -> bytes:
    """A picture as a file of the format BMP, whose pixels are those of the picture. Gray becomes three equal channels."""
    torch: Any = sys.modules.get("torch")
    if _is_of_pillow(picture):
        picture = _of_pillow(picture)
    elif torch is not None and isinstance(picture, torch.Tensor):
        picture = _of_torch(picture)
    pixels = pixels_of(picture)
    height, width, _ = pixels.shape
    line = -(-3 * width // 4) * 4
    lines = np.zeros((height, line), np.uint8)
    lines[:, : 3 * width] = np.broadcast_to(pixels[::-1, :, ::-1], (height, width, 3)).reshape(height, 3 * width)
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, lines.size, 2835, 2835, 0, 0)
    return struct.pack("<2sIHHI", b"BM", 54 + lines.size, 0, 0, 54) + header + lines.tobytes()


def _is_of_pillow(picture: Any) -> bool:
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(picture, module.Image)


def _of_pillow(picture: Any) -> Pixels:
    if picture.mode not in ("RGB", "L"):
        raise UsageError(f'a picture of Pillow has the mode "RGB" or "L", not {picture.mode!r}: give picture.convert("RGB")')
    return np.asarray(picture)


def _of_torch(picture: Any) -> Pixels:
    if str(picture.dtype) != "torch.uint8" or picture.ndim != 3 or picture.shape[0] not in (1, 3):
        raise UsageError(
            "a picture of PyTorch is a tensor of uint8 [channels, height, width] with 1 or 3 channels, not of "
            f"{picture.dtype} {list(picture.shape)}: give v2.functional.to_dtype(picture, torch.uint8, scale=True), and each "
            "picture of a batch alone"
        )
    made: Pixels = picture.permute(1, 2, 0).contiguous().cpu().numpy()
    return made
