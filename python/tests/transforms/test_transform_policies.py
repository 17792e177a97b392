"""Policies beside torchvision's and timm's: strengths, frequencies, and the distribution of what is drawn."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
stats = pytest.importorskip("scipy.stats")
v2 = pytest.importorskip("torchvision.transforms.v2")

from torchvision.transforms.v2.functional._geometry import _get_inverse_affine_matrix  # noqa: E402
from transforms_oracle import applied, drawn  # noqa: E402

DRAWS = 100_000
HEIGHT, WIDTH = 224, 320

# The seeds are fixed, so that a correct distribution passes always.
LEAST = 1e-4

# A change: its name in torchvision, and its strength.
Change = tuple[str, float]

FACTORS = {
    "adjust_brightness": "Brightness",
    "adjust_contrast": "Contrast",
    "adjust_saturation": "Color",
    "adjust_sharpness": "Sharpness",
}
PLAIN = {"autocontrast": "AutoContrast", "equalize": "Equalize", "invert": "Invert"}
MIX = ("mix_begin", "mix_next", "mix_end")


def warped(matrix: list[float], height: int, width: int) -> Change:
    """The change of an affine action, whose origin is the center of the picture."""
    a, b, c, d, e, f = matrix
    if b and d:
        return ("Rotate", math.degrees(math.atan2(d, a)))
    if b:
        assert (a, d, e, f) == (1, 0, 1, 0) and c == pytest.approx(b * height / 2)
        return ("ShearX", b)
    if d:
        assert (a, b, c, e) == (1, 0, 0, 1) and f == pytest.approx(d * width / 2)
        return ("ShearY", d)
    assert (a, e) == (1, 1) and not (c and f)
    return ("TranslateX", -c) if c else ("TranslateY", -f)


def change(action: dict[str, Any], height: int = HEIGHT, width: int = WIDTH) -> Change:
    ((name, arguments),) = action.items()
    if name == "affine":
        return warped(arguments["matrix"], height, width)
    if name == "quarter_turn":
        return ("Rotate", float({1: 90, 2: 180, 3: -90}[arguments["turns"]]))
    if name in FACTORS:
        return (FACTORS[name], arguments["factor"])
    if name == "posterize":
        return ("Posterize", arguments["bits"])
    if name == "solarize":
        return ("Solarize", arguments["threshold"])
    if name == "solarize_add":
        assert arguments["threshold"] == 128
        return ("SolarizeAdd", arguments["add"])
    if name == "gaussian_blur":
        assert arguments["sigma"][0] == arguments["sigma"][1]
        return ("GaussianBlur", arguments["sigma"][0])
    return (PLAIN[name], 0)


def of_torchvision(name: str, magnitude: float) -> Change | None:
    """What torchvision does for a name and a magnitude, or none if that changes no pixel."""
    if name in FACTORS.values():
        return (name, 1 + magnitude) if magnitude else None
    if name.startswith("Translate"):
        # The 16th of 31 strengths is 16 on one processor and 15.999999 on another, with the width of torch's vectors.
        magnitude = int(round(magnitude, 4))
        return (name, magnitude) if magnitude else None
    if name.startswith(("Shear", "Rotate")):
        return (name, magnitude) if magnitude else None
    if name == "Posterize":
        return (name, int(magnitude)) if magnitude < 8 else None
    if name == "Solarize":
        return (name, 255 * magnitude)
    return None if name == "Identity" else (name, 0)


def recorded(transform: Any, count: int, height: int = HEIGHT, width: int = WIDTH) -> list[list[Change]]:
    """The changes that torchvision makes, for each of `count` pictures."""
    made: list[Change | None] = []

    def record(image: Any, name: str, magnitude: float, **_: Any) -> Any:
        made.append(of_torchvision(name, magnitude))
        return image

    transform._apply_image_or_video_transform = record
    torch.manual_seed(1)
    picture = torch.zeros(1, height, width, dtype=torch.uint8)
    all_made = []
    for _ in range(count):
        made.clear()
        transform(picture)
        all_made.append([one for one in made if one])
    return all_made


def rounded(one: Change) -> Change:
    return (one[0], float(f"{one[1]:.5g}"))


def same_frequencies(ours: Counter[Any], theirs: Counter[Any]) -> None:
    """A chi-square test of two tables of counts; rare entries are one."""
    if ours == theirs:
        return
    total = ours + theirs
    common = sorted(key for key in total if total[key] >= 50)
    tables = [[counts[key] for key in common] for counts in (ours, theirs)]
    for table, counts in zip(tables, (ours, theirs), strict=True):
        rest = sum(counts.values()) - sum(table)
        if sum(total.values()) - sum(total[key] for key in common) >= 50:
            table.append(rest)
    assert stats.chi2_contingency(tables).pvalue > LEAST, (ours, theirs)


def same_distribution(ours: list[float], theirs: list[float], what: str) -> None:
    assert stats.ks_2samp(ours, theirs).pvalue > LEAST, what


def changes(recipe: dict[str, Any], count: int = DRAWS, height: int = HEIGHT, width: int = WIDTH) -> list[list[Change]]:
    return [
        [change(action, height, width) for action in actions if not action.keys() & set(MIX)]
        for actions in drawn([recipe], count, height, width)
    ]


def same_policy(ours: list[list[Change]], theirs: list[list[Change]]) -> None:
    """The frequencies of each change with each strength, and of neighboring changes."""
    same_frequencies(
        Counter(rounded(one) for made in ours for one in made),
        Counter(rounded(one) for made in theirs for one in made),
    )
    for key in (lambda made: len(made), lambda made: tuple(name for name, _ in made)):
        same_frequencies(Counter(map(key, ours)), Counter(map(key, theirs)))


@pytest.mark.parametrize(
    ("name", "tables", "bins", "picks"),
    [
        ("RandAugment", v2.RandAugment._AUGMENTATION_SPACE, 31, range(31)),
        ("RandAugment", v2.RandAugment._AUGMENTATION_SPACE, 10, range(10)),
        ("RandAugment", v2.RandAugment._AUGMENTATION_SPACE, 2, range(2)),
        ("TrivialAugmentWide", v2.TrivialAugmentWide._AUGMENTATION_SPACE, 31, range(1)),
        ("TrivialAugmentWide", v2.TrivialAugmentWide._AUGMENTATION_SPACE, 7, range(1)),
    ],
)
@pytest.mark.parametrize(("height", "width"), [(HEIGHT, WIDTH), (331, 662), (1, 3)])
def test_strengths_are_those_of_the_tables(
    name: str, tables: dict[str, Any], bins: int, picks: range, height: int, width: int
) -> None:
    trivial = name == "TrivialAugmentWide"
    for pick in picks:
        arguments = {"num_magnitude_bins": bins}
        if not trivial:
            arguments |= {"magnitude": pick, "num_ops": 40}
        ours = {one for made in changes({name: arguments}, 40_000 if trivial else 40, height, width) for one in made}
        theirs = set()
        for change_name, (table, signed) in tables.items():
            values = table(bins, height, width)
            values = [0.0] if values is None else values.tolist() if trivial else [float(values[pick])]
            for value in values:
                theirs.add(of_torchvision(change_name, value))
                theirs.add(of_torchvision(change_name, -value if signed else value))
        theirs.discard(None)
        # Angles are measured in a matrix.
        assert {exact(one) for one in ours} == {exact(one) for one in theirs}


def exact(one: Change) -> Change:
    """Equal to single precision, whose last bit differs between torchvision's own vectorized loops."""
    return (one[0], float(f"{one[1]:.7g}" if one[0] != "Rotate" else f"{one[1]:.6g}"))


def test_matrices_are_those_of_torchvision() -> None:
    center = [-WIDTH / 2, -HEIGHT / 2]
    seen = Counter[str]()
    for action in (one for made in drawn([{"TrivialAugmentWide": {}}], 5000, HEIGHT, WIDTH) for one in made):
        if "affine" not in action:
            continue
        matrix = action["affine"]["matrix"]
        name, strength = change(action)
        degrees = math.degrees(math.atan(strength))
        expected = {
            "Rotate": lambda s=strength: _get_inverse_affine_matrix([0, 0], -s, [0, 0], 1, [0, 0]),
            "ShearX": lambda d=degrees: _get_inverse_affine_matrix(center, 0, [0, 0], 1, [d, 0]),
            "ShearY": lambda d=degrees: _get_inverse_affine_matrix(center, 0, [0, 0], 1, [0, d]),
            "TranslateX": lambda s=strength: _get_inverse_affine_matrix([0, 0], 0, [s, 0], 1, [0, 0]),
            "TranslateY": lambda s=strength: _get_inverse_affine_matrix([0, 0], 0, [0, s], 1, [0, 0]),
        }[name]()
        np.testing.assert_allclose(matrix, expected, rtol=1e-13, atol=1e-13)
        seen[name] += 1
    assert len(seen) == 5


@pytest.mark.parametrize("arguments", [{}, {"num_ops": 3, "magnitude": 4, "num_magnitude_bins": 10}, {"num_ops": 0}])
def test_rand_augment_is_drawn_as_by_torchvision(arguments: dict[str, Any]) -> None:
    count = DRAWS if not arguments else DRAWS // 5
    same_policy(changes({"RandAugment": arguments}, count), recorded(v2.RandAugment(**arguments), count))


@pytest.mark.parametrize("bins", [31, 5])
def test_trivial_augment_is_drawn_as_by_torchvision(bins: int) -> None:
    ours = changes({"TrivialAugmentWide": {"num_magnitude_bins": bins}})
    theirs = recorded(v2.TrivialAugmentWide(num_magnitude_bins=bins), DRAWS)
    same_policy(ours, theirs)
    for name in ("ShearX", "Rotate", "TranslateY"):
        negative = sum(one[1] < 0 for made in ours for one in made if one[0] == name)
        every = sum(one[0] == name for made in ours for one in made)
        assert stats.binomtest(negative, every).pvalue > LEAST


@pytest.mark.parametrize("policy", ["imagenet", "cifar10", "svhn"])
def test_auto_augment_is_drawn_as_by_torchvision(policy: str) -> None:
    ours = changes({"AutoAugment": {"policy": policy}})
    theirs = recorded(v2.AutoAugment(v2.AutoAugmentPolicy(policy)), DRAWS)
    same_policy(ours, theirs)
    # Pairs with their strengths.
    same_frequencies(
        Counter(tuple(map(rounded, made)) for made in ours), Counter(tuple(map(rounded, made)) for made in theirs)
    )


@pytest.mark.parametrize(
    "arguments",
    [{}, {"severity": 10, "mixture_width": 2, "chain_depth": 2, "alpha": 0.3, "all_ops": False}],
)
def test_aug_mix_is_drawn_as_by_torchvision(arguments: dict[str, Any]) -> None:
    count, height, width = DRAWS // 10, 24, 32
    actions = drawn([{"AugMix": arguments}], count, height, width)
    ours = [
        [change(one, height, width) for one in made if not one.keys() & set(MIX)] for made in actions
    ]
    transform = v2.AugMix(**arguments)
    weights: list[list[float]] = [[], []]
    dirichlet = transform._sample_dirichlet

    def record(parameters: Any) -> Any:
        shares = dirichlet(parameters)
        weights[len(weights[0]) > len(weights[1])].append(float(shares[0, 0]))
        return shares

    transform._sample_dirichlet = record
    same_policy(ours, recorded(transform, count, height, width))
    pictures, chains = [], []
    for made in actions:
        mixed = [one[key]["weight"] for one in made for key in MIX if key in one]
        assert sum(mixed) == pytest.approx(1)
        assert len(mixed) == 1 + arguments.get("mixture_width", 3)
        pictures.append(mixed[0])
        if mixed[0] < 1:
            chains.append(mixed[1] / (1 - mixed[0]))
    same_distribution(pictures, weights[0], "the weight of the picture")
    same_distribution(chains, weights[1], "the share of the first chain")


def test_a_mix_is_the_sum_of_torchvision() -> None:
    rng = np.random.default_rng(1)
    for shape in [(1, 1, 3), (1, 300, 1), (31, 17, 3)]:
        picture = rng.integers(0, 256, shape, np.uint8)
        for _ in range(20):
            weights = rng.dirichlet([1, 1, 1]).astype(np.float32)
            adds = rng.integers(0, 128, 2)
            actions: list[dict[str, Any]] = [{"mix_begin": {"weight": float(weights[0])}}]
            mix = torch.tensor(weights[0]) * torch.tensor(picture)
            for at, add in enumerate(adds):
                actions.append({"solarize_add": {"add": int(add), "threshold": 128}})
                name = "mix_next" if at == 0 else "mix_end"
                actions.append({name: {"weight": float(weights[at + 1])}})
                changed = np.where(picture < 128, np.minimum(picture.astype(int) + add, 255), picture).astype(np.uint8)
                mix.add_(torch.tensor(weights[at + 1]) * torch.tensor(changed))
            np.testing.assert_array_equal(applied(actions, picture), mix.to(torch.uint8).numpy())


class Recorder:
    """Replaces what timm does to a picture by a note of it, and mixes by notes of the weights."""

    def __init__(self, config: str, **settings: Any) -> None:
        aa = pytest.importorskip("timm.data.auto_augment")
        self.aa = aa
        self.made: list[tuple[Change, str] | None] = []
        hparams = {"img_mean": (124, 116, 104), **settings}
        if config.startswith("rand"):
            self.transform = aa.rand_augment_transform(config, hparams)
        elif config.startswith("augmix"):
            hparams.setdefault("translate_pct", 0.3)
            self.transform = aa.augment_and_mix_transform(config, hparams)
        else:
            self.transform = aa.auto_augment_transform(config, hparams)
        ops = getattr(self.transform, "ops", None) or [op for pair in self.transform.policy for op in pair]
        for op in ops:
            op.aug_fn = self.noting(op.name)

    def noting(self, name: str) -> Any:
        def note(image: Any, *levels: float, **kwargs: Any) -> Any:
            self.made.append(self.note(name, levels[0] if levels else 0.0, kwargs))
            return image

        return note

    def note(self, name: str, level: float, kwargs: dict[str, Any]) -> tuple[Change, str] | None:
        for ending in ("Increasing", "Original", "Rel"):
            name = name.removesuffix(ending)
        if name in ("Rotate", "ShearX", "ShearY", "TranslateX", "TranslateY"):
            assert kwargs["fillcolor"] == (124, 116, 104)
            interpolation = self.aa._interpolation(dict(kwargs)).name.lower()
            # A translation of Pillow says where a pixel comes from.
            level *= {"TranslateX": -WIDTH, "TranslateY": -HEIGHT}.get(name, 1)
            return ((name, level), interpolation) if level else None
        if name == "GaussianBlurRand":
            return (("GaussianBlur", random.uniform(0.1, 2.0 * level)), "")
        if name == "Desaturate":
            name, level = "Color", min(1.0, max(0.0, 1.0 - level))
        unchanged = {"Posterize": level >= 8, "Solarize": level >= 256}.get(name, name in FACTORS.values() and level == 1)
        return None if unchanged else ((name, max(level, 0) if name == "Posterize" else level), "")

    def record(self, count: int) -> list[list[tuple[Change, str]]]:
        random.seed(2)
        np.random.seed(3)
        from PIL import Image

        picture = Image.new("RGB", (4, 4))
        noted = []
        for _ in range(count):
            self.made.clear()
            self.transform(picture)
            noted.append([one for one in self.made if one])
        return noted


def noted(recipe: dict[str, Any], count: int) -> list[list[tuple[Change, str]]]:
    return [
        [
            (change(one), one["affine"]["interpolation"] if "affine" in one else "")
            for one in actions
            if not one.keys() & set(MIX)
        ]
        for actions in drawn([recipe], count, HEIGHT, WIDTH)
    ]


@pytest.mark.parametrize(
    "config",
    [
        "rand-m9-mstd0.5-inc1",
        "rand-m9-mstd0.5",
        "rand-m8-inc1-mstd101-n3-p0.3",
        "rand-m15-mmax20-mstd2-inc1",
        "rand-m40-mmax40-mstd101-inc1",
        "rand-m6-inc1-tweights-n3",
        "rand-m6-inc1-t3a-mstd0.5",
        "rand-m9-t3aw-n4-p0.9",
        "original",
        "original-mstd0.5",
        "originalr",
        "v0",
        "v0r-mstd0.5",
        "3a",
        "augmix-m5-w4",
        "augmix-m5-w4-d1-b1",
        "augmix-m3-mstd1",
    ],
)
def test_timm_is_drawn_as_by_timm(config: str) -> None:
    count = DRAWS if config == "rand-m9-mstd0.5-inc1" else DRAWS // (20 if config.startswith("augmix") else 5)
    ours = noted({"TimmAugment": {"config": config}}, count)
    theirs = Recorder(config).record(count)
    for key in (
        lambda made: len(made),
        lambda made: tuple(one[0][0] for one in made),
        lambda made: tuple(one[1] for one in made),
    ):
        same_frequencies(Counter(map(key, ours)), Counter(map(key, theirs)))
    names = {one[0][0] for made in theirs for one in made}
    strengths = [
        # Rounded, because angles are measured in a matrix.
        {name: [rounded(one[0])[1] for made in all_made for one in made if one[0][0] == name] for name in names}
        for all_made in (ours, theirs)
    ]
    for name in names:
        same_distribution(strengths[0][name], strengths[1][name], name)
        values = [Counter(rounded((name, value)) for value in side[name]) for side in strengths]
        # A fixed level has the same few strengths to the last digit that is compared, a random one has many.
        if len(values[1]) < 100:
            assert {key for key, n in values[0].items() if n > 20} <= values[1].keys(), name
            same_frequencies(*values)


def test_timm_mixes_with_the_same_weights() -> None:
    actions = drawn([{"TimmAugment": {"config": "augmix-m5-w4-a0.7"}}], DRAWS // 10, 32, 32)
    np.random.seed(4)
    theirs = [(np.random.dirichlet([0.7] * 4), np.random.beta(0.7, 0.7)) for _ in range(DRAWS // 10)]
    ours = [[one[key]["weight"] for one in made for key in MIX if key in one] for made in actions]
    same_distribution([made[0] for made in ours], [1 - m for _, m in theirs], "the weight of the picture")
    for at in range(4):
        same_distribution([made[1 + at] for made in ours], [ws[at] * m for ws, m in theirs], f"the weight of chain {at}")


def test_warps_have_the_settings_of_timm() -> None:
    settings = {"fill": [1, 2, 3], "interpolation": "nearest", "translate_pct": 0.1}
    for actions in drawn([{"TimmAugment": {"config": "rand-m9-n8-p1", **settings}}], 200, HEIGHT, WIDTH):
        for action in actions:
            if "affine" in action:
                assert action["affine"]["fill"] == [1, 2, 3]
                assert action["affine"]["interpolation"] == "nearest"
                name, pixels = change(action)
                if name == "TranslateX":
                    assert abs(pixels) == pytest.approx(0.09 * WIDTH)
