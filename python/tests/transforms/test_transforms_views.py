"""`tarflume.Views`: several pictures of each sample from one decoding."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import numpy as np
import pytest

import tarflume
from tarflume import transforms
from tarflume.errors import UsageError


def crop(side: int, scale: tuple[float, float]) -> transforms.Compose:
    return transforms.Compose(
        [transforms.RandomResizedCrop(side, scale=scale), transforms.RandomHorizontalFlip(), transforms.ColorJitter(0.4)]
    )


LARGE, SMALL = crop(24, (0.32, 1.0)), crop(16, (0.05, 0.32))


def loader(shards: pathlib.Path, views: Any, **settings: Any) -> tarflume.Loader:
    return tarflume.Loader(shards, batch_size=8, shuffle="full", seed=3, views=views, num_threads=2, **settings)


def epoch(loader: tarflume.Loader, number: int = 0) -> dict[int, list[np.ndarray[Any, Any]]]:
    """The views of each sample by its ordinal."""
    found = {}
    for batch in loader.epoch(number):
        columns = [np.asarray(batch[name]) for name in ("global", "local")]
        for row, ordinal in enumerate(np.asarray(batch.ordinals)):
            found[int(ordinal)] = [column[row].copy() for column in columns]
    return found


def same(one: dict[int, Any], other: dict[int, Any]) -> bool:
    return one.keys() == other.keys() and all(
        all(np.array_equal(a, b) for a, b in zip(one[at], other[at], strict=True)) for at in one
    )


@pytest.mark.parametrize(
    ("settings", "shape", "dtype"),
    [
        ({}, (2, 24, 24, 3), "uint8"),
        ({"layout": "chw"}, (2, 3, 24, 24), "uint8"),
        ({"dtype": "float32", "normalize": "imagenet"}, (2, 24, 24, 3), "float32"),
        ({"dtype": "float16", "layout": "chw", "channels": "gray"}, (2, 1, 24, 24), "float16"),
    ],
)
def test_a_group_is_a_column(
    shards: pathlib.Path, settings: dict[str, Any], shape: tuple[int, ...], dtype: str
) -> None:
    views = tarflume.Views(global_=(2, LARGE), local=(3, SMALL), **settings)
    batch = next(iter(loader(shards, views).epoch(0)))
    assert batch["global"].shape == (8, *shape)
    assert batch["global"].dtype == batch["local"].dtype == dtype
    assert batch["local"].shape[1] == 3
    array = np.asarray(batch["global"])
    assert not np.array_equal(array[:, 0], array[:, 1]), "each view has its own draws"


def test_all_ways_to_give_groups_are_the_same(shards: pathlib.Path) -> None:
    views = tarflume.Views({"global": (2, LARGE), "local": (3, SMALL)})
    want = epoch(loader(shards, views))
    assert len(want) == 100
    assert same(want, epoch(loader(shards, tarflume.Views(global_=(2, LARGE), local=[3, SMALL]))))
    image = tarflume.Image(LARGE)
    assert same(want, epoch(loader(shards, tarflume.Views({"global": (2, image)}, local=(3, SMALL)))))
    assert same(want, epoch(loader(shards, None, columns={**views, "n": tarflume.Json("/n")})))
    swapped = tarflume.Views(local=(3, SMALL), global_=(2, LARGE))
    assert same(want, epoch(loader(shards, swapped, label="/class")))
    assert not same(want, epoch(loader(shards, views), 1)), "each epoch has other draws"


def test_a_view_is_the_picture_of_a_recipe(shards: pathlib.Path) -> None:
    plain = transforms.Compose([transforms.Resize((20, 30))])
    views = tarflume.Views(one=(2, plain))
    batches = zip(
        tarflume.Loader(shards, batch_size=10, views=views).epoch(0),
        tarflume.Loader(shards, batch_size=10, image=plain).epoch(0),
        strict=True,
    )
    for batch, single in batches:
        array = np.asarray(batch["one"])
        assert np.array_equal(array[:, 0], np.asarray(single["image"]))
        assert np.array_equal(array[:, 1], np.asarray(single["image"]))


def test_groups_are_a_mapping_and_can_be_pickled(shards: pathlib.Path) -> None:
    views = tarflume.Views(global_=(2, LARGE), local=(3, SMALL), layout="chw")
    assert list(views) == views.keys() == ["global", "local"]
    assert len(views) == 2 and "local" in views and "other" not in views
    with pytest.raises(KeyError, match="it has: global, local"):
        views["other"]
    assert repr(views).startswith("tarflume.Views(groups={'global': (2, transforms.Compose(")
    assert repr(views["local"]).endswith("""layout='chw')["local"]""")
    want = epoch(loader(shards, views))
    assert same(want, epoch(loader(shards, pickle.loads(pickle.dumps(views)))))
    columns = pickle.loads(pickle.dumps({**views}))
    assert same(want, epoch(loader(shards, None, columns=columns)))


def test_torch_tensors_and_a_resumed_loader(shards: pathlib.Path) -> None:
    torch = pytest.importorskip("torch")
    import tarflume.torch

    views = tarflume.Views(global_=(2, LARGE), local=(3, SMALL), layout="chw", dtype="float16")
    settings: dict[str, Any] = {"batch_size": 8, "shuffle": "full", "seed": 3, "views": views}
    first = tarflume.torch.Loader(shards, **settings)
    batches = list(first)
    assert batches[0]["global"].shape == (8, 2, 3, 24, 24)
    assert batches[0]["local"].dtype == torch.float16
    stopped = iter(second := tarflume.torch.Loader(shards, **settings))
    for _ in range(4):
        next(stopped)
    state = second.state_dict()
    resumed = tarflume.torch.Loader(shards, **settings)
    resumed.load_state_dict(state)
    rest = list(resumed)
    assert len(rest) == len(batches) - 4
    for found, want in zip(rest, batches[4:], strict=True):
        assert all(torch.equal(found[name], want[name]) for name in ("global", "local"))


def test_a_function_gets_all_views_of_a_sample(shards: pathlib.Path) -> None:
    views = tarflume.Views(global_=(2, LARGE), local=(3, SMALL))

    def brightest(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return array.max(axis=(1, 2, 3))

    columns = {**views, "brightest": tarflume.Apply(brightest, views["local"], shape=(3,))}
    for batch in loader(shards, None, columns=columns).epoch(0):
        assert np.array_equal(np.asarray(batch["local"]).max(axis=(2, 3, 4)), np.asarray(batch["brightest"]))


@pytest.mark.parametrize("crops", [(9, 14), (48, 10)], ids=repr)
def test_five_and_ten_crops_are_those_of_torchvision(shards: pathlib.Path, crops: tuple[int, int]) -> None:
    torch = pytest.importorskip("torch")
    v2 = pytest.importorskip("torchvision.transforms.v2")

    pairs = [
        (transforms.FiveCrop(crops), v2.FiveCrop(crops)),
        (transforms.TenCrop(crops), v2.TenCrop(crops)),
        (transforms.TenCrop(crops, vertical_flip=True), v2.TenCrop(crops, vertical_flip=True)),
    ]
    for first, most in [([], 0), ([transforms.Resize((50, 61))], 1)]:
        # A crop of a resized picture is resized alone, from its own start.
        whole = tarflume.Loader(shards, image=transforms.Compose(first), take=30)
        for ours, theirs in pairs:
            loader = tarflume.Loader(shards, image=transforms.Compose([*first, ours]), take=30)
            other = []
            for batch, pictures in zip(loader.epoch(0), whole.epoch(0), strict=True):
                picture = torch.from_numpy(np.array(pictures["image"][0])).permute(2, 0, 1)
                want = torch.stack(theirs(picture)).permute(0, 2, 3, 1).numpy().astype(int)
                difference = np.abs(np.asarray(batch["image"])[0].astype(int) - want)
                assert difference.max() <= most
                other.append((difference > 0).mean())
            assert np.mean(other) < 0.01


def test_several_crops_are_the_end_of_a_recipe(shards: pathlib.Path) -> None:
    five = transforms.FiveCrop(16)
    loader = tarflume.Loader(shards, batch_size=4, image=tarflume.Image(five, layout="chw", dtype="float32"))
    assert next(iter(loader.epoch(0)))["image"].shape == (4, 5, 3, 16, 16)
    again = pickle.loads(pickle.dumps(tarflume.Image(five)))
    assert next(iter(tarflume.Loader(shards, image=again).epoch(0)))["image"].shape == (1, 5, 16, 16, 3)
    with pytest.raises(UsageError, match="last operation"):
        tarflume.Image(transforms.Compose([five, transforms.RandomHorizontalFlip()]))
    with pytest.raises(UsageError, match="makes 5 pictures"):
        transforms.apply(five, np.zeros((20, 20, 3), np.uint8))
    with pytest.raises(tarflume.Error, match="smaller than the crop"):
        next(iter(tarflume.Loader(shards, image=transforms.FiveCrop(200)).epoch(0)))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tarflume.Views(), "takes groups"),
        (lambda: tarflume.Views([LARGE]), "takes a dict of groups"),
        (lambda: tarflume.Views(dtyp="float16", one=(2, LARGE)), "did you mean dtype="),
        (lambda: tarflume.Views({"one": LARGE}), 'the group "one" of Views is'),
        (lambda: tarflume.Views(one=("2", LARGE)), "number of views"),
        (lambda: tarflume.Views(one=(2, 224)), "Image takes a transform"),
        (lambda: tarflume.Views(one=(0, LARGE)), "1 to 1024 views, and this one has 0"),
        (lambda: tarflume.Views({"global": (2, LARGE)}, global_=(2, LARGE)), "two groups"),
        (lambda: tarflume.Views(one=(2, transforms.Resize(8))), "one size"),
        (lambda: tarflume.Views(one=(2, LARGE), resize_on_device=64), "resize_on_device"),
        (
            lambda: tarflume.Views(one=(2, LARGE), two=(1, tarflume.Image(SMALL, channels="gray"))),
            "'one' and 'two' differ in channels",
        ),
    ],
)
def test_wrong_groups_are_refused(make: Any, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        make()


def test_a_loader_says_how_views_are_given(shards: pathlib.Path) -> None:
    views = tarflume.Views(one=(2, LARGE))
    with pytest.raises(UsageError, match=r"columns=\{\*\*views\}"):
        tarflume.Loader(shards, columns={"one": views})
    with pytest.raises(UsageError, match=r"views=tarflume\.Views"):
        tarflume.Loader(shards, views={"one": (2, LARGE)})
    with pytest.raises(UsageError, match="two columns 'one'"):
        tarflume.Loader(shards, views=views, columns={"one": "jpg"})
