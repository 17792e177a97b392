"""Annotations through Python: what the numbers mean, the check of objects, and a COCO file that comes back."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest
from PIL import Image

import tarflume

KEYPOINTS = {
    "images": [{"id": 7, "file_name": "b.jpg", "width": 256, "height": 256}, {"id": 3, "file_name": "a.jpg", "width": 256, "height": 256}],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 1, "bbox": [1, 2.5, 30, 40], "area": 600.25, "iscrowd": 0, "num_keypoints": 1,
         "keypoints": [5, 6, 2, 0, 0, 0], "segmentation": [[1, 2, 9, 2, 9, 8]]},
        {"id": 2, "image_id": 7, "category_id": 1, "bbox": [0, 0, 256, 256], "area": 65536, "iscrowd": 1, "num_keypoints": 0,
         "keypoints": [0, 0, 0, 0, 0, 0], "segmentation": {"counts": [0, 65536], "size": [256, 256]}},
    ],
    "categories": [{"id": 1, "name": "person", "supercategory": "person", "keypoints": ["left_eye", "right_eye"],
                    "skeleton": [[1, 2]]}],
}  # fmt: skip


@pytest.fixture
def images(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for name in ("a", "b"):
        Image.new("RGB", (256, 256), {"a": "red", "b": "blue"}[name]).save(folder / f"{name}.jpg")
    return folder


def test_a_data_set_states_what_its_numbers_mean_and_is_written_back(images, tmp_path):
    file = tmp_path / "keypoints.json"
    file.write_text(json.dumps(KEYPOINTS))
    tarflume.pack.build(images, tmp_path / "out", coco=file, objects=True)
    data = tarflume.Dataset(tmp_path / "out")
    assert data.objects == {
        "boxes": "xywh",
        "keypoints": {"points": 2, "values": 3, "names": ["left_eye", "right_eye"], "skeleton": [[0, 1]], "flip": [1, 0]},
    }
    assert data.classes == {1: "person"}
    boxes = tarflume.Json("/boxes", dtype="float32", shape=[4], variable=True)
    with tarflume.Loader(data, columns={"boxes": boxes}, batch_size=2, shuffle=False) as loader:
        assert loader.objects == data.objects
        rows = [np.asarray(row).reshape(-1, 4).tolist() for row in next(iter(loader))["boxes"]]
    assert rows == [[], [[1, 2.5, 30, 40], [0, 0, 256, 256]]]
    tarflume.pack.export(tmp_path / "out", tmp_path / "back.json", to="coco")
    found = json.loads((tmp_path / "back.json").read_text())
    for name in ("images", "annotations", "categories"):
        assert sorted(found[name], key=lambda one: one["id"]) == sorted(KEYPOINTS[name], key=lambda one: one["id"])


def test_wrong_objects_are_problems_of_a_build_and_of_a_verification(images, tmp_path):
    wrong = json.loads(json.dumps(KEYPOINTS))
    wrong["annotations"][0]["bbox"] = [250, 0, 30, 9]
    file = tmp_path / "keypoints.json"
    file.write_text(json.dumps(wrong))
    with pytest.raises(tarflume.errors.PackError) as told:
        tarflume.pack.build(images, tmp_path / "none", coco=file, objects=True)
    assert [problem["kind"] for problem in told.value.problems] == ["box-outside"]
    tarflume.pack.build(images, tmp_path / "out", coco=file)
    assert tarflume.pack.verify(tmp_path / "out").whole
    report = tarflume.pack.verify(tmp_path / "out", objects=True)
    assert [(problem["kind"], problem["key"]) for problem in report["problems"]] == [("box-outside", "b")]


def test_rows_of_open_images_are_objects(images, tmp_path):
    file = tmp_path / "boxes.csv"
    file.write_text("ImageID,LabelName,XMin,XMax,YMin,YMax,IsGroupOf\nb,/m/1,0.5,0.75,0,0.25,1\nb,/m/2,0,1,0,1,0\n")
    names = tmp_path / "names.csv"
    names.write_text("/m/2,Cat\n/m/1,Dog\n")
    tarflume.pack.build(images, tmp_path / "out", annotations=file, classes=names)
    data = tarflume.Dataset(tmp_path / "out")
    assert data.objects == {"boxes": "xyxy", "relative": True}
    assert data.classes == {0: "Cat", 1: "Dog"}
    rows = [json.loads(dict(sample)["json"]) for sample in data]
    assert [row["boxes"] for row in rows] == [[], [[0.5, 0.0, 0.75, 0.25], [0.0, 0.0, 1.0, 1.0]]]
    assert (rows[1]["class"], rows[1]["IsGroupOf"]) == ([1, 0], [1, 0])
