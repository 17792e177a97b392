"""A recipe is a function of a picture, too: of an array, of Pillow's image or of a tensor."""

from __future__ import annotations

import copy
import dataclasses
import pathlib
import pickle
import random
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tarflume
from tarflume import transforms
from tarflume.errors import UsageError

RECIPE = transforms.Compose(
    [
        transforms.RandomResizedCrop(32, interpolation="bicubic"),
        transforms.RandomHorizontalFlip(),
        transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
        transforms.RandomErasing(0.5),
    ]
)
ARRAY = np.random.default_rng(1).integers(0, 256, (48, 64, 3), np.uint8)


def test_a_call_with_a_seed_is_apply() -> None:
    for seed in (0, 7, 2**64 - 1):
        np.testing.assert_array_equal(RECIPE(ARRAY, seed=seed), transforms.apply(RECIPE, ARRAY, seed))
    gray = RECIPE(ARRAY[:, :, 0], seed=3)
    assert gray.shape == (32, 32)
    assert RECIPE(ARRAY[:, :, :1], seed=3).shape == (32, 32, 1)
    flip = transforms.RandomHorizontalFlip(1.0)
    np.testing.assert_array_equal(flip(ARRAY), ARRAY[:, ::-1])


def test_a_call_without_a_seed_draws_from_pythons_random() -> None:
    random.seed(5)
    first = [RECIPE(ARRAY) for _ in range(3)]
    random.seed(5)
    again = [RECIPE(ARRAY) for _ in range(3)]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[0], first[1])


def test_a_recipe_makes_its_json_once_and_is_the_same_value_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[type] = []
    to_json = transforms.Compose.to_json

    def counted(operation: transforms.Compose) -> str:
        made.append(type(operation))
        return to_json(operation)

    monkeypatch.setattr(transforms.Compose, "to_json", counted)
    steps = [transforms.CenterCrop(24), transforms.RandomApply([transforms.RandomInvert()], 0.5)]
    called, fresh = transforms.Compose(steps), transforms.Compose(steps)
    text, bytes_of = repr(called), pickle.dumps(called)
    first = called(ARRAY, seed=1)
    np.testing.assert_array_equal(called(ARRAY, seed=1), first)
    assert made == [transforms.Compose]
    assert called == fresh and hash(called) == hash(fresh) and vars(called) == vars(fresh)
    assert repr(called) == text and pickle.dumps(called) == bytes_of and called.to_dict() == fresh.to_dict()
    for again in (pickle.loads(pickle.dumps(called)), copy.copy(called), copy.deepcopy(called)):
        assert again == called and vars(again) == vars(called) and repr(again) == text
        np.testing.assert_array_equal(again(ARRAY, seed=1), first)
    with pytest.raises(AttributeError, match="never changes"):
        called._kept_json = "[]"


def test_the_result_is_of_the_kind_that_was_given() -> None:
    torch = pytest.importorskip("torch")
    expected = RECIPE(ARRAY, seed=9)
    image = RECIPE(Image.fromarray(ARRAY), seed=9)
    assert isinstance(image, Image.Image) and image.mode == "RGB"
    np.testing.assert_array_equal(np.asarray(image), expected)
    assert RECIPE(Image.fromarray(ARRAY).convert("L"), seed=9).mode == "L"
    made = RECIPE(torch.from_numpy(ARRAY.transpose(2, 0, 1).copy()), seed=9)
    assert made.dtype == torch.uint8 and made.shape == (3, 32, 32)
    np.testing.assert_array_equal(made.permute(1, 2, 0).numpy(), expected)


def test_a_recipe_is_a_step_of_torchvision_and_of_map() -> None:
    v2 = pytest.importorskip("torchvision.transforms.v2")
    theirs = v2.Compose([transforms.Resize((20, 30)), v2.ToImage()])
    assert theirs(Image.fromarray(ARRAY)).shape == (3, 20, 30)
    assert [made.shape for made in map(transforms.CenterCrop(8), [ARRAY, ARRAY[:30]])] == [(8, 8, 3)] * 2


WRONG: list[tuple[Any, str]] = [
    (ARRAY.astype(np.float32), "uint8, not of float32"),
    (ARRAY[None], "give each picture of a batch alone"),
    (np.zeros((4, 4, 4), np.uint8), "take alpha away"),
    ("a.jpg", "a picture is a NumPy array, not str"),
    (Image.fromarray(ARRAY).convert("RGBA"), 'give picture.convert("RGB")'),
    (Image.fromarray(ARRAY).convert("P"), "not 'P'"),
]


@pytest.mark.parametrize(("picture", "text"), WRONG, ids=[text for _, text in WRONG])
def test_what_is_no_picture_of_bytes_is_refused(picture: Any, text: str) -> None:
    with pytest.raises(UsageError, match=text.replace("(", r"\(").replace(")", r"\)")):
        RECIPE(picture)


def test_tensors_of_floats_are_refused() -> None:
    torch = pytest.importorskip("torch")
    for tensor in (torch.zeros(3, 4, 4), torch.zeros(2, 3, 4, 4, dtype=torch.uint8), torch.zeros(4, 4, 3, dtype=torch.uint8)):
        with pytest.raises(UsageError, match="tensor of uint8"):
            RECIPE(tensor)


def converted(*steps: Any) -> transforms.Converted:
    v2 = pytest.importorskip("torchvision.transforms.v2")
    torch = pytest.importorskip("torch")
    tail = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])]
    return transforms.from_torchvision(v2.Compose([*steps, *tail]))


def test_a_converted_recipe_gives_the_row_of_a_loader(tmp_path: pathlib.Path) -> None:
    v2 = pytest.importorskip("torchvision.transforms.v2")
    import conftest

    folder = tmp_path / "pictures"
    folder.mkdir()
    pictures = [np.asarray(conftest.picture(n)) for n in range(6)]
    for n, picture in enumerate(pictures):
        Image.fromarray(picture).save(folder / f"{n}.png")
    conftest.pack("build", folder, "-o", tmp_path / "shards", "--require", "image")
    recipe = converted(v2.RandomResizedCrop(24), v2.ColorJitter(0.4), v2.RandomErasing(0.9))
    with tarflume.Loader(tmp_path / "shards", batch_size=6, shuffle="full", image=recipe, seed=4) as loader:
        batch = next(iter(loader))
    rows = dict(zip(map(int, batch["key"]), np.array(batch["image"]), strict=True))
    for n, picture in enumerate(pictures):
        row = recipe(picture, seed=tarflume._core.sample_seed(4, 0, n))
        assert row.dtype == np.float32 and row.shape == (3, 24, 24)
        np.testing.assert_array_equal(row, rows[n])
        np.testing.assert_array_equal(recipe(Image.fromarray(picture), seed=tarflume._core.sample_seed(4, 0, n)), rows[n])


def test_a_converted_recipe_has_a_repr_equality_and_pickles() -> None:
    v2 = pytest.importorskip("torchvision.transforms.v2")
    recipe = converted(v2.RandomResizedCrop(24))
    again = pickle.loads(pickle.dumps(recipe))
    assert again == recipe and hash(again) == hash(recipe) and repr(again) == repr(recipe)
    assert eval(repr(recipe), {"transforms": transforms}) == recipe
    assert recipe != converted(v2.RandomResizedCrop(25))


def test_a_converted_recipe_makes_its_decoder_once_and_is_the_same_value_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    decoder = tarflume._core.PartDecoder

    def counted(column: Any) -> Any:
        made.append(column)
        return decoder(column)

    monkeypatch.setattr(tarflume._core, "PartDecoder", counted)
    words: Any = {"layout": "chw", "dtype": "float32", "mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4)}
    called, fresh = transforms.Converted(RECIPE, **words), transforms.Converted(RECIPE, **words)
    text, bytes_of = repr(called), pickle.dumps(called)
    first = called(ARRAY, seed=1)
    np.testing.assert_array_equal(called(ARRAY, seed=1), first)
    assert len(made) == 1
    assert called == fresh and hash(called) == hash(fresh)
    assert repr(called) == text and str(called) == str(fresh) and pickle.dumps(called) == bytes_of
    replaced = dataclasses.replace(called, dtype="float32")
    for again in (pickle.loads(pickle.dumps(called)), copy.copy(called), copy.deepcopy(called), replaced):
        assert again == called and vars(again) == vars(fresh) and repr(again) == text
        np.testing.assert_array_equal(again(ARRAY, seed=1), first)
    assert dataclasses.replace(called, dtype="uint8", mean=None, std=None)(ARRAY, seed=1).dtype == np.uint8
