"""Boxes with an angle of a loader are those that torchvision makes of the drawn actions."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms.v2.functional as F
from torchvision.transforms import v2

import tarflume
import tarflume.torch
from tarflume import transforms as T

import annotated
from annotations_oracle import boxes_of, moved
from conftest import pack

FORMATS = ("cxcywhr", "xywhr", "xyxyxyxy")
COUNTS = {"cxcywhr": 5, "xywhr": 5, "xyxyxyxy": 8}
RECIPES: dict[str, Any] = {
    "flips": T.Compose([T.RandomHorizontalFlip(0.5), T.RandomVerticalFlip(0.5)]),
    "retinanet": T.Compose([T.RandomHorizontalFlip(0.5), T.Resize(96, max_size=160)]),
    "lsj": T.Compose([T.ScaleJitter([128, 128], [0.3, 2.0]), T.FixedSizeCrop([96, 96]), T.RandomHorizontalFlip(0.5)]),
    "crop": T.Compose([T.RandomCrop([48, 48]), T.RandomHorizontalFlip(0.5)]),
    "squeezed": T.Compose([T.RandomResizedCrop([48, 80]), T.RandomVerticalFlip(0.5)]),
    "rotated": T.Compose([T.RandomRotation((30.0, 30.0)), T.RandomHorizontalFlip(0.5)]),
    "ssd": T.Compose([T.RandomZoomOut(fill=[123, 117, 104]), T.RandomIoUCrop(), T.RandomHorizontalFlip(0.5)]),
}  # fmt: skip
ROTATION = {"angle": 30.0, "expand": False, "center": None}
#: No side or area of a box happens to have them.
LEAST, AREA = 1.3717, 2.2713
Quads = np.ndarray


def quads_of(numbers: Any, size: tuple[int, int], format: str) -> Quads:
    """The corners that torchvision makes: [objects, 4, 2]."""
    boxes = F.convert_bounding_box_format(boxes_of(numbers, size, format), new_format="xyxyxyxy")
    return np.asarray(boxes.as_subclass(torch.Tensor)).reshape(-1, 4, 2)


def shown(quad: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """The corners of what a picture of this height and width shows of a polygon."""
    for axis, limit, sign in [(0, 0, 1), (0, size[1], -1), (1, 0, 1), (1, size[0], -1)]:
        kept: list[np.ndarray] = []
        for before, place in zip(np.roll(quad, 1, 0), quad, strict=True):
            depth, other = sign * (place[axis] - limit), sign * (before[axis] - limit)
            if (depth >= 0) != (other >= 0):
                kept.append(before + (place - before) * other / (other - depth))
            if depth >= 0:
                kept.append(place)
        quad = np.array(kept).reshape(-1, 2)
    return quad


def half_turned(found: Quads, wanted: Quads) -> Quads:
    """The corners from the first or from the third one on, which is the same box: torchvision's clamping exchanges some."""
    turned = np.roll(found, 2, axis=1)
    nearer = np.abs(turned - wanted).sum(axis=(1, 2)) < np.abs(found - wanted).sum(axis=(1, 2))
    return np.where(nearer[:, None, None], turned, found)


def area(polygon: np.ndarray) -> float:
    x, y = polygon.T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def around(polygon: np.ndarray) -> list[float]:
    return [*polygon.min(0), *polygon.max(0)] if len(polygon) else [0.0] * 4


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, list[dict[str, Any]]]:
    out = tmp_path_factory.mktemp("rotated") / "shards"
    return out, write(out)


def write(out: pathlib.Path, count: int = 24, exif: int = 1) -> list[dict[str, Any]]:
    """Samples of 0 to 6 boxes, some of them partly outside, in all formats."""
    random = np.random.default_rng(11)
    made = []
    with tarflume.ShardWriter(out, max_samples=7) as writer:
        for n in range(count):
            height, width = int(random.integers(60, 200)), int(random.integers(60, 200))
            objects = n % 7
            places = random.uniform(0, 1, (objects, 2)) * [width, height]
            sides = random.uniform(2, 60, (objects, 2))
            of: dict[str, Any] = {"width": width, "height": height, "class": list(range(objects))}
            of["cxcywhr"] = np.concatenate([places, sides, random.uniform(-179, 179, (objects, 1))], axis=1).tolist()
            quads = quads_of(of["cxcywhr"], (height, width), "cxcywhr").reshape(-1, 8)
            of["xyxyxyxy"] = quads.tolist()
            as_first = F.convert_bounding_box_format(boxes_of(of["cxcywhr"], (height, width), "cxcywhr"), new_format="xywhr")
            of["xywhr"] = as_first.tolist()
            of["polygons"] = [[quad] for quad in of["xyxyxyxy"]]
            of["pairs"] = [np.reshape(quad, (4, 2)).tolist() for quad in of["xyxyxyxy"]]
            scale = np.array([1 / width, 1 / height] * 2 + [1])
            of["relative"] = (np.reshape(of["cxcywhr"], (-1, 5)) * scale).tolist()
            writer.write({"__key__": f"{n:04}", "jpg": annotated.jpeg(height, width, exif), "json": json.dumps(of).encode()})
            made.append(of)
    return made


def loader(shards: pathlib.Path, recipe: Any, pointer: str, format: str, **boxes: Any) -> tarflume.Loader:
    words = {"labels": "/class", "min_size": LEAST, "min_area": AREA, **boxes}
    column = tarflume.Boxes(f"/{pointer}", format=format, **words)  # type: ignore[arg-type]
    image = tarflume.Image(recipe)
    settings: dict[str, Any] = {"batch_size": 5, "shuffle": "full", "seed": 3, "keep_transforms": True, "num_threads": 2}
    return tarflume.Loader(shards, image=image, boxes=column, **settings)


def expected(of: dict[str, Any], actions: list[dict[str, Any]]) -> tuple[Quads, np.ndarray, tuple[int, int]]:
    """The corners of torchvision, which of the boxes remain, and height and width of the picture."""
    value = boxes_of(of["cxcywhr"], (of["height"], of["width"]), "cxcywhr")
    value = F.convert_bounding_box_format(value, new_format="xyxyxyxy")
    inside = np.ones(len(value), bool)
    for action in actions:
        ((name, numbers),) = action.items()
        if name == "keep_centers":
            x, y = value.reshape(-1, 4, 2).mean(1).T
            left, top = numbers["left"], numbers["top"]
            inside &= np.asarray((left < x) & (x < left + numbers["width"]) & (top < y) & (y < top + numbers["height"]))
            continue
        value = moved([action], value, given=ROTATION)
    value = F.clamp_bounding_boxes(value)
    quads = np.asarray(value.as_subclass(torch.Tensor)).reshape(-1, 4, 2)
    size = value.canvas_size
    sides = np.linalg.norm(quads[:, [1, 2]] - quads[:, [0, 1]], axis=2)
    areas = np.array([area(shown(quad, size)) for quad in quads])
    clear = np.abs(sides - LEAST).min(initial=1) > 1e-3 and np.abs(areas - AREA).min(initial=1) > 1e-2
    assert clear, "a box is at the limit, where rounding decides"
    return quads, np.flatnonzero(inside & (sides >= LEAST).all(1) & (areas >= AREA)), size


def rows(made: tarflume.Loader, epochs: int = 2) -> Any:
    for epoch in range(epochs):
        for batch in made.epoch(epoch):
            drawn = batch.transforms()["image"]
            for at, ordinal in enumerate(np.asarray(batch.ordinals).tolist()):
                yield ordinal, drawn[at], np.asarray(batch["boxes"][at], np.float64), np.asarray(batch["labels"][at])


@pytest.mark.parametrize("name", RECIPES)
def test_boxes_with_an_angle_move_as_torchvision_moves_them(name: str, shards: Any) -> None:
    out, made = shards
    kept, partly = 0, 0
    sources = [*zip(FORMATS, FORMATS, strict=True), ("polygons", "xyxyxyxy"), ("pairs", "xyxyxyxy")]
    for (pointer, format), to in zip(sources, [*FORMATS[1:], *FORMATS], strict=False):
        for ordinal, actions, boxes, labels in rows(loader(out, RECIPES[name], pointer, format, out=to), 1):
            quads, remain, size = expected(made[ordinal], actions)
            assert labels.tolist() == remain.tolist(), (ordinal, actions)
            assert boxes.shape == (len(remain), COUNTS[to])
            of, rule = made[ordinal], {"min_size": LEAST, "min_area": AREA}
            keep = T.sanitize_boxes(actions, of[format], of["height"], of["width"], format=format, **rule)  # type: ignore[arg-type]
            assert np.flatnonzero(keep).tolist() == remain.tolist()
            found = half_turned(quads_of(boxes, size, to), quads[remain])
            np.testing.assert_allclose(found, quads[remain], rtol=0, atol=5e-3, err_msg=repr((ordinal, actions)))
            kept += len(remain)
            partly += sum(area(shown(quad, size)) < 0.95 * area(quad) for quad in quads[remain])
    assert kept > 90 and partly > 2


def test_the_visible_part_of_a_box_is_that_of_its_area(shards: Any) -> None:
    out, made = shards
    left_out = 0
    given = {"min_size": 0.0, "min_area": 0.0, "min_visibility": 0.4}
    for ordinal, actions, _, labels in rows(loader(out, RECIPES["squeezed"], "cxcywhr", "cxcywhr", out="xyxyxyxy", **given)):
        crop = actions[0]["crop"]
        quads = quads_of(made[ordinal]["cxcywhr"], (9, 9), "cxcywhr") - [crop["left"], crop["top"]]
        parts = np.array([area(shown(quad, (crop["height"], crop["width"]))) / area(quad) for quad in quads])
        assert np.abs(parts - 0.4).min(initial=1) > 1e-4
        assert labels.tolist() == np.flatnonzero(parts >= 0.4).tolist(), (ordinal, parts)
        left_out += int(((parts > 0.01) & (parts < 0.4)).sum())
    assert left_out > 5


@pytest.mark.parametrize("name", ["flips", "crop", "rotated"])
def test_a_row_without_angle_has_the_box_around_what_is_shown(name: str, shards: Any) -> None:
    out, made = shards
    for to in ("xyxy", "xywh", "cxcywh"):
        for ordinal, actions, boxes, labels in rows(loader(out, RECIPES[name], "xywhr", "xywhr", out=to), 1):
            quads, remain, size = expected(made[ordinal], actions)
            assert labels.tolist() == remain.tolist()
            edges = F.convert_bounding_box_format(boxes_of(boxes, size, to), new_format="xyxy").numpy()
            wanted = np.array([around(shown(quads[at], size)) for at in remain]).reshape(-1, 4)
            np.testing.assert_allclose(edges, wanted, rtol=0, atol=5e-3)


def test_numbers_are_fractions_of_the_sides_and_angles_stay(shards: Any) -> None:
    out, made = shards
    for to in FORMATS:
        plain = rows(loader(out, RECIPES["crop"], "cxcywhr", "cxcywhr", out=to), 1)
        fractions = rows(loader(out, RECIPES["crop"], "relative", "cxcywhr", relative=True, normalize=True, out=to), 1)
        by = np.array([48.0] * 4 + ([1.0] if to != "xyxyxyxy" else [48.0] * 4))
        for one, other in zip(plain, fractions, strict=True):
            np.testing.assert_allclose(one[2], other[2] * by, rtol=0, atol=1e-3)


def test_boxes_without_angle_get_one(tmp_path: pathlib.Path) -> None:
    annotated.write(tmp_path / "out")
    image = tarflume.Image(T.Compose([T.Resize([90, 120]), T.RandomRotation((30.0, 30.0)), T.RandomHorizontalFlip(0.5)]))
    level = tarflume.Boxes("/boxes", format="xywh", out="cxcywhr", min_size=4)
    angles = set()
    for batch in tarflume.Loader(tmp_path / "out", image=image, boxes=level, batch_size=4, keep_transforms=True):
        for row, actions in zip(batch["boxes"], batch.transforms()["image"], strict=True):
            angles |= {(round(float(angle), 3), len(actions)) for angle in np.asarray(row)[:, 4]}
    # Counterclockwise; a mirrored box is turned the other way.
    assert angles == {(30.0, 2), (-30.0, 3)}


@pytest.mark.parametrize("exif", range(1, 9))
def test_boxes_are_turned_with_the_stored_picture(exif: int, tmp_path: pathlib.Path) -> None:
    made = write(tmp_path / "out", 8, exif)
    turns: dict[int, list[dict[str, Any]]] = {
        2: [{"horizontal_flip": {}}], 3: [{"quarter_turn": {"turns": 2}}], 4: [{"vertical_flip": {}}],
        5: [{"horizontal_flip": {}}, {"quarter_turn": {"turns": 1}}], 6: [{"quarter_turn": {"turns": 3}}],
        7: [{"vertical_flip": {}}, {"quarter_turn": {"turns": 1}}], 8: [{"quarter_turn": {"turns": 1}}],
    }  # fmt: skip
    kept = 0
    for ordinal, _, boxes, labels in rows(loader(tmp_path / "out", T.Compose([]), "cxcywhr", "cxcywhr", out="xyxyxyxy"), 1):
        quads, remain, _ = expected(made[ordinal], turns.get(exif, []))
        assert labels.tolist() == remain.tolist()
        found = half_turned(boxes.reshape(-1, 4, 2), quads[remain])
        np.testing.assert_allclose(found, quads[remain], rtol=0, atol=5e-3)
        kept += len(remain)
    assert kept > 15


TRANSFORMS = [tarflume.RandomResizedCrop(48, flip=0.5), tarflume.Resize((40, 56)), tarflume.ResizeCenterCrop(40, 36)]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda transform: type(transform).__name__)
def test_boxes_follow_transforms_that_are_no_recipes(transform: Any, tmp_path: pathlib.Path) -> None:
    """Boxes that are not turned are those without angle."""
    annotated.write(tmp_path / "out")
    level, turned = (
        tarflume.Loader(tmp_path / "out", image=tarflume.Image(transform), batch_size=5,
                        boxes=tarflume.Boxes("/boxes", format="xywh", out=to, min_size=LEAST, min_visibility=0.3))
        for to in ("xyxy", "xyxyxyxy")
    )  # fmt: skip
    seen = 0
    for one, other in zip(level, turned, strict=True):
        edges, corners = np.asarray(one["boxes"].values), np.asarray(other["boxes"].values).reshape(-1, 4, 2)
        np.testing.assert_allclose(np.concatenate([corners.min(1), corners.max(1)], axis=1), edges, atol=1e-3)
        assert (np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1) - (edges[:, 2] - edges[:, 0]) < 1e-3).all()
        seen += len(edges)
    assert seen > 20


def test_oriented_boxes_that_pack_reads_from_yolo_are_read(tmp_path: pathlib.Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "labels").mkdir()
    (tmp_path / "images" / "a.jpg").write_bytes(annotated.jpeg(50, 80))
    quad = quads_of([[40.0, 25.0, 30.0, 12.0, 20.0]], (50, 80), "cxcywhr")[0]
    relative = " ".join(f"{v:.17g}" for v in (quad / [80, 50]).ravel())
    (tmp_path / "labels" / "a.txt").write_text(f"1 {relative}\n0 0.25 0.25 0.5 0.25 0.5 0.5 0.25 0.5\n")
    pack("build", tmp_path / "images", "-o", tmp_path / "out", "--yolo", tmp_path / "labels")
    boxes = tarflume.Boxes("/segmentation", format="xyxyxyxy", relative=True, out="cxcywhr", labels="/class")
    batch = next(iter(tarflume.Loader(tmp_path / "out", image=tarflume.Image(T.Compose([])), boxes=boxes)))
    np.testing.assert_allclose(batch["boxes"][0], [[40, 25, 30, 12, 20], [30, 18.75, 20, 12.5, 0]], atol=1e-4)
    assert np.asarray(batch["labels"][0]).tolist() == [1, 0]


def of_json(tmp_path: pathlib.Path, boxes: str, **words: Any) -> np.ndarray:
    """The boxes of one picture, 80 wide and 60 high."""
    folder = tmp_path / f"{abs(hash((boxes, *words.items())))}"
    with tarflume.ShardWriter(folder, json_rules="python") as writer:
        writer.write({"__key__": "0", "jpg": annotated.jpeg(60, 80), "json": f'{{"b": {boxes}}}'.encode()})
    image = tarflume.Image(words.pop("recipe", T.Compose([])))
    column = tarflume.Boxes("/b", rules="python", **words)
    return np.asarray(next(iter(tarflume.Loader(folder, image=image, boxes=column)))["boxes"][0])


def test_corners_in_either_direction_and_of_no_rectangle_are_those_of_a_rectangle(tmp_path: pathlib.Path) -> None:
    rectangle = [[20.0, 30.0, 12.0, 4.0, 0.0]]
    for corners in ("14,28,26,28,26,32,14,32", "14,28,14,32,26,32,26,28", "14,28,26,28,25,32,15,32"):
        found = of_json(tmp_path, f"[[{corners}]]", format="xyxyxyxy", out="cxcywhr")
        np.testing.assert_allclose(found, rectangle, atol=1e-5, err_msg=corners)
    # torchvision takes the first three corners, whatever the direction.
    other = F.convert_bounding_box_format(boxes_of([[14, 28, 14, 32, 26, 32, 26, 28]], (60, 80), "xyxyxyxy"), new_format="cxcywhr")
    assert abs(float(other[0, 0]) - 20) > 1


def test_a_box_with_a_corner_outside_remains(tmp_path: pathlib.Path) -> None:
    """torchvision leaves it out."""
    box = [[4.0, 30.0, 20.0, 20.0, 45.0]]
    found = of_json(tmp_path, json.dumps(box), format="cxcywhr", out="cxcywhr")
    clamped = F.clamp_bounding_boxes(boxes_of(box, (60, 80), "cxcywhr"))
    np.testing.assert_allclose(quads_of(found, (60, 80), "cxcywhr"), quads_of(clamped, (60, 80), "cxcywhr"), atol=1e-3)
    sample = v2.SanitizeBoundingBoxes(labels_getter=None)({"boxes": clamped})
    assert len(sample["boxes"]) == 0 and len(found) == 1
    assert len(of_json(tmp_path, json.dumps(box), format="cxcywhr", out="cxcywhr", min_visibility=0.9)) == 0


WRONG = [
    ("cxcywhr", "[[1, 2, 3, 4, 5], [1, 2, 3, 4]]", "object 1: expected a list of five numbers, found 4"),
    ("xywhr", "[[1, 2, -3, 4, 5]]", r"object 0: the xywhr box \[1, 2, -3, 4\] has a negative width or height"),
    ("xywhr", "[[1, 2, 3, 4, NaN]]", "object 0: a number is not finite"),
    ("cxcywhr", "[[1, 2, 3, 4, Infinity]]", "object 0: a number is not finite"),
    ("cxcywhr", "[[1e999, 2, 3, 4, 5]]", "object 0: a number is not finite"),
    ("xyxyxyxy", "[[1, 2, 3, 4, 5, 6]]", "object 0: expected the eight numbers of four corners, found 6"),
    ("xyxyxyxy", "[[[1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 8]]]", "four corners, found 16"),
    ("xyxyxyxy", "[[[1, 2, 3, 4], [5, 6, 7, 8]]]", "in one list, or four pairs"),
    ("xyxyxyxy", "[null]", "object 0: expected the eight numbers of four corners, found null"),
    ("xyxyxyxy", '[{"size": [60, 80], "counts": [4800]}]', "expected the eight numbers of four corners, found an object"),
]


@pytest.mark.parametrize(("format", "boxes", "wrong"), WRONG)
def test_bad_boxes_make_a_sample_bad(format: str, boxes: str, wrong: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(tarflume.errors.DecodeError, match=wrong):
        of_json(tmp_path, boxes, format=format)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_impossible_boxes_are_left_out(recipe: Any, tmp_path: pathlib.Path) -> None:
    corners = ["[0,0,0,0,0,0,0,0]", "[5,5,5,5,9,9,9,9]", "[1e300,0,1e300,1e300,-1e300,7,3,1e-300]", "[0,0,9,9,0,9,9,0]",
               "[500,500,510,500,510,510,500,510]", "[-1e9,-1e9,1e9,-1e9,1e9,1e9,-1e9,1e9]"]  # fmt: skip
    angled = ["[1,1,0,0,10]", "[10,10,5,0,1e300]", "[1e300,1e300,1e300,1e300,3]", "[30,30,1e-9,20,-360]", "[400,0,20,20,9]"]
    for format, given in (("xyxyxyxy", corners), ("cxcywhr", angled), ("xywhr", angled)):
        for to in (*FORMATS, "xyxy"):
            for words in ({}, {"min_size": 0, "min_area": 0}):
                found = of_json(tmp_path, f"[{','.join(given)}]", format=format, out=to, recipe=recipe, **words)
                assert np.isfinite(found).all(), (format, to, words, found)


def test_an_unknown_format_lists_all() -> None:
    with pytest.raises(tarflume.errors.UsageError, match='"xywhr", "cxcywhr" or "xyxyxyxy"'):
        tarflume.Boxes("/b", format="obb")  # type: ignore[arg-type]
    boxes = tarflume.Boxes("/b", format="xyxyxyxy", out="xywhr")
    assert "format='xyxyxyxy'" in repr(boxes) and "out='xywhr'" in repr(boxes)


def test_targets_have_boxes_of_five_numbers(shards: Any) -> None:
    out, _ = shards
    boxes = tarflume.Boxes("/cxcywhr", format="cxcywhr", out="cxcywhr", labels="/class")
    image = tarflume.Image(T.Compose([T.Resize([64, 64])]))
    for batch in tarflume.torch.Loader(out, image=image, boxes=boxes, batch_size=6):
        for target in batch.targets():
            assert target["boxes"].shape == (len(target["labels"]), 5) and target["boxes"].dtype == torch.float32
        padded, mask = batch["boxes"].padded()
        assert padded.shape[2] == 5 and mask.sum() == len(batch["boxes"].values)


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("normalize", [False, True])
def test_boxes_of_mosaics_are_those_of_the_sources(to: Any, normalize: bool, shards: Any) -> None:
    out, _ = shards
    height, width = 48, 64
    boxes = tarflume.Boxes("/cxcywhr", format="cxcywhr", out=to, normalize=normalize, labels="/class")
    words: dict[str, Any] = {"image": T.RandomResizedCrop((height, width)), "boxes": boxes, "batch_size": 6, "keep_transforms": True}
    mosaic = tarflume.Mosaic(min_size=LEAST, min_visibility=0.2113)
    by = np.array([width, height] * 2 + ([1] if to != "xyxyxyxy" else [width, height] * 2)) if normalize else 1
    kept, left_out, cut = 0, 0, 0
    for now, before in zip(tarflume.Loader(out, mosaic=mosaic, **words), tarflume.Loader(out, **words), strict=True):
        for row, actions in enumerate(now.transforms()["image"]):
            if "mosaic" not in actions[-1]:
                continue
            x, y = actions[-1]["mosaic"]["center"]
            shifts = [(x - width, y - height), (x, y - height), (x - width, y), (x, y)]
            regions = [(0, 0, x, y), (x, 0, width, y), (0, y, x, height), (x, y, width, height)]
            wanted, labels = [], []
            for source, shift, (left, top, right, bottom) in zip(actions[-1]["mosaic"]["sources"], shifts, regions, strict=True):
                numbers = np.asarray(before["boxes"][source], np.float64) * by
                size = (bottom - top, right - left)
                for quad, label in zip(quads_of(numbers, (height, width), to), np.asarray(before["labels"][source]), strict=True):
                    place = quad + shift - [left, top]
                    had, has = area(shown(quad, (height, width))), area(shown(place, size))
                    clamped = F.clamp_bounding_boxes(boxes_of(place, size, "xyxyxyxy")).numpy().reshape(4, 2)
                    sides = np.linalg.norm(clamped[[1, 2]] - clamped[[0, 1]], axis=1)
                    if has <= 0 or has / had < mosaic.min_visibility or sides.min() < LEAST:
                        left_out += 1
                        continue
                    cut += has < 0.95 * had
                    wanted.append(clamped + [left, top])
                    labels.append(int(label))
            assert np.asarray(now["labels"][row]).tolist() == labels
            found = quads_of(np.asarray(now["boxes"][row], np.float64) * by, (height, width), to)
            corners = np.array(wanted).reshape(-1, 4, 2)
            np.testing.assert_allclose(half_turned(found, corners), corners, rtol=0, atol=2e-2)
            kept += len(labels)
    assert kept > 30 and left_out > 30 and cut > 5
