"""A small detector learns from a loader with SSD's recipe, and is resumed in the middle of an epoch."""

from __future__ import annotations

import contextlib
import io
import pathlib
import pickle
from typing import Any

import numpy as np
import torch

from pycocotools import coco, cocoeval

import tarflume
from tarflume import transforms as T

import small_detector as detector
from conftest import pack


EPOCHS = 24
#: Average precision at an overlap of a half, of 100.
LEAST = 85.0
SSD = T.Compose([
    T.RandomPhotometricDistort(),
    T.RandomZoomOut(fill=70, side_range=(1.0, 1.6)),
    T.RandomIoUCrop(),
    T.RandomHorizontalFlip(),
    T.Resize((detector.SIDE, detector.SIDE)),
])  # fmt: skip


def made(at: pathlib.Path, count: int, seed: int) -> tuple[pathlib.Path, pathlib.Path]:
    """The shards of a made data set, and its file of annotations."""
    file = detector.write(at, count, seed)
    pack("build", at / "pictures", "-o", at / "shards", "--coco", file, "--shards", 2)
    return at / "shards", file


def loader(shards: pathlib.Path, recipe: Any, **more: Any) -> tarflume.Loader:
    boxes = tarflume.Boxes("/boxes", format="xywh", labels="/category_index")
    return tarflume.Loader(shards, image=recipe, boxes=boxes, num_threads=2, **{"batch_size": 32, **more})


def pictures_of(batch: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(batch["image"])).permute(0, 3, 1, 2).float() / 128 - 1


def train(model: detector.Detector, optimizer: torch.optim.Optimizer, batches: Any) -> None:
    for batch in batches:
        scores, boxes = model(pictures_of(batch))
        targets = [{name: torch.from_numpy(np.array(column)) for name, column in row.items()} for row in batch.targets()]
        optimizer.zero_grad()
        detector.loss_of(scores, boxes, targets).backward()
        optimizer.step()


def precision(model: detector.Detector, shards: pathlib.Path, file: pathlib.Path) -> float:
    """The average precision of all classes at an overlap of a half, by pycocotools, in percent."""
    with contextlib.redirect_stdout(io.StringIO()):
        truth = coco.COCO(str(file))
        found: list[dict[str, object]] = []
        for batch in loader(shards, T.Resize((detector.SIDE, detector.SIDE)), shuffle="none"):
            with torch.no_grad():
                scores, boxes = model(pictures_of(batch))
            for row, key in enumerate(batch["key"]):
                image = truth.imgs[int(key)]
                of = detector.detections(scores[row], boxes[row], (image["width"], image["height"]))
                found += [{**one, "image_id": image["id"]} for one in of]
        assert found, "the detector finds nothing"
        judged = cocoeval.COCOeval(truth, truth.loadRes(found), "bbox")
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
    return 100 * float(judged.stats[1])


def test_a_small_detector_learns_and_is_resumed_in_the_middle(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(1)
    shards, _ = made(tmp_path / "train", 256, 1)
    model = detector.Detector()
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
    begun = loader(shards, SSD, shuffle="full", seed=3)
    for epoch in range(EPOCHS // 2):
        train(model, optimizer, begun.epoch(epoch))
    batches = iter(begun.epoch(EPOCHS // 2))
    train(model, optimizer, [next(batches) for _ in range(3)])
    saved = pickle.dumps({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": begun.state_dict()})

    model = detector.Detector()
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
    state = pickle.loads(saved)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    resumed = loader(shards, SSD, shuffle="full", seed=3)
    resumed.load_state_dict(state["loader"])
    rest = list(resumed)
    assert len(rest) == 256 // 32 - 3
    train(model, optimizer, rest)
    for epoch in range(EPOCHS // 2 + 1, EPOCHS):
        train(model, optimizer, resumed.epoch(epoch))

    reached = precision(model.eval(), *made(tmp_path / "val", 64, 2))
    assert reached > LEAST, f"an average precision of {reached:.1f}"
