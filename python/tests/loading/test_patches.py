"""Patches, as docs/PATCHES.md has them: sizes by the published rules, and the pixels in the order of timm and Qwen2-VL."""

from __future__ import annotations

import math
import pathlib
import pickle

import numpy as np
import pytest
from PIL import Image

import tarflume
from conftest import pack
from tarflume import transforms as T

SIZES = [(96, 96), (160, 80), (80, 160), (130, 100), (37, 211), (300, 60), (97, 61), (8, 8)]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """24 pictures without loss, of all sizes."""
    root = tmp_path_factory.mktemp("pictures")
    (root / "pairs").mkdir()
    for n in range(24):
        width, height = SIZES[n % len(SIZES)]
        y, x = np.mgrid[0:height, 0:width]
        rgb = np.stack([x * 2 + n, y * 2 + n, (x + y) + 3 * n], axis=-1) % 256
        Image.fromarray(rgb.astype(np.uint8)).save(root / "pairs" / f"{n:03}.png")
    pack("build", root / "pairs", "-o", root / "shards", "--require", "png")
    return root / "shards"


def naflex(height: int, width: int, patch: int, most: int) -> tuple[int, int]:
    """get_image_size_for_max_num_patches of SigLIP 2 in transformers."""

    def side(scale: float, size: int) -> int:
        return int(max(patch, math.ceil(size * scale / patch) * patch))

    low, high = 1e-6, 100.0
    while high - low >= 1e-5:
        scale = (low + high) / 2
        fits = (side(scale, height) / patch) * (side(scale, width) / patch) <= most
        low, high = (scale, high) if fits else (low, scale)
    return side(low, height), side(low, width)


def smart_resize(height: int, width: int, factor: int, least: int, most: int) -> tuple[int, int]:
    """smart_resize of Qwen2-VL in transformers."""
    h, w = round(height / factor) * factor, round(width / factor) * factor
    if h * w > most:
        beta = math.sqrt(height * width / most)
        h, w = max(factor, math.floor(height / beta / factor) * factor), max(factor, math.floor(width / beta / factor) * factor)
    elif h * w < least:
        beta = math.sqrt(least / (height * width))
        h, w = math.ceil(height * beta / factor) * factor, math.ceil(width * beta / factor) * factor
    return h, w


def pix2struct(height: int, width: int, patch: int, most: int) -> tuple[int, int]:
    """The size of Pix2Struct's extract_flattened_patches in transformers."""
    scale = math.sqrt(most * (patch / height) * (patch / width))
    rows = max(min(math.floor(scale * height / patch), most), 1)
    columns = max(min(math.floor(scale * width / patch), most), 1)
    return max(rows * patch, 1), max(columns * patch, 1)


def test_sizes_are_those_of_the_published_rules():
    random = np.random.default_rng(1)
    for height, width in random.integers(1, 5000, size=(300, 2)).tolist() + [[1, 1], [28, 28], [42, 70], [1, 4999]]:
        for patch, most in [(16, 256), (14, 1024), (32, 49)]:
            assert T.PatchResize(patch, most).size(height, width) == naflex(height, width, patch, most)
            assert T.PatchResize(patch, most, "pix2struct").size(height, width) == pix2struct(height, width, patch, most)
        if max(height, width) <= 200 * min(height, width):
            least, most = 4 * 28 * 28, 1280 * 28 * 28
            found = T.PatchResize(28, 1280, "qwen2_vl", 4).size(height, width)
            wanted = smart_resize(height, width, 28, least, most)
            # Where a side would have no pixel, it has one patch.
            assert found == tuple(max(side, 28) for side in wanted)
    assert T.PatchResize(16, 256).tokens(480, 640) == 14 * 18
    with pytest.raises(tarflume.Error, match="more than 200 times"):
        T.PatchResize(28, 1280, "qwen2_vl").size(1, 201)


def test_sizes_are_those_of_timm_and_transformers():
    naflex_transforms = pytest.importorskip("timm.data.naflex_transforms")
    siglip = pytest.importorskip("transformers.models.siglip2.image_processing_siglip2")
    qwen = pytest.importorskip("transformers.models.qwen2_vl.image_processing_qwen2_vl")
    random = np.random.default_rng(2)
    for height, width in random.integers(1, 4000, size=(200, 2)).tolist():
        for patch, most in [(16, 256), (14, 729), (32, 49)]:
            found = T.PatchResize(patch, most).size(height, width)
            assert found == naflex_transforms.get_image_size_for_seq((height, width), patch, most)[1]
            assert found == siglip.get_image_size_for_max_num_patches(height, width, patch, most)
        if max(height, width) <= 200 * min(height, width):
            wanted = qwen.smart_resize(height, width, 28, 4 * 28 * 28, 1280 * 28 * 28)
            assert T.PatchResize(28, 1280, "qwen2_vl", 4).size(height, width) == tuple(wanted)


def test_patches_are_those_of_timm_and_the_processor_of_qwen2_vl(pictures):
    naflex_transforms = pytest.importorskip("timm.data.naflex_transforms")
    qwen = pytest.importorskip("transformers.models.qwen2_vl.image_processing_qwen2_vl")
    import torch

    processor = qwen.Qwen2VLImageProcessor(do_resize=False, do_rescale=False, do_normalize=False)
    resize = T.PatchResize(28, max_tokens=20, min_tokens=2, rule="qwen2_vl")
    wholes = resized(pictures, resize)
    order = {"merge": 2, "channels_first": True, "frames": 2}
    columns = {"qwen": tarflume.Patches(resize, 14, **order), "grid": tarflume.Patches(resize, 14, "grid", **order),
               "timm": tarflume.Patches(resize, 28)}
    for batch in tarflume.Loader(pictures, columns=columns, batch_size=7):
        rows = zip(batch["key"], batch["qwen"], np.asarray(batch["grid"]), batch["timm"])
        for key, row, grid, plain in rows:
            whole = torch.from_numpy(wholes[key].copy()).permute(2, 0, 1)
            theirs = processor(whole, return_tensors="np")
            assert [1, *grid] == theirs["image_grid_thw"][0].tolist()
            np.testing.assert_array_equal(np.asarray(row), theirs["pixel_values"])
            patches = naflex_transforms.patchify_image(whole, (28, 28), include_info=False)
            np.testing.assert_array_equal(np.asarray(plain), patches.numpy())


def resized(shards: pathlib.Path, resize: T.PatchResize) -> dict[str, np.ndarray]:
    loader = tarflume.Loader(shards, image=resize)
    return {batch["key"][0]: np.asarray(batch["image"][0]) for batch in loader}


def test_patches_have_the_pixels_of_the_resized_picture(pictures):
    resize = T.PatchResize(16, max_tokens=60)
    wholes = resized(pictures, resize)
    loader = tarflume.Loader(pictures, columns=tarflume.patch_columns(resize, 16, 60), batch_size=5)
    seen = 0
    for batch in loader:
        patches, coord, valid = (np.asarray(batch[name]) for name in ("patches", "patch_coord", "patch_valid"))
        assert patches.shape == (len(batch), 60, 768) and coord.shape == (len(batch), 60, 2) and valid.dtype == bool
        for row, key in enumerate(batch["key"]):
            whole = wholes[key]
            h, w = whole.shape[0] // 16, whole.shape[1] // 16
            # timm's patchify.
            wanted = whole.reshape(h, 16, w, 16, 3).transpose(0, 2, 1, 3, 4).reshape(h * w, -1)
            np.testing.assert_array_equal(patches[row, : h * w], wanted)
            assert not patches[row, h * w :].any() and valid[row].sum() == h * w and valid[row, : h * w].all()
            np.testing.assert_array_equal(coord[row, : h * w], np.stack(np.divmod(np.arange(h * w), w), axis=1))
            seen += 1
    assert seen == 24


def test_rows_without_padding_are_the_pixel_values_of_qwen2_vl(pictures):
    resize = T.PatchResize(28, max_tokens=20, min_tokens=2, rule="qwen2_vl")
    wholes = resized(pictures, resize)
    order = {"merge": 2, "channels_first": True, "frames": 2}
    columns = {"pixels": tarflume.Patches(resize, 14, **order), "grid": tarflume.Patches(resize, 14, "grid", **order),
               "places": tarflume.Patches(resize, 14, "coordinates", **order)}
    columns = pickle.loads(pickle.dumps(columns))
    for batch in tarflume.Loader(pictures, columns=columns, batch_size=7):
        values, places = np.asarray(batch["pixels"].values), np.asarray(batch["places"].values)
        assert values.shape[1:] == (3 * 2 * 14 * 14,) and places.shape[1:] == (2,)
        wanted, wanted_places = [], []
        for key, (h, w) in zip(batch["key"], np.asarray(batch["grid"])):
            whole = wholes[key]
            assert whole.shape[:2] == (h * 14, w * 14)
            # Qwen2VLImageProcessor: [frames, channels, h / 2, 2, 14, w / 2, 2, 14].
            frames = np.stack([whole.transpose(2, 0, 1)] * 2)
            cut = frames.reshape(1, 2, 3, h // 2, 2, 14, w // 2, 2, 14).transpose(0, 3, 6, 4, 7, 2, 1, 5, 8)
            wanted.append(cut.reshape(h * w, -1))
            y, x = np.mgrid[0:h, 0:w]
            grid = np.stack([y, x], axis=-1).reshape(h // 2, 2, w // 2, 2, 2).transpose(0, 2, 1, 3, 4)
            wanted_places.append(grid.reshape(-1, 2))
        np.testing.assert_array_equal(values, np.concatenate(wanted))
        np.testing.assert_array_equal(places, np.concatenate(wanted_places))


def test_floats_and_draws_go_through_patches(pictures):
    recipe = T.Compose([T.RandomHorizontalFlip(), T.PatchResize(16, 32), T.ColorJitter(0.4)])
    image = tarflume.Image(recipe, dtype="float32", normalize="centered")
    columns = {"image": image, "patches": tarflume.Patches(image, 16)}
    for batch in tarflume.Loader(pictures, columns=columns, seed=4, shuffle="full", batch_size=6):
        for whole, patches in zip(batch["image"], batch["patches"]):
            whole = np.asarray(whole)
            h, w = whole.shape[0] // 16, whole.shape[1] // 16
            wanted = whole.reshape(h, 16, w, 16, 3).transpose(0, 2, 1, 3, 4).reshape(h * w, -1)
            np.testing.assert_array_equal(np.asarray(patches), wanted)


def test_torch_gets_views_of_one_tensor(pictures):
    torch = pytest.importorskip("torch")
    import tarflume.torch

    resize = T.PatchResize(16, 40)
    columns = {"patches": tarflume.Patches(resize, 16), "grid": tarflume.Patches(resize, 16, "grid")}
    for batch in tarflume.torch.Loader(pictures, columns=columns, batch_size=6):
        sizes = batch["grid"].prod(dim=1).tolist()
        assert [tuple(row.shape) for row in batch["patches"]] == [(size, 768) for size in sizes]
        assert batch["patches"].values.shape == (sum(sizes), 768) and batch["patches"].values.dtype == torch.uint8


def test_what_is_no_whole_patches_is_an_error(pictures):
    with pytest.raises(tarflume.Error, match="multiples of 16.*PatchResize"):
        next(iter(tarflume.Loader(pictures, columns=tarflume.patch_columns(T.Resize(50), 16, 400))))
    with pytest.raises(tarflume.Error, match="more than the 10 of a row"):
        next(iter(tarflume.Loader(pictures, columns=tarflume.patch_columns(T.PatchResize(16, 40), 16, 10))))
    with pytest.raises(tarflume.Error, match="recipe of tarflume.transforms or a tarflume.Image"):
        tarflume.Patches(T.TenCrop(32), 16)
    with pytest.raises(tarflume.Error, match="for padded patches"):
        tarflume.Patches(T.PatchResize(16, 40), 16, "mask")
    with pytest.raises(tarflume.Error, match="kind= is one of"):
        tarflume.Patches(T.PatchResize(16, 40), 16, "pixel")
    with pytest.raises(tarflume.Error, match="min_tokens is for the rule qwen2_vl"):
        tarflume.Loader(pictures, image=T.PatchResize(16, 40, min_tokens=3))
