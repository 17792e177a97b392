"""Flips, turns, crops, margins and warps, compared with torchvision's kernels for tensors of uint8."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
scipy_stats = pytest.importorskip("scipy.stats")

import torchvision.transforms.v2 as T  # noqa: E402
import torchvision.transforms.v2.functional as F  # noqa: E402
from torchvision.transforms.v2.functional import _geometry as G  # noqa: E402
from elastic_field import displacement  # noqa: E402
from transforms_oracle import applied, drawn  # noqa: E402

SIZES = [(1, 1), (1, 300), (300, 1), (2, 3), (7, 5), (33, 40), (224, 224), (97, 131)]
CHANNELS = [1, 3]
FILLS = [[0, 0, 0], [12, 130, 251]]
RANDOM = np.random.default_rng(5)


def noise(height: int, width: int, channels: int) -> np.ndarray:
    return RANDOM.integers(0, 256, (height, width, channels), np.uint8)


def smooth(height: int, width: int, channels: int) -> np.ndarray:
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    return np.rint(127.5 + 100 * np.sin(x / 9 + c) + 27 * np.cos(y / 5)).astype(np.uint8)


def tensor(array: np.ndarray) -> Any:
    return torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))


def pixels(image: Any) -> np.ndarray:
    return image.permute(1, 2, 0).numpy()


def fill_of(fill: list[int], channels: int) -> list[float]:
    return [float(value) for value in fill[:channels]]


def same(
    found: np.ndarray, expected: np.ndarray, exact: bool, context: Any = None, ties: Any = None
) -> None:
    """Ties are bytes that count for the largest difference only."""
    assert found.shape == expected.shape, context
    if exact:
        assert np.array_equal(found, expected), (context, np.mean(found != expected))
        return
    difference = np.abs(found.astype(int) - expected)
    equal = 1 - np.sum((difference != 0) & ~(False if ties is None else ties)) / found.size
    allowed = max(0.01, 1.01 / found.size)
    assert difference.max() <= 1 and equal >= 1 - allowed, (context, difference.max(), equal)


def sampled(image: Any, grid: Any, interpolation: str, fill: list[float]) -> np.ndarray:
    """As torchvision samples a grid; bicubic, which it refuses for tensors, is clipped to bytes."""
    if interpolation != "bicubic":
        return pixels(G._apply_grid_transform(image, grid, interpolation, fill=fill))
    image = G._apply_grid_transform(image.to(torch.float32), grid, interpolation, fill=fill)
    return pixels(image.clamp(0, 255).round().to(torch.uint8))


def halves(image: Any, grid: Any, interpolation: str, fill: list[float]) -> np.ndarray:
    """Bytes whose exact value is halfway between two: the last digit of single precision decides."""
    values = pixels(G._apply_grid_transform(image.double(), grid.double(), interpolation, fill=fill))
    return np.abs(values - np.floor(values) - 0.5) < 1e-4


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


def same_warp(
    found: np.ndarray, expected: np.ndarray, interpolation: str, context: Any, ties: Any = None
) -> None:
    same(found, expected, interpolation == "nearest", context, ties)


MATRICES = [
    # angle, translate, scale, shear, center
    (0.0, [0, 0], 1.0, [0.0, 0.0], None),
    (0.0, [5, -3], 1.0, [0.0, 0.0], None),
    (0.0, [0, 0], 1.0, [16.7, 0.0], [0, 0]),
    (0.0, [0, 0], 1.0, [0.0, -44.7], [0, 0]),
    (30.0, [0, 0], 1.0, [0.0, 0.0], None),
    (45.0, [0, 0], 1.0, [0.0, 0.0], None),
    (90.0, [0, 0], 1.0, [0.0, 0.0], None),
    (-135.0, [2, 1], 0.5, [10.0, 5.0], [3.5, 2.25]),
    (17.3, [-8, 9], 1.7, [-20.0, 12.0], None),
    (0.0, [0, 0], 2.0, [0.0, 0.0], None),
    (0.0, [0, 0], 0.25, [0.0, 0.0], None),
]


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("size", SIZES)
def test_affine(size: tuple[int, int], channels: int, interpolation: str) -> None:
    height, width = size
    drawn_matrices = [
        (
            RANDOM.uniform(-180, 180),
            [int(v) for v in RANDOM.integers(-9, 10, 2)],
            RANDOM.uniform(0.4, 2.0),
            [RANDOM.uniform(-40, 40), RANDOM.uniform(-40, 40)],
            None,
        )
        for _ in range(12)
    ]
    for angle, translate, scale, shear, center in MATRICES + drawn_matrices:
        moved = [0.0, 0.0] if center is None else [center[0] - width * 0.5, center[1] - height * 0.5]
        matrix = G._get_inverse_affine_matrix(moved, angle, translate, scale, shear)
        for array, fill in ((noise(*size, channels), FILLS[1]), (smooth(*size, channels), FILLS[0])):
            image = tensor(array)
            values = fill_of(fill, channels)
            theta = torch.tensor(matrix, dtype=torch.float32).reshape(1, 2, 3)
            grid = G._affine_grid(theta, width, height, width, height)
            ties = None if interpolation == "nearest" else halves(image, grid, interpolation, values)
            if interpolation == "bicubic":
                expected = sampled(image, grid, interpolation, values)
            else:
                how = T.InterpolationMode(interpolation)
                expected = pixels(F.affine_image(image, angle, translate, scale, shear, how, values, center))
            action = {
                "affine": {
                    "matrix": matrix,
                    "size": [height, width],
                    "interpolation": interpolation,
                    "fill": fill,
                }
            }
            context = (size, matrix, fill)
            same_warp(applied([action], array), expected, interpolation, context, ties)


def test_what_policies_build_is_what_torchvision_builds() -> None:
    array = noise(120, 90, 3)
    for seed in range(40):
        angle, scale = RANDOM.uniform(-180, 180), RANDOM.uniform(0.5, 1.5)
        shear = [RANDOM.uniform(-30, 30), RANDOM.uniform(-30, 30)]
        center = None if seed % 2 else [0.0, 0.0]
        recipe = {
            "RandomAffine": {
                "degrees": [angle, angle],
                "scale": [scale, scale],
                "shear": [shear[0], shear[0], shear[1], shear[1]],
                "center": center,
            }
        }
        actions = drawn([recipe], 1, 120, 90)[0]
        expected = F.affine(tensor(array), angle, [0, 0], scale, shear, fill=0.0, center=center)
        same_warp(applied(actions, array), pixels(expected), "nearest", (angle, scale, shear))


@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize("size", [(1, 1), (1, 30), (40, 40), (33, 57), (120, 64)])
def test_rotations(size: tuple[int, int], expand: bool) -> None:
    array = noise(*size, 3)
    angles = [0, 90, 180, 270, 360, -90, 45, 30, -10, 1e-3, 89.999] + list(RANDOM.uniform(-360, 360, 20))
    for angle in angles:
        for center in (None, [0.0, 0.0], [11.5, 3.0]):
            arguments = {"degrees": [float(angle)] * 2, "expand": expand, "center": center, "fill": 9}
            actions = drawn([{"RandomRotation": arguments}], 1, *size)[0]
            expected = F.rotate(tensor(array), float(angle), expand=expand, center=center, fill=9.0)
            same_warp(applied(actions, array), pixels(expected), "nearest", (angle, center))


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("size", SIZES[3:])
def test_perspective(size: tuple[int, int], channels: int, interpolation: str) -> None:
    height, width = size
    for seed in range(12):
        recipe = {"RandomPerspective": {"distortion_scale": 0.7, "p": 1.0, "interpolation": interpolation}}
        actions = drawn([recipe], seed + 1, height, width, channels)[seed]
        if not actions:
            continue
        action = actions[0]["perspective"]
        action["fill"] = FILLS[seed % 2]
        array = noise(*size, channels) if seed % 3 else smooth(*size, channels)
        image, values = tensor(array), fill_of(action["fill"], channels)
        grid = G._perspective_grid(action["coefficients"], width, height, torch.float32, torch.device("cpu"))
        expected = sampled(image, grid, interpolation, values)
        same_warp(applied(actions, array), expected, interpolation, (size, action))


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("sigma", [[5.0, 5.0], [1.5, 3.0], [0.0, 0.0]])
@pytest.mark.parametrize("size", [(33, 40), (97, 131), (224, 224)])
def test_elastic(size: tuple[int, int], sigma: list[float], interpolation: str) -> None:
    if max(sigma) > 4 and min(size) < 41:
        sigma = [3.0, 3.0]
    recipe = {"ElasticTransform": {"alpha": [90.0, 60.0], "sigma": sigma, "interpolation": interpolation}}
    for seed, actions in enumerate(drawn([recipe], 3, *size)):
        action = actions[0]["elastic"]
        action["fill"] = FILLS[seed % 2]
        array = smooth(*size, 3) if seed % 2 else noise(*size, 3)
        field = displacement(action, *size)
        grid = G._create_identity_grid(size, torch.device("cpu"), torch.float32).add_(field)
        expected = sampled(tensor(array), grid, interpolation, fill_of(action["fill"], 3))
        found = applied(actions, array)
        if interpolation == "nearest":
            # The smoothing differs in the last digits.
            assert np.mean(found != expected) <= 1e-3
        else:
            same(found, expected, False, action)


def test_the_field_is_as_strong_as_torchvisions() -> None:
    recipe = {"ElasticTransform": {"alpha": [50.0, 50.0], "sigma": [5.0, 5.0]}}
    ours = [displacement(actions[0]["elastic"], 64, 64) for actions in drawn([recipe], 200, 64, 64)]
    transform = T.ElasticTransform(50.0, 5.0)
    theirs = [transform.make_params([torch.zeros(3, 64, 64)])["displacement"] for _ in range(200)]
    assert torch.stack(ours).std() == pytest.approx(float(torch.stack(theirs).std()), rel=0.05)


def drawn_by_torchvision(transform: Any, count: int, height: int, width: int) -> list[dict[str, Any]]:
    torch.manual_seed(3)
    image = torch.zeros(3, height, width, dtype=torch.uint8)
    return [transform.make_params([image]) for _ in range(count)]


def uniform(values: Any, low: float, high: float) -> None:
    assert low <= min(values) and max(values) <= high
    assert scipy_stats.kstest(values, scipy_stats.uniform(low, high - low).cdf).pvalue > 1e-4


def equally_likely(values: list[Any], expected: list[Any]) -> None:
    counts = [values.count(value) for value in expected]
    assert sum(counts) == len(values)
    assert len(expected) == 1 or scipy_stats.chisquare(counts).pvalue > 1e-4, counts


COUNT = 100_000


@pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("name", ["RandomVerticalFlip", "RandomHorizontalFlip", "RandomPerspective"])
def test_probabilities(name: str, p: float) -> None:
    count = COUNT // 10 if name == "RandomPerspective" else COUNT
    happened = np.mean([len(actions) for actions in drawn([{name: {"p": p}}], count)])
    assert happened == pytest.approx(p, abs=4.5 * math.sqrt(p * (1 - p) / count))


def test_quarter_turns_are_equally_likely() -> None:
    def turns(arguments: dict[str, Any]) -> list[int]:
        actions = drawn([{"RandomQuarterTurn": arguments}], COUNT)
        return [each[0]["quarter_turn"]["turns"] if each else 0 for each in actions]

    equally_likely(turns({}), [0, 1, 2, 3])
    equally_likely(turns({"turns": [1, 3]}), [1, 3])


def test_angles_of_rotations() -> None:
    actions = drawn([{"RandomRotation": {"degrees": [-30.0, 45.0]}}], COUNT)
    matrices = np.array([each[0]["affine"]["matrix"] for each in actions])
    uniform(np.degrees(np.arctan2(-matrices[:, 1], matrices[:, 0])), -30.0, 45.0)


def test_numbers_of_affine() -> None:
    arguments = {"degrees": [-20.0, 10.0], "translate": [0.1, 0.3], "scale": [0.5, 1.5]}
    height, width = 100, 60
    actions = drawn([{"RandomAffine": arguments}], COUNT, height, width)
    inverse = np.array([each[0]["affine"]["matrix"] for each in actions]).reshape(-1, 2, 3)
    linear = np.linalg.inv(inverse[:, :, :2])
    moved = -np.einsum("nij,nj->ni", linear, inverse[:, :, 2])
    uniform(np.degrees(np.arctan2(linear[:, 1, 0], linear[:, 0, 0])), -20.0, 10.0)
    uniform(np.sqrt(np.linalg.det(linear)), 0.5, 1.5)
    theirs = drawn_by_torchvision(T.RandomAffine(**arguments), 20_000, height, width)
    for axis, most in enumerate((6, 30)):
        steps = np.rint(moved[:, axis])
        assert np.abs(moved[:, axis] - steps).max() < 1e-6
        assert np.abs(steps).max() == most
        expected = [params["translate"][axis] for params in theirs]
        levels = list(range(-most, most + 1))
        table = [[list(values).count(level) for level in levels] for values in (list(steps), expected)]
        assert scipy_stats.chi2_contingency(table).pvalue > 1e-4


@pytest.mark.parametrize("shear", [[-10.0, 20.0], [-10.0, 20.0, 5.0, 6.0], None])
def test_shear_of_affine(shear: list[float] | None) -> None:
    actions = drawn([{"RandomAffine": {"degrees": [0.0, 0.0], "shear": shear}}], COUNT)
    inverse = np.array([each[0]["affine"]["matrix"] for each in actions])
    # For the angle 0, the inverse is [1 - tan x tan y, tan x; tan y, 1].
    if shear is None:
        assert np.allclose(inverse, [1, 0, 0, 0, 1, 0])
        return
    uniform(np.degrees(np.arctan(inverse[:, 1])), shear[0], shear[1])
    down = np.degrees(np.arctan(inverse[:, 3]))
    if len(shear) == 4:
        uniform(down, shear[2], shear[3])
    else:
        assert np.abs(down).max() == 0


@pytest.mark.parametrize("size", [(60, 41), (2, 9)])
def test_corners_of_perspective(size: tuple[int, int]) -> None:
    height, width = size
    actions = drawn([{"RandomPerspective": {"distortion_scale": 0.4, "p": 1.0}}], 20_000, height, width)
    coefficients = np.array([each[0]["perspective"]["coefficients"] for each in actions])
    maps = np.concatenate([coefficients, np.ones((len(coefficients), 1))], 1).reshape(-1, 3, 3)
    start = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
    corners = np.array([[x, y, 1] for x, y in start], float).T
    ends = np.linalg.inv(maps) @ corners
    ends = (ends[:, :2] / ends[:, 2:]).transpose(0, 2, 1)
    whole = np.rint(ends)
    assert np.abs(ends - whole).max() < 1e-2
    bounds = [int(0.4 * (width // 2)) + 1, int(0.4 * (height // 2)) + 1]
    for corner, (right, low) in enumerate([(0, 0), (1, 0), (1, 1), (0, 1)]):
        for axis, far in enumerate((right, low)):
            side = (width, height)[axis]
            expected = range(side - bounds[axis], side) if far else range(bounds[axis])
            equally_likely(list(whole[:, corner, axis].astype(int)), list(expected))
    for found, end in zip(coefficients[:200], whole[:200].astype(int).tolist(), strict=True):
        expected = F._geometry._get_perspective_coeffs(start, end)
        assert np.allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 1)])
def test_perspective_does_not_change_a_picture_of_one_line(size: tuple[int, int]) -> None:
    assert drawn([{"RandomPerspective": {"p": 1.0}}], 10, *size) == [[]] * 10


@pytest.mark.parametrize(
    "arguments",
    [
        {"size": [20, 12]},
        {"size": [32, 32], "padding": [4, 1, 2, 3], "padding_mode": "reflect"},
        {"size": [40, 50], "pad_if_needed": True},
        {"size": [32, 70], "padding": [1, 2, 3, 4], "pad_if_needed": True, "fill": 7},
        {"size": [32, 30]},
    ],
)
def test_random_crops(arguments: dict[str, Any]) -> None:
    height, width = 32, 30
    array = noise(height, width, 3)
    found = drawn([{"RandomCrop": arguments}], 20_000, height, width)
    params = drawn_by_torchvision(T.RandomCrop(**arguments), 2_000, height, width)
    places = []
    for at, actions in enumerate(found):
        by_name = {name: action for each in actions for name, action in each.items()}
        crop = by_name.get("crop", {"top": 0, "left": 0})
        places.append((crop["top"], crop["left"]))
        assert by_name.get("pad", {"padding": [0] * 4})["padding"] == params[0]["padding"]
        if at < 20:
            transform = T.RandomCrop(**arguments)
            known = dict(params[0], top=places[-1][0], left=places[-1][1])
            same(applied(actions, array), pixels(transform.transform(tensor(array), known)), True)
    for axis, name in enumerate(("top", "left")):
        ours = [place[axis] for place in places]
        theirs = {params[name] for params in params}
        equally_likely(ours, list(range(max(theirs) + 1)))


@pytest.mark.parametrize("crop", [(1, 1), (10, 13), (33, 40), (50, 20), (7, 90), (101, 100)])
@pytest.mark.parametrize("size", SIZES)
def test_center_crops(size: tuple[int, int], crop: tuple[int, int]) -> None:
    array = noise(*size, 3)
    actions = drawn([{"CenterCrop": {"size": list(crop)}}], 1, *size)[0]
    same(applied(actions, array), pixels(F.center_crop(tensor(array), list(crop))), True)
