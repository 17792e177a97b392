"""Boxes, values, masks and keypoints of a loader are those that torchvision makes of the drawn actions."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from pycocotools import mask as coco
from torchvision import tv_tensors

import tarflume
from tarflume import transforms as T

import annotated
from annotations_oracle import boxes_of, mask_of, moved, points_of

#: Recipes of detection and segmentation, with the sizes of small pictures.
RECIPES: dict[str, Any] = {
    "flip": T.Compose([T.RandomHorizontalFlip(0.5)]),
    "retinanet": T.Compose([T.RandomHorizontalFlip(0.5), T.Resize(96, max_size=160)]),
    "lsj": T.Compose([T.ScaleJitter([128, 128], [0.1, 2.0]), T.RandomHorizontalFlip(0.5)]),
    "detr": T.Compose([T.RandomHorizontalFlip(0.5), T.RandomShortestSize([80, 96, 112], max_size=150)]),
    "deeplab": T.Compose([T.RandomResize(80, 160), T.RandomCrop([96, 96], pad_if_needed=True), T.RandomHorizontalFlip(0.5)]),
    "crop": T.Compose([T.RandomResizedCrop(64), T.RandomHorizontalFlip(0.5), T.ColorJitter(0.4, 0.4)]),
}
#: Its crop is drawn with the boxes.
SSD = T.Compose([T.RandomPhotometricDistort(), T.RandomZoomOut(fill=[123, 117, 104]), T.RandomIoUCrop(), T.RandomHorizontalFlip(0.5), T.Resize([96, 96])])
#: No side of a box that is scaled happens to have it.
LEAST = 1.3717
FLIP_PAIRS = [[0, 2]]


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, list[annotated.Annotations]]:
    out = tmp_path_factory.mktemp("annotated") / "shards"
    return out, annotated.write(out)


def loader(out: pathlib.Path, recipe: Any, **more: Any) -> tarflume.Loader:
    settings = {"batch_size": 5, "shuffle": "full", "seed": 3, "keep_transforms": True, "num_threads": 2}
    given = {
        "boxes": tarflume.Boxes("/boxes", format="xywh", labels="/category_index", area="/area", iscrowd="/iscrowd", min_size=LEAST),
        "masks": tarflume.Masks("/segmentation"),
        "keypoints": tarflume.Keypoints("/keypoints", count=3, flip_pairs=FLIP_PAIRS),
        "mask": tarflume.Mask("mask.png"),
    }
    return tarflume.Loader(out, image=tarflume.Image(recipe), **{**settings, **given, **more})


def stored_masks(of: annotated.Annotations) -> np.ndarray:
    """The masks of pycocotools: [objects, height, width]."""
    planes = []
    for shape in of["segmentation"]:
        form = coco.frPyObjects(shape, of["height"], of["width"])
        planes.append(coco.decode(coco.merge(form) if isinstance(form, list) else form))
    return np.array(planes, np.uint8).reshape(-1, of["height"], of["width"])


def mirrored(actions: list[dict[str, Any]]) -> bool:
    return sum("horizontal_flip" in action for action in actions) % 2 == 1


def check(row: dict[str, Any], of: annotated.Annotations, actions: list[dict[str, Any]], context: Any) -> int:
    """Compares a row with what torchvision makes of its annotations. Returns the objects that were kept."""
    size = (of["height"], of["width"])
    corners = np.array(of["boxes"], np.float64).reshape(-1, 4)
    corners[:, 2:] += corners[:, :2]
    boxes = moved(actions, boxes_of(corners, size))
    height, width = boxes.canvas_size
    boxes = np.asarray(boxes.as_subclass(torch.Tensor)).clip(0, [width, height, width, height])
    sides = boxes[:, 2:] - boxes[:, :2]
    clear = np.abs(sides - LEAST).min(axis=1, initial=1) > 1e-4  # not at the limit, where rounding decides
    assert clear.all(), context
    kept = np.flatnonzero((sides >= LEAST).all(axis=1) & (sides.prod(axis=1) >= 1))
    np.testing.assert_allclose(row["boxes"], boxes[kept].reshape(-1, 4), rtol=0, atol=2e-3, err_msg=repr(context))
    for name, field in [("labels", "category_index"), ("area", "area"), ("iscrowd", "iscrowd")]:
        np.testing.assert_allclose(row[name], np.array(of[field], np.float32)[kept], rtol=1e-6, err_msg=repr(context))
    masks = moved(actions, mask_of(stored_masks(of))) if len(corners) else np.zeros((0, height, width), np.uint8)
    assert np.array_equal(row["masks"], np.asarray(masks)[kept]), context
    if "mask" in row:
        plane = moved(actions, mask_of(of["mask"][None]), fill=255)
        assert np.array_equal(row["mask"], np.asarray(plane)[0]), context
    points = np.array(of["keypoints"], np.float64).reshape(-1, 3, 3)
    places = np.asarray(moved(actions, points_of(points[:, :, :2].reshape(-1, 2), size)).as_subclass(torch.Tensor))
    points[:, :, :2] = places.reshape(-1, 3, 2)
    if mirrored(actions):
        points = points[:, [2, 1, 0]]
    inside = (points[:, :, :2] >= 0).all(-1) & (points[:, :, :2] < [width, height]).all(-1) & (points[:, :, 2] > 0)
    expected = np.where(inside[:, :, None], points, 0)[kept]
    np.testing.assert_allclose(row["keypoints"], expected.reshape(-1, 3, 3), rtol=0, atol=2e-3, err_msg=repr(context))
    return len(kept)


@pytest.mark.parametrize("name", RECIPES)
def test_annotations_move_as_torchvision_moves_them(name: str, shards: Any) -> None:
    out, made = shards
    kept = 0
    for epoch in range(3):
        for batch in loader(out, RECIPES[name]).epoch(epoch):
            drawn = batch.transforms()["image"]
            for at, ordinal in enumerate(np.asarray(batch.ordinals).tolist()):
                columns = ["boxes", "labels", "area", "iscrowd", "masks", "mask", "keypoints"]
                row = {column: np.asarray(batch[column][at]) for column in columns}
                assert row["mask"].shape == np.asarray(batch["image"][at]).shape[:2]
                kept += check(row, made[ordinal], drawn[at], (name, epoch, ordinal, drawn[at]))
    assert kept > 100


def test_a_crop_is_drawn_with_the_boxes_and_annotations_follow_it(shards: Any) -> None:
    out, made = shards
    kept, cropped = 0, 0
    for epoch in range(3):
        for batch in loader(out, SSD, mask=None).epoch(epoch):
            drawn = batch.transforms()["image"]
            assert np.asarray(batch["image"]).shape[1:] == (96, 96, 3)
            for at, ordinal in enumerate(np.asarray(batch.ordinals).tolist()):
                columns = ["boxes", "labels", "area", "iscrowd", "masks", "keypoints"]
                row = {column: np.asarray(batch[column][at]) for column in columns}
                kept += check(row, made[ordinal], drawn[at], (epoch, ordinal, drawn[at]))
                cropped += any("keep_centers" in action for action in drawn[at])
    assert kept > 100 and cropped > 10


def test_a_recipe_that_draws_with_boxes_needs_a_column_of_them(shards: Any) -> None:
    out, _ = shards
    with pytest.raises(tarflume.errors.UsageError, match="RandomIoUCrop draws with the boxes of a picture"):
        tarflume.Loader(out, image=tarflume.Image(SSD))
    with pytest.raises(tarflume.errors.UsageError, match="no column of boxes"):
        tarflume.Loader(out, image=tarflume.Image(SSD), masks=tarflume.Masks("/segmentation"))


def test_the_picture_is_the_one_that_the_actions_make(shards: Any) -> None:
    """The pixels of a crop that is drawn with boxes are those of its actions on the whole picture."""
    out, _ = shards
    whole = {int(o): np.asarray(image) for batch in tarflume.Loader(out, image=tarflume.Image(tarflume.OriginalSize(1 << 16)))
             for o, image in zip(batch.ordinals, batch["image"], strict=True)}
    for batch in loader(out, SSD, mask=None).epoch(0):
        for at, (ordinal, actions) in enumerate(zip(np.asarray(batch.ordinals).tolist(), batch.transforms()["image"], strict=True)):
            expected = T.apply(actions, whole[ordinal])
            assert np.array_equal(np.asarray(batch["image"][at]), np.asarray(expected)), (ordinal, actions)
