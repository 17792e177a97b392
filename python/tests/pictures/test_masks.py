"""Masks, depth and floats: the numbers that a file stores, beside Pillow."""

from __future__ import annotations

import io
import pathlib

import numpy as np
import pytest
from conftest import pack
from PIL import Image

import tarflume
from tarflume import errors

HEIGHT, WIDTH = 5, 7
WHOLE = tarflume.OriginalSize(1 << 16)
PALETTE = [0, 0, 0, 128, 0, 0, 0, 128, 0, 128, 128, 0]  # VOC's first colors


def classes(count: int) -> np.ndarray:
    return (np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH) * 5 % count).astype(np.uint8)


def saved(image: Image.Image, kind: str, **words: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **words)
    return out.getvalue()


def indexed(values: np.ndarray, colors: list[int]) -> Image.Image:
    image = Image.fromarray(values)
    image.putpalette(colors)
    assert image.mode == "P"
    return image


def words(values: np.ndarray) -> Image.Image:
    return Image.frombytes("I;16", values.shape[::-1], values.astype("<u2").tobytes())


def shards(folder: pathlib.Path, ext: str, *parts: bytes) -> pathlib.Path:
    """Shards of these parts, in order."""
    source = folder / "source"
    source.mkdir()
    for n, data in enumerate(parts):
        (source / f"{n:02}.{ext}").write_bytes(data)
    pack("build", source, "-o", folder / "shards", "--require", "image")
    return folder / "shards"


def rows(data: pathlib.Path, ext: str, transform: object = WHOLE, **options: object) -> list[np.ndarray]:
    column = tarflume.Image(transform, ext, **options)
    with tarflume.Loader(data, batch_size=16, columns={"mask": column}, drop_last=False) as loader:
        return [np.asarray(row) for batch in loader for row in batch["mask"]]


def pillow(data: bytes, mode: str | None = None) -> np.ndarray:
    image = Image.open(io.BytesIO(data))
    return np.asarray(image.convert(mode) if mode else image)


def test_the_numbers_of_a_palette_are_those_of_pillow(tmp_path):
    parts = [saved(indexed(classes(4), PALETTE), "PNG", bits=8)]
    parts += [saved(indexed(classes(1 << bits), PALETTE[: 3 << bits]), "PNG", bits=bits) for bits in (1, 2)]
    parts += [saved(indexed(classes(15), PALETTE * 4), "PNG", bits=4)]
    data = shards(tmp_path, "png", *parts)
    for part, row in zip(parts, rows(data, "png", channels="index"), strict=True):
        np.testing.assert_array_equal(row[..., 0], pillow(part))
    for part, row in zip(parts, rows(data, "png", channels="index", dtype="uint16", layout="chw"), strict=True):
        np.testing.assert_array_equal(row[0], pillow(part).astype(np.uint16))
    for part, row in zip(parts, rows(data, "png", channels="luma"), strict=True):
        np.testing.assert_array_equal(row[..., 0], pillow(part, "L"))


@pytest.mark.parametrize("kind", ["GIF", "BMP"])
def test_the_numbers_of_other_palettes_are_those_of_pillow(tmp_path, kind):
    part = saved(indexed(classes(4), PALETTE), kind)
    data = shards(tmp_path, kind.lower(), part)
    np.testing.assert_array_equal(rows(data, kind.lower(), channels="index")[0][..., 0], pillow(part))
    with pytest.raises(errors.Error, match='channels="index"'):
        rows(data, kind.lower(), channels="gray")


def test_gray_of_a_palette_is_an_error_that_names_both_ways_on(tmp_path):
    data = shards(tmp_path, "png", saved(indexed(classes(4), PALETTE), "PNG"))
    with pytest.raises(errors.Error, match='channels="index".*channels="luma"'):
        rows(data, "png", channels="gray")


def test_a_palette_of_the_gray_of_each_index_is_gray(tmp_path):
    ramp = [n // 3 for n in range(3 * 256)]
    part = saved(indexed(classes(200), ramp), "PNG", bits=8)
    bmp = saved(Image.fromarray(classes(200)), "BMP")
    one = saved(Image.fromarray(classes(2) > 0), "BMP")
    (tmp_path / "png").mkdir()
    found = rows(shards(tmp_path / "png", "png", part), "png", channels="gray")[0]
    np.testing.assert_array_equal(found[..., 0], classes(200))
    for row, right in zip(rows(shards(tmp_path, "bmp", bmp, one), "bmp", channels="gray"), (bmp, one), strict=True):
        np.testing.assert_array_equal(row[..., 0], pillow(right, "L"))


def test_gray_masks_keep_their_levels(tmp_path):
    bit = Image.fromarray(classes(2) > 0)
    parts = [saved(Image.fromarray(classes(200)), "PNG"), saved(bit, "PNG")]
    data = shards(tmp_path, "png", *parts)
    for part, row in zip(parts, rows(data, "png", channels="index"), strict=True):
        np.testing.assert_array_equal(row[..., 0], pillow(part).astype(np.uint8))
    # As gray, one bit is black and white.
    np.testing.assert_array_equal(rows(data, "png", channels="gray")[1][..., 0], pillow(parts[1], "L"))


@pytest.mark.parametrize(("photometric", "kind"), [(1, "L"), (0, "L"), (1, "1"), (0, "1"), (1, "I;16")])
def test_gray_tiffs_keep_their_levels(tmp_path, photometric, kind):
    levels = classes(200)
    image = {"L": Image.fromarray(levels), "1": Image.fromarray(levels > 99), "I;16": words(levels * np.uint16(300))}[kind]
    part = saved(image, "TIFF", tiffinfo={262: photometric})
    data = shards(tmp_path, "tif", part)
    found = rows(data, "tif", channels="index", dtype="uint16")[0][..., 0]
    # Pillow inverts what it reads where 0 is white; the file stores the other numbers.
    stored = pillow(part).astype(np.uint16)
    most = {"L": 255, "1": 1, "I;16": 65535}[kind]
    np.testing.assert_array_equal(found, stored if photometric else most - stored)


def test_a_mask_is_resized_without_new_numbers(tmp_path):
    data = shards(tmp_path, "png", saved(indexed(classes(4) * 3, PALETTE * 4), "PNG"))
    for size in [(3, 4), (20, 30)]:
        assert set(np.unique(rows(data, "png", tarflume.Resize(size), channels="index")[0])) <= {0, 3, 6, 9}
    both = tarflume.RandomResizedCrop(16, flip=0.5)
    found = rows(data, "png", both, channels="index")[0]
    assert found.shape == (16, 16, 1) and set(np.unique(found)) <= {0, 3, 6, 9}


DEPTH = np.array([[0, 1, 2, 255, 256, 257, 300], [1000, 4096, 32767, 32768, 65533, 65534, 65535]], np.uint16)


@pytest.mark.parametrize("kind", ["png", "tiff"])
def test_16_bits_are_exact(tmp_path, kind):
    data = shards(tmp_path, kind, saved(words(DEPTH), kind.upper()))
    for channels in ("gray", "luma", "index"):
        np.testing.assert_array_equal(rows(data, kind, channels=channels, dtype="uint16")[0][..., 0], DEPTH)
    np.testing.assert_array_equal(rows(data, kind, dtype="uint16")[0], np.repeat(DEPTH[..., None], 3, 2))
    found = rows(data, kind, channels="gray", dtype="float32")[0][..., 0]
    np.testing.assert_array_equal(found, DEPTH / np.float32(65535))
    found = rows(data, kind, channels="gray", dtype="float16", mean=[0.5] * 3, std=[0.25] * 3)[0][..., 0]
    np.testing.assert_array_equal(found, ((DEPTH / 65535 - 0.5) / 0.25).astype(np.float32).astype(np.float16))
    # In bytes they are rounded, not clipped.
    np.testing.assert_array_equal(rows(data, kind, channels="gray")[0][..., 0], np.round(DEPTH / 257))
    with pytest.raises(errors.Error, match='dtype="uint16"'):
        rows(data, kind, channels="index")


def test_16_bits_are_resized_as_16_bits(tmp_path):
    levels = np.full((8, 8), 1000, np.uint16)
    levels[:, 4:] = 1100
    data = shards(tmp_path, "png", saved(words(levels), "PNG"))
    found = rows(data, "png", tarflume.Resize((8, 16)), channels="gray", dtype="uint16")[0][..., 0]
    assert found.min() == 1000 and found.max() == 1100 and len(np.unique(found)) > 2
    floats = rows(data, "png", tarflume.Resize((8, 16)), channels="gray", dtype="float32")[0][..., 0]
    np.testing.assert_array_equal(floats, found / np.float32(65535))


def test_8_bits_among_16_have_the_same_white(tmp_path):
    data = shards(tmp_path, "png", saved(Image.fromarray(classes(200)), "PNG"))
    np.testing.assert_array_equal(rows(data, "png", channels="gray", dtype="uint16")[0][..., 0], classes(200) * np.uint16(257))


def test_floats_are_from_0_to_1_unless_a_normalization_is_named(tmp_path):
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    data = shards(tmp_path, "png", saved(Image.fromarray(np.stack([levels, levels.T, 255 - levels], 2)), "PNG"))
    plain = rows(data, "png")[0]
    unit = rows(data, "png", dtype="float32")[0]
    np.testing.assert_allclose(unit, plain / np.float32(255), rtol=1e-6)
    assert unit.min() == 0 and unit.max() == 1
    gray = rows(data, "png", dtype="float32", channels="gray")[0]
    assert 0 <= gray.min() and gray.max() <= 1
    np.testing.assert_array_equal(rows(data, "png", dtype="float32", normalize="unit")[0], unit)
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    named = rows(data, "png", dtype="float32", normalize="imagenet")[0]
    np.testing.assert_array_equal(named, rows(data, "png", dtype="float32", mean=mean, std=std)[0])
    np.testing.assert_allclose(named, (plain / 255 - mean) / std, atol=1e-5)
    centered = rows(data, "png", dtype="float32", normalize="centered")[0]
    np.testing.assert_allclose(centered, plain / 127.5 - 1, atol=1e-6)


@pytest.mark.parametrize(("options", "message"), [
    ({"normalize": "imagenet"}, 'need dtype="float32"'),
    ({"mean": [0.5] * 3, "dtype": "uint16"}, 'need dtype="float32"'),
    ({"normalize": "imagenet", "dtype": "float32", "mean": [0.5] * 3}, "not both"),
    ({"normalize": "imagenet", "dtype": "float32", "channels": "gray"}, "red, green and blue"),
    ({"mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375], "dtype": "float32"}, "divide both by 255"),
    ({"std": [255] * 3, "dtype": "float16"}, "divide both by 255"),
    ({"normalize": "voc", "dtype": "float32"}, '"imagenet", "centered", "unit"'),
    ({"channels": "index", "dtype": "float32"}, 'dtype="uint8" or "uint16"'),
    ({"channels": "index", "filter": "bilinear"}, '"nearest"'),
    ({"dtype": "uint16", "resize_on_device": 64}, "16-bit"),
    ({"channels": "index", "resize_on_device": 64}, "Bilinear"),
])  # fmt: skip
def test_options_that_exclude_each_other_are_refused(options, message):
    with pytest.raises(errors.UsageError, match=message):
        tarflume.Image(tarflume.Resize(8), "png", **options)


def test_a_picture_without_numbers_is_an_error(tmp_path):
    color = Image.fromarray(np.zeros((4, 4, 3), np.uint8))
    for kind in ("JPEG", "PNG", "BMP", "TIFF", "WEBP"):
        folder = tmp_path / kind
        folder.mkdir()
        ext = {"JPEG": "jpg", "TIFF": "tif"}.get(kind, kind.lower())
        with pytest.raises(errors.Error, match="stores colors"):
            rows(shards(folder, ext, saved(color, kind)), ext, channels="index")
