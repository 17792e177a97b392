"""Pictures of kinds that the reader does not decode, decoded by Pillow: `Image(..., fallback="pillow")`."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

import tarflume

SIZE = (41, 29)


def drawn(mode: str = "RGB") -> Image.Image:
    """A picture that differs in every corner."""
    x, y = np.meshgrid(np.arange(SIZE[0]), np.arange(SIZE[1]))
    return Image.fromarray(np.stack([x * 6, y * 8, 255 - x * 6], -1).astype(np.uint8), "RGB").convert(mode)


def encoded(format: str, picture: Image.Image, **words) -> bytes:
    out = io.BytesIO()
    picture.save(out, format, **words)
    return out.getvalue()


def turned(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


# Made by `cjpeg -arithmetic -quality 90 [-progressive]` of `drawn()`: Pillow decodes such files and writes none.
ARITHMETIC = (Path(__file__).parent / "arithmetic.jpg").read_bytes()
PROGRESSIVE = (Path(__file__).parent / "arithmetic-progressive.jpg").read_bytes()


def with_exif(jpeg: bytes, orientation: int) -> bytes:
    exif = turned(orientation).tobytes()
    return jpeg[:2] + b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif + jpeg[2:]


def lossless(rows: list[list[int]]) -> bytes:
    """A lossless JPEG (SOF3) of gray rows: differences to the left neighbor, in nine categories of four bits each."""
    bits = ""
    for y, row in enumerate(rows):
        for x, value in enumerate(row):
            before = row[x - 1] if x else (rows[y - 1][0] if y else 128)
            difference = value - before
            category = abs(difference).bit_length()
            bits += f"{category:04b}"
            if category:
                bits += f"{difference if difference > 0 else difference + (1 << category) - 1:0{category}b}"
    bits += "1" * (-len(bits) % 8)
    codes = bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)).replace(b"\xff", b"\xff\0")
    frame = bytes([8]) + len(rows).to_bytes(2, "big") + len(rows[0]).to_bytes(2, "big") + bytes([1, 1, 0x11, 0])
    table = bytes([0, 0, 0, 0, 9]) + bytes(12) + bytes(range(9))
    segments = [(0xC3, frame), (0xC4, table), (0xDA, bytes([1, 1, 0, 1, 0, 0]))]
    head = b"".join(bytes([0xFF, kind]) + (len(body) + 2).to_bytes(2, "big") + body for kind, body in segments)
    return b"\xff\xd8" + head + codes + b"\xff\xd9"


# Files of kinds that are not decoded, by their extension.
UNDECODED = {
    "avif": encoded("AVIF", drawn(), quality=90),
    "turned.avif": encoded("AVIF", drawn(), quality=90, exif=turned(6)),
    "jp2": encoded("JPEG2000", drawn()),
    "j2k": encoded("JPEG2000", drawn(), no_jp2=True),
    "tif": encoded("TIFF", drawn("P")),
    "lab.tif": encoded("TIFF", drawn("LAB")),
    "jpg": ARITHMETIC,
    "progressive.jpg": PROGRESSIVE,
    "turned.jpg": with_exif(ARITHMETIC, 6),
    "lossless.jpg": lossless(np.asarray(drawn("L")).tolist()),
}


def folder(path: Path, files: dict[str, bytes]) -> Path:
    """A data set of one sample for each file, whose part is `img`."""
    path.mkdir()
    with tarfile.open(path / "0.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        for n, data in enumerate(files.values()):
            member = tarfile.TarInfo(f"{n:03}.img")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    tarflume.pack.index(path)
    return path


def rows(path: Path, image: tarflume.Image, **words) -> tuple[list[np.ndarray], tarflume.Loader]:
    loader = tarflume.Loader(path, batch_size=64, columns={"image": image}, **words)
    return [np.asarray(row) for batch in loader for row in batch["image"]], loader


@pytest.mark.parametrize("channels, mode", [("rgb", "RGB"), ("luma", "L"), ("rgba", "RGBA")])
@pytest.mark.parametrize(
    "transform", [tarflume.Resize(24), tarflume.RandomResizedCrop(16, flip=0.5)], ids=["resize", "crop"]
)
def test_rows_are_those_of_the_same_pixels_in_a_png(tmp_path, channels, mode, transform):
    def upright(data: bytes) -> Image.Image:
        picture = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
        return picture.convert("RGB").convert(mode)

    pngs = {name: encoded("PNG", upright(data)) for name, data in UNDECODED.items()}
    fallback = tarflume.Image(transform, "img", channels=channels, fallback="pillow")
    found, loader = rows(folder(tmp_path / "undecoded", UNDECODED), fallback)
    expected, _ = rows(folder(tmp_path / "png", pngs), tarflume.Image(transform, "img", channels=channels))
    for name, one, other in zip(UNDECODED, found, expected, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)
    assert loader.stats()["functions"]["calls"] == len(UNDECODED)


def test_masks_give_their_numbers_and_no_gray_of_a_palette(tmp_path):
    mask = drawn("P")
    path = folder(tmp_path / "set", {"tif": encoded("TIFF", mask)})
    index = tarflume.Image(tarflume.OriginalSize(1 << 12), "img", channels="index", fallback="pillow")
    (found,), _ = rows(path, index)
    np.testing.assert_array_equal(found.reshape(SIZE[::-1]), np.asarray(mask))
    gray = tarflume.Image(tarflume.Resize(24), "img", channels="gray", fallback="pillow")
    with pytest.raises(tarflume.errors.DecodeError, match='channels="index"'):
        rows(path, gray)


def test_it_is_asked_for_nothing_else(tmp_path):
    decoded = {
        "jpg": encoded("JPEG", drawn()),
        "png": encoded("PNG", drawn()),
        "webp": encoded("WEBP", drawn()),
        "gif": encoded("GIF", drawn("P")),
        "bmp": encoded("BMP", drawn()),
        "ppm": encoded("PPM", drawn()),
        "pgm": encoded("PPM", drawn("L")),
        "tif": encoded("TIFF", drawn(), compression="tiff_lzw"),
    }
    image = tarflume.Image(tarflume.Resize(24), "img", fallback="pillow")
    found, loader = rows(folder(tmp_path / "set", decoded), image)
    assert len(found) == len(decoded) and loader.stats()["functions"]["calls"] == 0


def test_the_pixels_of_arithmetic_and_lossless_jpegs_are_those_of_pillow(tmp_path):
    files = {name: data for name, data in UNDECODED.items() if name.endswith("jpg")}
    path = folder(tmp_path / "set", files)
    upright = [np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")) for data in files.values()]
    np.testing.assert_array_equal(upright[3], np.asarray(drawn("L").convert("RGB")))
    image = tarflume.Image(tarflume.OriginalSize(1 << 12), "img", fallback="pillow")
    found, loader = rows(path, image)
    for name, one, other in zip(files, found, upright, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)
    assert loader.stats()["functions"]["calls"] == len(files)


def test_the_dataset_for_torch_takes_it_too(tmp_path):
    torch = pytest.importorskip("torch")
    import tarflume.torch

    path = folder(tmp_path / "set", {"jpg": ARITHMETIC, "turned.jpg": with_exif(ARITHMETIC, 3)})
    image = tarflume.Image(tarflume.Resize((29, 41)), "img", fallback="pillow")
    data = tarflume.torch.Dataset(path, columns={"image": image}, batch_size=2)
    [batch] = list(torch.utils.data.DataLoader(data, batch_size=None))
    stored = np.asarray(Image.open(io.BytesIO(ARITHMETIC)))
    np.testing.assert_array_equal(np.asarray(batch["image"]), [stored, stored[::-1, ::-1]])


def test_a_jpeg_that_pillow_cannot_decode_is_named(tmp_path):
    frame = ARITHMETIC.index(b"\xff\xc9")
    hierarchical = ARITHMETIC[: frame + 1] + b"\xcd" + ARITHMETIC[frame + 2 :]
    path = folder(tmp_path / "set", {"a": ARITHMETIC, "b": hierarchical})
    image = tarflume.Image(tarflume.Resize(24), "img", fallback="pillow")
    with pytest.raises(tarflume.errors.DecodeError, match="Pillow cannot decode this picture") as told:
        rows(path, image)
    assert told.value.key == "001" and str(told.value.path).endswith("0.tar")
    with pytest.raises(tarflume.errors.DecodeError, match="it is coded arithmetically.*jpegtran"):
        rows(path, tarflume.Image(tarflume.Resize(24), "img"))


def test_without_it_the_error_names_the_kind_and_what_to_write(tmp_path):
    path = folder(tmp_path / "set", {"avif": UNDECODED["avif"]})
    with pytest.raises(tarflume.errors.DecodeError, match=r'an AVIF.*convert it to JPEG or PNG.*fallback="pillow"'):
        rows(path, tarflume.Image(tarflume.Resize(24), "img"))


def test_what_pillow_cannot_decode_is_a_bad_sample(tmp_path):
    damaged = UNDECODED["avif"][:200]
    jxl = b"\xff\x0a\x7f\x00"
    path = folder(tmp_path / "set", {"jp2": UNDECODED["jp2"], "cut": damaged, "jxl": jxl})
    image = tarflume.Image(tarflume.Resize(24), "img", fallback="pillow")
    found, loader = rows(path, image, on_bad="skip")
    assert len(found) == 1
    assert [sample["ordinal"] for sample in loader.bad_samples()] == [1, 2]
    assert "Pillow cannot decode this picture" in loader.bad_samples()[0]["reason"]
    with pytest.raises(tarflume.errors.DecodeError, match="002"):
        rows(folder(tmp_path / "one", {"a": UNDECODED["tif"], "b": UNDECODED["tif"], "c": jxl}), image)


def test_the_default_parts_are_those_of_all_pictures(tmp_path):
    path = tmp_path / "set"
    path.mkdir()
    with tarfile.open(path / "0.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        for n, (name, data) in enumerate({**UNDECODED, "jfif": encoded("JPEG", drawn())}.items()):
            member = tarfile.TarInfo(f"{n:03}.{name.split('.')[-1]}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    tarflume.pack.index(path)
    found, _ = rows(path, tarflume.Image(tarflume.Resize(24), fallback="pillow"))
    assert len(found) == len(UNDECODED) + 1


def test_pictures_keep_their_own_size(tmp_path):
    image = tarflume.Image(tarflume.OriginalSize(1 << 12), "img", fallback="pillow")
    found, _ = rows(folder(tmp_path / "set", UNDECODED), image)
    height, width = SIZE[::-1]
    shapes = [(width, height, 3) if name.startswith("turned") else (height, width, 3) for name in UNDECODED]
    assert [row.shape for row in found] == shapes


def test_without_orientation_the_pixels_are_those_as_stored(tmp_path):
    path = folder(tmp_path / "set", {"turned.avif": UNDECODED["turned.avif"]})
    image = tarflume.Image(tarflume.OriginalSize(1 << 12), "img", orientation=False, fallback="pillow")
    (found,), _ = rows(path, image)
    stored = Image.open(io.BytesIO(UNDECODED["turned.avif"])).convert("RGB")
    assert stored.size == SIZE
    np.testing.assert_array_equal(found, np.asarray(stored))


def test_another_fallback_is_refused():
    with pytest.raises(tarflume.errors.UsageError, match='fallback is "pillow" or None'):
        tarflume.Image(tarflume.Resize(24), fallback="cv2")


def test_a_picture_of_more_than_8_bits_is_not_cut_for_floats(tmp_path):
    depth = Image.fromarray(np.linspace(0, 9, SIZE[0] * SIZE[1], dtype=np.float32).reshape(SIZE[::-1]))
    assert depth.mode == "F"
    path = folder(tmp_path / "set", {"tif": encoded("TIFF", depth)})
    for dtype in ("float32", "uint16"):
        image = tarflume.Image(tarflume.Resize(8), "img", channels="gray", dtype=dtype, fallback="pillow")
        with pytest.raises(tarflume.errors.DecodeError, match="more than 8 bits"):
            rows(path, image)
    (found,), _ = rows(path, tarflume.Image(tarflume.Resize(8), "img", channels="gray", fallback="pillow"))
    assert found.dtype == np.uint8
