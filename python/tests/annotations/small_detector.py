"""A detector of a few convolutions for squares and discs, its pictures, and its average precision."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from torch import Tensor, nn
from torch.nn import functional as F

#: Sides of the pictures that the network gets, and of one cell of its map.
SIDE, CELL = 64, 8
CLASSES = ("square", "disc")


def drawn(rng: np.random.Generator) -> tuple[Image.Image, list[list[int]], list[int]]:
    """A noisy picture with 1 to 3 bright squares and discs of one color that do not touch, their boxes as xywh, and classes."""
    width, height = (int(side) for side in rng.integers(88, 128, 2))
    noise = rng.normal(70, 12, (height, width, 3)).clip(0, 255).astype(np.uint8)
    picture = Image.fromarray(noise)
    draw = ImageDraw.Draw(picture)
    boxes: list[list[int]] = []
    labels: list[int] = []
    for _ in range(rng.integers(1, 4)):
        side = int(rng.integers(20, 40))
        x, y = int(rng.integers(0, width - side)), int(rng.integers(0, height - side))
        if any(x < b[0] + b[2] and b[0] < x + side and y < b[1] + b[3] and b[1] < y + side for b in boxes):
            continue
        label = int(rng.integers(0, 2))
        color = tuple(int(part) for part in rng.integers(150, 256, 3))
        shape = (draw.rectangle, draw.ellipse)[label]
        shape([x, y, x + side - 1, y + side - 1], fill=color)
        boxes.append([x, y, side, side])
        labels.append(label)
    return picture, boxes, labels


def write(at: pathlib.Path, count: int, seed: int) -> pathlib.Path:
    """A folder of pictures and their annotations in the form of COCO; returns the file of annotations."""
    rng = np.random.default_rng(seed)
    (at / "pictures").mkdir(parents=True)
    images: list[object] = []
    annotations: list[object] = []
    for n in range(count):
        picture, boxes, labels = drawn(rng)
        picture.save(at / "pictures" / f"{n:04}.jpg", quality=92)
        images.append({"id": n, "file_name": f"{n:04}.jpg", "width": picture.width, "height": picture.height})
        for box, label in zip(boxes, labels, strict=True):
            annotations.append({"id": len(annotations) + 1, "image_id": n, "category_id": label + 1, "bbox": box,
                                "area": box[2] * box[3], "iscrowd": 0})  # fmt: skip
    categories = [{"id": n, "name": name} for n, name in enumerate(CLASSES, 1)]
    file = at / "instances.json"
    file.write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))
    return file


class Detector(nn.Module):
    """Scores of each class and distances to four sides, for each cell of the picture: FCOS with one level."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inside, outside in ((3, 16), (16, 32), (32, 48)):
            layers += [nn.Conv2d(inside, outside, 3, 2, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU()]
        for _ in range(2):
            layers += [nn.Conv2d(48, 48, 3, 1, 1, bias=False), nn.BatchNorm2d(48), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.scores = nn.Conv2d(48, len(CLASSES), 1)
        self.sides = nn.Conv2d(48, 4, 1)
        nn.init.constant_(self.scores.bias, -3.0)  # type: ignore[arg-type]

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Scores `[n, classes, cells, cells]`, and boxes `[n, 4, cells, cells]` as xyxy in pixels."""
        found = self.body(pictures)
        sides = F.softplus(self.sides(found)) * CELL
        y, x = centers(found.shape[-2:], pictures.device)
        boxes = torch.stack([x - sides[:, 0], y - sides[:, 1], x + sides[:, 2], y + sides[:, 3]], 1)
        return self.scores(found), boxes


def centers(cells: torch.Size, device: torch.device) -> tuple[Tensor, Tensor]:
    """The centers of all cells in pixels."""
    y, x = torch.meshgrid(*(CELL * (torch.arange(count, device=device) + 0.5) for count in cells), indexing="ij")
    return y, x


def loss_of(scores: Tensor, boxes: Tensor, targets: list[dict[str, Tensor]]) -> Tensor:
    """Focal loss of the classes, and GIoU of the boxes, at the cells whose center is in the inner half of an object."""
    wanted = torch.zeros_like(scores)
    goals = torch.zeros_like(boxes)
    inside = torch.zeros(boxes.shape[0], *boxes.shape[-2:], dtype=torch.bool)
    y, x = centers(boxes.shape[-2:], boxes.device)
    for n, target in enumerate(targets):
        for box, label in zip(target["boxes"], target["labels"], strict=True):
            left, top, right, bottom = box.tolist()
            reach_x, reach_y = max((right - left) / 4, CELL / 2), max((bottom - top) / 4, CELL / 2)
            near = ((x - (left + right) / 2).abs() <= reach_x) & ((y - (top + bottom) / 2).abs() <= reach_y)
            wanted[n, :, near] = 0
            wanted[n, int(label), near] = 1
            goals[n, :, near] = box[:, None]
            inside[n] |= near
    chance = scores.sigmoid()
    right_chance = torch.where(wanted > 0, chance, 1 - chance)
    plain = F.binary_cross_entropy_with_logits(scores, wanted, reduction="none")
    focal = (0.5 * (1 - right_chance) ** 2 * plain).sum() / max(int(inside.sum()), 1)
    if not inside.any():
        return focal
    found, expected = (part.permute(0, 2, 3, 1)[inside] for part in (boxes, goals))
    return focal + (1 - giou(found, expected)).mean()


def giou(one: Tensor, other: Tensor) -> Tensor:
    """Generalized overlap of pairs of boxes."""
    least, most = torch.maximum(one[:, :2], other[:, :2]), torch.minimum(one[:, 2:], other[:, 2:])
    shared = (most - least).clamp(min=0).prod(1)
    union = (one[:, 2:] - one[:, :2]).prod(1) + (other[:, 2:] - other[:, :2]).prod(1) - shared
    hull = (torch.maximum(one[:, 2:], other[:, 2:]) - torch.minimum(one[:, :2], other[:, :2])).prod(1)
    return shared / union - (hull - union) / hull


def detections(scores: Tensor, boxes: Tensor, size: tuple[int, int], least: float = 0.05) -> list[dict[str, object]]:
    """What the network found in one picture, in the form of COCO without the picture's id, for a picture of `size` (width
    and height): of each class the boxes that no better one overlaps by more than a half."""
    found: list[dict[str, object]] = []
    scale = torch.tensor([size[0] / SIDE, size[1] / SIDE] * 2)
    for label, of_class in enumerate(scores.sigmoid().flatten(1)):
        flat = boxes.flatten(1).T
        left = [n for n in of_class.argsort(descending=True).tolist() if of_class[n] > least]
        while left:
            best, *rest = left
            overlaps = giou(flat[best].expand(len(rest), 4), flat[rest]) if rest else torch.zeros(0)
            left = [n for n, overlap in zip(rest, overlaps.tolist(), strict=True) if overlap <= 0.5]
            x, y, right, bottom = (flat[best] * scale).tolist()
            found.append({"category_id": label + 1, "bbox": [x, y, right - x, bottom - y], "score": float(of_class[best])})
    return found
