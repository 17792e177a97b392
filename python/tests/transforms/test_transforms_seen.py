"""What recipes draw and cost is seen: kept draws, times of operations, previews, files for `pack view`."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
from PIL import Image

import tarflume
from tarflume import transforms
from tarflume.errors import UsageError

from conftest import PACK, pack, pairs

RECIPE = transforms.Compose([
    transforms.RandomResizedCrop((40, 56), interpolation="bicubic"),
    transforms.RandomHorizontalFlip(),
    transforms.ColorJitter(0.4, 0.4),
    transforms.GaussianBlur(5),
])  # fmt: skip


def loader(shards, image=RECIPE, **settings):
    settings = {"batch_size": 10, "shuffle": "full", "seed": 7} | settings
    return tarflume.Loader(shards, image=image, **settings)


def test_kept_draws_make_the_rows_again(shards):
    columns = {"original": tarflume.Image(tarflume.OriginalSize(1 << 16))}
    with loader(shards, columns=columns, keep_transforms=True) as kept, loader(shards) as plain:
        for batch, same in zip(kept.epoch(3), plain.epoch(3), strict=True):
            np.testing.assert_array_equal(batch["image"], same["image"])
            drawn = batch.transforms()
            assert list(drawn) == ["image"] and len(drawn["image"]) == batch.rows
            for row, actions in enumerate(drawn["image"]):
                assert next(iter(actions[0])) == "crop" and next(iter(actions[-1])) == "gaussian_blur"
                replayed = transforms.apply(actions, np.asarray(batch["original"][row]))
                np.testing.assert_array_equal(replayed, batch["image"][row])


def test_the_kept_numbers_are_those_that_draw_takes(shards):
    with loader(shards, keep_transforms=True) as kept:
        batch = next(iter(kept.epoch(0)))
        draws = np.asarray(batch["image_draws"])
        assert draws.dtype == np.uint64 and draws.shape == (10, 3)
        for row, (seed, height, width) in enumerate(draws.tolist()):
            assert transforms.draw(RECIPE, seed, height, width) == batch.transforms()["image"][row]


def test_a_batch_without_kept_draws_says_what_to_write(shards):
    with loader(shards) as plain, pytest.raises(UsageError, match="keep_transforms=True"):
        next(iter(plain.epoch(0))).transforms()
    with (
        loader(shards, image=tarflume.RandomResizedCrop(32), keep_transforms=True) as crops,
        pytest.raises(UsageError, match="no column keeps what it drew"),
    ):
        next(iter(crops.epoch(0))).transforms()
    with pytest.raises(UsageError, match="keep_transforms= takes True or False"):
        loader(shards, keep_transforms="yes")
    mixed = [{"mixup": {"partner": 2, "lam": 0.5}}]
    with pytest.raises(UsageError, match="mixup mixes two rows of a batch"):
        transforms.apply(mixed, np.zeros((4, 4, 3), np.uint8))


def test_statistics_have_the_time_of_each_operation(shards):
    with loader(shards) as counted:
        for _ in counted.epoch(0):
            pass
        stats = counted.stats()
    operations = stats["operations"]
    assert [(of["column"], of["name"], of["calls"]) for of in operations] == [
        ("image", "ColorJitter", 100),
        ("image", "GaussianBlur", 100),
    ]
    assert 0 < sum(of["busy_s"] for of in operations) < stats["stages"]["decode"]["busy_s"]
    assert "Operation GaussianBlur of image:" in str(stats)


def test_a_preview_has_the_pixels_that_the_loader_delivers(shards, tmp_path):
    with loader(shards) as ours:
        seen = transforms.preview(ours, samples=3, draws=2)
        assert repr(seen) == (
            "Preview(3 samples, 2 draws each of RandomResizedCrop, RandomHorizontalFlip, ColorJitter, GaussianBlur)"
        )
        delivered = [{key: np.asarray(batch["image"][row]) for batch in ours.epoch(epoch)
                      for row, key in enumerate(batch["key"])} for epoch in (0, 1)]  # fmt: skip
    assert len(seen._samples) == 3
    for sample in seen._samples:
        assert [draw.epoch for draw in sample.draws] == [0, 1]
        for draw in sample.draws:
            np.testing.assert_array_equal(draw.pixels, delivered[draw.epoch][sample.key])
            assert "gaussian_blur" in draw.actions[-1]
    page = seen._repr_html_()
    assert page.count("<img") == 9 and page.count("original") >= 3 and "gaussian_blur" in page
    seen.save(tmp_path / "preview.html")
    assert (tmp_path / "preview.html").read_text().startswith("<!doctype html>")
    seen.save(str(tmp_path / "preview.png"))
    with Image.open(tmp_path / "preview.png") as picture:
        assert picture.size == (3 * 168 + 8, 3 * 168 + 8)
        assert len(picture.getcolors(1 << 20)) > 1000


def test_a_preview_takes_shards_and_a_recipe_and_other_loaders(shards):
    torch = pytest.importorskip("tarflume.torch")
    column = tarflume.Image(RECIPE, layout="chw", dtype="float32", normalize="imagenet")
    assert len(transforms.preview(shards, RECIPE, samples=2, draws=1)._samples) == 2
    seen = transforms.preview(torch.Loader(shards, image=column, batch_size=4), samples=2, draws=1)
    plain = transforms.preview(shards, RECIPE, samples=2, draws=1)
    for one, other in zip(seen._samples, plain._samples, strict=True):
        np.testing.assert_array_equal(one.draws[0].pixels, other.draws[0].pixels, "floats have the same colors")
    gray = tarflume.Image(transforms.Resize(300), channels="gray")
    seen = transforms.preview(shards, gray, samples=2, draws=1)
    assert max(seen._samples[0].draws[0].pixels.shape) == 160
    placed = transforms.preview(loader(shards, image=tarflume.RandomResizedCrop(32)), samples=1, draws=1)
    assert placed._samples[0].draws[0].actions == []


def test_a_preview_that_cannot_be_made_says_why(shards, tmp_path):
    with pytest.raises(UsageError, match="there is no column of pictures"):
        transforms.preview(shards)
    with pytest.raises(UsageError, match="a recipe is an operation of"):
        transforms.preview(shards, "jpg")
    with pytest.raises(UsageError, match="samples is 0"):
        transforms.preview(shards, RECIPE, samples=0)
    with pytest.raises(UsageError, match=r"end its name with \.html or \.png"):
        transforms.preview(shards, RECIPE, samples=1, draws=1).save(tmp_path / "preview.gif")


def test_a_preview_refuses_recipes_that_make_several_pictures(shards):
    for crops in (transforms.FiveCrop(32), transforms.TenCrop(32)):
        name = type(crops).__name__
        for recipe in (crops, transforms.Compose([transforms.Resize(64), crops]), tarflume.Image(crops)):
            with pytest.raises(UsageError, match=f"preview shows one picture a row, and {name} makes several"):
                transforms.preview(shards, recipe, samples=1, draws=1)
        with loader(shards, image=crops) as ours, pytest.raises(UsageError, match=f"and {name} makes several"):
            transforms.preview(ours)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Shards of 12 samples: four have no picture, and four have one that cannot be decoded."""
    root = tmp_path_factory.mktemp("mixed")
    folder = pairs(root / "pairs", 12)
    for n in range(0, 12, 3):
        (folder / f"{n:04}.jpg").unlink()
        (folder / f"{n + 1:04}.jpg").write_bytes(b"\xff\xd8\xff no picture")
    pack("build", folder, "-o", root / "shards", "--check", "none", "--require", "json")
    return root / "shards"


@pytest.mark.parametrize("seed", range(4))
def test_a_preview_has_samples_whose_picture_can_be_decoded(mixed, seed):
    whole = {f"{n:04}" for n in range(2, 12, 3)}
    all_of_them = transforms.preview(mixed, RECIPE, samples=12, draws=2, seed=seed)
    assert {sample.key for sample in all_of_them._samples} == whole
    assert [len(sample.draws) for sample in all_of_them._samples] == [2] * 4
    some = transforms.preview(mixed, RECIPE, samples=3, draws=1, seed=seed)
    assert len(some._samples) == 3 and {sample.key for sample in some._samples} < whole
    assert repr(some).startswith("Preview(3 samples, 1 draws each of ")


def test_a_preview_of_a_data_set_without_pictures_says_so(tmp_path):
    folder = pairs(tmp_path / "pairs", 4)
    for n in range(4):
        (folder / f"{n:04}.jpg").write_bytes(b"no picture")
    pack("build", folder, "-o", tmp_path / "shards", "--check", "none")
    with pytest.raises(tarflume.Error, match="every sample of the epoch was bad; the first: .* are not those of a picture"):
        transforms.preview(tmp_path / "shards", RECIPE, samples=2, draws=1)
    with pytest.raises(UsageError, match="no sample has a part 'png'"):
        transforms.preview(tmp_path / "shards", tarflume.Image(RECIPE, "png"), samples=2, draws=1)


@pytest.mark.parametrize("settings", [{"shuffle": "none", "seed": None}, {"seed": None}], ids=["no shuffle", "full"])
def test_a_preview_of_a_loader_without_a_seed_draws_with_0(shards, settings):
    with loader(shards, **settings) as ours:
        seen = transforms.preview(ours, samples=2, draws=1)
    plain = transforms.preview(shards, RECIPE, samples=2, draws=1, seed=0)
    for one, other in zip(seen._samples, plain._samples, strict=True):
        assert one.key == other.key
        np.testing.assert_array_equal(one.draws[0].pixels, other.draws[0].pixels)


def test_a_preview_of_fewer_samples_than_asked(shards):
    seen = transforms.preview(loader(shards, take=3), samples=8, draws=1)
    assert len(seen._samples) == 3 and repr(seen).startswith("Preview(3 samples, ")


def test_a_saved_recipe_is_read_by_pack_view(shards, tmp_path):
    RECIPE.save(tmp_path / "recipe.json")
    assert json.loads((tmp_path / "recipe.json").read_text()) == json.loads(RECIPE.to_json())
    page = tmp_path / "page.html"
    done = view(shards, "--transform", tmp_path / "recipe.json", "-o", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    data = json.loads(text[text.index('id="data">') + 10 : text.index("</script>")])
    assert data["draws"]["operations"] == ["RandomResizedCrop", "RandomHorizontalFlip", "ColorJitter", "GaussianBlur"]
    assert len(data["draws"]["samples"]) == 8
    for sample in data["draws"]["samples"]:
        assert [draw["epoch"] for draw in sample["draws"]] == [0, 1, 2, 3]
        assert sample["draws"][0]["size"] == [56, 40]


def test_the_draws_of_pack_view_are_those_of_a_loader(shards, tmp_path):
    RECIPE.save(tmp_path / "recipe.json")
    page = tmp_path / "page.html"
    assert view(shards, "--transform", tmp_path / "recipe.json", "-o", page).returncode == 0
    text = page.read_text()
    data = json.loads(text[text.index('id="data">') + 10 : text.index("</script>")])
    shown = {(sample["ordinal"], draw["epoch"]): draw["actions"] for sample in data["draws"]["samples"]
             for draw in sample["draws"]}  # fmt: skip
    with loader(shards, seed=0, keep_transforms=True) as ours:
        for epoch in range(4):
            for batch in ours.epoch(epoch):
                for row, ordinal in enumerate(batch.ordinals.tolist()):
                    if (ordinal, epoch) in shown:
                        assert shown.pop((ordinal, epoch)) == batch.transforms()["image"][row]
    assert not shown


def test_pack_view_names_what_is_wrong_in_a_recipe(shards, tmp_path):
    recipe = tmp_path / "recipe.json"
    recipe.write_text('[\n  {"RandomFlip": {}}\n]')
    done = view(shards, "--transform", recipe, "-o", tmp_path / "page.html")
    assert done.returncode == 2 and not (tmp_path / "page.html").exists()
    for words in (str(recipe), "unknown variant `RandomFlip`", "line 2"):
        assert words in done.stderr


def view(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PACK, "view", *map(str, words)], text=True, capture_output=True, check=False)
