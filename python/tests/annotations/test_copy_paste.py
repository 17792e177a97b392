"""Pasted objects of a loader beside those that PyTorch makes of the batches of the same loader without them."""

from __future__ import annotations

import io
import json
import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from pycocotools import mask as coco
from torchvision.ops import masks_to_boxes

import tarflume
from tarflume import transforms as T

import annotated
from device_program import run

Array = NDArray[Any]
SIDE = (48, 64)
RECIPE = T.Compose([T.RandomResizedCrop(SIDE), T.RandomHorizontalFlip(0.5)])
OBJECTS = ("boxes", "labels", "area", "masks", "keypoints")


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    out = tmp_path_factory.mktemp("copy_paste") / "shards"
    annotated.write(out, 22)
    return out


def loader(shards: pathlib.Path, image: dict[str, Any] | None = None, boxes: dict[str, Any] | None = None, **more: Any) -> tarflume.Loader:
    given = {
        "boxes": tarflume.Boxes("/boxes", format="xywh", labels="/category_index", area="/area", **(boxes or {})),
        "masks": tarflume.Masks("/segmentation"),
        "keypoints": tarflume.Keypoints("/keypoints", count=3, normalize=bool(boxes)),
    }
    settings = {"batch_size": 6, "shuffle": "full", "seed": 5, "num_threads": 2, "keep_transforms": True, **given}
    return tarflume.Loader(shards, image=tarflume.Image(RECIPE, **(image or {})), **{**settings, **more})


def pasted_of(batch: Any, row: int) -> dict[str, Any] | None:
    actions = batch.transforms()["image"][row]
    return actions[-1].get("copy_paste") if actions else None


def row_of(batch: Any, name: str, row: int) -> torch.Tensor:
    return torch.from_numpy(np.array(batch[name][row]))


def expected_row(before: Any, row: int, drawn: dict[str, Any], settings: tarflume.CopyPaste, form: str) -> dict[str, torch.Tensor]:
    """The picture and the objects of a row, by the definition of the paper and of torchvision's references."""
    partner, objects = drawn["partner"], drawn["objects"]
    own = {name: row_of(before, name, row) for name in ("image", *OBJECTS)}
    other = {name: row_of(before, name, partner) for name in ("image", *OBJECTS)}
    paste = other["masks"][objects].sum(0) > 0
    planes = paste if form == "xyxy" else paste[None]
    planes = planes[..., None] if form == "xyxy" else planes
    image = own["image"] * ~planes + other["image"] * planes
    masks = own["masks"] * ~paste
    areas, areas_before = masks.sum((1, 2)), own["masks"].sum((1, 2))
    changed = areas != areas_before
    kept = ~changed | ((areas > 0) & (areas >= settings.min_area) & (areas >= settings.min_visibility * areas_before))
    boxes = own["boxes"].clone()
    if (redone := changed & kept).any():
        # The last pixel of torchvision's boxes is inside, and these end at its edge.
        boxes[redone] = in_form(masks_to_boxes(masks[redone]) + torch.tensor([0, 0, 1, 1]), form)
        for box, mask in zip(boxes[redone], masks[redone], strict=True):
            x, y, w, h = coco.toBbox(coco.encode(np.asfortranarray(mask.numpy())))
            assert torch.allclose(box, in_form(torch.tensor([[x, y, x + w, y + h]]), form)[0].float(), atol=1e-6)
    points = own["keypoints"].clone()
    scale = torch.tensor([1.0, 1.0] if form == "xyxy" else [SIDE[1], SIDE[0]], dtype=torch.float64)
    for point in points.reshape(-1, 3):
        x, y = (point[:2].double() * scale).floor().int().tolist()
        if point[2] == 2 and x < SIDE[1] and y < SIDE[0] and paste[y, x]:
            point[2] = 1
    left = {**own, "masks": masks, "boxes": boxes, "keypoints": points}
    return {"image": image, **{name: torch.cat([left[name][kept], other[name][objects]]) for name in OBJECTS}}


def in_form(corners: torch.Tensor, form: str) -> torch.Tensor:
    if form == "xyxy":
        return corners.float()
    width, height = SIDE[1], SIDE[0]
    center = (corners[:, :2] + corners[:, 2:]) / 2
    return torch.cat([center, corners[:, 2:] - corners[:, :2]], 1) / torch.tensor([width, height, width, height])


def compare(now: Any, before: Any, settings: tarflume.CopyPaste, form: str = "xyxy") -> dict[str, int]:
    """Compares all rows of a batch. Counts what was compared."""
    counts = {"pasted": 0, "alone": 0, "left_out": 0, "redone": 0, "hidden": 0}
    assert list(now["key"]) == list(before["key"])
    for row in range(len(now)):
        drawn = pasted_of(now, row)
        if drawn is None:
            counts["alone"] += 1
            assert all(np.array_equal(now[name][row], before[name][row]) for name in ("image", *OBJECTS))
            continue
        counts["pasted"] += 1
        assert drawn["partner"] != row and drawn["objects"] == sorted(set(drawn["objects"]))
        assert all(np.asarray(before["masks"][drawn["partner"]][n]).any() for n in drawn["objects"])
        expected = expected_row(before, row, drawn, settings, form)
        for name in ("image", "labels", "area", "masks"):
            assert torch.equal(row_of(now, name, row), expected[name]), name
        for name in ("boxes", "keypoints"):
            found = row_of(now, name, row)
            assert found.shape == expected[name].shape
            assert torch.allclose(found, expected[name], atol=1e-6)
        own = len(expected["labels"]) - len(drawn["objects"])
        counts["left_out"] += len(np.asarray(before["labels"][row])) - own
        known = {tuple(box) for box in np.asarray(before["boxes"][row]).tolist()}
        counts["redone"] += sum(tuple(box) not in known for box in np.asarray(now["boxes"][row])[:own].tolist())
        seen = (np.asarray(now["keypoints"][row])[:own, :, 2] == 2).sum()
        counts["hidden"] += int((np.asarray(before["keypoints"][row])[:, :, 2] == 2).sum() - seen)
    return counts


def total(batches: list[dict[str, int]]) -> dict[str, int]:
    return {name: sum(batch[name] for batch in batches) for name in batches[0]}


@pytest.mark.parametrize(("image", "boxes", "settings"), [
    ({}, {}, tarflume.CopyPaste(p=0.8)),
    ({"layout": "chw", "dtype": "float32", "normalize": "imagenet"}, {"out": "cxcywh", "normalize": True},
     tarflume.CopyPaste(object_p=0.9, min_area=30, min_visibility=0.3)),
])  # fmt: skip
def test_pictures_and_objects_are_those_of_the_definition(
    shards: pathlib.Path, image: Any, boxes: Any, settings: tarflume.CopyPaste
) -> None:
    made, plain = loader(shards, image, boxes, copy_paste=settings), loader(shards, image, boxes)
    form = "cxcywh" if boxes else "xyxy"
    counts = total([
        compare(now, before, settings, form)
        for epoch in range(6)
        for now, before in zip(made.epoch(epoch), plain.epoch(epoch), strict=True)
    ])  # fmt: skip
    assert counts["pasted"] >= 25 and counts["alone"] >= 5, counts
    assert counts["left_out"] >= 3 and counts["redone"] >= 10 and counts["hidden"] >= 3, counts


def test_partners_are_rows_of_the_batch_each_of_one_other(shards: pathlib.Path) -> None:
    pairs = set()
    for batch in loader(shards, copy_paste=tarflume.CopyPaste(object_p=1.0)).epoch(2):
        drawn = [pasted["partner"] for row in range(len(batch)) if (pasted := pasted_of(batch, row))]
        assert len(set(drawn)) == len(drawn) and max(drawn) < len(batch)
        pairs.update((row, pasted["partner"]) for row in range(len(batch)) if (pasted := pasted_of(batch, row)))
    assert len(pairs) >= 10


def bytes_of(batch: Any) -> list[bytes]:
    return [np.asarray(batch["image"]).tobytes()] + [np.asarray(batch[name].values).tobytes() for name in OBJECTS]


def test_ranks_threads_and_resumes_change_nothing(shards: pathlib.Path) -> None:
    settings = tarflume.CopyPaste(object_p=0.8)
    for rank in range(2):
        place = {"rank": rank, "world_size": 2, "batch_size": 4, "copy_paste": settings}
        plain = loader(shards, **{**place, "copy_paste": None})
        made = list(loader(shards, **place).epoch(0))
        counts = total([compare(now, before, settings) for now, before in zip(made, plain.epoch(0), strict=True)])
        assert counts["pasted"] >= 3
        whole = [bytes_of(batch) for batch in made]
        assert [bytes_of(batch) for batch in loader(shards, num_threads=1, prefetch=1, **place).epoch(0)] == whole
        begun = loader(shards, **place)
        first = next(iter(begun.epoch(0)))
        assert bytes_of(first) == whole[0]
        resumed = loader(shards, **place)
        resumed.load_state_dict(begun.state_dict())
        assert [bytes_of(batch) for batch in resumed] == whole[1:]
        assert [bytes_of(batch) for batch in loader(shards, seed=6, **place).epoch(0)] != whole


def test_objects_are_pasted_over_mosaics(shards: pathlib.Path) -> None:
    mosaic, settings = tarflume.Mosaic(p=0.8), tarflume.CopyPaste(object_p=0.7, min_visibility=0.9)
    made, plain = loader(shards, mosaic=mosaic, copy_paste=settings), loader(shards, mosaic=mosaic)
    counts = []
    for epoch in range(2):
        for now, before in zip(made.epoch(epoch), plain.epoch(epoch), strict=True):
            counts.append(compare(now, before, settings))
            for actions, without in zip(now.transforms()["image"], before.transforms()["image"], strict=True):
                assert [action for action in actions if "copy_paste" not in action] == without
    assert total(counts)["pasted"] >= 20 and total(counts)["left_out"] >= 3


@pytest.mark.parametrize("mosaic", [None, tarflume.Mosaic(center_range=(0.4, 0.6), min_size=0.0, min_visibility=0.0)])
def test_all_objects_have_room(tmp_path: pathlib.Path, mosaic: tarflume.Mosaic | None) -> None:
    """Each sample has as many masks as the column takes. Without mosaics none covers another, so both rows' objects are kept."""
    with tarflume.ShardWriter(tmp_path / "shards") as writer:
        for n in range(8):
            right, left = (9, 0) if mosaic else (n + 1, n)
            of = {"boxes": [[0, 0, 9, 9]] * 500, "segmentation": [[[left, 0, right, 0, right, 9, left, 9]]] * 500}
            writer.write({"__key__": f"{n}", "jpg": annotated.jpeg(9, 9), "json": json.dumps(of).encode()})
    given = {"boxes": tarflume.Boxes("/boxes", format="xywh"), "masks": tarflume.Masks("/segmentation", most=500)}
    settings = {"batch_size": 8, "mosaic": mosaic, "copy_paste": tarflume.CopyPaste(object_p=1.0), "keep_transforms": True}
    made = tarflume.Loader(tmp_path / "shards", image=T.Resize((9, 9)), **settings, **given)
    for epoch in range(3):
        for batch in made.epoch(epoch):
            pasted = [pasted_of(batch, row) for row in range(8)]
            # Those of four samples cover the whole mosaic.
            assert [of and of["objects"] for of in pasted] == [list(range(2000 if mosaic else 500))] * 8
            assert [len(batch["masks"][row]) for row in range(8)] == [2000 if mosaic else 1000] * 8
            assert np.diff(np.asarray(batch["boxes"].offsets)).tolist() == [2000 if mosaic else 1000] * 8


def picture(color: int) -> bytes:
    to = io.BytesIO()
    Image.fromarray(np.full((20, 20, 3), color, np.uint8)).save(to, "PNG")
    return to.getvalue()


def write_pictures(out: pathlib.Path, annotations: list[dict[str, Any]]) -> pathlib.Path:
    """Samples of one color each, with these annotations."""
    with tarflume.ShardWriter(out) as writer:
        for n, of in enumerate(annotations):
            writer.write({"__key__": f"{n:02}", "png": picture(10 * n), "json": json.dumps(of).encode()})
    return out


SQUARE = {"boxes": [[2, 2, 9, 9]], "segmentation": [[[2, 2, 11, 2, 11, 11, 2, 11]]]}
NOTHING = {"boxes": [], "segmentation": []}
#: An object with a box and without a pixel.
EMPTY = {"boxes": [[2, 2, 9, 9]], "segmentation": [[]]}


def pictures(shards: pathlib.Path, **more: Any) -> tarflume.Loader:
    given = {"boxes": tarflume.Boxes("/boxes", format="xywh"), "masks": tarflume.Masks("/segmentation")}
    settings = {"batch_size": 4, "keep_transforms": True, "copy_paste": tarflume.CopyPaste(object_p=1.0), **given}
    return tarflume.Loader(shards, image=tarflume.Image(T.Resize((20, 20)), part="png"), **{**settings, **more})


def test_rows_without_objects_and_masks_without_pixels(tmp_path: pathlib.Path) -> None:
    shards = write_pictures(tmp_path / "shards", [SQUARE, NOTHING, EMPTY, NOTHING] * 3)
    seen = set()
    for epoch in range(4):
        for batch in pictures(shards, shuffle="full").epoch(epoch):
            color = {int(key): 10 * int(key) for key in batch["key"]}
            for row, key in enumerate(map(int, batch["key"])):
                own = [SQUARE, NOTHING, EMPTY, NOTHING][key % 4]
                drawn = pasted_of(batch, row)
                image, boxes = np.asarray(batch["image"][row]), np.asarray(batch["boxes"][row])
                if drawn is None:
                    assert (image == color[key]).all() and len(boxes) == len(own["boxes"])
                    continue
                partner = int(batch["key"][drawn["partner"]])
                assert partner % 4 == 0 and drawn["objects"] == [0], "only squares have pixels"
                assert (image[2:11, 2:11] == color[partner]).all() and (image[11:] == color[key]).all()
                # A square is covered whole; an object without pixels loses none.
                assert boxes.tolist() == [[2, 2, 11, 11]] * (2 if own is EMPTY else 1)
                assert len(batch["masks"][row]) == len(boxes)
                seen.add(key % 4)
    assert seen == {0, 1, 2, 3}
    nothing = write_pictures(tmp_path / "nothing", [NOTHING, EMPTY] * 3)
    for batch in pictures(nothing).epoch(0):
        assert all(pasted_of(batch, row) is None for row in range(len(batch)))


def test_a_row_alone_gets_no_objects(tmp_path: pathlib.Path) -> None:
    shards = write_pictures(tmp_path / "shards", [SQUARE] * 5)
    for batch in pictures(shards, batch_size=1).epoch(0):
        assert pasted_of(batch, 0) is None and np.asarray(batch["boxes"][0]).tolist() == [[2, 2, 11, 11]]
    sizes = [[pasted_of(batch, row) is not None for row in range(len(batch))] for batch in pictures(shards).epoch(0)]
    assert sizes == [[True] * 4, [False]]
    assert [len(batch) for batch in pictures(shards, drop_last=True).epoch(0)] == [4]


def test_padding_and_substitutes_give_and_get_nothing(tmp_path: pathlib.Path) -> None:
    shards = write_pictures(tmp_path / "shards", [SQUARE] * 6)
    *_, last = pictures(shards, drop_last="pad").epoch(0)
    assert np.asarray(last.padding).tolist() == [False, False, True, True]
    partners = [pasted_of(last, row) for row in range(4)]
    assert [of and of["partner"] for of in partners] == [1, 0, None, None]
    bad = write_pictures(tmp_path / "bad", [SQUARE, {**SQUARE, "boxes": 7, "length": "of the others"}, SQUARE, SQUARE])
    made = pictures(bad, on_bad="substitute")
    for epoch in range(3):
        (batch,) = made.epoch(epoch)
        partners = [pasted_of(batch, row) for row in range(4)]
        assert partners[1] is None
        assert sorted(of["partner"] for row, of in enumerate(partners) if row != 1) == [0, 2, 3]


def test_what_cannot_follow_is_refused(shards: pathlib.Path) -> None:
    def refused(match: str, **more: Any) -> None:
        with pytest.raises(tarflume.errors.UsageError, match=match):
            loader(shards, **{"copy_paste": tarflume.CopyPaste(), **more})

    refused(r"no column has those of this picture: add one, such as masks=tarflume.Masks", masks=None)
    refused("'mask'.*which numbers a mask of all pixels has", mask=tarflume.Mask("mask.png"))
    refused("there is no column 'picture'", copy_paste=tarflume.CopyPaste("picture"))
    refused("copy_paste= takes a tarflume.CopyPaste, such as .*, not 0.5", copy_paste=0.5)
    refused("'other'.*CopyPaste pastes objects by one column of masks", columns={"other": tarflume.Masks("/segmentation")})
    refused(
        "'other'.*read apart from those of column 'masks'",
        columns={"other": tarflume.Keypoints("/keypoints", count=3, part="points.json")},
    )
    other = {"second": tarflume.Image(RECIPE), "its": tarflume.Boxes("/boxes", format="xywh", of="second")}
    refused("'its'.*lies on another picture", columns=other)
    given = {"masks": tarflume.Masks("/segmentation"), "copy_paste": tarflume.CopyPaste()}
    with pytest.raises(tarflume.errors.UsageError, match="CopyPaste takes pictures of one size"):
        tarflume.Loader(shards, image=T.Resize(40), batch_size=4, **given)
    np.save(shards.parent / "x.npy", np.zeros(4))
    arrays = {"x": tarflume.ArrayDataset(shards.parent / "x.npy")}
    with pytest.raises(tarflume.errors.UsageError, match="copy_paste="):
        tarflume.Loader(arrays, batch_size=2, copy_paste=tarflume.CopyPaste())


def test_settings_out_of_range_are_refused() -> None:
    for wrong in ({"p": 2.0}, {"object_p": -0.1}, {"min_area": -1.0}, {"min_visibility": 1.5}, {"image": ""}):
        with pytest.raises(tarflume.errors.UsageError, match=f"CopyPaste: {next(iter(wrong))}"):
            tarflume.CopyPaste(**wrong)  # type: ignore[arg-type]
    assert repr(tarflume.CopyPaste(p=0.5)) == "tarflume.CopyPaste(p=0.5)"


def test_a_device_leaves_pictures_with_pasted_objects_to_the_host(driver, tmp_path):
    annotated.write(tmp_path / "shards", 12)
    run(driver, tmp_path / "shards", """
        import tarflume.transforms as T
        crop = T.Compose([T.RandomResizedCrop(32), T.ColorJitter(0.4, 0.4)])
        given = {"boxes": tarflume.Boxes("/boxes", format="xywh"), "masks": tarflume.Masks("/segmentation")}
        paste = tarflume.CopyPaste(object_p=1.0)
        right = list(tarflume.Loader(SHARDS, batch_size=4, image=crop, copy_paste=paste, **given).epoch(0))
        ours = tarflume.Loader(SHARDS, batch_size=4, image=crop, copy_paste=paste, device="cuda", **given)
        for host, batch in zip(right, ours.epoch(0), strict=True):
            np.testing.assert_array_equal(read(batch["image"]), host["image"].numpy())
            for one, other in zip(host.targets(), batch.targets(), strict=True):
                assert all(np.array_equal(one[name], read(other[name])) for name in one)
        for option in ({"copy_paste": paste}, {"mosaic": tarflume.Mosaic()}):
            name = type(next(iter(option.values()))).__name__
            for words, resident, text in (
                ({"transforms_on": "device"}, None, "on the host, and the device changes pixels behind it"),
                ({}, "1GiB", "a resident data set is drawn by the device"),
            ):
                image = tarflume.Image(crop, **words)
                try:
                    tarflume.Loader(SHARDS, batch_size=4, image=image, device="cuda", resident=resident, **option, **given)
                except tarflume.Error as error:
                    assert f"{name}: " in str(error) and text in str(error), error
                else:
                    raise AssertionError(f"{name} with {text}")
    """, XDG_CACHE_HOME=str(tmp_path))
