"""Mosaics of a loader beside those that NumPy makes of the batches of the same loader without mosaics."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tarflume
from tarflume import transforms as T

import annotated

Array = NDArray[Any]
SIDE = (48, 64)
RECIPE = T.Compose([T.RandomResizedCrop(SIDE), T.RandomHorizontalFlip(0.5)])


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    out = tmp_path_factory.mktemp("mosaic") / "shards"
    annotated.write(out, 22)
    return out


def loader(shards: pathlib.Path, image: dict[str, Any] | None = None, boxes: dict[str, Any] | None = None, **more: Any) -> tarflume.Loader:
    columns = {"classes": tarflume.Mask("mask.png")}
    given = {
        "boxes": tarflume.Boxes("/boxes", format="xywh", labels="/category_index", **(boxes or {})),
        "masks": tarflume.Masks("/segmentation"),
        "keypoints": tarflume.Keypoints("/keypoints", count=3, normalize=bool(boxes)),
    }
    settings = {"batch_size": 6, "shuffle": "full", "seed": 5, "num_threads": 2, "keep_transforms": True, **given}
    return tarflume.Loader(shards, image=tarflume.Image(RECIPE, **(image or {})), columns=columns, **{**settings, **more})


def places(center: list[int]) -> list[tuple[slice, slice, tuple[int, int]]]:
    return tiles(center, *SIDE)


def tiles(center: list[int], height: int, width: int) -> list[tuple[slice, slice, tuple[int, int]]]:
    """For each of four parts its lines and columns in the mosaic, and how far it is shifted right and down."""
    x, y = center
    return [
        (slice(0, y), slice(0, x), (x - width, y - height)),
        (slice(0, y), slice(x, width), (x, y - height)),
        (slice(y, height), slice(0, x), (x - width, y)),
        (slice(y, height), slice(x, width), (x, y)),
    ]


def laid(parts: list[Array], center: list[int]) -> Array:
    """A mosaic of pictures whose first two dimensions are lines and columns."""
    made = np.zeros_like(parts[0])
    for part, (lines, columns, (right, down)) in zip(parts, places(center), strict=True):
        made[lines, columns] = part[lines.start - down : lines.stop - down, columns.start - right : columns.stop - right]
    return made


def objects_of(batch: Any, sources: list[int], center: list[int], boxes_are: str, mosaic: tarflume.Mosaic) -> dict[str, list[Array]]:
    """The objects of a mosaic, by the name of the column."""
    found: dict[str, list[Array]] = {name: [] for name in ("boxes", "labels", "masks", "keypoints")}
    height, width = SIDE
    scale = np.array([width, height, width, height]) if boxes_are == "cxcywh" else np.ones(4)
    for source, (lines, columns, (right, down)) in zip(sources, places(center), strict=True):
        masks, labels = np.asarray(batch["masks"][source]), np.asarray(batch["labels"][source])
        points = np.asarray(batch["keypoints"][source])
        for n, numbers in enumerate(np.asarray(batch["boxes"][source], np.float64)):
            box = numbers * scale
            if boxes_are == "cxcywh":
                box = np.concatenate([box[:2] - box[2:] / 2, box[:2] + box[2:] / 2])
            moved = box + [right, down, right, down]
            least, most = [columns.start, lines.start] * 2, [columns.stop, lines.stop] * 2
            cut = np.clip(moved, least, most)
            sides = cut[2:] - cut[:2]
            before = np.prod(box[2:] - box[:2])
            if min(sides) <= 0 or min(sides) < mosaic.min_size or np.prod(sides) / before < mosaic.min_visibility:
                continue
            out = np.concatenate([(cut[:2] + cut[2:]) / 2, sides]) / scale if boxes_are == "cxcywh" else cut
            found["boxes"].append(out)
            found["labels"].append(labels[n])
            mask = np.zeros_like(masks[n])
            mask[lines, columns] = masks[n][lines.start - down : lines.stop - down, columns.start - right : columns.stop - right]
            found["masks"].append(mask)
            found["keypoints"].append(np.array([moved_point(p, scale[:2], (right, down), lines, columns) for p in points[n]]))
    return found


def moved_point(point: Array, scale: Array, shift: tuple[int, int], lines: slice, columns: slice) -> list[float]:
    x, y = point[:2] * scale + shift
    if not point[2] or not (columns.start <= x < columns.stop and lines.start <= y < lines.stop):
        return [0.0, 0.0, 0.0]
    return [x / scale[0], y / scale[1], point[2]]


@pytest.mark.parametrize(("image", "boxes"), [
    ({}, {}),
    ({"layout": "chw", "dtype": "float32", "normalize": "imagenet"}, {"out": "cxcywh", "normalize": True}),
])  # fmt: skip
def test_pictures_and_all_that_lies_on_them_are_those_of_the_sources(shards: pathlib.Path, image: Any, boxes: Any) -> None:
    mosaic = tarflume.Mosaic(p=0.7, min_visibility=0.2)
    plain = loader(shards, image, boxes)
    made, kept, left_out, alone = 0, 0, 0, 0
    for now, before in zip(loader(shards, image, boxes, mosaic=mosaic).epoch(1), plain.epoch(1), strict=True):
        assert list(now["key"]) == list(before["key"])
        for row, actions in enumerate(now.transforms()["image"]):
            last = actions[-1] if actions else {}
            if "mosaic" not in last:
                alone += 1
                for name in ("image", "boxes", "labels", "masks", "keypoints", "classes"):
                    assert np.array_equal(now[name][row], before[name][row])
                continue
            sources, center = last["mosaic"]["sources"], last["mosaic"]["center"]
            assert sources[0] == row and len(set(sources)) == 4
            made += 1
            last_channels = (lambda array: np.asarray(array).transpose(1, 2, 0)) if image else np.asarray
            pictures = laid([last_channels(before["image"][source]) for source in sources], center)
            assert np.array_equal(last_channels(now["image"][row]), pictures)
            planes = laid([np.asarray(before["classes"][source]) for source in sources], center)
            assert np.array_equal(now["classes"][row], planes)
            expected = objects_of(before, sources, center, "cxcywh" if boxes else "xyxy", mosaic)
            kept += len(expected["labels"])
            left_out += sum(len(np.asarray(before["labels"][source])) for source in sources) - len(expected["labels"])
            assert np.asarray(now["labels"][row]).tolist() == [int(n) for n in expected["labels"]]
            for name in ("boxes", "keypoints"):
                found = np.asarray(now[name][row])
                assert found.shape[0] == len(expected[name])
                assert np.allclose(found, np.array(expected[name]).reshape(found.shape), atol=1e-4)
            found = np.asarray(now["masks"][row])
            assert found.shape == (len(expected["masks"]), *SIDE)
            assert np.array_equal(found, np.array(expected["masks"], np.uint8).reshape(found.shape))
    assert made >= 8 and kept >= 30 and left_out >= 10 and alone >= 2


def test_objects_of_several_parts_are_chosen_part_by_part(tmp_path: pathlib.Path) -> None:
    """Boxes and points of two parts are not the same objects, so each part has its own choice."""
    random = np.random.default_rng(3)
    with tarflume.ShardWriter(tmp_path / "shards") as writer:
        for n in range(12):
            boxes = [[float(x), float(y), 9.0, 9.0] for x, y in random.integers(0, 50, (n % 5 + 3, 2))]
            points = [[float(x), float(y), 2] for x, y in random.integers(0, 60, (n % 3, 2))]
            parts = {"json": f'{{"boxes": {boxes}}}'.encode(), "points.json": f'{{"points": {points}}}'.encode()}
            writer.write({"__key__": f"{n:02}", "jpg": annotated.jpeg(60, 60), **parts})
    given = {
        "boxes": tarflume.Boxes("/boxes", format="xywh"),
        "keypoints": tarflume.Keypoints("/points", count=1, part="points.json"),
    }
    def made(**more: Any) -> tarflume.Loader:
        return tarflume.Loader(tmp_path / "shards", image=T.Resize((60, 60)), batch_size=6, keep_transforms=True, **given, **more)

    plain = made()
    for now, before in zip(made(mosaic=tarflume.Mosaic()).epoch(0), plain.epoch(0), strict=True):
        for row, actions in enumerate(now.transforms()["image"]):
            sources, center = actions[-1]["mosaic"]["sources"], actions[-1]["mosaic"]["center"]
            expected = []
            for source, (lines, columns, shift) in zip(sources, tiles(center, 60, 60), strict=True):
                moved = [moved_point(p[0], np.ones(2), shift, lines, columns) for p in np.asarray(before["keypoints"][source])]
                expected += [point for point in moved if point[2]]
            found = np.asarray(now["keypoints"][row])
            assert found.shape[0] == len(expected)
            assert np.allclose(found.reshape(-1, 3), np.array(expected).reshape(-1, 3))


def test_a_picture_that_is_no_mosaic_keeps_its_objects_to_itself(shards: pathlib.Path) -> None:
    columns = {"other": tarflume.Image(RECIPE), "its": tarflume.Boxes("/boxes", format="xywh", of="other")}
    with pytest.raises(tarflume.errors.UsageError, match="'its'.*lies on another picture"):
        tarflume.Loader(shards, image=RECIPE, columns=columns, batch_size=4, mosaic=tarflume.Mosaic())


def test_threads_and_resumes_change_no_mosaic(shards: pathlib.Path) -> None:
    def bytes_of(batch: Any) -> list[bytes]:
        columns = [batch["image"], batch["boxes"].values, batch["boxes"].offsets, batch["masks"].values, batch["labels"].values]
        return [np.asarray(column).tobytes() for column in columns]

    mosaic = tarflume.Mosaic()
    whole = [bytes_of(batch) for batch in loader(shards, mosaic=mosaic).epoch(0)]
    assert [bytes_of(batch) for batch in loader(shards, mosaic=mosaic, num_threads=1, prefetch=1).epoch(0)] == whole
    begun = loader(shards, mosaic=mosaic)
    first = next(iter(begun.epoch(0)))
    assert bytes_of(first) == whole[0]
    resumed = loader(shards, mosaic=mosaic)
    resumed.load_state_dict(begun.state_dict())
    assert [bytes_of(batch) for batch in resumed] == whole[1:]
    assert [bytes_of(batch) for batch in loader(shards, mosaic=mosaic, seed=6).epoch(0)] != whole


def test_objects_of_a_row_that_is_shown_four_times_have_room(tmp_path: pathlib.Path) -> None:
    """Each sample has as many bytes of JSON as its boxes need, and all of them are in four mosaics."""
    numbers = ",".join(["[0,0,9,9]"] * 500)
    with tarflume.ShardWriter(tmp_path / "shards") as writer:
        for n in range(8):
            writer.write({"__key__": f"{n}", "jpg": annotated.jpeg(9, 9), "json": f'{{"boxes":[{numbers}]}}'.encode()})
    mosaic = tarflume.Mosaic(center_range=(0.4, 0.6), min_size=0.0, min_visibility=0.0)
    boxes = tarflume.Boxes("/boxes", format="xywh")
    made = tarflume.Loader(tmp_path / "shards", image=T.Resize((9, 9)), boxes=boxes, batch_size=8, mosaic=mosaic)
    for epoch in range(3):
        for batch in made.epoch(epoch):
            assert np.diff(np.asarray(batch["boxes"].offsets)).tolist() == [2000] * 8


def test_pictures_of_other_sizes_and_other_settings_are_refused(shards: pathlib.Path) -> None:
    with pytest.raises(tarflume.errors.UsageError, match="Mosaic takes pictures of one size"):
        tarflume.Loader(shards, image=T.Resize(40), batch_size=4, mosaic=tarflume.Mosaic())
    with pytest.raises(tarflume.errors.UsageError, match="there is no column 'picture'; the columns are: image"):
        tarflume.Loader(shards, image=RECIPE, batch_size=4, mosaic=tarflume.Mosaic("picture"))
    with pytest.raises(tarflume.errors.UsageError, match=r"mosaic= takes a tarflume.Mosaic, such as .*, not 0.5"):
        tarflume.Loader(shards, image=RECIPE, batch_size=4, mosaic=0.5)  # type: ignore[arg-type]
    for wrong in ({"p": 2.0}, {"center_range": (0.7, 0.3)}, {"center_range": 0.5}, {"min_size": -1.0}, {"image": ""}):
        with pytest.raises(tarflume.errors.UsageError, match=f"Mosaic: {next(iter(wrong))}"):
            tarflume.Mosaic(**wrong)  # type: ignore[arg-type]
    assert repr(tarflume.Mosaic(p=0.5)) == "tarflume.Mosaic(p=0.5)"
