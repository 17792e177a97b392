"""Labels, splits and growth from Python: a folder of classes to batches of one split, and later versions."""

from __future__ import annotations

import pathlib
import pickle

import pytest

import tarflume
from conftest import picture
from tarflume import errors


def folders(root: pathlib.Path, classes: dict[str, int], first: int = 0) -> pathlib.Path:
    """A folder for each class, with as many pictures."""
    for name, count in classes.items():
        (root / name).mkdir(parents=True, exist_ok=True)
        for n in range(first, first + count):
            picture(n).save(root / name / f"{n:03}.jpg", quality=90)
    return root


@pytest.fixture
def labeled(tmp_path: pathlib.Path) -> pathlib.Path:
    source = folders(tmp_path / "train", {"dog": 30, "cat": 20})
    shares = {"train": 0.8, "val": 0.2}
    made = tarflume.pack.build(source, tmp_path / "out", label="folder", split=shares, stratify="class", progress=False)
    assert made["classes"]["names"] == ["cat", "dog"]
    return tmp_path / "out"


def test_a_folder_of_classes_is_read_with_labels_and_splits(labeled):
    with tarflume.Loader(labeled, batch_size=64, label="/class", columns={"name": "json"}, split="val") as val:
        assert val.classes == {0: "cat", 1: "dog"}
        batch = next(iter(val))
        labels = batch["label"].tolist()
        assert sorted(labels) == [0] * 4 + [1] * 6
        assert all(val.classes[label] == key.split("/")[0] for label, key in zip(labels, batch["key"], strict=True))
    with tarflume.Loader(labeled, split="train") as train:
        assert train.samples == 40
    data = tarflume.Dataset(labeled)
    assert (len(data), data.splits, data.builds, data.classes) == (50, ["train", "val"], 1, {0: "cat", 1: "dog"})
    part = tarflume.Dataset(labeled, split="val")
    again = pickle.loads(pickle.dumps(part))
    assert [again.key(n) for n in range(len(again))] == [part.key(n) for n in range(len(part))]
    assert len(part) == 10


def test_a_split_that_does_not_exist_is_named_with_those_that_do(labeled):
    with pytest.raises(errors.UsageError, match="no split 'test'; the splits are: train, val"):
        tarflume.Loader(labeled, split="test")
    with pytest.raises(errors.UsageError, match='divide="shard"'):
        tarflume.Loader(labeled, split="shard")


def test_an_append_adds_samples_and_the_first_version_keeps_its_order(labeled, tmp_path):
    words = {"batch_size": 8, "shuffle": True, "seed": 3, "columns": ["json"]}
    with tarflume.Loader(labeled, **words) as loader:
        before = [key for batch in loader.epoch(0) for key in batch["key"]]
        state = loader.state_dict()
    folders(tmp_path / "train", {"dog": 5, "ant": 5}, first=100)
    made = tarflume.pack.append(tmp_path / "train", labeled, progress=False)
    assert (made["samples"], made["present"], made["classes"]["names"]) == (60, 50, ["cat", "dog", "ant"])
    data = tarflume.Dataset(labeled)
    assert (len(data), data.builds, len(tarflume.Dataset(labeled, version=1))) == (60, 2, 50)
    with tarflume.Loader(labeled, version=1, **words) as loader:
        assert [key for batch in loader.epoch(0) for key in batch["key"]] == before
        loader.load_state_dict(state)
    with tarflume.Loader(labeled, **words) as loader, pytest.raises(errors.Error):
        loader.load_state_dict(state)
    with pytest.raises(errors.UsageError, match="versions 1 to 2"):
        tarflume.Loader(labeled, version=3)
    again = tarflume.pack.append(tmp_path / "train", labeled, progress=False)
    assert (again["packed"], again["present"]) == (0, 60)


def test_images_without_json_are_refused_with_the_advice_to_label(tmp_path):
    source = folders(tmp_path / "train", {"cat": 2})
    with pytest.raises(errors.PackError, match="label=folder") as refused:
        tarflume.pack.build(source, tmp_path / "out", progress=False)
    assert "require=image" in str(refused.value)
