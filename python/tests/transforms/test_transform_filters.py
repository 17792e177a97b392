"""Sharpness, blur, noise, JPEG and erasing beside torchvision's kernels and timm's draws."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
stats = pytest.importorskip("scipy.stats")

from torchvision.transforms import v2  # noqa: E402
from torchvision.transforms.v2 import functional as F  # noqa: E402
from transforms_oracle import applied, drawn  # noqa: E402

SIZES = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (1, 300), (300, 1), (5, 7), (17, 31), (33, 16), (64, 48), (97, 101)]
CHANNELS = [1, 3]
KINDS = ["noise", "smooth", "extreme", "flat"]


def picture(height: int, width: int, channels: int, kind: str) -> np.ndarray:
    numbers = np.random.default_rng([height, width, channels])
    if kind == "noise":
        return numbers.integers(0, 256, (height, width, channels), np.uint8)
    if kind == "extreme":
        return 255 * numbers.integers(0, 2, (height, width, channels), np.uint8)
    if kind == "flat":
        return np.full((height, width, channels), 201, np.uint8)
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(channels), indexing="ij")
    waves = 127.5 + 90 * np.sin(x / 9 + c) + 37 * np.cos(y / 5 - c)
    return np.clip(waves, 0, 255).astype(np.uint8)


def tensor(array: np.ndarray) -> Any:
    return torch.from_numpy(array.transpose(2, 0, 1).copy())


def pixels(tensor: Any) -> np.ndarray:
    return tensor.numpy().transpose(1, 2, 0)


class Difference:
    """How much two libraries differ over many pictures."""

    def __init__(self) -> None:
        self.largest = 0
        self.unequal = 0
        self.bytes = 0

    def add(self, ours: np.ndarray, theirs: np.ndarray) -> None:
        assert ours.shape == theirs.shape
        difference = np.abs(ours.astype(int) - theirs.astype(int))
        self.largest = max(self.largest, int(difference.max()))
        self.unequal += int(np.count_nonzero(difference))
        self.bytes += ours.size

    def __repr__(self) -> str:
        return f"at most {self.largest}, {self.unequal} of {self.bytes} bytes"

    def is_small(self) -> bool:
        return self.largest <= 1 and self.unequal <= self.bytes / 100


def pictures() -> list[np.ndarray]:
    return [picture(*size, channels, kind) for size in SIZES for channels in CHANNELS for kind in KINDS]


@pytest.mark.parametrize("factor", [0.0, 0.1, 0.3, 0.5, 0.9, 1.0, 1.3, 1.9, 2.0, 7.7])
def test_sharpness_equals_torchvision(factor: float) -> None:
    found = Difference()
    for array in pictures():
        theirs = F.adjust_sharpness(tensor(array), factor)
        found.add(applied([{"adjust_sharpness": {"factor": factor}}], array), pixels(theirs))
    print("sharpness", factor, found)
    assert found.is_small(), found


@pytest.mark.parametrize(
    ("kernel_size", "sigma"),
    [
        ([3, 3], [0.1, 0.1]),
        ([3, 3], [0.8, 0.8]),
        ([5, 3], [1.1, 0.4]),
        ([1, 9], [1.0, 2.0]),
        ([9, 1], [2.0, 1.0]),
        ([23, 23], [0.1, 0.1]),
        ([23, 23], [0.5, 0.5]),
        ([23, 23], [1.3, 1.3]),
        ([23, 23], [2.0, 2.0]),
        ([23, 23], [10.0, 10.0]),
        ([7, 31], [1e6, 1e6]),
    ],
)
def test_blur_equals_torchvision(kernel_size: list[int], sigma: list[float]) -> None:
    found = Difference()
    action = {"gaussian_blur": {"kernel_size": kernel_size, "sigma": sigma}}
    for array in pictures():
        ours = applied([action], array)
        assert ours.shape == array.shape
        if kernel_size[0] // 2 < array.shape[1] and kernel_size[1] // 2 < array.shape[0]:
            found.add(ours, pixels(F.gaussian_blur(tensor(array), kernel_size, sigma)))
    print("blur", kernel_size, sigma, found)
    assert found.bytes > 10_000
    assert found.is_small(), found


def test_a_blur_that_is_larger_than_the_picture_repeats_the_mirror() -> None:
    action = {"gaussian_blur": {"kernel_size": [23, 23], "sigma": [3.0, 3.0]}}
    for height, width in [(1, 1), (1, 2), (2, 3), (5, 1), (4, 7), (11, 3)]:
        array = picture(height, width, 3, "noise")
        padded = np.pad(array, ((11, 11), (11, 11), (0, 0)), "reflect")
        theirs = F.gaussian_blur(tensor(padded), [23, 23], [3.0, 3.0])[:, 11:-11, 11:-11]
        assert np.abs(applied([action], array).astype(int) - pixels(theirs)).max() <= 1


@pytest.mark.parametrize("quality", [1, 5, 10, 25, 49, 50, 51, 75, 90, 95, 99, 100])
def test_jpeg_equals_torchvision(quality: int) -> None:
    for array in pictures():
        ours = applied([{"jpeg": {"quality": quality}}], array)
        theirs = pixels(F.jpeg(tensor(array), quality))
        assert np.array_equal(ours, theirs), array.shape


def test_jpeg_equals_torchvision_for_every_small_size() -> None:
    for height in range(1, 20):
        for width in range(1, 20):
            for channels in CHANNELS:
                array = picture(height, width, channels, "noise")
                ours = applied([{"jpeg": {"quality": 60}}], array)
                assert np.array_equal(ours, pixels(F.jpeg(tensor(array), 60))), array.shape


def noisy(array: np.ndarray, seed: int, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> np.ndarray:
    action = {"gaussian_noise": {"mean": mean, "sigma": sigma, "clip": clip, "seed": seed}}
    return applied([action], array)


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("mean", [-0.1, 0.0, 0.2])
def test_noise_has_the_distribution_of_torchvision(mean: float, sigma: float) -> None:
    torch.manual_seed(1)
    for level in [0, 128, 240]:
        array = np.full((256, 256, 3), level, np.uint8)
        for clip in [True, False]:
            ours = noisy(array, 5, mean, sigma, clip)
            theirs = pixels(F.gaussian_noise(tensor(array), mean, sigma, clip))
            counts = np.stack([np.bincount(each.ravel(), minlength=256) for each in (ours, theirs)])
            # The largest difference of the shares below a value: the test of Kolmogorov and Smirnov.
            shares = np.cumsum(counts, axis=1) / array.size
            assert np.abs(shares[0] - shares[1]).max() < 2.5 * math.sqrt(2 / array.size)


def test_noise_is_independent() -> None:
    array = np.full((200, 300, 3), 128, np.uint8)
    first = noisy(array, 1).astype(float) - 128
    bound = 5 * first.var() / math.sqrt(first.size)
    for rows, columns, channels in [(0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1), (0, 8, 0), (16, 0, 0)]:
        moved = np.roll(first, (rows, columns, channels), (0, 1, 2))
        assert abs((first * moved).mean()) < bound
    for seed in [0, 2, 3, 1 << 32, (1 << 64) - 1]:
        other = noisy(array, seed).astype(float) - 128
        assert abs((first * other).mean()) < bound
        assert abs((first * np.roll(other, 1, 1)).mean()) < bound
    assert np.array_equal(noisy(array, 1), noisy(array, 1))


def test_an_erased_rectangle_equals_torchvision() -> None:
    array = picture(40, 30, 3, "noise")
    values = [1.0, 20.0, 255.0]
    rectangle = {"top": 3, "left": 5, "height": 20, "width": 11}
    ours = applied([{"erase": {**rectangle, "value": {"constant": values}}}], array)
    theirs = F.erase(tensor(array), 3, 5, 20, 11, torch.tensor(values).to(torch.uint8)[:, None, None])
    assert np.array_equal(ours, pixels(theirs))
    for value in [{"pixel": 3}, {"noise": 3}]:
        noise = applied([{"erase": {**rectangle, "value": value}}], array)
        assert np.array_equal(noise[:3], array[:3]) and np.array_equal(noise[:, :5], array[:, :5])
        assert np.array_equal(noise[23:], array[23:]) and np.array_equal(noise[:, 16:], array[:, 16:])
        colors = {tuple(pixel) for pixel in noise[3:23, 5:16].reshape(-1, 3).tolist()}
        assert (len(colors) == 1) == ("pixel" in value)


def test_erased_noise_has_mean_and_deviation() -> None:
    array = np.zeros((300, 300, 3), np.uint8)
    value = {"noise": (1 << 64) - 1}
    noise = applied([{"erase": {"top": 0, "left": 0, "height": 300, "width": 300, "value": value}}], array)
    # Limited to bytes: the expectation of a normal distribution that is limited at two standard deviations.
    normal = np.clip(127.5 + 63.75 * stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000), 0, 255)
    assert abs(noise.mean() - 127.5) < 0.7
    assert abs(noise.std() - normal.std()) < 0.5


def same_distribution(ours: list[float], theirs: list[float]) -> bool:
    """The test of Kolmogorov and Smirnov refuses one of a million equal distributions."""
    return bool(stats.ks_2samp(ours, theirs, method="asymp").pvalue > 1e-6)


DRAWS = 100_000


def test_draws_of_a_blur_are_those_of_torchvision() -> None:
    torch.manual_seed(2)
    actions = drawn([{"GaussianBlur": {"kernel_size": [23, 21], "sigma": [0.1, 1.7]}}], DRAWS)
    ours = [one["gaussian_blur"] for [one] in actions]
    assert all(blur["kernel_size"] == [23, 21] for blur in ours)
    assert all(blur["sigma"][0] == blur["sigma"][1] for blur in ours)
    theirs = v2.GaussianBlur([23, 21], (0.1, 1.7))
    sigmas = [theirs.make_params([])["sigma"][0] for _ in range(DRAWS)]
    assert same_distribution([blur["sigma"][0] for blur in ours], sigmas)


def test_draws_of_jpeg_are_uniform() -> None:
    counts = Counter(one["jpeg"]["quality"] for [one] in drawn([{"JPEG": {"quality": [30, 75]}}], DRAWS))
    assert sorted(counts) == list(range(30, 76))
    assert stats.chisquare(list(counts.values())).pvalue > 1e-6


def test_draws_of_sharpness_have_the_probability() -> None:
    recipe = [{"RandomAdjustSharpness": {"sharpness_factor": 2.5, "p": 0.3}}]
    actions = drawn(recipe, DRAWS)
    found = [one for one in actions if one]
    assert all(one == [{"adjust_sharpness": {"factor": 2.5}}] for one in found)
    assert abs(len(found) / DRAWS - 0.3) < 0.008


def test_each_noise_has_another_seed() -> None:
    actions = drawn([{"GaussianNoise": {"mean": 0.1, "sigma": 0.2, "clip": False}}], DRAWS)
    noises = [one["gaussian_noise"] for [one] in actions]
    assert all((noise["mean"], noise["sigma"], noise["clip"]) == (0.1, 0.2, False) for noise in noises)
    assert len({noise["seed"] for noise in noises}) == DRAWS


ERASING = [
    ((224, 224), [0.02, 0.33], [0.3, 3.3]),
    ((60, 200), [0.02, 0.33], [0.3, 3.3]),
    ((200, 30), [0.2, 0.9], [0.1, 8.0]),
    ((8, 8), [0.0, 0.1], [0.3, 3.3]),
]


@pytest.mark.parametrize(("size", "scale", "ratio"), ERASING)
def test_draws_of_erasing_are_those_of_torchvision(
    size: tuple[int, int], scale: list[float], ratio: list[float]
) -> None:
    torch.manual_seed(3)
    count = DRAWS // 4
    height, width = size
    recipe = [{"RandomErasing": {"p": 1.0, "scale": scale, "ratio": ratio, "value": [1.0, 2.0, 3.0]}}]
    actions = drawn(recipe, count, height, width)
    assert all(len(one) <= 1 for one in actions)
    ours = [one[0]["erase"] for one in actions if one]
    assert all(erase["value"] == {"constant": [1.0, 2.0, 3.0]} for erase in ours)
    theirs = v2.RandomErasing(1.0, scale, ratio)
    image = torch.zeros(3, height, width, dtype=torch.uint8)
    params = [theirs.make_params([image]) for _ in range(count)]
    # A whole picture is torchvision's word for nothing, and an empty rectangle changes nothing.
    found = [each for each in params if each["h"] and each["w"] and each["v"] is not image]
    found = [each for each in found if (each["h"], each["w"]) != size]
    assert abs(len(ours) - len(found)) < 5 * math.sqrt(count / 2) + 1
    for name, short in [("top", "i"), ("left", "j"), ("height", "h"), ("width", "w")]:
        assert same_distribution([erase[name] for erase in ours], [each[short] for each in found]), name


@pytest.mark.parametrize(("mode", "value"), [("const", 0.0), ("rand", "random_color"), ("pixel", "random")])
@pytest.mark.parametrize("counts", [[1, 1], [1, 3], [2, 2]])
def test_draws_of_erasing_are_those_of_timm(mode: str, value: Any, counts: list[int]) -> None:
    erasing = pytest.importorskip("timm.data.random_erasing")
    random.seed(4)
    count = 6000
    height, width = 120, 160
    settings = {"p": 0.7, "scale": [0.02, 1 / 3], "ratio": [0.3, 1 / 0.3], "value": value, "count": counts}
    actions = drawn([{"RandomErasing": settings}], count, height, width)
    theirs = erasing.RandomErasing(0.7, mode=mode, min_count=counts[0], max_count=counts[1], device="cpu")
    numbers: list[int] = []
    rectangles: list[tuple[int, int, int, int]] = []

    class Recorder:
        """Takes the place of a picture, and notes the rectangles that are written."""

        def __setitem__(self, key: tuple[slice, slice, slice], _: Any) -> None:
            rows, columns = key[1:]
            rectangles.append((rows.start, columns.start, rows.stop - rows.start, columns.stop - columns.start))

    for _ in range(count):
        before = len(rectangles)
        theirs._erase(Recorder(), 3, height, width, torch.float32)
        numbers.append(len(rectangles) - before)
    ours = [one["erase"] for each in actions for one in each]
    kind = {"const": "constant", "rand": "pixel", "pixel": "noise"}[mode]
    assert all(list(erase["value"]) == [kind] for erase in ours)
    drawn_numbers = Counter(len(each) for each in actions)
    for number in range(4):
        share = numbers.count(number) / count
        assert abs(drawn_numbers[number] / count - share) < 5 * math.sqrt(0.5 / count)
    for at, name in enumerate(["top", "left", "height", "width"]):
        assert same_distribution([erase[name] for erase in ours], [each[at] for each in rectangles]), name


def step(quality: int) -> dict[str, Any]:
    """A step that always draws the action of this quality."""
    return {"JPEG": {"quality": [quality, quality]}}


def test_steps_are_applied_chosen_and_ordered_as_torchvision_does() -> None:
    steps = [step(1), step(2), step(3)]

    def lists(recipe: dict[str, Any]) -> Counter[tuple[int, ...]]:
        return Counter(tuple(one["jpeg"]["quality"] for one in each) for each in drawn([recipe], DRAWS))

    def is_near(found: Counter[tuple[int, ...]], shares: dict[tuple[int, ...], float]) -> bool:
        return set(found) <= set(shares) and all(abs(found[one] / DRAWS - shares[one]) < 0.008 for one in shares)

    assert is_near(lists({"RandomApply": {"transforms": steps, "p": 0.2}}), {(): 0.8, (1, 2, 3): 0.2})
    assert is_near(lists({"RandomApply": {"transforms": steps}}), {(): 0.5, (1, 2, 3): 0.5})
    assert is_near(lists({"RandomChoice": {"transforms": steps}}), {(1,): 1 / 3, (2,): 1 / 3, (3,): 1 / 3})
    weighted = {"RandomChoice": {"transforms": steps, "p": [3, 0, 1]}}
    assert is_near(lists(weighted), {(1,): 0.75, (3,): 0.25})
    orders = [(1, 2, 3), (1, 3, 2), (2, 1, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1)]
    assert is_near(lists({"RandomOrder": {"transforms": steps}}), dict.fromkeys(orders, 1 / 6))
