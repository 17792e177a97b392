"""Annotations of bad, turned, resumed and shared samples."""

from __future__ import annotations

import json
import pathlib
import pickle
from typing import Any

import numpy as np
import pytest

import tarflume
from tarflume import transforms as T

import annotated

RECIPE = T.Compose([T.RandomResizedCrop(64), T.RandomHorizontalFlip(0.5)])
NAMES = ["boxes", "labels", "masks", "keypoints"]


def given() -> dict[str, Any]:
    return {
        "boxes": tarflume.Boxes("/boxes", format="xywh", labels="/category_index"),
        "masks": tarflume.Masks("/segmentation"),
        "keypoints": tarflume.Keypoints("/keypoints", count=3, flip_pairs=[[0, 2]]),
    }


def loader(out: pathlib.Path, recipe: Any = RECIPE, **more: Any) -> tarflume.Loader:
    settings = {"batch_size": 4, "shuffle": "full", "seed": 5, "num_threads": 2, **given()}
    return tarflume.Loader(out, image=tarflume.Image(recipe), **{**settings, **more})


def rows(batches: Any) -> dict[int, list[bytes]]:
    """The bytes of each row by its ordinal."""
    found = {}
    for batch in batches:
        for at, ordinal in enumerate(np.asarray(batch.ordinals).tolist()):
            found[ordinal] = [np.asarray(batch[name][at]).tobytes() for name in NAMES]
    return found


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    out = tmp_path_factory.mktemp("samples") / "shards"
    annotated.write(out)
    return out


def test_threads_ranks_and_resumes_change_no_row(shards: pathlib.Path) -> None:
    whole = rows(loader(shards).epoch(0))
    assert len(whole) == 24 and len({tuple(row) for row in whole.values()}) > 15
    assert rows(loader(shards, num_threads=1, batch_size=7).epoch(0)) == whole
    halves = [rows(loader(shards, rank=rank, world_size=2).epoch(0)) for rank in range(2)]
    assert {**halves[0], **halves[1]} == whole
    begun = loader(shards)
    batches = iter(begun.epoch(0))
    first = rows([next(batches), next(batches)])
    resumed = loader(shards)
    resumed.load_state_dict(begun.state_dict())
    assert {**first, **rows(resumed.epoch(0))} == whole
    assert rows(pickle.loads(pickle.dumps(loader(shards))).epoch(0)) == whole
    assert rows(loader(shards).epoch(1)) != whole


def turned(out: pathlib.Path, exif: int, upright: bool) -> tarflume.Batch:
    """One picture, 80 wide and 40 high, with a box near its upper left corner."""
    plane = np.zeros((40, 80), np.uint8)
    plane[2:12, 4:24] = 1
    counts = np.diff(np.concatenate([[0], np.flatnonzero(np.diff(plane.T.ravel())) + 1, [3200]])).tolist()
    of = {"boxes": [[4, 2, 20, 10]], "segmentation": [{"size": [40, 80], "counts": counts}], "keypoints": [[4, 2, 2]]}
    with tarflume.ShardWriter(out) as writer:
        parts = {"jpg": annotated.jpeg(40, 80, exif), "json": json.dumps(of).encode(), "mask.png": annotated.png(plane)}
        writer.write({"__key__": "a", **parts})
    columns = {
        "boxes": tarflume.Boxes("/boxes", format="xywh", upright=upright),
        "masks": tarflume.Masks("/segmentation", upright=upright),
        "keypoints": tarflume.Keypoints("/keypoints", count=1, upright=upright),
        "mask": tarflume.Mask("mask.png", "binary", upright=upright),
    }
    image = tarflume.Image(tarflume.OriginalSize(1 << 16), orientation=True)
    return next(iter(tarflume.Loader(out, image=image, **columns)))


@pytest.mark.parametrize("exif", range(1, 9))
def test_annotations_are_turned_with_the_picture(exif: int, tmp_path: pathlib.Path) -> None:
    batch = turned(tmp_path / "out", exif, upright=False)
    height, width = np.asarray(batch["image"][0]).shape[:2]
    assert (width, height) == ((80, 40) if exif < 5 else (40, 80))
    # Pillow's meaning of the eight orientations, on the mask.
    plane = np.zeros((40, 80), np.uint8)
    plane[2:12, 4:24] = 1
    turns = {1: plane, 2: plane[:, ::-1], 3: plane[::-1, ::-1], 4: plane[::-1], 5: plane.T}
    turns |= {6: np.rot90(plane, -1), 7: plane[::-1, ::-1].T, 8: np.rot90(plane, 1)}
    expected = turns[exif]
    assert np.array_equal(np.asarray(batch["mask"][0]), expected)
    assert np.array_equal(np.asarray(batch["masks"][0]), expected[None])
    y, x = np.nonzero(expected)
    assert np.asarray(batch["boxes"][0]).tolist() == [[x.min(), y.min(), x.max() + 1, y.max() + 1]]
    corner = np.zeros((40, 80), np.uint8)
    corner[2, 4] = 1
    place = {1: corner, 2: corner[:, ::-1], 3: corner[::-1, ::-1], 4: corner[::-1], 5: corner.T}
    place |= {6: np.rot90(corner, -1), 7: corner[::-1, ::-1].T, 8: np.rot90(corner, 1)}
    (y,), (x,) = np.nonzero(place[exif])
    assert np.asarray(batch["keypoints"][0]).tolist() == [[[x, y, 2]]]


def test_annotations_of_the_upright_picture_are_not_turned(tmp_path: pathlib.Path) -> None:
    batch = turned(tmp_path / "out", 3, upright=True)
    assert np.asarray(batch["boxes"][0]).tolist() == [[4, 2, 24, 12]]
    assert np.asarray(batch["mask"][0])[2:12, 4:24].all() and np.asarray(batch["masks"][0])[0, 2:12, 4:24].all()


def one(out: pathlib.Path, of: dict[str, Any], **columns: Any) -> tarflume.Batch:
    """The batch of one picture, 80 wide and 40 high, with these annotations, and of two good ones."""
    good = {"boxes": [[1, 1, 9, 9]], "segmentation": [[[1, 1, 9, 1, 9, 9]]], "keypoints": [[1, 1, 2]], "class": [1], "name": ["a"]}
    with tarflume.ShardWriter(out, json_rules="python", fresh=True) as writer:
        for key, json_of in [("a", good), ("b", {**good, **of}), ("c", good)]:
            parts = {"jpg": annotated.jpeg(40, 80), "json": json.dumps(json_of).encode()}
            writer.write({"__key__": key, **parts})
    return next(iter(tarflume.Loader(out, image=tarflume.Image(T.Resize([20, 40])), batch_size=3, **columns)))


BAD: list[tuple[dict[str, Any], str]] = [
    ({"boxes": [[1, 1, 2, 2], [5, 5, -1, 2]]}, 'JSON pointer "/boxes", object 1: the xywh box [5, 5, -1, 2] has a negative width or height'),
    ({"boxes": [[1, 1, 2, float("nan")]]}, 'JSON pointer "/boxes", object 0: a number is not finite'),
    ({"boxes": [[1, 1, 2]]}, "expected a list of four numbers, found 3"),
    ({"boxes": 7}, "expected a list with a value for each object, found a number"),
    ({"boxes": [["a", 1, 2, 2]]}, "expected a number, found a text"),
    ({"class": [1, 2]}, 'JSON pointer "/class": it has 2 objects, and "/boxes" has 1'),
    ({"class": [1.5]}, "1.5 is outside the range of int64"),
    ({"class": ["cat"]}, "expected a number, found a text"),
    ({"segmentation": [[[1, 1, 2, 2]]]}, "a polygon has 4 numbers; it has two for each of at least three points"),
    ({"segmentation": [{"size": [80, 40], "counts": [3200]}]}, "the mask is 40 x 80, and the picture is 80 x 40"),
    ({"segmentation": [{"size": [40, 80], "counts": [3199]}]}, "the counts do not add up to the 3200 pixels"),
    ({"keypoints": [[1, 1, 3]]}, "the visibility of a point is 3; it is 0, 1 or 2"),
    ({"keypoints": [[1, 1, 2, 3, 3, 2]]}, "expected 3 numbers, three for each of 1 points, found 6"),
]


@pytest.mark.parametrize(("of", "text"), BAD)
def test_bad_annotations_are_bad_samples_with_the_object(of: dict[str, Any], text: str, tmp_path: pathlib.Path) -> None:
    columns = {
        "boxes": tarflume.Boxes("/boxes", format="xywh", rules="python", labels="/class"),
        "masks": tarflume.Masks("/segmentation", rules="python"),
        "keypoints": tarflume.Keypoints("/keypoints", count=1, rules="python"),
    }
    out = tmp_path / "out"
    with pytest.raises(tarflume.errors.DecodeError) as raised:
        one(out, of, **columns)
    assert text in str(raised.value), raised.value
    assert "key b" in str(raised.value) or "b" == raised.value.place.get("key"), raised.value
    skipped = next(iter(tarflume.Loader(out, image=tarflume.Image(T.Resize([20, 40])), batch_size=3, on_bad="skip", **columns)))
    assert list(skipped["key"]) == ["a", "c"] and len(skipped["boxes"]) == 2


def test_another_sample_takes_the_place_of_a_bad_one_in_all_columns(tmp_path: pathlib.Path) -> None:
    with tarflume.ShardWriter(tmp_path / "out") as writer:
        for n in range(24):
            of = {"boxes": [[1, 1, 9, 9]] * (n + 1), "class": [n] * (n + 1)} if n != 7 else {"boxes": [[1, 1, -1, 1]], "class": [7]}
            writer.write({"__key__": f"{n:02}", "jpg": annotated.jpeg(40, 80), "json": json.dumps(of).encode()})
    boxes = tarflume.Boxes("/boxes", format="xywh", labels="/class")
    loader = tarflume.Loader(tmp_path / "out", image=tarflume.Image(T.Resize([20, 40])), batch_size=24, boxes=boxes, on_bad="substitute")
    (batch,) = loader.epoch(0)
    other = int(np.asarray(batch.ordinals)[7])
    assert len(batch) == 24 and other != 7
    assert np.asarray(batch["labels"][7]).tolist() == [other] * (other + 1)
    assert np.asarray(batch["boxes"][7]).shape == (other + 1, 4)


def test_many_objects_and_none(tmp_path: pathlib.Path) -> None:
    many = {"boxes": [[n % 70, n % 30, 5, 5] for n in range(10_000)], "class": list(range(10_000))}
    batch = one(tmp_path / "many", many, boxes=tarflume.Boxes("/boxes", format="xywh", labels="/class"))
    assert np.asarray(batch["boxes"][1]).shape == (10_000, 4)
    assert np.array_equal(np.asarray(batch["labels"][1]), np.arange(10_000))
    with pytest.raises(tarflume.errors.DecodeError, match="it has more than 2 objects"):
        one(tmp_path / "most", {"segmentation": [None] * 3}, masks=tarflume.Masks("/segmentation", most=2))
    empty: dict[str, Any] = {"boxes": [], "class": [], "segmentation": [], "keypoints": []}
    columns = {"boxes": tarflume.Boxes("/boxes", format="xywh", labels="/class"), "masks": tarflume.Masks("/segmentation"),
               "keypoints": tarflume.Keypoints("/keypoints", count=1)}
    batch = one(tmp_path / "none", empty, **columns)
    shapes = {name: np.asarray(batch[name][1]).shape for name in ["boxes", "labels", "masks", "keypoints"]}
    assert shapes == {"boxes": (0, 4), "labels": (0,), "masks": (0, 20, 40), "keypoints": (0, 1, 3)}
    values, mask = batch["boxes"].padded()
    assert np.asarray(values).shape == (3, 1, 4) and np.asarray(mask).tolist() == [[True], [False], [True]]


def test_small_and_cut_objects_are_left_out_of_all_columns(tmp_path: pathlib.Path) -> None:
    # The crop takes the left half of the picture, 40 x 40.
    recipe = T.Compose([T.CenterCrop([40, 40])])
    out = tmp_path / "out"
    of = {"boxes": [[25, 5, 10, 10], [0, 0, 19, 9], [15, 5, 10, 10], [30, 5, 0.5, 9]], "class": [1, 2, 3, 4],
          "segmentation": [None] * 4, "keypoints": [[30, 10, 2]] * 4}
    one(out, of)

    def kept(**rule: float) -> list[int]:
        columns = {"boxes": tarflume.Boxes("/boxes", format="xywh", labels="/class", **rule), "masks": tarflume.Masks("/segmentation"),
                   "keypoints": tarflume.Keypoints("/keypoints", count=1)}
        batch = next(iter(tarflume.Loader(out, image=tarflume.Image(recipe), batch_size=3, **columns)))
        counts = {len(np.asarray(batch[name][1])) for name in ["boxes", "labels", "masks", "keypoints"]}
        labels = np.asarray(batch["labels"][1]).tolist()
        assert counts == {len(labels)}
        return labels

    assert kept() == [1, 3]
    assert kept(min_size=0, min_area=0) == [1, 3, 4]
    assert kept(min_visibility=0.6) == [1]
    assert kept(min_area=60) == [1]


def test_formats_of_rows(tmp_path: pathlib.Path) -> None:
    out = tmp_path / "out"
    one(out, {"boxes": [[10, 20, 30, 10]]})

    def row(**words: Any) -> list[float]:
        boxes = tarflume.Boxes("/boxes", **{"format": "xywh", **words})
        batch = next(iter(tarflume.Loader(out, image=tarflume.Image(T.Resize([20, 40])), batch_size=3, boxes=boxes)))
        return np.asarray(batch["boxes"][1])[0].tolist()

    assert row() == [5, 10, 20, 15]
    assert row(out="xywh") == [5, 10, 15, 5]
    assert row(out="cxcywh", normalize=True) == [0.3125, 0.625, 0.375, 0.25]
    assert row(format="cxcywh") == [0, 7.5, 12.5, 12.5]
    assert row(format="cxcywh", out="cxcywh") == [6.25, 10, 12.5, 5]


def test_columns_are_refused_where_annotations_cannot_follow(shards: pathlib.Path) -> None:
    boxes = tarflume.Boxes("/boxes", format="xywh")
    usage = tarflume.errors.UsageError
    with pytest.raises(usage, match='no column "image": give image='):
        tarflume.Loader(shards, boxes=boxes)
    with pytest.raises(usage, match="Views, FiveCrop, TenCrop"):
        tarflume.Loader(shards, image=T.Compose([T.FiveCrop(16)]), boxes=boxes)
    with pytest.raises(usage, match="AugMix mixes copies of the picture"):
        tarflume.Loader(shards, image=T.Compose([T.AugMix(), T.Resize([32, 32])]), boxes=boxes)
    with pytest.raises(usage, match=r"did you mean min_size=\?"):
        tarflume.Boxes("/boxes", format="xywh", min_sise=2)
    with pytest.raises(usage, match='"xyx" is no format of boxes'):
        tarflume.Boxes("/boxes", format="xyx")
    with pytest.raises(usage, match="flip_pairs has the point 17"):
        tarflume.Loader(shards, image=tarflume.Image(RECIPE), keypoints=tarflume.Keypoints("/keypoints", flip_pairs=[[0, 17]]))
    with pytest.raises(usage, match="one column of boxes"):
        tarflume.Loader(shards, image=tarflume.Image(RECIPE), boxes=boxes, columns={"more": boxes})
    with pytest.raises(usage, match="masks has other rules= or upright= than another column of the same objects"):
        tarflume.Loader(shards, image=tarflume.Image(RECIPE), boxes=boxes, masks=tarflume.Masks("/segmentation", upright=True))
    with pytest.raises(usage, match=r"boxes= takes a tarflume.Boxes"):
        tarflume.Loader(shards, image=tarflume.Image(RECIPE), boxes="/boxes")


def test_members_of_a_list_of_objects_and_names_of_classes(tmp_path: pathlib.Path) -> None:
    of = {"annotations": [{"bbox": [1, 2, 3, 4], "name": "dog"}, {"bbox": [5, 6, 7, 8], "name": "cat"}]}
    with tarflume.ShardWriter(tmp_path / "out") as writer:
        writer.write({"__key__": "a", "jpg": annotated.jpeg(40, 80), "json": json.dumps(of).encode()})
    boxes = tarflume.Boxes("/annotations/*/bbox", format="xywh", out="xywh", labels="/annotations/*/name", classes=["cat", "dog"])
    batch = next(iter(tarflume.Loader(tmp_path / "out", image=tarflume.Image(tarflume.OriginalSize(1 << 16)), boxes=boxes)))
    (target,) = batch.targets()
    assert np.asarray(target["boxes"]).tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert np.asarray(target["labels"]).tolist() == [1, 0]


def test_a_column_names_the_picture_that_it_follows(shards: pathlib.Path) -> None:
    images = {"photo": tarflume.Image(RECIPE), "small": tarflume.Image(T.Compose([T.Resize([16, 16])]))}
    columns = {**images, "large": tarflume.Masks("/segmentation", of="photo"), "little": tarflume.Masks("/segmentation", of="small")}
    batch = next(iter(tarflume.Loader(shards, columns=columns, batch_size=24)))
    assert {np.asarray(row).shape[1:] for row in batch["large"]} == {(64, 64)}
    assert {np.asarray(row).shape[1:] for row in batch["little"]} == {(16, 16)}
    assert [len(np.asarray(row)) for row in batch["little"]] == [n % 7 for n in range(24)]
