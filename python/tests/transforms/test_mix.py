"""`mix=`: rows of batches beside a reference in NumPy, timm and torchvision, and settings that are refused."""

from __future__ import annotations

import pathlib
import pickle
import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

import tarflume
from tarflume.errors import DecodeError, UsageError

HEIGHT, WIDTH = 14, 18
ROWS = HEIGHT * WIDTH
IMAGE = tarflume.Image(tarflume.Resize((HEIGHT, WIDTH)))
FLOATS = tarflume.Image(tarflume.Resize((HEIGHT, WIDTH)), layout="chw", dtype="float32", normalize="imagenet")


def batches(shards: Any, epoch: int = 0, **settings: Any) -> list[dict[str, np.ndarray]]:
    """The columns of an epoch; labels are the numbers of the samples, so that partners are known."""
    words = {"batch_size": 10, "shuffle": "full", "seed": 3, "image": IMAGE, "label": "/n", "num_threads": 2}
    with tarflume.Loader(shards, **(words | settings)) as loader:
        return [columns(batch) for batch in loader.epoch(epoch)]


def columns(batch: Any) -> dict[str, np.ndarray]:
    return {name: np.array(batch[name]) for name in batch if name != "key"}


def pairs(**arguments: Any) -> tarflume.Mix:
    return tarflume.Mix(targets="pair", **arguments)


def reference(own: np.ndarray, other: np.ndarray, lam: float) -> np.ndarray:
    """MixUp of two rows, as the formula has it."""
    return own.astype(np.float64) * lam + other.astype(np.float64) * (1 - lam)


def box(now: np.ndarray, own: np.ndarray, other: np.ndarray) -> int:
    """The pixels of the rectangle of `other` in `now`; the rest is `own`. Planes are last."""
    pasted = (now == other).all(-1) & (now != own).any(-1)
    rows, places = np.flatnonzero(pasted.any(1)), np.flatnonzero(pasted.any(0))
    expected = own.copy()
    area = (slice(rows[0], rows[-1] + 1), slice(places[0], places[-1] + 1))
    expected[area] = other[area]
    np.testing.assert_array_equal(now, expected)
    return int((rows[-1] + 1 - rows[0]) * (places[-1] + 1 - places[0]))


def check(now: dict[str, np.ndarray], before: dict[str, np.ndarray], partner: str) -> set[str]:
    """Checks all rows of a batch; returns what was done to them."""
    done = set()
    count = len(now["label"])
    np.testing.assert_array_equal(now["label_a"], now["label"])
    for row in range(count):
        lam = float(now["lam"][row])
        at = (row - 1) % count if partner == "previous" else count - 1 - row
        if lam == 1.0 and now["label_b"][row] == now["label"][row]:
            np.testing.assert_array_equal(now["image"][row], before["image"][row])
            done.add("alone")
            continue
        assert now["label_b"][row] == before["label"][at]
        own, other, made = (side[place] for side, place in
                            ((before["image"], row), (before["image"], at), (now["image"], row)))  # fmt: skip
        mixed = reference(own, other, lam)
        if np.abs(made - mixed).max() <= (0.5001 if made.dtype == np.uint8 else 1e-5):
            done.add("mixup")
            continue
        planes = (lambda array: array) if made.shape[-1] == 3 else (lambda array: array.transpose(1, 2, 0))
        pixels = box(planes(made), planes(own), planes(other))
        # Pixels at the edge of the rectangle may be equal in both pictures, so that it seems smaller.
        assert pixels <= round((1 - lam) * ROWS) <= pixels + 2 * (HEIGHT + WIDTH)
        done.add("cutmix")
    return done


@pytest.mark.parametrize("image", [IMAGE, FLOATS], ids=["bytes", "floats"])
@pytest.mark.parametrize(
    ("mode", "partner"),
    [("batch", "previous"), ("batch", "mirrored"), ("pair", "mirrored"), ("elem", "mirrored"), ("elem", "previous")],
)
def test_rows_are_what_the_formulas_say(shards: pathlib.Path, image: Any, mode: Any, partner: Any) -> None:
    mix = pairs(mixup_alpha=0.8, cutmix_alpha=1.0, mode=mode, partner=partner, prob=0.9)
    done = set()
    for epoch in range(3):
        now = batches(shards, epoch, image=image, mix=mix)
        for one, before in zip(now, batches(shards, epoch, image=image), strict=True):
            done |= check(one, before, partner)
            assert mode != "batch" or len({*one["lam"].tolist()}) == 1
            assert mode != "pair" or one["lam"].tolist() == one["lam"][::-1].tolist()
    assert done == {"mixup", "cutmix"} or done == {"alone", "mixup", "cutmix"}


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_soft_targets_are_those_of_the_formula(shards: pathlib.Path, smoothing: float) -> None:
    settings: dict[str, Any] = {"mixup_alpha": 0.8, "cutmix_alpha": 1.0, "mode": "elem"}
    soft = tarflume.Mix(num_classes=100, label_smoothing=smoothing, target="soft", **settings)
    for one, pair in zip(batches(shards, mix=soft), batches(shards, mix=pairs(**settings)), strict=True):
        assert list(one) == ["image", "label", "soft"] and one["soft"].dtype == np.float32
        np.testing.assert_array_equal(one["image"], pair["image"])
        off = smoothing / 100
        both = [np.eye(100)[pair[name]] * (1 - smoothing) + off for name in ("label_a", "label_b")]
        lam = pair["lam"].astype(np.float64)[:, None]
        np.testing.assert_allclose(one["soft"], both[0] * lam + both[1] * (1 - lam), atol=1e-6)
        np.testing.assert_allclose(one["soft"].sum(1), 1, atol=1e-5)


@pytest.mark.parametrize("mode", ["batch", "pair", "elem"])
@pytest.mark.parametrize("cutmix", [False, True], ids=["mixup", "cutmix"])
def test_timm_mixes_the_same_rows_with_the_same_draws(shards: pathlib.Path, mode: Any, cutmix: bool) -> None:
    torch, data = pytest.importorskip("torch"), pytest.importorskip("timm.data")
    theirs = data.Mixup(0.0 if cutmix else 0.8, 1.0 if cutmix else 0.0, mode=mode, label_smoothing=0.1, num_classes=100)
    mix = tarflume.Mix.from_timm(theirs)
    arguments = {"cutmix_alpha": 1.0} if cutmix else {"mixup_alpha": 0.8}
    drawn = pairs(mode=mode, partner="mirrored", **arguments)
    found = zip(*(batches(shards, image=FLOATS, **words) for words in ({}, {"mix": mix}, {"mix": drawn})), strict=True)
    for before, now, pair in found:
        target = data.mixup.mixup_target(torch.tensor(before["label"]), 100, torch.tensor(pair["lam"])[:, None], 0.1)
        np.testing.assert_allclose(now["target"], target, atol=1e-6)
        if cutmix:
            continue
        lams = pair["lam"].astype(np.float64)
        theirs._params_per_batch = lambda lams=lams: (float(lams[0]), False)
        theirs._params_per_elem = lambda size, lams=lams: (lams[:size], np.zeros(size, bool))
        mixed, _ = theirs(torch.tensor(before["image"]), torch.tensor(before["label"]))
        np.testing.assert_allclose(now["image"], mixed, atol=1e-5)


def test_a_short_batch_and_rows_of_padding(shards: pathlib.Path) -> None:
    mix = pairs(mixup_alpha=0.8, mode="elem", partner="previous")
    for drop_last, sizes in ((False, [30, 30, 30, 10]), (True, [30, 30, 30]), ("pad", [30, 30, 30, 30])):
        words: dict[str, Any] = {"batch_size": 30, "drop_last": drop_last}
        now = batches(shards, mix=mix, **words)
        assert [len(one["label"]) for one in now] == sizes
        before = batches(shards, **words)
        for one, other in zip(now[:-1], before[:-1], strict=True):
            check(one, other, "previous")
        last = {name: column[:10] for name, column in now[-1].items()}
        if drop_last == "pad":
            # Rows of padding do not change, and are not the partner of any row.
            np.testing.assert_array_equal(now[-1]["lam"][10:], 1)
            np.testing.assert_array_equal(now[-1]["image"][10:], before[-1]["image"][10:])
            assert {*last["label_b"]} <= {*last["label"]}
            check(last, {name: column[:10] for name, column in before[-1].items()}, "previous")


@pytest.fixture(scope="module")
def one_bad(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Shards of 24 samples. The JPEG of number 5 cannot be decoded."""
    import conftest

    root = tmp_path_factory.mktemp("bad")
    folder = conftest.pairs(root / "pairs", 24)
    (folder / "0005.jpg").write_bytes(b"no picture at all")
    conftest.pack("build", folder, "-o", root / "shards", "--shards", 2, "--check", "none")
    return root / "shards"


@pytest.mark.parametrize("on_bad", ["skip", "substitute"])
def test_bad_samples_are_partners_of_no_row(one_bad: pathlib.Path, on_bad: str) -> None:
    words: dict[str, Any] = {"shuffle": "none", "batch_size": 12, "on_bad": on_bad}
    mix = pairs(mixup_alpha=0.8, mode="elem", partner="previous")
    now, before = batches(one_bad, mix=mix, **words)[0], batches(one_bad, **words)[0]
    assert 5 not in now["label"].tolist() and 5 not in now["label_b"].tolist()
    kept = np.arange(12) != 5 if on_bad == "substitute" else np.ones(11, bool)
    assert len(now["label"]) == len(kept)
    np.testing.assert_array_equal(now["lam"][~kept], 1)
    np.testing.assert_array_equal(now["image"][~kept], before["image"][~kept])
    assert {*now["label_b"][kept]} == {*now["label"][kept]}
    check(*({name: column[kept] for name, column in side.items()} for side in (now, before)), "previous")


def test_nothing_depends_on_threads_and_resuming(shards: pathlib.Path) -> None:
    words: dict[str, Any] = {
        "batch_size": 8, "shuffle": "full", "seed": 5, "image": IMAGE, "label": "/n",
        "mix": tarflume.Mix(mixup_alpha=0.4, cutmix_alpha=1.0, num_classes=100),
    }  # fmt: skip
    whole = [columns(batch) for batch in tarflume.Loader(shards, num_threads=1, **words).epoch(2)]
    loader = tarflume.Loader(shards, num_threads=4, **words)
    epoch = loader.epoch(2)
    begun = [columns(next(epoch)) for _ in range(5)]
    again = pickle.loads(pickle.dumps(tarflume.Loader(shards, num_threads=2, **words)))
    again.load_state_dict(loader.state_dict())
    rest = [columns(batch) for batch in again.epoch(2)]
    assert len(begun) + len(rest) == len(whole) == 13
    for one, other in zip([*begun, *rest], whole, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
    with tarflume.Loader(shards, **words) as other_epoch:
        first = columns(next(other_epoch.epoch(3)))
    assert not np.array_equal(first["target"], whole[0]["target"])


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_a_data_set_in_workers_has_the_batches_of_the_loader(shards: pathlib.Path, workers: int) -> None:
    torch = pytest.importorskip("torch")
    mix = tarflume.Mix(mixup_alpha=0.4, cutmix_alpha=1.0, num_classes=100)
    words: dict[str, Any] = {"batch_size": 10, "shuffle": "full", "seed": 3, "image": IMAGE, "label": "/n", "mix": mix}
    data = tarflume.torch.Dataset(shards, **words)
    loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=workers)
    expected = batches(shards, mix=mix)
    found = list(loader)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        for name in ("image", "label", "target"):
            np.testing.assert_array_equal(one[name].numpy(), other[name])
    with pytest.raises(UsageError, match="give batch_size="):
        tarflume.torch.Dataset(shards, **(words | {"batch_size": None}))


def test_torch_has_tensors(shards: pathlib.Path) -> None:
    torch = pytest.importorskip("torch")
    mix = tarflume.Mix(cutmix_alpha=1.0, num_classes=100, label_smoothing=0.1)
    loader = tarflume.torch.Loader(shards, batch_size=10, image=FLOATS, label="/n", mix=mix)
    batch = next(iter(loader))
    assert batch["target"].shape == (10, 100) and batch["target"].dtype == torch.float32
    logits = torch.zeros(10, 100)
    loss = torch.nn.functional.cross_entropy(logits, batch["target"])
    assert float(loss) == pytest.approx(np.log(100), rel=1e-5)


def drawn_weights(shards: pathlib.Path, epochs: int, **arguments: Any) -> np.ndarray:
    """The weights of the rows of many batches of tiny pictures."""
    words: dict[str, Any] = {"image": tarflume.Resize((64, 64)), "batch_size": 100, "mix": pairs(mode="elem", **arguments)}
    with tarflume.Loader(shards, label="/n", seed=11, num_threads=2, **words) as loader:
        return np.concatenate([np.array(batch["lam"]) for epoch in range(epochs) for batch in loader.epoch(epoch)])


def test_weights_have_the_distribution_of_timm(shards: pathlib.Path) -> None:
    for alpha in (0.2, 1.0, 3.0):
        found = drawn_weights(shards, 30, mixup_alpha=alpha)
        assert len(found) == 3000
        assert stats.kstest(found, stats.beta(alpha, alpha).cdf).pvalue > 1e-4, alpha


def test_boxes_have_the_distribution_of_timm(shards: pathlib.Path) -> None:
    timm_mixup = pytest.importorskip("timm.data.mixup")
    numbers = np.random.default_rng(5)
    np.random.seed(5)
    theirs = [
        timm_mixup.cutmix_bbox_and_lam((1, 3, 64, 64), float(lam), correct_lam=True)[1] for lam in numbers.beta(1, 1, 3000)
    ]
    found = drawn_weights(shards, 30, cutmix_alpha=1.0)
    assert stats.ks_2samp(found, theirs).pvalue > 1e-4


def test_probabilities_of_mixing_and_of_the_switch(shards: pathlib.Path) -> None:
    found = drawn_weights(shards, 30, mixup_alpha=1.0, prob=0.3)
    assert stats.binomtest(int(np.sum(found < 1)), 3000, 0.3).pvalue > 1e-4
    # Of 64 x 64 pixels, weights of CutMix are whole shares, and those of MixUp are not.
    found = drawn_weights(shards, 30, mixup_alpha=1.0, cutmix_alpha=1.0, switch_prob=0.2)
    whole = np.abs(found * 4096 - np.rint(found * 4096)) < 1e-3
    assert 0.15 < whole.mean() < 0.25


MIX = tarflume.Mix(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=1000, label_smoothing=0.1)


def test_a_mix_is_made_again_by_its_repr_and_by_pickle() -> None:
    for mix in (MIX, pairs(cutmix_alpha=1), tarflume.Mix("picture", "class", mixup_alpha=0.2, num_classes=3, prob=0.5)):
        for again in (eval(repr(mix), {"tarflume": tarflume}), pickle.loads(pickle.dumps(mix))):
            assert again == mix and hash(again) == hash(mix) and repr(again) == repr(mix)
    assert repr(MIX) == "tarflume.Mix(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=1000, label_smoothing=0.1)"
    with pytest.raises(AttributeError):
        MIX.prob = 0.5  # type: ignore[misc]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "mixup_alpha is None; and cutmix_alpha is None, too: give one or both"),
    ({"mixup_alpha": 0.0}, "mixup_alpha is 0.0; an alpha is above 0, and None turns MixUp off"),
    ({"cutmix_alpha": -1}, "cutmix_alpha is -1; it is a number above 0"),
    ({"mixup_alpha": "0.2"}, "mixup_alpha is '0.2'; it is a number above 0"),
    ({"mixup_alpha": 0.2}, "num_classes is None; soft targets need it"),
    ({"mixup_alpha": 0.2, "num_classes": 0}, "num_classes is 0; it is a whole number of at least 1"),
    ({"mixup_alpha": 0.2, "num_classes": 2.5}, "num_classes is 2.5"),
    ({"mixup_alpha": 0.2, "num_classes": 9, "prob": 1.5}, "prob is 1.5; a probability is a number from 0 to 1"),
    ({"mixup_alpha": 0.2, "num_classes": 9, "switch_prob": -0.1}, "switch_prob is -0.1"),
    ({"mixup_alpha": 0.2, "num_classes": 9, "label_smoothing": 2}, "label_smoothing is 2"),
    ({"mixup_alpha": 0.2, "num_classes": 9, "mode": "row"}, "mode is 'row'; it is one of 'batch', 'pair', 'elem'"),
    ({"mixup_alpha": 0.2, "num_classes": 9, "partner": "next"}, "partner is 'next'; it is one of 'previous', 'mirrored'"),
    ({"mixup_alpha": 0.2, "num_classes": 9, "mode": "pair", "partner": "previous"}, 'write partner="mirrored"'),
    ({"mixup_alpha": 0.2, "targets": "hard"}, "targets is 'hard'; it is one of 'soft', 'pair'"),
    ({"mixup_alpha": 0.2, "targets": "pair", "label_smoothing": 0.1}, "give it to the loss"),
    ({"mixup_alpha": 0.2, "num_classes": 9, "image": ""}, "image is ''; it is the name of a column"),
]


@pytest.mark.parametrize(("arguments", "text"), WRONG, ids=[text for _, text in WRONG])
def test_wrong_settings_are_named(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"Mix: {text}" if text[0].islower() and ";" in text else text)):
        tarflume.Mix(**arguments)


def test_what_a_loader_cannot_mix_is_named(shards: pathlib.Path) -> None:
    def refusal(**settings: Any) -> str:
        with pytest.raises(UsageError) as error:
            tarflume.Loader(shards, **({"image": IMAGE, "label": "/n", "batch_size": 4} | settings))
        return str(error.value)

    assert "mix= takes a tarflume.Mix, not 0.2" in refusal(mix=0.2)
    assert "there is no column 'picture'; the columns are: image, label" in refusal(
        mix=tarflume.Mix("picture", mixup_alpha=0.2, num_classes=100)
    )
    assert "'image': its rows have different sizes" in refusal(image=tarflume.OriginalSize(10_000), mix=MIX)
    assert "there is no column 'label'" in refusal(label=None, mix=MIX)
    assert "mix=tarflume.Mix(" in refusal(mixup=MIX)
    with (
        tarflume.Loader(shards, image=IMAGE, label="/n", batch_size=50, mix=tarflume.Mix(mixup_alpha=1, num_classes=7)) as few,
        pytest.raises(DecodeError, match="the label is 7, and classes are 0 to 6"),
    ):
        next(iter(few))


def test_timm_settings_become_ours() -> None:
    data = pytest.importorskip("timm.data")
    deit = data.Mixup(0.8, 1.0, prob=1.0, switch_prob=0.5, mode="batch", label_smoothing=0.1, num_classes=1000)
    assert tarflume.Mix.from_timm(deit) == tarflume.Mix(
        mixup_alpha=0.8, cutmix_alpha=1.0, partner="mirrored", num_classes=1000, label_smoothing=0.1
    )
    fast = data.FastCollateMixup(0.2, mode="elem", prob=0.7, num_classes=10, label_smoothing=0.0)
    assert tarflume.Mix.from_timm(fast, label="class") == tarflume.Mix(
        label="class", mixup_alpha=0.2, mode="elem", partner="mirrored", prob=0.7, num_classes=10
    )
    with pytest.raises(UsageError, match=r"cutmix_minmax=\[0.2, 0.8\].*write cutmix_alpha=1.0"):
        tarflume.Mix.from_timm(data.Mixup(cutmix_minmax=[0.2, 0.8]))
    with pytest.raises(UsageError, match="correct_lam=False"):
        tarflume.Mix.from_timm(data.Mixup(correct_lam=False))
    with pytest.raises(UsageError, match="takes a timm.data.Mixup, not 0.8"):
        tarflume.Mix.from_timm(0.8)


def test_torchvision_settings_become_ours() -> None:
    v2 = pytest.importorskip("torchvision.transforms.v2")
    mixup, cutmix = v2.MixUp(alpha=0.2, num_classes=1000), v2.CutMix(alpha=1.0, num_classes=1000)
    convert = tarflume.Mix.from_torchvision
    plain = {"num_classes": 1000, "partner": "previous"}
    assert convert(mixup) == tarflume.Mix(mixup_alpha=0.2, **plain)
    assert convert(cutmix, "picture", "class") == tarflume.Mix("picture", "class", cutmix_alpha=1.0, **plain)
    assert convert(v2.RandomChoice([mixup, cutmix])) == tarflume.Mix(mixup_alpha=0.2, cutmix_alpha=1.0, **plain)
    weighted = convert(v2.RandomChoice([cutmix, mixup], p=[0.25, 0.75]))
    assert weighted == tarflume.Mix(mixup_alpha=0.2, cutmix_alpha=1.0, switch_prob=0.25, **plain)
    for other in (v2.RandomChoice([mixup, mixup]), v2.RandomHorizontalFlip(), v2.Compose([mixup])):
        with pytest.raises(UsageError, match="takes v2.MixUp, v2.CutMix or v2.RandomChoice of one of each"):
            convert(other)
    with pytest.raises(UsageError, match=r"v2.MixUp\(num_classes=1000\)"):
        convert(v2.MixUp(alpha=0.2))
    with pytest.raises(UsageError, match="tarflume.Mix.from_torchvision"):
        tarflume.transforms.from_torchvision(v2.Compose([v2.RandomHorizontalFlip(), mixup]))


@pytest.mark.parametrize("kind", ["mixup", "cutmix"])
def test_torchvision_mixes_the_same_rows_with_the_same_draws(shards: pathlib.Path, kind: str) -> None:
    torch, v2 = pytest.importorskip("torch"), pytest.importorskip("torchvision.transforms.v2")
    theirs = {"mixup": v2.MixUp, "cutmix": v2.CutMix}[kind](num_classes=100)
    mix = tarflume.Mix.from_torchvision(theirs)
    drawn = pairs(partner="previous", **{f"{kind}_alpha": 1.0})
    found = zip(*(batches(shards, image=FLOATS, **words) for words in ({}, {"mix": mix}, {"mix": drawn})), strict=True)
    for before, now, pair in found:
        lam = float(pair["lam"][0])
        params: dict[str, Any] = {"labels": torch.tensor(before["label"]), "batch_size": 10, "lam": lam}
        if kind == "cutmix":
            changed = (now["image"] != before["image"]).any((0, 1))
            rows, places = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
            params = {"labels": params["labels"], "batch_size": 10, "lam_adjusted": lam}
            params["box"] = (places[0], rows[0], places[-1] + 1, rows[-1] + 1)
        mixed = theirs.transform(torch.tensor(before["image"]), params)
        np.testing.assert_allclose(now["image"], mixed, atol=1e-5)
        labels = theirs._mixup_label(params["labels"], lam=lam)
        np.testing.assert_allclose(now["target"], labels, atol=1e-6)
