"""Boxes, points and masks after each action, beside torchvision's kernels with the same numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

import torchvision.transforms.v2.functional as F  # noqa: E402
from annotations_oracle import affine_action, boxes_of, mask_of, moved, points_of, same  # noqa: E402
from tarflume import transforms  # noqa: E402

RANDOM = np.random.default_rng(42)
SIZES = [(1, 1), (1, 37), (41, 1), (2, 3), (33, 40), (97, 131)]


def boxes(count: int, height: int, width: int) -> np.ndarray:
    """Boxes, some of them outside of the picture, without area, or with exchanged edges."""
    corners = RANDOM.uniform(-0.3, 1.3, (count, 4)) * [width, height, width, height]
    corners[::3] = np.sort(corners[::3].reshape(-1, 2, 2), axis=1).reshape(-1, 4)
    corners[1::7] = np.round(corners[1::7])
    corners[5::11, 2] = corners[5::11, 0]
    return corners


def points(count: int, height: int, width: int) -> np.ndarray:
    return RANDOM.uniform(-0.3, 1.3, (count, 2)) * [width, height]


def angled(count: int, height: int, width: int) -> np.ndarray:
    """Boxes with an angle: x and y of the center, width, height, degrees."""
    places = RANDOM.uniform(0.0, 1.0, (count, 2)) * [width, height]
    sides = RANDOM.uniform(0.5, 0.4 * max(height, width) + 1, (count, 2))
    return np.concatenate([places, sides, RANDOM.uniform(-179, 179, (count, 1))], axis=1)


def actions_on(height: int, width: int) -> list[dict[str, Any]]:
    """One action of each kind that needs nothing but its own numbers."""
    top, left = RANDOM.integers(0, height), RANDOM.integers(0, width)
    rows, columns = RANDOM.integers(1, height - top + 1), RANDOM.integers(1, width - left + 1)
    made: list[dict[str, Any]] = [
        {"crop": {"top": int(top), "left": int(left), "height": int(rows), "width": int(columns)}},
        {"horizontal_flip": {}},
        {"vertical_flip": {}},
    ]
    made += [{"quarter_turn": {"turns": turns}} for turns in (1, 2, 3)]
    sides = [[height, width], [2 * height, 2 * width], *RANDOM.integers(1, 90, (6, 2)).tolist()]
    made += [{"resize": {"size": size, "interpolation": "bilinear"}} for size in sides]
    for margin in ([0, 0, 0, 0], [3, 0, 1, 7]):
        made.append({"pad": {"padding": margin, "fill": [1, 2, 3], "padding_mode": "constant"}})
    for seed in range(4):
        recipe = transforms.RandomPerspective(0.6, 1.0)
        made += transforms.draw(recipe, seed, height, width)
    return made


@pytest.mark.parametrize("size", SIZES)
def test_boxes_and_points_follow_each_action(size: tuple[int, int]) -> None:
    for _ in range(20):
        for action in actions_on(*size):
            edges = boxes(60, *size)
            for format in ("xyxy", "xywh", "cxcywh"):
                wanted = moved([action], F.convert_bounding_box_format(boxes_of(edges, size), new_format=format))
                given = F.convert_bounding_box_format(boxes_of(edges, size), new_format=format).numpy()
                same(transforms.apply_to_boxes([action], given, *size, format=format), wanted, (size, action, format))
            places = points(20, *size)
            same(transforms.apply_to_keypoints([action], places, *size), moved([action], points_of(places, size)), action)


@pytest.mark.parametrize("size", SIZES)
def test_masks_follow_each_action_to_the_bit(size: tuple[int, int]) -> None:
    for _ in range(10):
        for action in actions_on(*size):
            for array in (RANDOM.integers(0, 256, size, np.uint8), RANDOM.integers(0, 2, (3, *size), np.uint8)):
                found = transforms.apply_to_masks([action], array, fill=255)
                assert np.array_equal(found, moved([action], mask_of(array), 255).numpy()), (size, action)


def plain_product(left: Any, right: Any) -> Any:
    """A product of matrices that rounds each product and each sum, as our grids are computed."""
    total = left[..., 0:1] * right[:, 0:1]
    for inner in range(1, left.shape[-1]):
        total = total + left[..., inner : inner + 1] * right[:, inner : inner + 1]
    return total


@pytest.fixture(autouse=True)
def plain_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch may use fused products, by processor: then the nearest of two pixels that are equally near differs."""
    monkeypatch.setattr(torch.Tensor, "bmm", plain_product)


@pytest.mark.parametrize("size", SIZES)
def test_affine_actions(size: tuple[int, int]) -> None:
    height, width = size
    for seed in range(60):
        center = [None, [0.0, 0.0], [width * 0.25, height * 1.5]][seed % 3]
        given: dict[str, Any] = {
            "angle": float(RANDOM.uniform(-180, 180)),
            "translate": RANDOM.integers(-9, 10, 2).tolist(),
            "scale": float(RANDOM.uniform(0.3, 3)),
            "shear": RANDOM.uniform(-40, 40, 2).tolist(),
            "center": center,
        }
        action = affine_action(given, size)
        follow(action, given, size)


@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_rotations(size: tuple[int, int], expand: bool) -> None:
    for angle in [90.0, 180.0, -90.0, 45.0, 1e-2, *RANDOM.uniform(-360, 360, 30)]:
        for center in (None,) if expand else (None, [11.0, 3.0]):
            words: dict[str, Any] = {"expand": expand, "center": center}
            actions = transforms.draw(transforms.RandomRotation((angle, angle), **words), 0, *size)
            assert len(actions) == 1
            follow(actions[0], {"angle": float(angle), **words}, size)


def test_a_box_follows_the_pixels_of_an_expanded_rotation_around_any_place() -> None:
    """Where torchvision's boxes do not: with expand, its kernels for boxes ignore the center."""
    size = (40, 60)
    mask = np.zeros(size, np.uint8)
    mask[15:25, 20:40] = 1
    for angle in RANDOM.uniform(-180, 180, 20):
        actions = transforms.draw(transforms.RandomRotation((angle, angle), expand=True, center=[33.0, 12.0]), 0, *size)
        left, top, right, bottom = transforms.apply_to_boxes(actions, [[20, 15, 40, 25]], *size)[0]
        rows, columns = np.nonzero(transforms.apply_to_masks(actions, mask))
        assert abs(columns.min() - left) < 1.5 and abs(columns.max() + 1 - right) < 1.5, angle
        assert abs(rows.min() - top) < 1.5 and abs(rows.max() + 1 - bottom) < 1.5, angle


def follow(action: dict[str, Any], given: dict[str, Any], size: tuple[int, int]) -> None:
    """Compares boxes, points and a mask after an action that torchvision makes of `given`."""
    if "quarter_turn" in action:
        given = {}
    array = RANDOM.integers(0, 256, size, np.uint8)
    mask = transforms.apply_to_masks([action], array, fill=7)
    assert np.array_equal(mask, moved([action], mask_of(array), 7, given).numpy()), (size, given)
    edges = boxes(40, *size)
    found = transforms.apply_to_boxes([action], edges, *size)
    wanted = moved([action], boxes_of(edges, size), given=given)
    if given.get("expand"):
        # torchvision's boxes have a canvas that may be a pixel larger or smaller than its picture.
        most = np.tile(np.minimum(wanted.canvas_size, mask.shape)[::-1], 2)
        found, wanted = np.minimum(found, most), boxes_of(np.minimum(wanted.numpy(), most), size)
    same(found, wanted, given)
    places = points(40, *size)
    same(transforms.apply_to_keypoints([action], places, *size), moved([action], points_of(places, size), given=given), given)


@pytest.mark.parametrize("sigma", [[2.0, 3.0], [0.0, 0.0]])
@pytest.mark.parametrize("size", [(33, 40), (64, 51)])
def test_elastic_actions(size: tuple[int, int], sigma: list[float]) -> None:
    recipe = transforms.ElasticTransform(alpha=[60.0, 90.0], sigma=sigma or 0.0)
    for seed in range(6):
        actions = transforms.draw(recipe, seed, *size)
        edges = boxes(60, *size)
        same(transforms.apply_to_boxes(actions, edges, *size), moved(actions, boxes_of(edges, size)), actions)
        places = points(60, *size)
        same(transforms.apply_to_keypoints(actions, places, *size), moved(actions, points_of(places, size)), actions)
        array = RANDOM.integers(0, 256, size, np.uint8)
        found = transforms.apply_to_masks(actions, array, fill=7)
        # The smoothing differs in the last digits.
        assert np.mean(found != moved(actions, mask_of(array), 7).numpy()) <= 2e-3


@pytest.mark.parametrize("format", ["cxcywhr", "xywhr", "xyxyxyxy"])
def test_boxes_with_an_angle_follow_each_action(format: str) -> None:
    for size in [(33, 40), (97, 131)]:
        for _ in range(10):
            for action in actions_on(*size):
                turned = boxes_of(angled(30, *size), size, "cxcywhr")
                given = F.convert_bounding_box_format(turned, new_format=format)
                close_boxes(action, given, format, size)


def close_boxes(action: dict[str, Any], given: Any, format: str, size: tuple[int, int], words: Any = None) -> None:
    """Compares the corners: an angle of 180 and one of -180 degrees are the same."""
    found = transforms.apply_to_boxes([action], given.numpy(), *size, format=format)
    wanted = moved([action], given, given=words)
    context = (size, action, format)
    corners = boxes_of(found, wanted.canvas_size, format)
    corners = F.convert_bounding_box_format(corners, new_format="xyxyxyxy")
    wanted = F.convert_bounding_box_format(wanted, new_format="xyxyxyxy")
    apart = (corners.as_subclass(torch.Tensor) - wanted.as_subclass(torch.Tensor)).abs().amax(1)
    assert apart.max() <= 1e-3, (context, apart)


def test_boxes_with_an_angle_follow_rotations() -> None:
    size = (97, 131)
    for seed in range(60):
        given: dict[str, Any] = {
            "angle": float(RANDOM.uniform(-180, 180)),
            "translate": RANDOM.integers(-9, 10, 2).tolist(),
            "scale": float(RANDOM.uniform(0.5, 1.5)),
            "shear": [0.0, 0.0] if seed % 2 else RANDOM.uniform(-20, 20, 2).tolist(),
            "center": None,
        }
        turned = boxes_of(angled(30, *size), size, "cxcywhr")
        close_boxes(affine_action(given, size), turned, "cxcywhr", size, given)


@pytest.mark.parametrize("count", [0, 1, 10_000])
def test_any_number_of_boxes(count: int) -> None:
    size = (480, 640)
    recipe = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomRotation((-90, 90)), transforms.RandomHorizontalFlip(1.0)])
    actions = [action for action in transforms.draw(recipe, 3, *size) if "affine" not in action]
    edges = boxes(count, *size)
    same(transforms.apply_to_boxes(actions, edges, *size), moved(actions, boxes_of(edges, size)), count)
    places = points(count, *size)
    same(transforms.apply_to_keypoints(actions, places, *size), moved(actions, points_of(places, size)), count)


def test_what_is_no_number_stays_so() -> None:
    size = (33, 40)
    edges = np.array([[math.nan, 1, 5, 6], [1, math.nan, math.nan, 6], [1, 2, 5, 6]])
    for action in actions_on(*size):
        found = transforms.apply_to_boxes([action], edges, *size)
        wanted = moved([action], boxes_of(edges, size)).numpy()
        assert np.array_equal(np.isnan(found), np.isnan(wanted)), action
        keep = transforms.sanitize_boxes([action], edges, *size, min_size=0, min_area=0)
        assert not keep[:2].any(), action
