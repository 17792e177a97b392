"""Class-balanced and weighted orders: proven by counts, resumed, refused by what is wrong."""

from __future__ import annotations

import collections
import json

import numpy as np
import pytest

import tarflume
from conftest import pack
from tarflume import errors

COUNTS = {0: 60, 1: 30, 5: 6}


@pytest.fixture(scope="module")
def uneven(tmp_path_factory) -> tuple[object, list[int]]:
    """96 samples of three classes, in 3 shards, and the class of each."""
    root = tmp_path_factory.mktemp("uneven")
    classes = [c for c, count in COUNTS.items() for _ in range(count)]
    classes = [classes[(n * 37) % 96] for n in range(96)]
    (root / "pairs").mkdir()
    for n, c in enumerate(classes):
        (root / "pairs" / f"{n:03}.json").write_text(json.dumps({"class": c, "n": n, "w": n % 3}))
        (root / "pairs" / f"{n:03}.cls").write_text(str(c))
    pack("build", root / "pairs", "-o", root / "shards", "--shards", 3, "--require", "json")
    return root / "shards", classes


def loader(shards, **words):
    return tarflume.Loader(shards, **({"batch_size": 8, "shuffle": "full", "seed": 1, "label": "/n"} | words))


def drawn(ours, epoch=0):
    return [n for batch in ours.epoch(epoch) for n in batch["label"].tolist()]


@pytest.mark.parametrize("how", ["pointer", "part", "array", "list", "arrow"])
def test_every_class_comes_equally_often_wherever_classes_are_found(uneven, how):
    shards, classes = uneven
    words = {
        "pointer": {"weights": "/class"},
        "part": {"weights": "cls"},
        "array": {"weights": "balanced", "classes": np.array(classes, np.uint8)},
        "list": {"weights": {0: 7, 1: 7, 5: 7}, "classes": classes},
        "arrow": {"weights": "balanced"},
    }[how]
    if how == "arrow":
        pa = pytest.importorskip("pyarrow")
        words["classes"] = pa.table({"key": [f"{n:03}" for n in range(96)], "class": pa.array(classes, pa.int16())})
    with loader(shards, **words) as ours:
        orders = [drawn(ours, epoch) for epoch in range(3)]
        for epoch, order in enumerate(orders):
            assert len(order) == 96 == ours.samples
            assert collections.Counter(classes[n] for n in order) == {0: 32, 1: 32, 5: 32}
            for first in range(0, 96, 3):  # each round of three draws has each class once
                assert {classes[n] for n in order[first:first + 3]} == {0, 1, 5}
            expected = ours.expected(epoch)
            total = expected if epoch == 0 else total.merge(expected)
        ours.ledger().prove(total)
    rounds = [tuple(classes[n] for n in order[first:first + 3]) for order in orders for first in range(0, 96, 3)]
    assert len(set(rounds)) == 6, "in every order"
    rare = [n for order in orders for n in order if classes[n] == 5]
    for first in range(0, 96, 6):
        assert len(set(rare[first:first + 6])) == 6, "each sample of a class once in each pass of the class"


def test_the_order_is_that_of_the_seed_for_any_ranks_and_resumes_anywhere(uneven):
    shards, _ = uneven
    right = drawn(loader(shards, weights="/class"), 1)
    assert right == drawn(loader(shards, weights="/class", batch_size=5, num_threads=1), 1)
    assert right != drawn(loader(shards, weights="/class", seed=2), 1)
    first = loader(shards, weights="/class")
    epoch = first.epoch(1)
    got = [n for _ in range(3) for n in next(epoch)["label"].tolist()]
    state = first.state_dict()
    assert len(json.dumps(state)) < 1000
    epoch.close()
    ledger, rest = first.ledger(), []
    for rank in range(3):
        with loader(shards, weights="/class", rank=rank, world_size=3, batch_size=4, drop_last="uneven") as ours:
            ours.load_state_dict(state)
            rest += drawn(ours, 1)
            ledger = ledger.merge(ours.ledger())
    assert got == right[:24] and sorted(rest) == sorted(right[24:])
    with loader(shards, weights="/class") as ours:
        ledger.prove(ours.expected(1))
    for words in ({}, {"weights": {0: 1, 1: 1, 5: 2}}, {"weights": "/w"}, {"weights": "/class", "select": range(90)}):
        with pytest.raises(errors.StaleError, match="classes and weights|epochs of"):
            loader(shards, **words).load_state_dict(state)


def test_classes_come_by_their_weights_and_0_leaves_one_out(uneven):
    shards, classes = uneven
    with loader(shards, weights={0: 1, 1: 3, 5: 0}, epoch_length=400) as ours:
        order = drawn(ours)
        assert collections.Counter(classes[n] for n in order) == {0: 100, 1: 300}
        ours.ledger().prove(ours.expected(0))
    with loader(shards, weights={0: 1, 1: 3, 5: 0}) as ours:
        assert ours.samples == 90


def test_samples_come_as_often_as_their_weights(uneven):
    shards, _ = uneven
    weights = np.arange(96) % 4
    with loader(shards, weights=weights) as ours:
        for epoch in range(2):
            counts = collections.Counter(drawn(ours, epoch))
            assert counts == {n: n % 4 for n in range(96) if n % 4}
        ours.ledger().prove(ours.expected(0).merge(ours.expected(1)))
    with loader(shards, weights=2 * weights, select=[1, 2]) as ours:
        assert sorted(drawn(ours)) == [1, 2, 2]


def test_copies_of_a_sample_are_augmented_differently(shards):
    image = tarflume.RandomResizedCrop(16)
    words = {"image": image, "select": [3], "batch_size": 8}
    with loader(shards, weights=[8 if n == 3 else 1 for n in range(100)], **words) as ours:
        assert ours.samples == 1  # weights are divided by what all selected ones have in common
    with loader(shards, weights=[n + 2 for n in range(100)], image=image, select=[1, 3], batch_size=8) as ours:
        batch = next(ours.epoch(0))
        pictures = {bytes(np.asarray(batch["image"])[row]) for row in range(8)}
        assert sorted(batch["label"].tolist()) == [1] * 3 + [3] * 5 and len(pictures) == 8


def test_numbers_of_all_samples_are_read_once_and_kept(uneven, tmp_path):
    import shutil

    shutil.copytree(uneven[0], tmp_path / "copy")
    data = tarflume.Dataset(tmp_path / "copy")
    assert data.numbers("/class").tolist() == data.numbers("cls").tolist() == uneven[1]
    for tar in (tmp_path / "copy").glob("*.tar"):
        tar.unlink()
    assert data.numbers("/class").tolist() == uneven[1]
    with pytest.raises(tarflume.Error):
        data.numbers("/n")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"weights": {0: 1, 1: 1}}, "class 5 has no weight"),
        ({"weights": {0: 1, 1: 1, 5: 1, 9: 2}}, "class 9 has weight 2, but no selected sample"),
        ({"weights": {0: 0, 1: 0, 5: 0}}, "all weights are 0"),
        ({"weights": {0: 0.5, 1: 1, 5: 1}}, "weights= takes whole numbers: {class: weight}, not {0: 0.5}"),
        ({"weights": {0: -1, 1: 1, 5: 1}}, "not {0: -1}"),
        ({"weights": {0: 1 << 21, 1: 1, 5: 1}}, "add up to more than"),
        ({"weights": "balanced"}, 'needs classes=; weights="/class"'),
        ({"classes": "/class"}, "classes= needs weights="),
        ({"weights": "/class", "classes": "/class"}, 'weights= takes "balanced" or {class: weight}'),
        ({"weights": [1, 2]}, "2 numbers for a data set of 96 samples; give the weight of each"),
        ({"weights": "balanced", "classes": [1] * 95}, "give the class of each"),
        ({"weights": [0.5] * 96}, "one whole number for each sample"),
        ({"weights": [-1] * 96}, "a sample has weight -1"),
        ({"weights": [1] * 96, "shuffle": "blocks"}, 'shuffle="full"'),
        ({"weights": [1, 2] * 48, "divide": "shard", "world_size": 2}, 'give divide="sample"'),
        ({"weights": "txt"}, "no sample has a part 'txt'"),
    ],
)
def test_weights_that_make_no_order_are_errors(uneven, words, text):
    with pytest.raises(errors.UsageError) as caught:
        loader(uneven[0], **words)
    assert text in str(caught.value)


def test_a_class_that_is_no_number_is_an_error_with_its_place(uneven):
    with pytest.raises(errors.DecodeError) as caught:
        loader(uneven[0], weights="/nothing")
    assert caught.value.key == "000" and str(uneven[0]) in str(caught.value)


def test_mixtures_have_their_own_weights(uneven):
    with pytest.raises(errors.UsageError, match="a mixture has a weight for each data set"):
        loader([(uneven[0], 1), (uneven[0], 1)], weights="/class")
