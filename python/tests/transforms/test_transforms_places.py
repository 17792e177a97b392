"""What recipes draw by in pipelines of `tarflume.webdataset`: ordinals, places, keys and epochs. Errors about these pass all
handlers, so no sample is left out silently."""

from __future__ import annotations

import errno
import io
import os
import pathlib
import shutil
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tarflume
import tarflume.webdataset as wds
from tarflume import transforms
from tarflume.errors import UsageError
from tarflume.webdataset.handlers import RefusedError

import conftest

SEED = 7
RECIPE = transforms.Compose([transforms.RandomResizedCrop(24), transforms.ColorJitter(0.4, 0.4)])
BFLOAT16 = {"layout": "chw", "dtype": "bfloat16"}
CONTINUING = [wds.ignore_and_continue, wds.warn_and_continue]
Rows = dict[str, np.ndarray]
handlers = pytest.mark.parametrize("handler", CONTINUING, ids=lambda handler: handler.__name__)


def tars(folder: pathlib.Path) -> list[str]:
    return [str(path) for path in sorted(folder.glob("*.tar"))]


def pipeline(urls: list[str], **settings: Any) -> wds.WebDataset:
    return wds.WebDataset(urls, **({"seed": SEED, "shardshuffle": False} | settings))


def rows(data: Any) -> Rows:
    return {sample["__key__"]: np.asarray(sample["jpg"]) for sample in data}


def loaded(shards: Any, epoch: int = 0) -> Rows:
    """The rows of a loader by their keys."""
    with tarflume.Loader(shards, batch_size=10, shuffle="full", seed=SEED, image=RECIPE, num_threads=1) as loader:
        return {key: row for batch in loader.epoch(epoch) for key, row in zip(batch["key"], np.array(batch["image"]))}


def same(found: Rows, expected: Rows) -> None:
    assert found.keys() == expected.keys() != set()
    for key, row in found.items():
        np.testing.assert_array_equal(row, expected[key], key)


@pytest.fixture
def copied(shards: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    """The shards with their sidecars, to be changed."""
    for path in [*shards.glob("*.tar"), *shards.glob("*.index")]:
        shutil.copy(path, tmp_path)
    return tmp_path


def png(n: int) -> bytes:
    out = io.BytesIO()
    conftest.picture(n).save(out, "PNG")
    return out.getvalue()


@handlers
def test_no_handler_gets_an_error_about_the_list_of_shards(copied: pathlib.Path, handler: Any) -> None:
    *_, last = sorted(copied.glob("*.index"))
    whole = last.read_bytes()
    last.write_bytes(whole[: len(whole) // 2])
    told: list[Exception] = []

    def listening(exn: Exception) -> bool:
        told.append(exn)
        return bool(handler(exn))

    data = pipeline(tars(copied), handler=listening).decode(RECIPE, handler=listening)
    iteration = iter(data)
    with warnings.catch_warnings(), pytest.raises(tarflume.Error) as error:
        warnings.simplefilter("error")
        next(iteration)
    assert last.name in str(error.value) and told == []
    assert list(iteration) == [], "the error ends the iteration"
    last.write_bytes(whole)
    same(rows(data), loaded(tars(copied)))  # an iteration that did not begin is no epoch


@handlers
def test_an_error_of_the_machine_does_not_look_like_a_missing_sidecar(
    copied: pathlib.Path, monkeypatch: pytest.MonkeyPatch, handler: Any
) -> None:
    stat = os.stat

    def failing(path: Any, *args: Any, **words: Any) -> os.stat_result:
        if str(path).endswith(".index"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return stat(path, *args, **words)

    data = pipeline(tars(copied), handler=handler).decode(RECIPE, handler=handler)
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", failing)
        with pytest.raises(OSError) as error:
            list(data)
    assert error.value.errno == errno.EIO
    same(rows(data), loaded(tars(copied)))


NAMES = ["z.tar", "z.tar.zst", "noext", ".tar", ".tar.zst"]


@pytest.mark.parametrize("name", NAMES)
def test_ordinals_are_those_of_a_loader_by_any_name_of_a_shard(tmp_path: pathlib.Path, name: str) -> None:
    """The second shard has the name, so its samples have other ordinals than without sidecars."""
    folder = conftest.pairs(tmp_path / "pairs", 20)
    packing = ["--compress", "zstd"] if name.endswith(".zst") else []
    conftest.pack("build", folder, "-o", tmp_path / "shards", "--shards", 2, *packing)
    first, second = sorted(path for path in (tmp_path / "shards").iterdir() if ".tar" in path.name)
    named = second.with_name(name)
    second.rename(named)
    sidecar = {"z.tar": "z.index", "z.tar.zst": "z.index"}.get(name, f"{name}.index")
    second.with_name(second.name.partition(".")[0] + ".index").rename(named.with_name(sidecar))
    urls = [str(first), str(named)]
    same(rows(pipeline(urls).decode(RECIPE)), loaded(urls))


def test_a_pipeline_begins_with_the_epoch_that_was_set_before_its_stages(shards: pathlib.Path) -> None:
    data = pipeline(tars(shards))
    data.set_epoch(5)
    composed = data.compose(wds.decode(RECIPE))
    for epoch in (5, 6):
        same(rows(composed), loaded(shards, epoch))
    later = data.decode(RECIPE)
    later.set_epoch(2)
    same(rows(later.map(dict)), loaded(shards, 2))
    appended = wds.DataPipeline(wds.SimpleShardList(tars(shards)), wds.tarfile_to_samples())
    appended.seed = SEED
    appended.set_epoch(3)
    appended.append(wds.decode(RECIPE))
    same(rows(appended), loaded(shards, 3))


@handlers
def test_bfloat16_is_refused_before_the_first_sample(shards: pathlib.Path, handler: Any) -> None:
    converted = transforms.Converted(RECIPE, **BFLOAT16)
    plain = pipeline(tars(shards), handler=handler)
    filtered = wds.pipelinefilter(wds.filters._decode)
    made: list[Callable[[], Any]] = [
        lambda: plain.decode(tarflume.Image(RECIPE, **BFLOAT16), handler=handler),
        lambda: plain.decode(converted, handler=handler),
        lambda: plain.compose(filtered(converted, handler=handler)),
        lambda: plain.decode("rgb8").map_dict(jpg=converted, handler=handler),
        lambda: plain.decode("rgb8").to_tuple("jpg").map_tuple(converted, handler=handler),
    ]
    for make in made:
        with pytest.raises(UsageError, match="NumPy has no bfloat16"):
            list(make())


@handlers
def test_a_sample_with_neither_place_nor_key_is_not_left_out(handler: Any) -> None:
    pixels = np.asarray(conftest.picture(1))
    made = [
        wds.DataPipeline(lambda: [{"png": png(1)}], wds.decode(RECIPE, handler=handler)),
        wds.DataPipeline(lambda: [{"png": pixels}], wds.map_dict(png=RECIPE, handler=handler)),
        wds.DataPipeline(lambda: [(pixels,)], wds.map_tuple(RECIPE, handler=handler)),
        wds.DataPipeline(lambda: [(pixels,)], wds.map(RECIPE, handler=handler)),
    ]
    for data in made:
        with pytest.raises(RefusedError, match="draws by the shard or the key of a sample"):
            list(data)
    with pytest.raises(RefusedError, match="draws in a pipeline"):
        list(wds.filters._decode([{"__key__": "a", "png": png(1)}], RECIPE, handler=handler))


def test_decode_adds_no_key() -> None:
    sample = {"png": png(1), "txt": b"a text"}
    (decoded,) = wds.DataPipeline(lambda: [sample], wds.decode("rgb8"))
    assert list(decoded) == ["png", "txt"] and decoded["txt"] == "a text"
    np.testing.assert_array_equal(decoded["png"], np.asarray(Image.open(io.BytesIO(sample["png"]))))
    (named,) = wds.DataPipeline(lambda: [{"__key__": "a"} | sample], wds.decode(RECIPE))
    assert list(named) == ["__key__", "png", "txt"] and named["__key__"] == "a"
