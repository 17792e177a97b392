"""Labels, splits and growth from Python: a folder of classes to batches of one split, and later versions."""

from __future__ import annotations

import json
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


def test_an_append_joins_the_rows_of_the_new_samples_and_columns_keep_their_types(tmp_path):
    source, out = folders(tmp_path / "photos", {"cat": 3}), tmp_path / "out"
    table = tmp_path / "labels.csv"
    table.write_text("path,score\ncat/000.jpg,0.5\ncat/001.jpg,1.5\ncat/002.jpg,2.5\n")
    tarflume.pack.build(source, out, join=table, progress=False)
    folders(source, {"cat": 1, "dog": 2}, first=3)
    with pytest.raises(errors.UsageError, match='packed with join="labels.csv"; give the rows again'):
        tarflume.pack.append(source, out, progress=False)
    with pytest.raises(errors.UsageError, match='coco=.*packed with join="labels.csv"'):
        tarflume.pack.append(source, out, coco=table, progress=False)
    table.write_text("path,score\ncat/003.jpg,none\n")
    with pytest.raises(errors.Error, match="row 1, byte 11: column 'score' is string here and float64"):
        tarflume.pack.append(source, out, join=table, progress=False)
    table.write_text("path,score\ncat/003.jpg,7\ndog/003.jpg,8\ndog/004.jpg,9\n")
    made = tarflume.pack.append(source, out, join=table, progress=False)
    assert (made["samples"], made["present"], len(made["problems"])) == (6, 3, 0)
    with tarflume.Loader(out, batch_size=6, columns={"score": tarflume.Json("/score", dtype="float64")}) as loader:
        batch = next(iter(loader))
    scores = dict(zip(batch["key"], batch["score"].tolist(), strict=True))
    assert scores == {"cat/000": 0.5, "cat/001": 1.5, "cat/002": 2.5, "cat/003": 7, "dog/003": 8, "dog/004": 9}
    assert tarflume.pack.append(source, out, join=table, progress=False)["packed"] == 0


def test_images_without_json_are_refused_with_the_advice_to_label(tmp_path):
    source = folders(tmp_path / "train", {"cat": 2, "dog": 2})
    with pytest.raises(errors.PackError, match='label="folder"') as refused:
        tarflume.pack.build(source, tmp_path / "out", progress=False)
    assert 'require="image"' in str(refused.value)


@pytest.fixture
def texts(tmp_path: pathlib.Path) -> pathlib.Path:
    """Samples whose label is a text, of a data set without classes."""
    source = tmp_path / "texts"
    source.mkdir()
    for n, label in enumerate(["cat", "dog", "cat", "emu"]):
        (source / f"{n}.json").write_text(json.dumps({"label": label, "n": n, "meta": {"a": 1}}))
        (source / f"{n}.cls").write_text(str(n))
    tarflume.pack.build(source, tmp_path / "texts-out", require="json", progress=False)
    return tmp_path / "texts-out"


def labels_of(shards, **words) -> list[int]:
    with tarflume.Loader(shards, batch_size=100, **words) as loader:
        return next(iter(loader))["label"].tolist()


def refusal(*args, **words) -> str:
    with pytest.raises(errors.Error) as caught:
        labels_of(*args, **words)
    return str(caught.value)


def test_texts_are_numbered_by_a_list_or_a_dict(texts):
    numbers = {"cat": 7, "dog": 3, "emu": 0}
    for labels in (numbers, {number: text for text, number in numbers.items()}):
        column = tarflume.Json("/label", labels=labels)
        assert labels_of(texts, label=column) == labels_of(texts, label=pickle.loads(pickle.dumps(column))) == [7, 3, 7, 0]
    assert labels_of(texts, label=tarflume.Json("/label", labels=["cat", "dog", "emu"])) == [0, 1, 0, 2]
    assert labels_of(texts, label="/label", classes=numbers) == [7, 3, 7, 0]
    for wrong in (5, "cat", {"cat": "dog"}, {1: 2}, ["cat", 3], {0: "cat", 1: "cat"}):
        with pytest.raises(errors.UsageError, match="labels"):
            tarflume.Json("/label", labels=wrong)
    with pytest.raises(errors.UsageError, match='label="/label"'):
        tarflume.Loader(texts, label="cls", classes=numbers)


def test_the_advice_for_texts_works_as_it_is_printed(texts):
    text = refusal(texts, label="/label")
    assert 'found the text "cat", at byte' in text
    line = text[text.index("tarflume.Json(") :]
    assert line == 'tarflume.Json("/label", labels={"cat": 0})'
    text = refusal(texts, label=eval(line))
    assert '"dog" is not one of the labels, which are "cat"' in text
    assert refusal(texts, weights="/label").endswith("of the part"), "weights take no labels"


def test_a_field_that_no_sample_has_is_answered_with_those_that_it_has(labeled, texts):
    for label, shards, wanted in [
        ("class", labeled, 'whose pointer is "/class"'),
        ("label", texts, 'whose pointer is "/label"'),
        ("/clas", labeled, 'the sample has "/class", "/class_name"; if a sample may lack it'),
        ("/label", labeled, 'the sample has "/class", "/class_name"'),
        ("/meta/b", texts, 'the sample has "/meta/a"'),
        ("json", labeled, 'has a pointer, such as "/class"'),
    ]:
        assert wanted in refusal(shards, label=label), label
    with pytest.raises(errors.UsageError, match='whose pointer is "/class"'):
        tarflume.Dataset(labeled).numbers("class")
    with pytest.raises(errors.UsageError, match='whose pointer is "/class"'):
        tarflume.Loader(labeled, weights="class")
    with pytest.raises(errors.UsageError, match=r'give tarflume.Json\("/class"\)'):
        tarflume.Loader(labeled, columns={"c": "/class"})


def test_the_names_of_classes_are_numbered_as_the_manifest_does(labeled, texts):
    ids = labels_of(labeled, label="/class")
    assert labels_of(labeled, label="/class_name") == ids and set(ids) == {0, 1}
    assert tarflume.Dataset(labeled).numbers("/class_name").tolist() == ids
    column = tarflume.Json("/class_name", dtype="float32")
    assert labels_of(labeled, label=column) == [float(number) for number in ids]
    with tarflume.Loader(labeled, columns={"label": tarflume.Json("/class_name", text=True)}, batch_size=100) as loader:
        assert set(next(iter(loader))["label"].tolist()) == {"cat", "dog"}
    by = {"batch_size": 4, "seed": 1, "shuffle": True}
    with tarflume.Loader(labeled, weights="/class", **by) as one, tarflume.Loader(labeled, weights="/class_name", **by) as two:
        assert [batch["key"] for batch in one] == [batch["key"] for batch in two]
    assert "there is no value" in refusal(texts, label="/class_name")
