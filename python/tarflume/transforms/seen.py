"""`preview`: samples of a data set beside what a recipe makes of them, as a page and as a picture."""

from __future__ import annotations

import html
import os
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..notebook import _encoded, _shown, _uri
from .base import Operation
from .crop import FiveCrop, Resize, ResizeKeepRatio, TenCrop
from .migration.converted import Converted
from .pixels import Action, apply

if TYPE_CHECKING:
    from .._core import Image

__all__ = ["Preview", "preview"]

#: Pixels of the longer side of a picture, and between two in a PNG.
_SIDE, _GAP = 160, 8
#: What decides which samples a loader has, and how they are read.
_DATA = ("split", "version", "exclude", "select", "storage", "cache", "skip", "take", "source", "verify")
_Pixels: TypeAlias = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class _Draw:
    """A picture in one epoch, and what was drawn for it."""

    epoch: int
    pixels: _Pixels
    actions: list[Action]


@dataclass
class _Drawn:
    """A sample, and its draws."""

    key: str
    original: _Pixels
    draws: list[_Draw] = field(default_factory=list)


class Preview:
    """Samples beside draws of a recipe. A notebook shows it; `save` writes it as a page or as a picture."""

    def __init__(self, title: str, samples: list[_Drawn]) -> None:
        self._title = title
        self._samples = samples

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a page for browsers (`.html`) or a picture (`.png`). Replaces the file.

            tarflume.transforms.preview(loader).save("preview.html")
        """
        file = pathlib.Path(path)
        match file.suffix.lower():
            case ".html" | ".htm":
                file.write_text(self._page(), encoding="utf-8")
            case ".png":
                file.write_bytes(_encoded(self._picture()))
            case other:
                raise UsageError(f"{file}: a preview is a page or a picture: end its name with .html or .png, not {other!r}")

    def _page(self) -> str:
        head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(self._title)}</title></head>'
        style = "margin:20px;font:14px/1.4 system-ui,sans-serif"
        return f'{head}<body style="{style}">{self._repr_html_()}</body></html>\n'

    def _picture(self) -> _Pixels:
        """All pictures in one: a line for each sample, the original first."""
        columns = 1 + max((len(sample.draws) for sample in self._samples), default=0)
        cell = _SIDE + _GAP
        sheet = np.full((cell * max(len(self._samples), 1) + _GAP, cell * columns + _GAP, 3), 255, np.uint8)
        for line, sample in enumerate(self._samples):
            for place, pixels in enumerate([sample.original, *(draw.pixels for draw in sample.draws)]):
                height, width = pixels.shape[:2]
                top = _GAP + line * cell + (_SIDE - height) // 2
                left = _GAP + place * cell + (_SIDE - width) // 2
                sheet[top : top + height, left : left + width] = pixels
        return sheet

    def _repr_html_(self) -> str:
        lines = "".join(_line(sample) for sample in self._samples)
        return f'<div><code>{html.escape(self._title)}</code><table style="border-spacing:6px">{lines}</table></div>'

    def __repr__(self) -> str:
        return f"Preview({self._title})"


def preview(
    data: object,
    recipe: Operation | Converted | Image | None = None,
    *,
    samples: int = 8,
    draws: int = 4,
    seed: int | None = None,
) -> Preview:
    """Samples of a data set, each beside `draws` draws of a recipe.

        tarflume.transforms.preview(loader)                                 # in a notebook
        tarflume.transforms.preview("shards/", recipe).save("preview.png")

    `data` is a `tarflume.Loader` or `tarflume.torch.Loader`, or what these take as `shards`. Of a loader, `recipe` is by
    default that of its first column of pictures, and the draws are those of its epochs 0 to `draws - 1`: the pixels that
    it delivers, before they become floats and before rows are mixed. `seed` is by default that of the loader, else 0; it
    chooses the samples, too. Samples that cannot be decoded are left out.
    """
    for name, number in (("samples", samples), ("draws", draws)):
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 1000:
            raise UsageError(f"preview: {name} is {number!r}; it is a whole number from 1 to 1000")
    shards, words = _source(data)
    column = _column(recipe, words)
    _refuse_crops(column)
    used = _seed(words) if seed is None else seed
    settings = {name: words[name] for name in _DATA if words.get(name) is not None}
    chosen = _chosen(shards, settings, column, samples, used)
    drawn = _drawn(shards, settings, column, chosen, draws, used)
    return Preview(f"{len(drawn)} samples, {draws} draws each of {_about(column)}", drawn)


def _source(data: object) -> tuple[Any, dict[str, Any]]:
    """The shards, and the keywords of the loader."""
    from .._core import Loader

    if isinstance(data, Loader):
        return data._arguments
    if hasattr(data, "_shards") and hasattr(data, "_settings"):
        loader: Any = data
        return loader._shards, dict(loader._settings)
    return data, {}


def _column(recipe: object, words: Mapping[str, Any]) -> Image:
    """The column that is drawn."""
    if recipe is None:
        found = [words.get("image"), *_values(words.get("columns"))]
        recipe = next((column for column in found if _image(column) is not None), None)
    if recipe is None:
        raise UsageError(
            "preview: there is no column of pictures to be drawn: give preview(shards, recipe) a recipe of "
            "tarflume.transforms, or a loader with image="
        )
    image = _image(recipe)
    if image is None:
        raise UsageError(f"preview: a recipe is an operation of tarflume.transforms or a tarflume.Image, not {recipe!r}")
    return image


def _refuse_crops(column: Image) -> None:
    """Refuses a recipe that makes several pictures of one: its last operation does, or none."""
    transform = _given(column)["transform"]
    steps = getattr(transform, "transforms", (transform,))
    if steps and isinstance(steps[-1], (FiveCrop, TenCrop)):
        raise UsageError(
            f"preview shows one picture a row, and {type(steps[-1]).__name__} makes several: preview the recipe before its "
            "last operation"
        )


def _values(columns: object) -> list[object]:
    return list(columns.values()) if isinstance(columns, Mapping) else []


def _image(column: object) -> Image | None:
    """The column of pictures that a loader makes of a value; None if it makes another one."""
    from .._core import CenterCrop, Image, OriginalSize, RandomResizedCrop, ResizeCenterCrop
    from .._core import Resize as ResizeOnly

    if isinstance(column, Image):
        return column
    if isinstance(column, Converted):
        return column.image()
    if isinstance(column, (Operation, RandomResizedCrop, ResizeOnly, CenterCrop, ResizeCenterCrop, OriginalSize)):
        return Image(column)
    return None


def _given(column: Any) -> dict[str, Any]:
    """The keywords that a column was made with."""
    _, words = column.__getnewargs_ex__()
    return dict(words)


def _seed(words: Mapping[str, Any]) -> int:
    """The seed that a loader draws with: without a shuffle it has none."""
    is_shuffled = words.get("shuffle", "none") not in ("none", False, None)
    return int(words.get("seed") or 0) if is_shuffled else 0


def _chosen(shards: Any, settings: Mapping[str, Any], column: Image, samples: int, seed: int) -> list[int]:
    """The ordinals of some samples whose pictures can be decoded, in their order."""
    from .._core import Loader

    columns = {"drawn": _of_bytes(column)}
    with Loader(shards, shuffle="full", seed=seed, columns=columns, on_bad="skip", num_threads=1, prefetch=1,
                **settings) as one:  # fmt: skip
        # The batch of a bad sample is empty. A data set of which all samples are bad is an error of the loader.
        found = (ordinal for batch in one.epoch(0) for ordinal in batch.ordinals.tolist())
        return sorted(islice(found, samples))


def _drawn(
    shards: Any, settings: Mapping[str, Any], column: Image, chosen: list[int], draws: int, seed: int
) -> list[_Drawn]:
    """The samples with their draws. The draws of a sample depend on the seed, the epoch and the ordinal alone."""
    from .._core import Image, Loader

    given = _given(column)
    kept = {name: given[name] for name in ("part", "orientation", "damaged", "fallback")}
    columns = {"drawn": _of_bytes(column), "original": Image(ResizeKeepRatio(_SIDE), **kept)}
    words = {name: value for name, value in settings.items() if name not in ("skip", "take", "select", "exclude")}
    found: dict[int, _Drawn] = {}
    with Loader(shards, shuffle="full", seed=seed, columns=columns, select=np.array(chosen, np.uint64), on_bad="skip",
                keep_transforms=True, num_threads=1, prefetch=1, **words) as loader:  # fmt: skip
        for epoch in range(draws):
            for batch in loader.epoch(epoch):
                for row, ordinal in enumerate(batch.ordinals.tolist()):
                    actions = batch.transforms()["drawn"][row] if "drawn_draws" in batch else []
                    sample = found.setdefault(ordinal, _Drawn(batch["key"][row], _fitted(batch["original"][row])))
                    sample.draws.append(_Draw(epoch, _fitted(batch["drawn"][row]), actions))
    return [found[ordinal] for ordinal in sorted(found)]


def _of_bytes(column: Image) -> Image:
    """The same column in bytes, whose colors are those of the pictures: draws do not depend on the type of its rows."""
    from .._core import Image

    usual = {"layout": "hwc", "dtype": "uint8", "normalize": None, "mean": None, "std": None}
    return Image(**_given(column) | usual | {"resize_on_device": None, "device_decoder": None})


def _fitted(row: object) -> _Pixels:
    """A row as red, green and blue, of at most `_SIDE` pixels a side."""
    pixels = _shown(np.asarray(row))
    pixels = np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else np.ascontiguousarray(pixels[:, :, :3])
    height, width = pixels.shape[:2]
    longer = max(height, width)
    if longer <= _SIDE:
        return pixels
    size = (max(1, height * _SIDE // longer), max(1, width * _SIDE // longer))
    return apply(Resize(size), pixels)


def _about(column: Image) -> str:
    transform = _given(column)["transform"]
    steps = getattr(transform, "transforms", [transform])
    return ", ".join(type(step).__name__ for step in steps)


def _line(sample: _Drawn) -> str:
    cells = [_cell("original", sample.original, [])]
    cells += [_cell(f"epoch {draw.epoch}", draw.pixels, draw.actions) for draw in sample.draws]
    key = html.escape(sample.key)
    return f'<tr><td colspan="{len(cells)}"><code>{key}</code></td></tr><tr>{"".join(cells)}</tr>'


def _cell(title: str, pixels: _Pixels, actions: list[Action]) -> str:
    style = f"vertical-align:top;max-width:{_SIDE}px;font-size:75%;overflow-wrap:anywhere;text-align:left"
    texts = [_text(action) for action in actions]
    lines = "".join(f"<div>{html.escape(line)}</div>" for line in texts)
    source = _uri("png", _encoded(pixels))
    picture = f'<img src="{source}" style="display:block" alt="{html.escape(", ".join([title, *texts]))}">'
    return f'<td style="{style}">{picture}<strong>{title}</strong>{lines}</td>'


def _text(action: Action) -> str:
    """`adjust_brightness factor 1.25`"""
    words = []
    for name, numbers in action.items():
        words.append(name)
        words += [f"{key} {_number(value)}" for key, value in numbers.items()]
    return " ".join(words)


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_number, value)) + "]"
    if isinstance(value, Mapping):
        return " ".join(f"{key} {_number(one)}" for key, one in value.items())
    return str(value)
