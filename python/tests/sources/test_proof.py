"""Every source from its own tool to a training loop and out again, and a COCO file of the size of val2017."""

from __future__ import annotations

import collections
import json

import pytest
import tarflume
import torch

import coco
from proof import by_two_machines, exported, facts, packed, trained
from proof_sources import SOURCES


@pytest.fixture(autouse=True)
def copies(monkeypatch, tmp_path):
    """Where LitData's reader keeps copies."""
    monkeypatch.setenv("DATA_OPTIMIZER_CACHE_FOLDER", str(tmp_path / "cache"))
    monkeypatch.setenv("DATA_OPTIMIZER_DATA_CACHE_FOLDER", str(tmp_path / "data"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SOURCES)
def test_a_source_is_packed_verified_trained_on_and_exported(name, tmp_path):
    make, form = SOURCES[name]
    (tmp_path / "source").mkdir()
    source = make(tmp_path / "source")
    words = ("--shard-samples", 7, "--shuffle", 1)
    # The first word is the source; `--pair` takes all words up to the next option.
    assert packed(source.words[0], tmp_path / "out", *source.words[1:], *words) == source.samples
    trained(tmp_path / "out", **source.feed)
    assert exported(tmp_path / "out", tmp_path / form, form) == source.samples
    assert exported(tmp_path / "out", tmp_path / "files", "folder") == source.samples
    by_two_machines(source.words, tmp_path / "both", tmp_path / "out", *words)


def test_a_coco_file_of_the_size_of_val2017_is_packed_trained_on_and_exported(tmp_path):
    made = coco.make(tmp_path / "val", tmp_path / "instances.json")
    words = ("--shards", 6)
    source = [tmp_path / "val", "--coco", tmp_path / "instances.json"]
    found = packed(source[0], tmp_path / "out", *source[1:], *words)
    assert (len(found), len(made["annotations"])) == (5000, 36_781)
    of = collections.defaultdict(list)
    for annotation in made["annotations"]:
        of[annotation["image_id"]].append(annotation)
    assert len(of) == 4952
    for image in made["images"]:
        sample = found[image["file_name"].removesuffix(".jpg")]
        assert sample["jpg"] == (tmp_path / "val" / image["file_name"]).read_bytes()
        mine = of[image["id"]]
        lists = {name: [a[name] for a in mine] for name in ("area", "iscrowd", "segmentation", "category_id")}
        lists |= {"annotation_id": [a["id"] for a in mine], "boxes": [a["bbox"] for a in mine]}
        lists["category_index"] = [coco.CATEGORIES.index(a["category_id"]) for a in mine]
        if mine:
            assert facts(sample) == image | lists
        else:
            assert facts(sample) == image | {name: [] for name in facts(sample) if name not in image}
            assert facts(sample)["boxes"] == facts(sample)["category_id"] == []
    classes = json.loads((tmp_path / "out" / "dataset.json").read_text())["classes"]
    assert classes["ids"] == coco.CATEGORIES and classes["names"] == [f"name {n}" for n in coco.CATEGORIES]

    def several_classes(batch):
        images, labels = batch
        target = torch.zeros(len(images), 80)
        for row, of_image in zip(target, labels, strict=True):
            row[of_image] = 1
        return images, target

    labels = tarflume.Json("/category_index", variable=True)
    columns = {"image": tarflume.Image(tarflume.Resize((8, 8))), "labels": labels}
    trained(tmp_path / "out", columns=columns, collate=several_classes, batch_size=64)
    assert exported(tmp_path / "out", tmp_path / "parquet", "parquet") == found
    assert exported(tmp_path / "out", tmp_path / "files", "folder") == found
    by_two_machines(source, tmp_path / "both", tmp_path / "out", *words)
