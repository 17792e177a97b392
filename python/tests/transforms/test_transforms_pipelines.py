"""Recipes in pipelines of `tarflume.webdataset` and in data sets of PyTorch: the rows of `tarflume.Loader`, with any number of
workers."""

from __future__ import annotations

import io
import pathlib
import pickle
import shutil
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tarflume
import tarflume.webdataset as wds
from tarflume import transforms
from tarflume.errors import UsageError

torch = pytest.importorskip("torch")
DataLoader = torch.utils.data.DataLoader

SEED = 7
RECIPE = transforms.Compose(
    [
        transforms.RandomResizedCrop(32, interpolation="bicubic"),
        transforms.RandomHorizontalFlip(),
        transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
    ]
)
FLOATS = tarflume.Image(RECIPE, layout="chw", dtype="float32", normalize="imagenet")
Rows = dict[str, np.ndarray]


def loaded(shards: Any, image: Any = RECIPE, epoch: int = 0) -> Rows:
    """The rows of a loader by their keys."""
    with tarflume.Loader(shards, batch_size=16, shuffle="full", seed=SEED, image=image, num_threads=2) as loader:
        return {key: row for batch in loader.epoch(epoch) for key, row in zip(batch["key"], np.array(batch["image"]))}


def tars(shards: pathlib.Path) -> list[str]:
    return [str(path) for path in sorted(shards.glob("*.tar"))]


def pipeline(shards: pathlib.Path, **settings: Any) -> wds.WebDataset:
    return wds.WebDataset(tars(shards), **({"seed": SEED, "shardshuffle": False} | settings))


def rows(data: Any, workers: int | None = None) -> Rows:
    """The second values of samples by the first."""
    if workers is not None:
        data = DataLoader(data, batch_size=None, num_workers=workers)
    return {key: np.asarray(row) for key, row in data}


def same(found: Rows, expected: Rows) -> None:
    assert found.keys() == expected.keys()
    for key, row in found.items():
        assert row.dtype == expected[key].dtype
        np.testing.assert_array_equal(row, expected[key], key)


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("image", [RECIPE, FLOATS], ids=["recipe", "Image"])
def test_decode_gives_the_rows_of_the_loader(shards: pathlib.Path, image: Any, workers: int) -> None:
    data = pipeline(shards).decode(image).to_tuple("__key__", "jpg")
    for epoch in range(2):
        same(rows(data, workers), loaded(shards, image, epoch))


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_map_dict_and_map_tuple_give_the_rows_of_the_loader(shards: pathlib.Path, workers: int) -> None:
    plain = pipeline(shards, shardshuffle=4).shuffle(20).decode("rgb8")
    of_dicts = plain.map_dict(jpg=RECIPE).to_tuple("__key__", "jpg")
    of_tuples = plain.rename(image="jpg", keep=True).to_tuple("__key__", "image").map_tuple(None, RECIPE)
    for epoch in range(2):
        expected = loaded(shards, epoch=epoch)
        same(rows(of_dicts, workers), expected)
        same(rows(of_tuples, workers), expected)


def test_pictures_of_pillow_become_pictures_of_pillow(shards: pathlib.Path) -> None:
    data = pipeline(shards).decode("pil").map_dict(jpg=RECIPE)
    first = next(iter(data))
    assert isinstance(first["jpg"], Image.Image)
    same(rows(data.to_tuple("__key__", "jpg")), loaded(shards))


def test_a_data_pipeline_of_stages(shards: pathlib.Path) -> None:
    data = wds.DataPipeline(
        wds.SimpleShardList(tars(shards)),
        wds.split_by_worker,
        wds.tarfile_to_samples(),
        wds.decode(RECIPE),
        wds.extract_keys("__key__", "*.jpg"),
    )
    found = rows(data, 2)
    with tarflume.Loader(shards, batch_size=16, seed=0, image=RECIPE) as loader:
        same(found, {key: row for batch in loader for key, row in zip(batch["key"], np.array(batch["image"]))})


def test_passes_of_one_iteration_and_set_epoch(shards: pathlib.Path) -> None:
    data = pipeline(shards).decode(RECIPE).to_tuple("__key__", "jpg")
    twice = list(data.repeat(2))
    assert len(twice) == 200 and [key for key, _ in twice[:100]] == [key for key, _ in twice[100:]]
    assert sum(np.array_equal(one[1], other[1]) for one, other in zip(twice[:100], twice[100:])) == 0
    data = pipeline(shards).decode(RECIPE).to_tuple("__key__", "jpg")
    data.set_epoch(5)
    same(rows(data), loaded(shards, epoch=5))
    same(rows(data), loaded(shards, epoch=6))


def test_resampled_shards_get_other_draws_each_time(shards: pathlib.Path) -> None:
    data = pipeline(shards, resampled=True).decode(RECIPE).to_tuple("__key__", "jpg").with_epoch(400)
    by_key: dict[str, list[bytes]] = {}
    for key, row in data:
        by_key.setdefault(key, []).append(row.tobytes())
    assert max(map(len, by_key.values())) > 2
    assert all(len({*many}) == len(many) for many in by_key.values())


def test_a_pipeline_with_a_recipe_is_pickled(shards: pathlib.Path) -> None:
    data = pickle.loads(pickle.dumps(pipeline(shards).decode(FLOATS).to_tuple("__key__", "jpg")))
    same(rows(data), loaded(shards, FLOATS))


def test_batches_of_a_web_loader(shards: pathlib.Path) -> None:
    data = pipeline(shards).decode(RECIPE).to_tuple("__key__", "jpg").batched(8)
    loader = wds.WebLoader(data, batch_size=None, num_workers=2).unbatched()
    same({key: np.asarray(row) for key, row in loader}, loaded(shards))


def test_tars_without_sidecars(shards: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for tar in tars(shards):
        shutil.copy(tar, tmp_path)
    expected = rows(pipeline(tmp_path).decode(RECIPE).to_tuple("__key__", "jpg"), 0)
    for workers in (1, 3):
        same(rows(pipeline(tmp_path, shardshuffle=4).decode(RECIPE).to_tuple("__key__", "jpg"), workers), expected)
    assert len(expected) == 100


def test_bad_samples_change_the_draws_of_no_other(shards: pathlib.Path, tmp_path: pathlib.Path) -> None:
    import conftest

    folder = conftest.pairs(tmp_path / "pairs", 20)
    (folder / "0003.jpg").write_bytes(b"no picture")
    conftest.pack("build", folder, "-o", tmp_path / "shards", "--check", "none")
    data = pipeline(tmp_path / "shards").decode(RECIPE, handler=wds.ignore_and_continue).to_tuple("__key__", "jpg")
    with tarflume.Loader(tmp_path / "shards", batch_size=20, shuffle="full", seed=SEED, image=RECIPE, on_bad="skip") as loader:
        batch = next(iter(loader))
    same(rows(data), dict(zip(batch["key"], np.array(batch["image"]))))
    with pytest.raises(wds.DecodingError, match=r"0003\.jpg"):
        list(pipeline(tmp_path / "shards").decode(RECIPE))


def test_samples_without_shards_draw_by_their_keys() -> None:
    def picture(n: int) -> bytes:
        out = io.BytesIO()
        Image.fromarray(np.random.default_rng(n).integers(0, 256, (40, 40, 3), np.uint8)).save(out, "PNG")
        return out.getvalue()

    samples = [{"__key__": f"{n}", "png": picture(n)} for n in range(4)]
    made = wds.DataPipeline(lambda: samples, wds.decode("rgb8"), wds.map_dict(png=RECIPE), wds.to_tuple("__key__", "png"))
    backwards = wds.DataPipeline(lambda: samples[::-1], wds.decode(RECIPE), wds.to_tuple("__key__", "png"))
    same(rows(made), rows(backwards))
    nameless = wds.DataPipeline(lambda: [(np.zeros((40, 40, 3), np.uint8),)], wds.map_tuple(RECIPE))
    with pytest.raises(UsageError, match="draws by the shard or the key"):
        list(nameless)


def test_pipelines_without_recipes_yield_plain_dicts(shards: pathlib.Path) -> None:
    for data in (pipeline(shards), pipeline(shards).decode("rgb8"), pipeline(shards).map(dict)):
        assert type(next(iter(data))) is dict
    assert type(next(iter(pipeline(shards).to_tuple("__key__", "jpg")))) is tuple


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("batch_size", [None, 16])
def test_a_data_set_of_pytorch_has_the_rows_of_the_loader(shards: pathlib.Path, workers: int, batch_size: Any) -> None:
    words: dict[str, Any] = {"shuffle": "full", "seed": SEED, "image": RECIPE}
    data = tarflume.torch.Dataset(shards, batch_size=batch_size, **words)
    loader = DataLoader(data, batch_size=None, num_workers=workers)
    for epoch in range(2):
        found: Rows = {}
        for made in loader:
            keys, images = (made["key"], made["image"]) if batch_size else ([made["key"]], made["image"][None])
            found |= {key: image.numpy() for key, image in zip(keys, images)}
        same(found, loaded(shards, epoch=epoch))
