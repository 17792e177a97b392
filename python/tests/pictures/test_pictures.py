"""Pictures of their own sizes: arrays with a shape each, tensors in a list, padded with a mask."""

from __future__ import annotations

import io

import numpy as np
import pytest
from conftest import ROOT, pack, pairs, picture

import tarflume


def oracle(n: int) -> np.ndarray:
    """What the JPEG of picture `n` decodes to, elsewhere."""
    from PIL import Image

    jpeg = io.BytesIO()
    picture(n).save(jpeg, "JPEG", quality=90)
    return np.asarray(Image.open(jpeg))


def whole(**words):
    return {"image": tarflume.Image(tarflume.OriginalSize(1 << 28), **words)}


def test_each_row_is_an_array_of_its_picture(shards):
    # With room for 2^28 pixels a row this bound would not do: the sidecar says how large they are.
    batch = next(iter(tarflume.Loader(shards, batch_size=10, columns=whole(), memory_limit="128MiB", num_threads=1)))
    column = batch["image"]
    assert [row.shape for row in column.tolist()] == [picture(n).size[::-1] + (3,) for n in range(10)]
    assert column.shapes == [row.shape for row in column.tolist()]
    for n, row in enumerate(batch.numpy()["image"]):
        assert isinstance(row, np.ndarray) and row.dtype == np.uint8
        assert np.abs(row.astype(int) - oracle(n).astype(int)).max() <= 1


def test_planes_lie_channel_by_channel(shards):
    columns = whole(layout="chw", dtype="float32")
    column = next(iter(tarflume.Loader(shards, batch_size=10, columns=columns)))["image"]
    height, width = column[3].shape[1:]
    assert (width, height) == picture(3).size and column[3].dtype == "float32"


@pytest.mark.parametrize("layout", ["hwc", "chw"])
def test_padded_pictures_have_a_mask(shards, layout):
    column = next(iter(tarflume.Loader(shards, batch_size=10, columns=whole(layout=layout))))["image"]
    padded, mask = (np.asarray(array) for array in column.padded(9))
    assert mask.dtype == bool and mask.shape[0] == 10
    if layout == "chw":
        padded = padded.transpose(0, 2, 3, 1)
    assert mask.shape == padded.shape[:3] == (10, *np.max([picture(n).size[::-1] for n in range(10)], axis=0))
    assert (padded[~mask] == 9).all()
    for n, row in enumerate(column):
        array = np.asarray(row)
        array = array if layout == "hwc" else array.transpose(1, 2, 0)
        height, width = array.shape[:2]
        np.testing.assert_array_equal(padded[n, :height, :width], array)
        assert mask[n].sum() == height * width


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_padded_pictures_of_half_floats(shards, dtype):
    torch = pytest.importorskip("torch")
    column = next(iter(tarflume.Loader(shards, batch_size=4, columns=whole(dtype=dtype, layout="chw"))))["image"]
    padded, mask = (torch.from_dlpack(array) for array in column.padded(-2.5))
    assert padded.dtype == getattr(torch, dtype) and padded.shape[0] == 4
    for n, row in enumerate(column):
        picture = torch.from_dlpack(row)
        height, width = picture.shape[1:]
        assert torch.equal(padded[n, :, :height, :width], picture)
        assert (padded[n].amax(0)[~mask[n]] == -2.5).all() and int(mask[n].sum()) == height * width


def test_tensors_in_a_list(shards):
    torch = pytest.importorskip("torch")
    column = next(iter(tarflume.Loader(shards, batch_size=10, columns=whole())))["image"]
    tensors = [torch.from_dlpack(row) for row in column]
    assert [tuple(tensor.shape) for tensor in tensors] == column.shapes
    np.testing.assert_array_equal(tensors[4].numpy(), column[4].numpy())


def test_the_loader_for_torch_gives_tensors_in_a_list(shards):
    pytest.importorskip("torch")
    import tarflume.torch

    batch = next(iter(tarflume.torch.Loader(shards, batch_size=10, columns=whole())))
    assert [tuple(tensor.shape) for tensor in batch["image"]] == [picture(n).size[::-1] + (3,) for n in range(10)]


def test_a_function_sees_the_shape_of_its_picture(shards):
    sides = tarflume.Apply(lambda array: np.array(array.shape), whole()["image"], shape=(3,), dtype="int64")
    loader = tarflume.Loader(shards, batch_size=10, columns={"sides": sides}, memory_limit="128MiB", num_threads=1)
    found = np.asarray(next(iter(loader))["sides"])
    np.testing.assert_array_equal(found, [picture(n).size[::-1] + (3,) for n in range(10)])


def test_damaged_pictures_are_kept_on_request(tmp_path, monkeypatch):
    from PIL import Image, ImageFile

    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    folder = pairs(tmp_path / "pairs", 3)
    jpegs = [(folder / f"{n:04}.jpg").read_bytes() for n in range(3)]
    jpegs[1] = jpegs[1][: len(jpegs[1]) * 2 // 3]  # pixels are lost
    jpegs[2] = jpegs[2][:-2]  # only the end of the image
    for n, jpeg in enumerate(jpegs):
        (folder / f"{n:04}.jpg").write_bytes(jpeg)
    pack("build", folder, "-o", tmp_path / "shards", "--check", "none")
    loader = tarflume.Loader(tmp_path / "shards", batch_size=3, columns=whole(damaged="keep"))
    [rows] = [[np.array(row) for row in batch["image"].tolist()] for batch in loader]
    for row, jpeg in zip(rows, jpegs, strict=True):
        np.testing.assert_array_equal(row, np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB")))
    stats = loader.stats()
    assert (stats["jpegs_damaged"], stats["jpegs_irregular"]) == (1, 1)
    assert "JPEGs: 1 break rules of their format without losing a pixel; 1 are damaged" in repr(stats)
    with pytest.raises(Exception, match="0001"):
        list(tarflume.Loader(tmp_path / "shards", batch_size=3, columns=whole()))
    with pytest.raises(Exception, match="damaged"):
        whole(damaged="ignore")


def evaluated(image, side: int, size: int, resample):
    """The two steps of torchvision on a Pillow picture: the shorter side at `side`, then the middle `size`."""
    short, long = min(image.size), max(image.size)
    longer = int(side * long / short)
    resized = image.resize((longer, side) if image.width >= image.height else (side, longer), resample)
    left, top = (int(round((length - size) / 2)) for length in resized.size)
    return resized.crop((left, top, left + size, top + size))


@pytest.mark.parametrize(("name", "most"), [("bilinear", 1), ("bicubic", 1), ("lanczos", 1)])
def test_filters_are_pillows_on_photographs_and_noise(tmp_path, name, most):
    from PIL import Image, ImageOps

    folder = tmp_path / "pictures"
    folder.mkdir()
    rng = np.random.default_rng(3)
    sizes = [(1, 1), (1, 300), (300, 1), (90, 61), (375, 500), (500, 375), (640, 480), (33, 900)]
    for n, (height, width) in enumerate(sizes):
        noise = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / f"{n}.png")
        # Black and white leave the range most, and are cut off between the two passes.
        Image.fromarray((noise > 127).astype(np.uint8) * 255).save(folder / f"{n}-hard.png")
        Image.fromarray(noise[..., 0]).save(folder / f"{n}-gray.png")
    for n, path in enumerate(sorted((ROOT / "fixtures" / "photos").rglob("*.jpg"))):
        (folder / f"photo-{n}.jpg").write_bytes(path.read_bytes())
    pack("build", folder, "-o", tmp_path / "shards", "--require", "image")
    resample = Image.Resampling[name.upper()]
    columns = {
        "exact": tarflume.Image(tarflume.Resize((70, 113)), filter=name, reducing_gap=None),
        "evaluated": tarflume.Image(tarflume.ResizeCenterCrop(64, 56), filter=name, reducing_gap=None),
    }
    total = differing = 0
    for batch in tarflume.Loader(tmp_path / "shards", batch_size=1, columns=columns):
        [key] = batch["key"]
        [path] = folder.glob(f"{key}.*")
        image = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
        expected = {
            "exact": image.resize((113, 70), resample),
            "evaluated": evaluated(image, 64, 56, resample),
        }
        for column, wanted in expected.items():
            found = np.asarray(batch[column])[0].astype(int)
            difference = np.abs(found - np.asarray(wanted).astype(int))
            assert difference.max() <= most, (key, column)
            total += difference.size
            differing += np.count_nonzero(difference)
    if name != "bilinear":
        assert differing <= total * 1e-4
