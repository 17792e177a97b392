"""Recipes over arrays, and as columns of a loader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tarflume
from tarflume import transforms
from tarflume.errors import UsageError

RECIPE = transforms.Compose(
    [
        transforms.RandomResizedCrop(24),
        transforms.RandomHorizontalFlip(),
        transforms.RandomApply([transforms.RandomInvert(1.0), transforms.RandomSolarize(100, p=1.0)], p=0.9),
    ]
)


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def test_a_recipe_draws_actions_that_can_be_replayed() -> None:
    picture = noise(40, 50, 3)
    for seed in range(8):
        actions = transforms.draw(RECIPE, seed, 40, 50)
        assert [*actions[0]] == ["crop"] and [*actions[1]] == ["resize"]
        replayed = transforms.apply(json.loads(json.dumps(actions)), picture)
        assert replayed.shape == (24, 24, 3) and replayed.dtype == np.uint8
        np.testing.assert_array_equal(replayed, transforms.apply(RECIPE, picture, seed=seed))
    assert transforms.draw(RECIPE, 3, 40, 50) == transforms.draw(RECIPE, 3, 40, 50) != transforms.draw(RECIPE, 4, 40, 50)
    np.testing.assert_array_equal(picture, noise(40, 50, 3))


def test_flips_of_gray_pictures_and_of_views() -> None:
    gray = noise(5, 7)
    flip = transforms.RandomHorizontalFlip(1.0)
    flipped = transforms.apply(flip, gray)
    np.testing.assert_array_equal(flipped, gray[:, ::-1])
    np.testing.assert_array_equal(transforms.apply(flip, gray[:, ::-1, None])[:, :, 0], gray)
    assert flipped.flags.writeable
    assert transforms.draw(flip, 0, 5, 7, channels=1) == [{"horizontal_flip": {}}]
    np.testing.assert_array_equal(transforms.apply([], gray), gray)


@pytest.mark.parametrize(
    ("picture", "text"),
    [
        (noise(4, 4, 3).astype(np.float32), "float32: multiply floats"),
        (noise(4, 4, 3).astype(np.uint16), "uint16"),
        (noise(4, 4, 4), "[4, 4, 4]: take alpha away"),
        (noise(2, 4, 4, 3), "each picture of a batch alone"),
        (noise(4, 0, 3), "at least one pixel"),
        ([[1, 2]], "numpy.asarray"),
    ],
    ids=["floats", "16 bits", "alpha", "batch", "empty", "list"],
)
def test_other_arrays_are_refused(picture: Any, text: str) -> None:
    with pytest.raises(UsageError) as error:
        transforms.apply(RECIPE, picture)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("actions", "text"),
    [
        ([{"crop": {"top": 3, "left": 0, "height": 9, "width": 2}}], "not inside a picture"),
        ([{"resize": {"size": [0, 4], "interpolation": "nearest"}}], "0 x 4"),
        ([{"cut": {}}], "no actions of draw()"),
        ([{"horizontal_flip": {"p": 1}}], "no actions of draw()"),
    ],
    ids=["outside", "empty", "unknown", "wrong"],
)
def test_impossible_actions_are_refused(actions: list[dict[str, Any]], text: str) -> None:
    with pytest.raises(UsageError) as error:
        transforms.apply(actions, noise(8, 8, 3))
    assert text.replace("0 x 4", "pixels") in str(error.value)


def test_seeds_and_sizes_are_whole_numbers() -> None:
    for seed, height in ((-1, 8), (0.5, 8), (0, 0), (0, -8)):
        with pytest.raises(UsageError):
            transforms.draw(RECIPE, seed, height, 8)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a recipe is an operation"):
        transforms.draw([RECIPE], 0, 8, 8)  # type: ignore[arg-type]


def rows(shards: Path, image: Any, **words: Any) -> np.ndarray:
    with tarflume.Loader(shards, batch_size=8, image=image, seed=1, **words) as loader:
        return np.concatenate([np.asarray(batch["image"]).copy() for batch in loader.epoch(0)])


def test_a_loader_takes_recipes_and_single_operations(shards: Path) -> None:
    found = rows(shards, RECIPE)
    assert found.shape[1:] == (24, 24, 3) and found.dtype == np.uint8
    np.testing.assert_array_equal(found, rows(shards, RECIPE, num_threads=3))
    np.testing.assert_array_equal(rows(shards, transforms.Resize((8, 9))), rows(shards, tarflume.Resize((8, 9))))
    crop = transforms.Compose([transforms.Resize((8, 9)), transforms.RandomInvert(1.0)])
    np.testing.assert_array_equal(rows(shards, crop), 255 - rows(shards, tarflume.Resize((8, 9))))
    image = tarflume.Image(crop, layout="chw", dtype="float32")
    assert rows(shards, image).shape[1:] == (3, 8, 9)


def test_a_loader_takes_converted_recipes(shards: Path) -> None:
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    recipe = transforms.Compose([transforms.Resize((8, 9))])
    converted = transforms.Converted(recipe, "chw", "rgb", "float32", mean, std)
    expected = rows(shards, tarflume.Image(tarflume.Resize((8, 9)), layout="chw", dtype="float32", mean=mean, std=std))
    np.testing.assert_array_equal(rows(shards, converted), expected)
    with tarflume.Loader(shards, batch_size=8, columns={"a": converted, "b": recipe}) as loader:
        batch = next(iter(loader.epoch(0)))
        assert np.asarray(batch["a"]).shape[1:] == (3, 8, 9) and np.asarray(batch["b"]).shape[1:] == (8, 9, 3)


def test_what_is_no_recipe_is_refused(shards: Path) -> None:
    for image in (print, {"Resize": {"size": 8}}, "[]"):
        with pytest.raises(UsageError, match="image= takes a transform"):
            tarflume.Loader(shards, image=image)  # type: ignore[arg-type]


def test_a_drawn_interpolation_is_that_of_the_row(shards: Path) -> None:
    def rows(interpolation: str) -> dict[str, np.ndarray]:
        recipe = transforms.Compose(
            [transforms.RandomResizedCrop(24, interpolation=interpolation), transforms.RandomInvert()]
        )
        image = tarflume.Image(recipe, reducing_gap=None)
        with tarflume.Loader(shards, batch_size=25, shuffle="full", seed=9, image=image) as loader:
            return {key: row for batch in loader for key, row in zip(batch["key"], np.array(batch["image"]), strict=True)}

    found, bilinear, bicubic = rows("random"), rows("bilinear"), rows("bicubic")
    is_bicubic = [np.array_equal(row, bicubic[key]) for key, row in found.items()]
    is_bilinear = [np.array_equal(row, bilinear[key]) for key, row in found.items()]
    assert [not one for one in is_bicubic] == is_bilinear
    assert 30 < sum(is_bicubic) < 70
