"""A path that is no data set: every door says what it is, and shows the line that makes a data set of it. The line works."""

from __future__ import annotations

import gzip
import json
import pathlib
import shutil
import tarfile
import zipfile

import numpy as np
import pytest

import tarflume
import tarflume.torch
import tarflume.webdataset as wds
from conftest import picture
from tarflume import errors


def pictures(root: pathlib.Path, *names: str) -> pathlib.Path:
    for number, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        picture(number).save(root / name)
    return root


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    root = tmp_path_factory.mktemp("places")
    pictures(root / "train", "cat/0.jpg", "cat/1.jpg", "dog/0.jpg")
    pictures(root / "flat", "0.jpg", "1.jpg")
    pictures(root / "parts", "train/cat/0.jpg", "train/dog/0.jpg", "val/cat/1.jpg", "val/dog/1.jpg")
    pictures(root / "table", "0.jpg", "1.jpg")
    (root / "table" / "labels.csv").write_text("file,label\n0.jpg,3\n1.jpg,5\n")
    shutil.copy(root / "table" / "labels.csv", root / "labels.csv")
    (root / "rows.jsonl").write_text('{"class": 1}\n{"class": 2}\n')
    with zipfile.ZipFile(root / "x.zip", "w") as archive:
        archive.write(root / "flat" / "0.jpg", "0.jpg")
        archive.writestr("0.json", "{}")
    (root / "tars").mkdir()
    with tarfile.open(root / "tars" / "0.tar", "w") as tar:
        tar.add(root / "flat" / "0.jpg", "0.jpg")
    (root / "gz").mkdir()
    (root / "gz" / "0.tar.gz").write_bytes(gzip.compress((root / "tars" / "0.tar").read_bytes()))
    np.save(root / "x.npy", np.zeros((3, 2), "float32"))
    tarflume.pack.build(root / "train", root / "sets" / "one", label="folder")
    (root / "empty").mkdir()
    (root / "notes.txt").write_text("text")
    return root


#: The path, the name of what it is, and the line, with ROOT and OUT for folders. A line without a call is a path to name.
LINES = [
    ("train", "a folder of images", 'tarflume.pack.build("ROOT/train", "shards/", label="folder")'),
    ("flat", "a folder of images", 'tarflume.pack.build("ROOT/flat", "shards/", require="image")'),
    ("parts", "a folder of images", 'tarflume.pack.build("ROOT/parts", "shards/", split_by="folder=1", label="folder=2")'),
    ("table", "a folder of images", 'tarflume.pack.build("ROOT/table", "shards/", join="ROOT/table/labels.csv")'),
    ("flat/0.jpg", "a JPEG", 'tarflume.pack.build("ROOT/flat", "shards/", require="image")'),
    ("labels.csv", "a CSV table", 'tarflume.pack.build("csv:ROOT/labels.csv", "shards/")'),
    ("rows.jsonl", "a file of JSON lines", 'tarflume.pack.build("jsonl:ROOT/rows.jsonl", "shards/")'),
    ("x.zip", "a zip file", 'tarflume.pack.build("zip:ROOT/x.zip", "shards/")'),
    ("x.npy", "an npy file", 'tarflume.pack.build("npy:ROOT/x.npy", "shards/")'),
    ("gz", "a folder of compressed tars", 'tarflume.pack.reshard("ROOT/gz", "shards/")'),
    ("gz/0.tar.gz", "a compressed tar", 'tarflume.pack.reshard("ROOT/gz/0.tar.gz", "shards/")'),
    ("sets", "the folder above a data set", '"ROOT/sets/one"'),
    ("tars", "a folder of tars without a manifest", 'tarflume.pack.index("ROOT/tars")'),
]


@pytest.mark.parametrize(("place", "name", "line"), LINES, ids=[place for place, *_ in LINES])
def test_a_wrong_place_is_named_with_the_line_that_is_right(places, tmp_path, place, name, line):
    line = line.replace("ROOT", str(places))
    doors = [tarflume.Dataset, tarflume.Loader, tarflume.torch.Dataset, tarflume.torch.Loader, tarflume.torch.MapDataset]
    for door in doors:
        with pytest.raises(errors.UsageError) as caught:
            door(places / place)
        assert f"{places / place}: this is {name}, not a data set" in str(caught.value), door
        assert str(caught.value).endswith(line), door
        assert caught.value.path == str(places / place)
    with pytest.raises(errors.UsageError, match=f"this is {name}"):
        tarflume.Loader([(places / "sets" / "one", 1), (places / place, 2)])
    if "pack.index" in line:  # last, because it changes the folder
        exec(line, {"tarflume": tarflume})
        assert len(tarflume.Dataset(places / place)) == 1
    elif "pack" in line:
        out = tmp_path / "out"
        exec(line.replace('"shards/"', repr(str(out))), {"tarflume": tarflume})
        data = tarflume.Dataset(out)
        assert len(data) > 0
        assert (data.classes is not None) == ("label=" in line)
    else:
        assert len(tarflume.Dataset(json.loads(line))) == 3


def test_the_webdataset_door_takes_tars_and_names_other_places(places):
    for place, name, line in LINES:
        if "tar" in name:
            continue  # plain tars are what it reads
        with pytest.raises(errors.UsageError) as caught:
            list(wds.WebDataset(str(places / place), shardshuffle=False))
        assert f"this is {name}" in str(caught.value) and str(caught.value).endswith(line.replace("ROOT", str(places)))
    assert len(list(wds.WebDataset(str(places / "tars"), shardshuffle=False))) == 1


def test_a_place_of_which_nothing_is_known_keeps_its_error(places):
    for place, text in [("empty", "neither dataset.json nor a tar"), ("notes.txt", "not a tar"), ("missing", "does not exist")]:
        with pytest.raises(errors.Error, match=text):
            tarflume.Dataset(places / place)
