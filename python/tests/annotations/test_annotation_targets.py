"""Annotations as models take them: padded, as dicts of tensors, and as what COCO evaluates."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

import tarflume
import tarflume.torch
from tarflume import transforms as T

import annotated
from conftest import pack

RECIPE = T.Compose([T.RandomResizedCrop(64), T.RandomHorizontalFlip(0.5)])


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    out = tmp_path_factory.mktemp("targets") / "shards"
    annotated.write(out, 14)
    return out


def given() -> dict[str, Any]:
    return {
        "boxes": tarflume.Boxes("/boxes", format="xywh", labels="/category_index", iscrowd="/iscrowd"),
        "masks": tarflume.Masks("/segmentation"),
        "keypoints": tarflume.Keypoints("/keypoints", count=3),
    }


def test_targets_are_views_of_one_tensor_for_each_column(shards: pathlib.Path) -> None:
    loader = tarflume.torch.Loader(shards, image=tarflume.Image(RECIPE, layout="chw"), batch_size=7, **given())
    for batch in loader:
        targets = batch.targets()
        assert len(targets) == 7 and list(targets[0]) == ["boxes", "labels", "iscrowd", "masks", "keypoints"]
        boxes = batch["boxes"]
        assert boxes.values.shape == (sum(len(target["boxes"]) for target in targets), 4)
        for target in targets:
            count = len(target["labels"])
            shapes = {name: tuple(value.shape) for name, value in target.items()}
            assert shapes == {"boxes": (count, 4), "labels": (count,), "iscrowd": (count,), "masks": (count, 64, 64),
                              "keypoints": (count, 3, 3)}
            assert target["boxes"].dtype == torch.float32 and target["labels"].dtype == torch.int64
            if count:
                storage = boxes.values.untyped_storage()
                assert target["boxes"].untyped_storage().data_ptr() == storage.data_ptr()
        padded, mask = boxes.padded(-1)
        most = max(len(row) for row in boxes)
        assert padded.shape == (7, most, 4) and mask.shape == (7, most) and mask.sum() == len(boxes.values)
        assert (padded[~mask] == -1).all() and torch.equal(padded[mask], boxes.values)
        masks, seen = batch["masks"].padded()
        assert masks.shape == (7, most, 64, 64) and torch.equal(seen, mask)
        copied = batch["masks"].to("cpu", non_blocking=False)
        assert all(torch.equal(one, other) for one, other in zip(copied, batch["masks"], strict=True))
    host = next(iter(tarflume.Loader(shards, image=tarflume.Image(RECIPE), batch_size=7, **given())))
    first = next(iter(tarflume.torch.Loader(shards, image=tarflume.Image(RECIPE), batch_size=7, **given())))
    for one, other in zip(host.targets(), first.targets(), strict=True):
        assert all(np.array_equal(np.asarray(one[name]), other[name].numpy()) for name in one)
    values, mask = host["keypoints"].padded()
    assert np.asarray(values).shape[2:] == (3, 3) and np.asarray(mask).sum() == len(np.asarray(host["labels"].values))


def test_a_loader_without_objects_has_no_targets(shards: pathlib.Path) -> None:
    batch = next(iter(tarflume.Loader(shards, image=tarflume.Image(RECIPE))))
    with pytest.raises(tarflume.errors.UsageError, match="no columns of objects"):
        batch.targets()
    tensors = next(iter(tarflume.torch.Loader(shards, image=tarflume.Image(RECIPE))))
    with pytest.raises(tarflume.errors.UsageError, match="no columns of objects"):
        tensors.targets()


def test_a_model_of_torchvision_takes_the_targets(shards: pathlib.Path) -> None:
    from torchvision.models.detection import maskrcnn_resnet50_fpn

    model = maskrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=81, min_size=64, max_size=64)
    image = tarflume.Image(T.Compose([T.Resize([64, 64])]), layout="chw", dtype="float32")
    batch = next(iter(tarflume.torch.Loader(shards, image=image, batch_size=2, skip=4, **given())))
    targets = batch.targets()
    assert all(len(target["boxes"]) for target in targets)
    losses = model(list(batch["image"]), targets)
    assert all(torch.isfinite(loss) for loss in losses.values()), losses


def coco_file(folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """Pictures and a file of instances: polygons and compressed run lengths."""
    random = np.random.default_rng(3)
    pictures, objects = [], []
    (folder / "val").mkdir()
    for n in range(12):
        height, width = int(random.integers(60, 120)), int(random.integers(60, 120))
        (folder / "val" / f"{n:04}.jpg").write_bytes(annotated.jpeg(height, width))
        pictures.append({"id": 100 + n, "file_name": f"{n:04}.jpg", "height": height, "width": width})
        of = annotated.annotations(random, height, width, n % 5)
        for at in range(n % 5):
            shape = of["segmentation"][at]
            if isinstance(shape, dict):
                runs = coco_mask.frPyObjects(shape, height, width)
                shape = {"size": runs["size"], "counts": runs["counts"].decode()}
            objects.append({"id": len(objects) + 1, "image_id": 100 + n, "category_id": 1 + at % 3, "bbox": of["boxes"][at],
                            "area": of["area"][at], "iscrowd": 0, "segmentation": shape})
    categories = [{"id": n, "name": name} for n, name in [(1, "one"), (2, "two"), (3, "three")]]
    path = folder / "instances.json"
    path.write_text(json.dumps({"images": pictures, "annotations": objects, "categories": categories}))
    return path, folder / "val"


@pytest.mark.parametrize("kind", ["bbox", "segm"])
def test_what_was_packed_from_coco_evaluates_to_itself(kind: str, tmp_path: pathlib.Path) -> None:
    instances, pictures = coco_file(tmp_path)
    pack("build", pictures, "-o", tmp_path / "out", "--coco", instances)
    columns = {
        "boxes": tarflume.Boxes("/boxes", format="xywh", out="xywh", category="/category_id", min_size=0, min_area=0),
        "masks": tarflume.Masks("/segmentation"),
    }
    image = tarflume.Image(tarflume.OriginalSize(1 << 16))
    results = []
    loader = tarflume.Loader(tmp_path / "out", image=image, label="/id", batch_size=5, **columns)
    for batch in loader:
        for target, picture in zip(batch.targets(), np.asarray(batch["label"]).tolist(), strict=True):
            boxes, masks = np.asarray(target["boxes"]), np.asarray(target["masks"])
            for box, category, mask in zip(boxes.tolist(), np.asarray(target["category"]).tolist(), masks, strict=True):
                runs = coco_mask.encode(np.asfortranarray(mask))
                results.append({"image_id": picture, "category_id": category, "bbox": box, "segmentation": runs, "score": 1.0})
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO(str(instances))
        evaluation = COCOeval(truth, truth.loadRes(results), kind)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    assert len(results) == len(truth.anns) and evaluation.stats[0] == pytest.approx(1.0, abs=1e-9), evaluation.stats
