"""Actions and operations on color, compared with those of torchvision and albumentations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy import stats
from transforms_oracle import Actions, applied, drawn

torch = pytest.importorskip("torch")
F = pytest.importorskip("torchvision.transforms.v2.functional")

DRAWS = 100_000
SIZES = [(1, 1), (1, 300), (300, 1), (1, 7), (37, 41), (64, 64), (129, 65)]
FACTORS = [0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 1.5, 1.9, 2.0, 3.7, 0.123456, 1.777]
TURNS = [-0.5, -0.37, -0.2, -0.1, -1e-9, 0.0, 1e-9, 0.05, 0.1, 1 / 6, 0.25, 1 / 3, 0.5]


def pictures(channels: int) -> Iterator[np.ndarray]:
    random = np.random.default_rng(channels)
    for height, width in SIZES:
        yield random.integers(0, 256, (height, width, channels), np.uint8)
        yield np.full((height, width, channels), random.integers(0, 256), np.uint8)
        rows, columns = np.mgrid[0:height, 0:width]
        smooth = [(rows * (2 + at) + columns * 3) // 4 % 256 for at in range(channels)]
        yield np.stack(smooth, 2).astype(np.uint8)
        yield random.integers(90, 120, (height, width, channels), np.uint8)
        yield random.choice(np.array([0, 255], np.uint8), (height, width, channels))


def expected(kernel: Callable[..., Any], array: np.ndarray, *arguments: Any) -> np.ndarray:
    picture = torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))
    return kernel(picture, *arguments).numpy().transpose(1, 2, 0)


def same(kernel: Callable[..., Any], action: dict[str, Any], *arguments: Any) -> None:
    """Each byte of each picture is torchvision's."""
    for channels in (1, 3):
        for array in pictures(channels):
            ours = applied([action], array)
            np.testing.assert_array_equal(ours, expected(kernel, array, *arguments), str(action))


def close(kernel: Callable[..., Any], action: dict[str, Any], *arguments: Any) -> None:
    """Each byte is within 1 of torchvision's, and 99 % are equal.

    torchvision's lanes and their remainder round differently, so that a picture of one color may have two of them.
    """
    total = differing = 0
    for channels in (1, 3):
        for array in pictures(channels):
            ours = applied([action], array)
            difference = np.abs(ours.astype(int) - expected(kernel, array, *arguments))
            assert difference.max() <= 1
            total += difference.size
            differing += np.count_nonzero(difference)
    assert differing <= total / 100


def test_pictures_of_all_bytes() -> None:
    # So each test of a table covers all bytes.
    assert {*np.unique(next(p for p in pictures(1) if p.shape[0] == 64))} == {*range(256)}


@pytest.mark.parametrize("factor", FACTORS)
def test_brightness(factor: float) -> None:
    same(F.adjust_brightness, {"adjust_brightness": {"factor": factor}}, factor)


@pytest.mark.parametrize("factor", FACTORS)
def test_contrast(factor: float) -> None:
    close(F.adjust_contrast, {"adjust_contrast": {"factor": factor}}, factor)


@pytest.mark.parametrize("factor", FACTORS)
def test_saturation(factor: float) -> None:
    close(F.adjust_saturation, {"adjust_saturation": {"factor": factor}}, factor)


@pytest.mark.parametrize("turn", TURNS)
def test_hue(turn: float) -> None:
    close(F.adjust_hue, {"adjust_hue": {"factor": turn}}, turn)


@pytest.mark.parametrize("gain", [1.0, 0.5, 1.7])
@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.45, 0.5, 0.8, 1.0, 1.234, 2.0, 2.2, 3.0, 10.0, 300.0])
def test_gamma(gamma: float, gain: float) -> None:
    same(F.adjust_gamma, {"adjust_gamma": {"gamma": gamma, "gain": gain}}, gamma, gain)


@pytest.mark.parametrize("bits", range(9))
def test_posterize(bits: int) -> None:
    same(F.posterize, {"posterize": {"bits": bits}}, bits)


@pytest.mark.parametrize("threshold", [0, 0.5, 1, 100, 127.5, 128, 254.9999999999, 255])
def test_solarize(threshold: float) -> None:
    same(F.solarize, {"solarize": {"threshold": threshold}}, threshold)


def test_actions_without_numbers() -> None:
    same(F.invert, {"invert": {}})
    same(F.autocontrast, {"autocontrast": {}})
    same(F.equalize, {"equalize": {}})


def test_gray() -> None:
    for array in pictures(3):
        np.testing.assert_array_equal(applied([{"rgb_to_grayscale": {}}], array), expected(F.rgb_to_grayscale, array, 3))
    for array in pictures(1):
        np.testing.assert_array_equal(applied([{"rgb_to_grayscale": {}}], array), array)


@pytest.mark.parametrize("permutation", permutations(range(3)))
def test_permutation(permutation: tuple[int, ...]) -> None:
    for array in pictures(3):
        ours = applied([{"permute_channels": {"permutation": permutation}}], array)
        np.testing.assert_array_equal(ours, expected(F.permute_channels, array, list(permutation)))


def every_color() -> np.ndarray:
    return np.stack(np.meshgrid(*[np.arange(256, dtype=np.uint8)] * 3), 3).reshape(4096, 4096, 3)


def test_gray_of_every_color() -> None:
    colors = every_color()
    theirs = expected(F.rgb_to_grayscale, colors, 3)
    ours = applied([{"rgb_to_grayscale": {}}], colors)
    assert np.count_nonzero((ours != theirs).any(2)) <= 3
    assert np.abs(ours.astype(int) - theirs).max() <= 1


def test_hue_and_saturation_of_every_color() -> None:
    colors = every_color()
    for kernel, action, factor in [
        (F.adjust_hue, {"adjust_hue": {"factor": 0.1}}, 0.1),
        (F.adjust_saturation, {"adjust_saturation": {"factor": 1.3}}, 1.3),
    ]:
        difference = np.abs(applied([action], colors).astype(int) - expected(kernel, colors, factor))
        assert difference.max() <= 1 and np.count_nonzero(difference) <= 20, action


def test_all_tables_of_gamma_are_close() -> None:
    # torchvision's powers are rounded otherwise in the last digit, which decides a byte of few tables.
    random = np.random.default_rng(1)
    array = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    differing = 0
    for gamma in random.uniform(0.2, 5, 1000):
        ours = applied([{"adjust_gamma": {"gamma": gamma, "gain": 1.0}}], array)
        difference = np.abs(ours.astype(int) - expected(F.adjust_gamma, array, gamma))
        assert difference.max() <= 1
        differing += np.count_nonzero(difference)
    assert differing <= 5


def test_neighboring_tables_are_those_one_by_one() -> None:
    actions: Actions = [
        {"adjust_brightness": {"factor": 1.4}},
        {"invert": {}},
        {"adjust_gamma": {"gamma": 0.7, "gain": 1.0}},
        {"autocontrast": {}},
        {"solarize": {"threshold": 100}},
        {"posterize": {"bits": 5}},
    ]
    for channels in (1, 3):
        for array in pictures(channels):
            alone = array
            for action in actions:
                alone = applied([action], alone)
            np.testing.assert_array_equal(applied(actions, array), alone)


def names(actions: Actions) -> tuple[str, ...]:
    return tuple(next(iter(action)) for action in actions)


def values(draws: list[Actions], name: str, argument: str) -> np.ndarray:
    return np.array([action[name][argument] for actions in draws for action in actions if name in action])


def uniform(sample: np.ndarray, low: float, high: float) -> None:
    assert low <= sample.min() and sample.max() <= high
    assert stats.kstest(sample, stats.uniform(low, high - low).cdf).pvalue > 1e-4


def equally_likely(found: list[Any], count: int) -> None:
    _, counts = np.unique(found, axis=0, return_counts=True)
    assert len(counts) == count
    assert stats.chisquare(counts).pvalue > 1e-4


def likely(count: int, p: float, draws: int = DRAWS) -> None:
    assert stats.binomtest(count, draws, p).pvalue > 1e-4


JITTER = {"brightness": [0.6, 1.4], "contrast": [0.5, 1.5], "saturation": [0.2, 1.8], "hue": [-0.1, 0.2]}


def test_jitter() -> None:
    draws = drawn([{"ColorJitter": JITTER}], DRAWS)
    for argument, (low, high) in JITTER.items():
        found = values(draws, f"adjust_{argument}", "factor")
        assert len(found) == DRAWS
        uniform(found, low, high)
    equally_likely([names(actions) for actions in draws], 24)
    pairs = np.array([[a["adjust_brightness"]["factor"] for a in d if "adjust_brightness" in a]
                      + [a["adjust_hue"]["factor"] for a in d if "adjust_hue" in a] for d in draws])
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 0.015


def test_jitter_without_some_arguments() -> None:
    only = drawn([{"ColorJitter": {"contrast": [0.5, 1.5], "brightness": [1.0, 1.0], "hue": [0.0, 0.0]}}], 100)
    assert {names(actions) for actions in only} == {("adjust_contrast",)}
    assert drawn([{"ColorJitter": {}}], 3) == [[], [], []]
    fixed = drawn([{"ColorJitter": {"brightness": [0.5, 0.5], "saturation": None}}], 10)
    assert fixed == [[{"adjust_brightness": {"factor": 0.5}}]] * 10


def theirs(transform: Any, count: int) -> list[dict[str, Any]]:
    picture = torch.zeros(3, 2, 2, dtype=torch.uint8)
    torch.manual_seed(1)
    return [transform.make_params([picture]) for _ in range(count)]


def test_jitter_is_distributed_as_torchvisions() -> None:
    T = pytest.importorskip("torchvision.transforms.v2")
    jitter = T.ColorJitter(brightness=0.4, contrast=(0.5, 1.5), saturation=0.8, hue=(-0.1, 0.2))
    for argument, given in JITTER.items():
        assert getattr(jitter, argument) == pytest.approx(given)
    other = theirs(jitter, 5000)
    draws = drawn([{"ColorJitter": JITTER}], 20_000)
    for argument in JITTER:
        factors = [params[f"{argument}_factor"] for params in other]
        found = values(draws, f"adjust_{argument}", "factor")
        assert stats.ks_2samp(found, factors).pvalue > 1e-4


def distortions(params: dict[str, Any]) -> tuple[str, ...]:
    """The names of the actions that torchvision's parameters are."""
    contrast = ["adjust_contrast"] if params["contrast_factor"] is not None else []
    before, after = (contrast, []) if params["contrast_before"] else ([], contrast)
    others = [f"adjust_{name}" for name in ("saturation", "hue") if params[f"{name}_factor"] is not None]
    first = ["adjust_brightness"] if params["brightness_factor"] is not None else []
    last = ["permute_channels"] if params["channel_permutation"] is not None else []
    return tuple(first + before + others + after + last)


@pytest.mark.parametrize("p", [0.5, 0.2])
def test_photometric_distort(p: float) -> None:
    T = pytest.importorskip("torchvision.transforms.v2")
    draws = drawn([{"RandomPhotometricDistort": {"p": p}}], DRAWS)
    for name, low, high in [
        ("brightness", 0.875, 1.125),
        ("contrast", 0.5, 1.5),
        ("saturation", 0.5, 1.5),
        ("hue", -0.05, 0.05),
    ]:
        found = values(draws, f"adjust_{name}", "factor")
        uniform(found, low, high)
        likely(len(found), p)
    permuted = values(draws, "permute_channels", "permutation")
    likely(len(permuted), p)
    equally_likely([*permuted], 6)
    # The combinations and orders, with their frequencies.
    ours = [names(actions) for actions in draws]
    other = [distortions(params) for params in theirs(T.RandomPhotometricDistort(p=p), 5000)]
    kinds = sorted({*ours, *other})
    table = np.array([[found.count(kind) for kind in kinds] for found in (ours, other)])
    assert stats.chi2_contingency(table).pvalue > 1e-4


@pytest.mark.parametrize(
    ("name", "arguments", "p", "action"),
    [
        ("RandomGrayscale", {}, 0.1, {"rgb_to_grayscale": {}}),
        ("RandomInvert", {}, 0.5, {"invert": {}}),
        ("RandomAutocontrast", {}, 0.5, {"autocontrast": {}}),
        ("RandomEqualize", {}, 0.5, {"equalize": {}}),
        ("RandomPosterize", {"bits": 3}, 0.5, {"posterize": {"bits": 3}}),
        ("RandomSolarize", {"threshold": 128.0}, 0.5, {"solarize": {"threshold": 128.0}}),
    ],
)
def test_probabilities_of_colors(name: str, arguments: dict[str, Any], p: float, action: dict[str, Any]) -> None:
    T = pytest.importorskip("torchvision.transforms.v2")
    assert getattr(T, name)(**arguments).p == p
    draws = drawn([{name: arguments}], DRAWS)
    likely(sum(actions == [action] for actions in draws), p)
    assert all(actions in ([], [action]) for actions in draws)
    assert drawn([{name: {**arguments, "p": 0.0}}], 50) == [[]] * 50
    assert drawn([{name: {**arguments, "p": 1.0}}], 50) == [[action]] * 50
    likely(len([d for d in drawn([{name: {**arguments, "p": 0.2}}], DRAWS) if d]), 0.2)


def test_channel_permutation() -> None:
    found = values(drawn([{"RandomChannelPermutation": {}}], DRAWS), "permute_channels", "permutation")
    assert len(found) == DRAWS
    equally_likely([*found], 6)
    assert drawn([{"RandomChannelPermutation": {}}], 2, channels=1) == [[], []]


def test_gamma_is_distributed_as_albumentations() -> None:
    A = pytest.importorskip("albumentations")
    theirs = A.RandomGamma()
    assert (*theirs.gamma_limit, theirs.p) == (80, 120, 0.5)
    draws = drawn([{"RandomGamma": {}}], DRAWS)
    found = values(draws, "adjust_gamma", "gamma")
    likely(len(found), 0.5)
    uniform(found, 0.8, 1.2)
    assert stats.ks_2samp(found, [theirs.get_params_dependent_on_data({}, {})["gamma"] for _ in range(5000)]).pvalue > 1e-4
    assert {*values(draws, "adjust_gamma", "gain")} == {1.0}


def test_grayscale() -> None:
    assert drawn([{"Grayscale": {"num_output_channels": 3}}], 2) == [[{"rgb_to_grayscale": {}}]] * 2
    assert drawn([{"Grayscale": {}}], 1, channels=1) == [[{"rgb_to_grayscale": {}}]]
