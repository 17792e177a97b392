"""First frames of GIF and animated WebP, as browsers show them: the canvas, what the frame does not cover, opacity."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from conftest import pack
from PIL import Image

import tarflume

COLORS = np.array([[10, 20, 30], [200, 0, 0], [0, 200, 0], [0, 0, 200]], np.uint8)
FRAME = np.arange(12, dtype=np.uint8).reshape(3, 4) % 4
ALPHA, MOVES = 16, 2


def lzw(values: np.ndarray) -> bytes:
    """Codes of nine bits: fewer than 254 pixels."""
    number, bits = 0, 0
    for code in [256, *values.ravel().tolist(), 257]:
        number |= code << bits
        bits += 9
    data = number.to_bytes((bits + 7) // 8, "little")
    assert values.size < 254 and len(data) < 256
    return b"\x08" + bytes([len(data)]) + data + b"\0"


def gif(screen, place=(0, 0), frame=FRAME, transparent=None, background=1, colors=COLORS, local=False) -> bytes:
    table = colors.tobytes()
    size = len(colors).bit_length() - 2
    head = b"GIF89a" + struct.pack("<HHBBB", *screen, 0x80 | size, background, 0) + (bytes(len(table)) if local else table)
    control = b"" if transparent is None else b"\x21\xf9\x04\x01\0\0" + bytes([transparent, 0])
    height, width = frame.shape
    image = b"\x2c" + struct.pack("<HHHHB", *place, width, height, 0x80 | size if local else 0)
    return head + control + image + (table if local else b"") + lzw(frame) + b";"


def webp(canvas, place, frame: np.ndarray, flags=ALPHA | MOVES, blend=True) -> bytes:
    """An animation of one frame with a red background."""
    out = io.BytesIO()
    Image.fromarray(frame).save(out, "WEBP", lossless=True, exact=True)
    still = out.getvalue()
    at = still.index(b"VP8L")
    stream = still[at : at + 8 + struct.unpack_from("<I", still, at + 4)[0]]
    stream += bytes(len(stream) % 2)

    def three(*numbers: int) -> bytes:
        return b"".join(number.to_bytes(3, "little") for number in numbers)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return kind + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)

    height, width = frame.shape[:2]
    moved = three(place[0] // 2, place[1] // 2, width - 1, height - 1, 100) + bytes([0 if blend else 2]) + stream
    body = b"WEBP" + chunk(b"VP8X", struct.pack("<I", flags) + three(canvas[0] - 1, canvas[1] - 1))
    body += chunk(b"ANIM", b"\0\0\xff\xff\0\0") + chunk(b"ANMF", moved)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def load(tmp_path, files: dict[str, bytes], ext: str, **options) -> dict[str, np.ndarray]:
    source = tmp_path / "source"
    if not source.exists():
        source.mkdir()
        for name, data in files.items():
            (source / f"{name}.{ext}").write_bytes(data)
        pack("build", source, "-o", tmp_path / "shards", "--require", "image")
    columns = {"image": tarflume.Image(tarflume.OriginalSize(1 << 12), ext, **options)}
    found = {}
    for batch in tarflume.Loader(tmp_path / "shards", batch_size=9, columns=columns, drop_last=False):
        found.update(zip(batch["key"], map(np.asarray, batch["image"]), strict=True))
    return found


def test_a_frame_of_a_gif_lies_on_an_empty_canvas(tmp_path):
    files = {
        "whole": gif((4, 3)),
        "small": gif((8, 6), (2, 1)),
        "transparent": gif((8, 6), (2, 1), transparent=3),
        "outside": gif((4, 4), (3, 2)),
        "larger": gif((2, 2)),
        "no-screen": gif((0, 0), (1, 0)),
        "local": gif((8, 6), (2, 1), local=True),
    }
    found = load(tmp_path, files, "gif", channels="rgba")
    opaque = load(tmp_path, files, "gif")
    numbers = load(tmp_path, files, "gif", channels="index")
    for name, data in files.items():
        screen = struct.unpack_from("<HH", data, 6)
        left, top = struct.unpack_from("<HH", data, data.rindex(b"\x2c", 0, -30) + 1 if name == "local" else data.index(b"\x2c") + 1)
        width, height = max(screen[0], left + 4), max(screen[1], top + 3)
        right = np.zeros((height, width, 4), np.uint8)
        right[top : top + 3, left : left + 4, :3] = COLORS[FRAME]
        right[top : top + 3, left : left + 4, 3] = 255 * ~((FRAME == 3) & (name == "transparent"))
        np.testing.assert_array_equal(found[name], right, name)
        np.testing.assert_array_equal(opaque[name], right[..., :3], name)
        # Pillow has the same canvas and numbers.
        image = Image.open(io.BytesIO(data))
        assert image.size == (width, height)
        np.testing.assert_array_equal(numbers[name][..., 0], np.asarray(image), name)


def test_an_index_that_the_palette_lacks_is_black(tmp_path):
    frame = FRAME.copy()
    frame[0] = 200
    found = load(tmp_path, {"a": gif((4, 3), frame=frame)}, "gif", channels="rgba")["a"]
    assert (found[0] == [0, 0, 0, 255]).all() and (found[1, :, :3] == COLORS[FRAME[1]]).all()


def test_a_frame_of_a_webp_lies_on_an_empty_canvas(tmp_path):
    rng = np.random.default_rng(3)
    frame = rng.integers(0, 256, (3, 4, 4), np.uint8)
    frame[0, :, 3] = 0
    frame[1, :, 3] = 255
    files = {
        "whole": webp((4, 3), (0, 0), frame),
        "small": webp((9, 7), (4, 2), frame),
        "replaces": webp((9, 7), (4, 2), frame, blend=False),
        "opaque": webp((9, 7), (2, 4), frame[..., :3], flags=MOVES),
    }
    found = load(tmp_path, files, "webp", channels="rgba")
    opaque = load(tmp_path, files, "webp")
    for name, data in files.items():
        # Its decoder is the one of Chromium.
        image = Image.open(io.BytesIO(data))
        right = np.asarray(image.convert("RGBA"))
        if image.mode == "RGBA":
            np.testing.assert_array_equal(found[name], right, name)
        np.testing.assert_array_equal(opaque[name], np.asarray(image.convert("RGB")), name)
    # A canvas without opacity is black where the frame does not cover it.
    assert found["opaque"][0, 0].tolist() == [0, 0, 0, 255]


def test_an_animated_png_gives_its_default_image(tmp_path):
    pictures = [Image.fromarray(np.full((5, 7, 3), shade, np.uint8)) for shade in (10, 90, 200)]
    files = {}
    for name, words in {"first": {}, "beside": {"default_image": True}}.items():
        out = io.BytesIO()
        pictures[0].save(out, "PNG", save_all=True, append_images=pictures[1:], **words)
        assert b"acTL" in out.getvalue()
        files[name] = out.getvalue()
    for name, found in load(tmp_path, files, "png").items():
        np.testing.assert_array_equal(found, np.asarray(Image.open(io.BytesIO(files[name])).convert("RGB")), name)
        assert (found == 10).all()
