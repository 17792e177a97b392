"""What a notebook shows of batches, data sets and samples: HTML with thumbnails inside, of a bounded size.

All text is escaped. Nothing is loaded from the network, and no script runs.
"""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import Error
from .short import _short

if TYPE_CHECKING:
    from ._core import Batch, Dataset

__all__: list[str] = []

#: Samples that are shown.
_BATCH, _DATASET = 16, 8
#: Pixels of the longer side of a thumbnail.
_SIDE = 96
#: Bytes of the largest picture that is shown as it is.
_WHOLE = 1 << 17
#: Characters of a value.
_TEXT = 40

#: First bytes of pictures that browsers show, and their types.
_TYPES = ((b"\xff\xd8\xff", "jpeg"), (b"\x89PNG\r\n\x1a\n", "png"), (b"GIF8", "gif"), (b"RIFF", "webp"))


def _batch(batch: Batch) -> str:
    """A table of columns, and a thumbnail with the other values of each of the first rows."""
    host = batch.host
    made = set(batch.device_columns)
    names = [name for name in host if name != "key" and name not in made]
    pictures = next((name for name in names if _is_pictures(host[name])), None)
    rows = min(batch.rows, _BATCH)
    cards = []
    for row in range(rows):
        source = None if pictures is None else _png(np.asarray(host[pictures][row]))
        lines = [host["key"][row], *(f"{name} {_value(host[name], row)}" for name in names if name != pictures)]
        cards.append(_card(source, lines))
    return _page(repr(batch), cards, batch.rows - rows)


def _dataset(dataset: Dataset) -> str:
    """A thumbnail and the parts of each of the first samples."""
    rows = min(len(dataset), _DATASET)
    thumbnails = _thumbnails(dataset, rows)
    cards = []
    for row in range(rows):
        try:
            sample = dataset[row]
            lines = [str(sample["__key__"]), *(f"{name} {_short(part)}" for name, part in sample.items() if name[:2] != "__")]
        except Error as error:
            lines = [str(error)]
        cards.append(_card(thumbnails.get(row), lines))
    return _page(repr(dataset), cards, len(dataset) - rows)


def _sample(sample: Mapping[str, Any]) -> str:
    """The pictures of a sample that are small enough, and its other parts."""
    cards = []
    for name, part in sample.items():
        if name == "__key__":
            continue
        source = _as_it_is(part) if isinstance(part, bytes) else None
        cards.append(_card(source, [f"{name} {_short(part)}"]))
    return _page(f"Sample {sample.get('__key__')!r}", cards, 0)


def _thumbnails(dataset: Dataset, rows: int) -> dict[int, str]:
    """Thumbnails of the first samples that have a picture, by number. Bad pictures have none."""
    from ._core import Loader, ResizeCenterCrop

    if rows == 0:
        return {}
    try:
        with Loader(dataset, take=rows, batch_size=rows, image=ResizeCenterCrop(_SIDE, _SIDE), on_bad="skip",
                    num_threads=1, prefetch=1) as loader:  # fmt: skip
            found: dict[int, str] = {}
            for batch in loader.epoch(0):
                images = np.asarray(batch["image"])
                found |= {int(n): _png(images[row]) for row, n in enumerate(batch.ordinals.tolist())}
            return found
    except Error:
        return {}


def _is_pictures(column: Any) -> bool:
    """Whether the rows are pictures: three dimensions, the first or the last with 1, 3 or 4 channels."""
    if hasattr(column, "shapes"):
        return bool(column.shapes)
    shape: tuple[int, ...] = getattr(column, "shape", ())
    readable = getattr(column, "dtype", "") in ("uint8", "uint16", "float16", "float32")
    return readable and len(shape) == 4 and min(shape) > 0 and (shape[3] in (1, 3, 4) or shape[1] in (1, 3, 4))


def _png(pixels: np.ndarray[Any, Any]) -> str:
    """A picture as a data URI of at most `_SIDE` pixels a side: every n-th pixel of a larger one."""
    if pixels.shape[2] not in (1, 3, 4):
        pixels = pixels.transpose(1, 2, 0)
    step = max(1, -(-max(pixels.shape[:2]) // _SIDE))
    return _uri("png", _encoded(_shown(pixels[::step, ::step])))


def _shown(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A picture as bytes `[height, width, channels]`. Of other types, the least value becomes 0 and the greatest 255."""
    if pixels.shape[2] not in (1, 3, 4):
        pixels = pixels.transpose(1, 2, 0)
    if pixels.dtype != np.uint8:
        pixels = pixels.astype(np.float32)
        low, high = float(np.nanmin(pixels)), float(np.nanmax(pixels))
        scaled = (pixels - low) * (255 / (high - low)) if high > low else pixels * 0
        pixels = np.nan_to_num(scaled).astype(np.uint8)
    return pixels


def _encoded(pixels: np.ndarray[Any, Any]) -> bytes:
    """Bytes `[height, width, channels]` as a PNG."""
    height, width, channels = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    color = {1: 0, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 6))
    return png + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _as_it_is(part: bytes) -> str | None:
    kind = next((kind for start, kind in _TYPES if part.startswith(start)), None)
    return None if kind is None or len(part) > _WHOLE else _uri(kind, part)


def _uri(kind: str, data: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def _value(column: Any, row: int) -> str:
    """A row of a column, in few characters."""
    value = column[row]
    if isinstance(value, bytes):
        return _short(value)
    if isinstance(value, str):
        return repr(value)
    shape = getattr(value, "shape", ())
    return str(value) if shape == () else f"{value.dtype} {list(shape)}"


def _card(source: str | None, lines: list[str]) -> str:
    style = f"max-width:{_SIDE}px;max-height:{_SIDE}px;display:block"
    picture = "" if source is None else f'<img src="{source}" style="{style}" alt="">'
    texts = "".join(f"<div>{html.escape(_cut(line))}</div>" for line in lines[:6])
    return f'<div style="width:12em;margin:4px;font-size:80%;overflow-wrap:anywhere">{picture}{texts}</div>'


def _cut(line: str) -> str:
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return line if len(line) <= _TEXT else line[: _TEXT - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _page(title: str, cards: list[str], more: int) -> str:
    rest = f'<div style="font-size:80%">and {more} more</div>' if more > 0 else ""
    return (
        f"<div><code>{html.escape(title[:400])}</code>"
        f'<div style="display:flex;flex-wrap:wrap">{"".join(cards)}</div>{rest}</div>'
    )
