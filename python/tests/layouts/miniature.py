"""Miniatures of published data sets: their names and forms with small pictures, and what each sample must have."""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import pathlib
import tarfile
import zipfile

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from PIL import Image

PHOTOS = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "photos"


@functools.cache
def photographs() -> list[Image.Image]:
    """The photographs of the project, in the order of their names."""
    return [Image.open(path).convert("RGB") for path in sorted(PHOTOS.glob("*/*.jpg"))]


def crop(n: int, width: int = 32, height: int = 24) -> Image.Image:
    """A piece of a photograph; no two numbers have the same pixels."""
    photo = photographs()[n % len(photographs())]
    left, top = 7 * n % (photo.width - 128), 13 * n % (photo.height - 96)
    piece = photo.crop((left, top, left + 128, top + 96)).resize((width, height))
    piece.putpixel((0, 0), (n % 256, n // 256 % 256, 128))
    return piece


@dataclasses.dataclass
class Expected:
    """What a sample must have: its picture as bytes or pixels, values of its JSON, its split, and other parts."""

    picture: bytes | np.ndarray[Any, Any] | None
    json: dict[str, Any] = dataclasses.field(default_factory=dict)
    split: str | None = None
    parts: dict[str, bytes] = dataclasses.field(default_factory=dict)
    #: The key, for a sample without a picture, or one that shares it with others.
    key: str | None = None


class Miniature:
    """A data set in a folder. Each picture that is made differs from all others."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.count = 0
        self.expected: list[Expected] = []

    def at(self, name: str) -> pathlib.Path:
        """The path of a new file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def crop(self, width: int = 32, height: int = 24) -> Image.Image:
        self.count += 1
        return crop(self.count, width, height)

    def encoded(self, ending: str = "jpg", width: int = 32, height: int = 24) -> bytes:
        """The bytes of a new picture."""
        memory = io.BytesIO()
        form = {"jpg": "JPEG", "jpeg": "JPEG", "png": "PNG", "tif": "TIFF", "bmp": "BMP", "gif": "GIF", "ppm": "PPM"}
        self.crop(width, height).save(memory, form[ending.lower()])
        return memory.getvalue()

    def picture(self, name: str, width: int = 32, height: int = 24) -> bytes:
        """Writes a new picture in the format of its name and returns its bytes."""
        content = self.encoded(name.rsplit(".", 1)[1], width, height)
        self.at(name).write_bytes(content)
        return content

    def mask(self, name: str, values: int = 3, mode: str = "L") -> bytes:
        """Writes a picture of few values and returns its bytes."""
        self.count += 1
        y, x = np.mgrid[0:24, 0:32]
        pixels = ((x // 8 + y // 8 + self.count) % values).astype(np.uint8)
        pixels[0, 0] = self.count % 256
        image = Image.fromarray(pixels)
        if mode == "P":
            image = image.convert("P")
        image.save(self.at(name))
        return self.at(name).read_bytes()

    def text(self, name: str, text: str | list[str]) -> None:
        """Writes a text, or lines."""
        content = text if isinstance(text, str) else "".join(f"{line}\n" for line in text)
        self.at(name).write_text(content, newline="")

    def document(self, name: str, value: Any) -> None:
        """Writes JSON."""
        self.text(name, json.dumps(value))

    def expect(self, picture: bytes | np.ndarray[Any, Any] | None, split: str | None = None, key: str | None = None,
               parts: dict[str, bytes] | None = None, **values: Any) -> None:
        """States what the sample of a picture has. `values` are fields of its JSON."""
        self.expected.append(Expected(picture, values, split, parts or {}, key))


def packed(name: str, folder: pathlib.Path) -> None:
    """Packs the files of a folder as a tar or a zip, in the order of their names, and removes them."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if name.endswith(".zip"):
        with zipfile.ZipFile(folder.parent / name, "w") as archive:
            for path in files:
                archive.write(path, path.relative_to(folder).as_posix())
    else:
        with tarfile.open(folder.parent / name, "w:gz" if name.endswith("gz") else "w") as archive:
            for path in files:
                archive.add(path, path.relative_to(folder).as_posix())
    for path in files:
        path.unlink()


Make = Callable[[Miniature], None]
#: The layouts by the name that the page has.
LAYOUTS: dict[str, Make] = {}


def layout(name: str) -> Callable[[Make], Make]:
    """Registers a function that makes a miniature of the data set that a row of docs/DATASETS.md names."""

    def register(make: Make) -> Make:
        assert name not in LAYOUTS, name
        LAYOUTS[name] = make
        return make

    return register


@dataclasses.dataclass
class Found:
    """A sample of shards."""

    key: str
    split: str | None
    parts: dict[str, bytes]


def samples(out: pathlib.Path, splits: set[str]) -> Iterator[Found]:
    """Reads all samples of a data set with Python's own reader of tars."""
    for path in sorted(out.glob("*.tar")):
        split = path.name.rsplit("-", 1)[0]
        found: dict[str, Found] = {}
        with tarfile.open(path) as shard:
            for member in shard:
                key, ending = member.name.rsplit("/", 1)[-1].split(".", 1)
                key = member.name[: len(member.name) - len(ending) - 1]
                content = shard.extractfile(member)
                assert content is not None
                sample = found.setdefault(key, Found(key, split if split in splits else None, {}))
                sample.parts[ending] = content.read()
        yield from found.values()
