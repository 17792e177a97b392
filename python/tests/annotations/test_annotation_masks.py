"""Masks of whole pictures, and annotations that follow transforms that are no recipes."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms.v2.functional as F

import tarflume
from tarflume import transforms as T

import annotated


def write(out: pathlib.Path, plane: np.ndarray, **parts: bytes) -> pathlib.Path:
    """Four samples of a picture, 80 wide and 60 high, and a mask."""
    with tarflume.ShardWriter(out) as writer:
        for n in range(4):
            json_of = {"boxes": [[10, 10, 30, 20]], "segmentation": [[[10, 10, 40, 10, 40, 30, 10, 30]]]}
            sample = {"jpg": annotated.jpeg(60, 80), "json": json.dumps(json_of).encode(), "mask.png": annotated.png(plane)}
            writer.write({"__key__": f"{n}", **sample, **parts})
    return out


def rows(out: pathlib.Path, image: Any, mask: tarflume.Mask, **more: Any) -> list[np.ndarray]:
    loader = tarflume.Loader(out, image=image, mask=mask, batch_size=4, seed=2, **more)
    return [np.asarray(row) for batch in loader for row in batch["mask"]]


PADDED = T.Compose([T.Pad([4, 8, 12, 16]), T.Resize([42, 48])])


def expected(plane: np.ndarray, fill: int) -> np.ndarray:
    whole = torch.from_numpy(plane.astype(np.int32))[None]
    padded = F.pad_mask(whole, [4, 8, 12, 16], fill=fill)
    return F.resize_mask(padded.float(), [42, 48])[0].numpy().astype(np.int64)


@pytest.mark.parametrize(("kind", "fill"), [("semantic", 255), ("instance", 0), ("binary", 0)])
@pytest.mark.parametrize("wide", [False, True])
def test_numbers_are_kept_and_each_kind_has_its_fill(kind: Any, fill: int, wide: bool, tmp_path: pathlib.Path) -> None:
    random = np.random.default_rng(5)
    plane = random.integers(0, 60_000 if wide else 200, (60, 80)).astype(np.uint16 if wide else np.uint8)
    plane[:20] = 0
    out = write(tmp_path / "out", plane)
    wanted = expected((plane > 0).astype(np.uint8) if kind == "binary" else plane, fill)
    dtypes: list[Any] = ["uint16", "int32", "int64"] if wide else ["uint8", "uint16", "int32", "int64"]
    for dtype in dtypes:
        for row in rows(out, tarflume.Image(PADDED), tarflume.Mask("mask.png", kind, dtype=dtype)):
            assert row.dtype == dtype and np.array_equal(row, wanted)
    narrow = tarflume.Loader(out, image=tarflume.Image(PADDED), mask=tarflume.Mask("mask.png", kind))
    if wide and kind != "binary":
        with pytest.raises(tarflume.errors.DecodeError, match="which uint8 cannot hold"):
            next(iter(narrow))
    else:
        assert np.array_equal(np.asarray(next(iter(narrow))["mask"])[0], wanted)


def test_a_mask_of_another_size_and_one_of_colors_are_bad_samples(tmp_path: pathlib.Path) -> None:
    plane = np.zeros((80, 60), np.uint8)
    image = tarflume.Image(PADDED)
    with pytest.raises(tarflume.errors.DecodeError, match='the mask "mask.png" is 60 x 80, and the picture "jpg" is 80 x 60'):
        rows(write(tmp_path / "turned", plane), image, tarflume.Mask("mask.png"))
    colors = write(tmp_path / "colors", plane, **{"mask.png": annotated.png(np.zeros((60, 80, 3), np.uint8))})
    with pytest.raises(tarflume.errors.DecodeError, match="stores colors"):
        rows(colors, image, tarflume.Mask("mask.png"))
    with pytest.raises(tarflume.errors.DecodeError, match="a JPEG stores colors"):
        rows(colors, image, tarflume.Mask("jpg"))
    with pytest.raises(tarflume.errors.UsageError, match="uint8, uint16, int32 or int64, not float32"):
        rows(colors, image, tarflume.Mask("mask.png", dtype="float32"))  # type: ignore[arg-type]
    with pytest.raises(tarflume.errors.UsageError, match="kind is"):
        tarflume.Mask("mask.png", "panoptic")  # type: ignore[arg-type]


TRANSFORMS = [
    tarflume.RandomResizedCrop(48, flip=0.5),
    tarflume.Resize((40, 56)),
    tarflume.CenterCrop(44),
    tarflume.ResizeCenterCrop(40, 36),
    tarflume.OriginalSize(1 << 16),
]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda transform: type(transform).__name__)
def test_annotations_follow_transforms_that_are_no_recipes(transform: Any, tmp_path: pathlib.Path) -> None:
    plane = annotated.classes(np.random.default_rng(1), 60, 80)
    out = write(tmp_path / "out", plane)
    columns = {
        "index": tarflume.Image(transform, "mask.png", channels="index"),
        "boxes": tarflume.Boxes("/boxes", format="xywh"),
        "masks": tarflume.Masks("/segmentation"),
        "mask": tarflume.Mask("mask.png"),
    }
    seen = 0
    for epoch in range(4):
        for batch in tarflume.Loader(out, image=tarflume.Image(transform), columns=columns, batch_size=4).epoch(epoch):
            for at in range(4):
                same = np.asarray(batch["index"][at])[..., 0] == np.asarray(batch["mask"][at])
                assert same.mean() > 0.97, same.mean()  # the same crop; centers between two pixels are rounded otherwise
                for box, mask in zip(np.asarray(batch["boxes"][at]), np.asarray(batch["masks"][at]), strict=True):
                    y, x = np.nonzero(mask)
                    found = [x.min(), y.min(), x.max() + 1, y.max() + 1]
                    np.testing.assert_allclose(box, found, atol=1.01)
                    seen += 1
    assert seen >= 8
