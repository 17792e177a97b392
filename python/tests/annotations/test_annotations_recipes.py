"""Whole recipes of detection and segmentation: boxes, points and masks beside torchvision, for thousands of made pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

import torchvision.transforms.v2 as v2  # noqa: E402
from annotations_oracle import boxes_of, mask_of, moved, points_of, same  # noqa: E402
from tarflume import transforms as t  # noqa: E402
from tarflume.errors import UsageError  # noqa: E402

RECIPES: dict[str, t.Operation] = {
    "ssd": t.Compose([
        t.RandomPhotometricDistort(),
        t.RandomZoomOut(fill=(123, 117, 104)),
        t.RandomIoUCrop(),
        t.RandomHorizontalFlip(),
        t.Resize((30, 30)),
    ]),
    "retinanet": t.Compose([t.RandomHorizontalFlip(), t.RandomShortestSize((64, 72, 80), max_size=133)]),
    "lsj": t.Compose([t.ScaleJitter((102, 102)), t.FixedSizeCrop((102, 102), fill=105), t.RandomHorizontalFlip()]),
    "deeplab": t.Compose([
        t.RandomResize(26, 104),
        t.RandomHorizontalFlip(),
        t.RandomCrop(48, pad_if_needed=True, fill=124),
        t.ColorJitter(0.2),
    ]),
    "detr": t.Compose([
        t.RandomHorizontalFlip(),
        t.RandomChoice([
            t.RandomShortestSize((48, 51, 54, 57, 80), max_size=133),
            t.Compose([
                t.RandomShortestSize((40, 50, 60)),
                t.RandomCrop((38, 39)),
                t.RandomShortestSize((48, 51, 54, 57, 80), max_size=133),
            ]),
        ]),
    ]),
    "letterbox": t.Compose([t.RandomVerticalFlip(), t.ResizeKeepRatio(64, letterbox=True)]),
    "policy": t.Compose([t.RandAugment(), t.RandomErasing(p=1.0)]),
}  # fmt: skip


def sizes(count: int) -> np.ndarray:
    """Heights and widths; some pictures are one pixel high or wide."""
    made = np.random.default_rng(1).integers(30, 90, (count, 2))
    made[::50, 0] = 1
    made[::75, 1] = 1
    return made


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "policy"])
def test_annotations_follow_a_recipe_as_torchvision_moves_them(name: str) -> None:
    random = np.random.default_rng(7)
    kept = 0
    for seed, size in enumerate(sizes(600).tolist()):
        height, width = size
        count = [0, 1, 3, 20][seed % 4]
        edges = np.sort(random.uniform(0, 1, (count, 2, 2)), axis=1).reshape(-1, 4) * [width, height, width, height]
        if seed % 5 == 0:
            edges = np.concatenate([edges, edges[:1, [2, 3, 0, 1]], edges[:1] + [width, 0, width, 0], edges[:1] * np.nan])
        actions = t.draw(RECIPES[name], seed, height, width, boxes=edges)
        wanted = moved(actions, boxes_of(edges, (height, width)))
        found = t.apply_to_boxes(actions, edges, height, width)
        same(found, wanted, (seed, size, actions))
        same(t.apply_to_boxes(RECIPES[name], edges, height, width, seed), wanted, (seed, size))
        keep = t.sanitize_boxes(actions, edges, height, width)
        valid = v2.functional.sanitize_bounding_boxes(wanted)[1].numpy()
        unsure = boundary(wanted.numpy(), *wanted.canvas_size) < 1e-3
        assert np.array_equal(keep | unsure, valid | unsure), (seed, actions)
        kept += int(keep.sum())
        places = random.uniform(-5, 90, (4, 2))
        same(t.apply_to_keypoints(actions, places, height, width), moved(actions, points_of(places, (height, width))), actions)
        mask = random.integers(0, 21, (height, width), np.uint8)
        expected = moved(actions, mask_of(mask), 255).numpy()
        assert np.array_equal(t.apply_to_masks(actions, mask, fill=255), expected), (seed, actions)
        picture = np.repeat(mask[..., None], 3, axis=2)
        assert t.apply(actions, picture).shape[:2] == expected.shape
    assert kept > 600


def boundary(edges: np.ndarray, height: int, width: int) -> np.ndarray:
    """How far the width, the height or the area is from the least one that is kept, or an edge beyond that of the picture.

    torchvision's ratios of sides have single precision, so a box on the edge of a picture may be outside of a resized one.
    """
    across, down = edges[:, 2] - edges[:, 0], edges[:, 3] - edges[:, 1]
    beyond = edges - [width, height, width, height]
    near = [np.abs(across - 1), np.abs(down - 1), np.abs(across * down - 1), *np.where(beyond > 0, beyond, np.inf).T]
    return np.min(near, axis=0, initial=np.inf)


def test_the_mask_of_an_object_stays_in_its_box() -> None:
    """Boxes by their corners and masks by their pixels follow the same geometry, for a policy too."""
    seen = 0
    for seed in range(300):
        height, width = 60 + seed % 7, 80 + seed % 11
        mask = np.zeros((height, width), np.uint8)
        mask[20:34, 30:52] = 1
        for recipe in (*RECIPES.values(), t.RandomAffine(30, (0.2, 0.2), (0.7, 1.3), 20), t.RandomPerspective(0.4, 1.0)):
            actions = t.draw(recipe, seed, height, width, boxes=[[30, 20, 52, 34]])
            left, top, right, bottom = t.apply_to_boxes(actions, [[30, 20, 52, 34]], height, width)[0]
            rows, columns = np.nonzero(t.apply_to_masks(actions, mask))
            if len(rows) == 0 or {"keep_centers"} in [set(action) for action in actions]:
                continue
            # A perspective counts from the centers of the corner pixels, and each resize rounds down to a whole pixel.
            assert columns.min() >= left - 3 and columns.max() + 1 <= right + 3, (seed, actions)
            assert rows.min() >= top - 3 and rows.max() + 1 <= bottom + 3, (seed, actions)
            seen += 1
    assert seen > 600, seen


def test_a_mirrored_picture_exchanges_the_points_of_a_pair() -> None:
    points = np.array([[[10.0, 5.0, 2], [2.0, 3.0, 1], [7.0, 8.0, 0]]])
    pairs = [(1, 2)]
    flipped = t.apply_to_keypoints([{"horizontal_flip": {}}], points, 20, 30, flip_pairs=pairs)
    assert flipped.tolist() == [[[19.0, 5.0, 2], [22.0, 8.0, 0], [27.0, 3.0, 1]]]
    twice = t.apply_to_keypoints([{"horizontal_flip": {}}] * 2, points, 20, 30, flip_pairs=pairs)
    assert np.array_equal(twice, points)
    turned = t.apply_to_keypoints([{"quarter_turn": {"turns": 2}}], points, 20, 30, flip_pairs=pairs)
    assert turned.tolist() == [[[20.0, 15.0, 2], [28.0, 17.0, 1], [23.0, 12.0, 0]]]


MIX: list[dict[str, Any]] = [{"mix_begin": {"weight": 0.5}}, {"horizontal_flip": {}}, {"mix_end": {"weight": 0.5}}]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: t.draw(t.RandomIoUCrop(), 1, 20, 30), "no boxes are bound to it"),
        (lambda: t.draw(t.RandomIoUCrop(), 1, 20, 30, boxes=[1, 2, 3]), "boxes are [count, 4]"),
        (lambda: t.apply_to_boxes(MIX, [[1, 2, 3, 4]], 20, 30), "AugMix"),
        (lambda: t.apply_to_masks(MIX, np.zeros((2, 3), np.uint8)), "AugMix"),
        (lambda: t.apply_to_boxes([], [[1, 2, 3]], 20, 30), "[count, 4], not [1, 3]"),
        (lambda: t.apply_to_boxes([], [[1, 2, 3, 4]], 20, 30, format="xyxx"), "format is 'xyxx'"),  # type: ignore[arg-type]
        (lambda: t.apply_to_boxes([], [["a"]], 20, 30), "boxes are numbers"),
        (lambda: t.apply_to_boxes([], [[1, 2, 3, 4]], 0, 30), "no pixel"),
        (lambda: t.apply_to_boxes([{"crop": {"top": 0, "left": 9, "height": 1, "width": 30}}], [], 20, 30), "not inside"),
        (lambda: t.apply_to_boxes([{"cut": {}}], [], 20, 30), "no actions of draw"),
        (lambda: t.sanitize_boxes([], [], 20, 30, min_visibility=2), "min_visibility is 2"),
        (lambda: t.sanitize_boxes([], [], 20, 30, format="obb"), "format is 'obb'; it is one of"),  # type: ignore[arg-type]
        (lambda: t.apply_to_keypoints([], [[1, 2, 3, 4]], 20, 30), "x and y first"),
        (lambda: t.apply_to_keypoints([], [[1, 2]], 20, 30, flip_pairs=[(0, 1)]), "from 0 to 0"),
        (lambda: t.apply_to_keypoints([], [[1, 2]] * 3, 20, 30, flip_pairs=[(0, 1), (1, 2)]), "one pair"),
        (lambda: t.apply_to_masks([], np.zeros((2, 3), np.int64)), "uint8 or bool"),  # type: ignore[arg-type]
        (lambda: t.apply_to_masks([], np.zeros((2, 3), np.uint8), fill=256), "fill is 256"),
    ],
)
def test_an_error_says_what_is_valid(call: Any, words: str) -> None:
    with pytest.raises(UsageError) as error:
        call()
    assert words in str(error.value)
