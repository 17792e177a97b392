"""The orientation of every kind of picture, beside Pillow's `exif_transpose`."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator

import numpy as np
import pytest
from conftest import pack
from PIL import Image, ImageOps

import tarflume

SIZE = (12, 8)
TAG = 0x0112
SHORT, LONG, BYTE = 3, 4, 1
SIGNATURE = 8


def picture() -> Image.Image:
    x, y = np.meshgrid(np.arange(SIZE[0]), np.arange(SIZE[1]))
    return Image.fromarray(np.stack([x * 20, y * 30, (x + y) * 10], 2).astype(np.uint8))


def exif(value: int, kind: int = SHORT, order: str = "<", tag: int = TAG) -> bytes:
    """An EXIF block with one tag."""
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}IH", 8, 1)
    field = struct.pack(f"{order}HH", value, 0) if kind == SHORT else struct.pack(f"{order}I", value)
    return head + struct.pack(f"{order}HHI", tag, kind, 1) + field + bytes(4)


def xmp(value: int, element: bool = False) -> bytes:
    inner = f"<tiff:Orientation>{value}</tiff:Orientation>" if element else ""
    attribute = "" if element else f' tiff:Orientation="{value}"'
    return (f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
            f'<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/"{attribute}>{inner}'
            f"</rdf:Description></rdf:RDF></x:xmpmeta>").encode()  # fmt: skip


def saved(kind: str, **words: object) -> bytes:
    out = io.BytesIO()
    picture().save(out, kind, **words)
    return out.getvalue()


def jpeg(*segments: bytes) -> bytes:
    """A JPEG with these APP1 segments."""
    plain = saved("JPEG", quality=95)
    app1 = b"".join(b"\xff\xe1" + struct.pack(">H", len(data) + 2) + data for data in segments)
    return plain[:2] + app1 + plain[2:]


def png(*chunks: tuple[bytes, bytes], late: bool = False) -> bytes:
    """A PNG with these chunks before or after its pixels."""
    plain = saved("PNG")
    more = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    at = plain.index(b"IEND") - 4 if late else SIGNATURE + 25
    return plain[:at] + more + plain[at:]


def dump(name: str, block: bytes) -> bytes:
    """A profile as ImageMagick writes it."""
    digits = block.hex()
    lines = [digits[n : n + 72] for n in range(0, len(digits), 72)]
    return f"\n{name}\n{len(block):8}\n{chr(10).join(lines)}\n".encode()


def webp(chunks: list[tuple[bytes, bytes]], flags: int) -> bytes:
    """An extended WebP with these chunks and flags of its header."""
    plain = saved("WEBP", lossless=True)
    width, height = SIZE
    header = struct.pack("<I", flags) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBP" + b"VP8X" + struct.pack("<I", 10) + header + plain[12:]
    for kind, data in chunks:
        body += kind + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def tiff(value: int, kind: int) -> bytes:
    """A TIFF whose tag has this type."""
    data = bytearray(saved("TIFF", tiffinfo={TAG: value}))
    at = bytes(data).index(struct.pack("<HHI", TAG, SHORT, 1))
    data[at : at + 12] = struct.pack("<HHII", TAG, kind, 1, value)
    return bytes(data)


def cases() -> Iterator[tuple[str, str, bytes]]:
    """A name, an extension and a file."""
    head = b"http://ns.adobe.com/xap/1.0/\0"
    for n in range(1, 9):
        yield f"exif-{n}", "jpg", jpeg(b"Exif\0\0" + exif(n))
        yield f"exif-{n}", "png", png((b"eXIf", exif(n)))
        yield f"exif-{n}", "webp", webp([(b"EXIF", exif(n))], 8)
        yield f"exif-{n}", "tif", saved("TIFF", tiffinfo={TAG: n})
    for order in "<>":
        name = "little" if order == "<" else "big"
        yield f"long-{name}", "jpg", jpeg(b"Exif\0\0" + exif(6, LONG, order))
        yield f"long-{name}", "png", png((b"eXIf", exif(6, LONG, order)))
        yield f"long-{name}", "webp", webp([(b"EXIF", exif(6, LONG, order))], 8)
    yield "long", "tif", tiff(6, LONG)
    for name, block in {"prefix": b"Exif\0\0" + exif(6), "two-prefixes": b"Exif\0\0" * 2 + exif(6)}.items():
        yield name, "jpg", jpeg(b"Exif\0\0" + block)
        yield name, "webp", webp([(b"EXIF", block)], 8)
    yield "prefix", "png", png((b"eXIf", b"Exif\0\0" + exif(6)))
    yield "late", "png", png((b"eXIf", exif(6)), late=True)
    for element in (False, True):
        name = f"xmp-{element}".lower()
        packet = xmp(8, element)
        yield name, "jpg", jpeg(head + packet)
        yield name, "png", png((b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet))
        yield f"{name}-late", "png", png((b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet), late=True)
        yield f"{name}-packed", "png", png((b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(packet)))
        yield name, "webp", webp([(b"XMP ", packet)], 4)
        yield name, "tif", saved("TIFF", tiffinfo={700: packet})
    for value in (1, 3, 0, 9):  # EXIF decides wherever it has the tag
        yield f"both-{value}", "jpg", jpeg(b"Exif\0\0" + exif(value), head + xmp(8))
        yield f"both-{value}", "webp", webp([(b"EXIF", exif(value)), (b"XMP ", xmp(8))], 12)
        yield f"both-{value}", "png", png((b"eXIf", exif(value)), (b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp(8)))
    yield "no-tag", "jpg", jpeg(b"Exif\0\0" + exif(5, tag=0x0100), head + xmp(8))
    yield "byte", "jpg", jpeg(b"Exif\0\0" + exif(6, BYTE), head + xmp(8))
    yield "second", "jpg", jpeg(b"Exif\0\0" + exif(5, tag=0x0100), b"Exif\0\0" + exif(6))
    yield "no-flag", "webp", webp([(b"EXIF", exif(6)), (b"XMP ", xmp(8))], 0)
    raw = b"Raw profile type exif\0"
    for name, block in {"raw": exif(6), "raw-prefix": b"Exif\0\0" + exif(6)}.items():
        yield name, "png", png((b"tEXt", raw + dump("exif", block)))
        yield f"{name}-packed", "png", png((b"zTXt", raw + b"\0" + zlib.compress(dump("exif", block))))
        yield f"{name}-late", "png", png((b"zTXt", raw + b"\0" + zlib.compress(dump("exif", block))), late=True)
    yield "raw-and-chunk", "png", png((b"tEXt", raw + dump("exif", exif(8))), (b"eXIf", exif(6)))


@pytest.fixture(scope="module")
def turned(tmp_path_factory):
    """A folder of each extension with `source` and `shards`, and the files by name and extension."""
    root = tmp_path_factory.mktemp("turned")
    files: dict[str, dict[str, bytes]] = {}
    for name, ext, data in cases():
        assert files.setdefault(ext, {}).setdefault(name, data) is data
        (root / ext / "source").mkdir(parents=True, exist_ok=True)
        (root / ext / "source" / f"{name}.{ext}").write_bytes(data)
    for ext in files:
        pack("build", root / ext / "source", "-o", root / ext / "shards", "--require", "image")
    return root, files


def oracle(data: bytes) -> np.ndarray:
    return np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")).astype(int)


@pytest.mark.parametrize("ext", ["jpg", "png", "webp", "tif"])
def test_every_kind_is_turned_as_pillow_turns_it(turned, ext):
    root, files = turned
    columns = {"image": tarflume.Image(tarflume.OriginalSize(1 << 12), ext)}
    found = {}
    with tarflume.Loader(root / ext / "shards", batch_size=16, columns=columns, drop_last=False) as loader:
        for batch in loader:
            found.update(zip(batch["key"], (np.asarray(row).astype(int) for row in batch["image"]), strict=True))
    assert sorted(found) == sorted(files[ext])
    wrong = []
    for name, row in found.items():
        right = oracle(files[ext][name])
        if row.shape != right.shape or np.abs(row - right).max() > (1 if ext == "jpg" else 0):
            wrong.append(name)
    assert wrong == []


def test_the_dump_of_a_segment_of_a_jpeg_counts(tmp_path):
    """Pillow leaves these out; programs that read all of ImageMagick's profiles do not."""
    raw = b"Raw profile type APP1\0\0"
    head = b"http://ns.adobe.com/xap/1.0/\0"
    (tmp_path / "source").mkdir()
    for name, block in {"exif": b"Exif\0\0" + exif(6), "xmp": head + xmp(6)}.items():
        data = png((b"zTXt", raw + zlib.compress(dump("generic profile", block))))
        (tmp_path / "source" / f"{name}.png").write_bytes(data)
    pack("build", tmp_path / "source", "-o", tmp_path / "shards", "--require", "image")
    columns = {"image": tarflume.Image(tarflume.OriginalSize(1 << 12), "png")}
    right = np.asarray(picture().transpose(Image.Transpose.ROTATE_270))
    for row in next(iter(tarflume.Loader(tmp_path / "shards", batch_size=2, columns=columns)))["image"]:
        np.testing.assert_array_equal(np.asarray(row), right)


@pytest.mark.parametrize("ext", ["jpg", "png"])
def test_pictures_are_prepared_with_the_same_rule(turned, tmp_path, ext):
    root, files = turned
    pack("build", root / ext / "source", "-o", tmp_path, "--orient", "--require", "image")
    data = tarflume.Dataset(tmp_path)
    for n in range(len(data)):
        image = Image.open(io.BytesIO(data[n][ext]))
        upright = oracle(files[ext][data[n]["__key__"]])
        assert image.size == upright.shape[1::-1], data[n]["__key__"]
        assert image.getexif().get(TAG, 1) not in range(2, 9), data[n]["__key__"]
