"""Batches by buckets, as docs/BUCKETS.md has them: the rule of sd-scripts, pixels as Pillow crops and resizes them, and resumes on other world sizes."""

from __future__ import annotations

import math
import pathlib
import pickle
import re

import numpy as np
import pytest
from PIL import Image

import tarflume
from conftest import pack
from tarflume import transforms as T

SIZES = [(96, 96), (160, 80), (80, 160), (130, 100), (100, 130), (300, 60), (97, 61)]
PIXELS, STEP = 64 * 64, 16


def size_of(n: int) -> tuple[int, int]:
    """Width and height of picture n."""
    return SIZES[n * 7 % 11 % len(SIZES)]


@pytest.fixture(scope="module")
def sized(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """90 pictures without loss, of all sizes, in 3 shards, with a number of tokens."""
    root = tmp_path_factory.mktemp("sized")
    (root / "pairs").mkdir()
    for n in range(90):
        width, height = size_of(n)
        y, x = np.mgrid[0:height, 0:width]
        rgb = np.stack([x * 2 + n, y * 2 + n, (x + y) + 3 * n], axis=-1) % 256
        Image.fromarray(rgb.astype(np.uint8)).save(root / "pairs" / f"{n:03}.png")
        (root / "pairs" / f"{n:03}.json").write_text(f'{{"tokens": {n * 13 % 97}, "n": {n}}}')
    pack("build", root / "pairs", "-o", root / "shards", "--shards", 3, "--require", "png,json")
    return root / "shards"


def theirs(pixels: int, step: int, least: int, most: int) -> list[tuple[int, int]]:
    """make_bucket_resolutions of sd-scripts: widths and heights."""
    found = {(int(math.sqrt(pixels) // step) * step,) * 2}
    width = least
    while width <= most:
        height = min(most, int(pixels // width // step) * step)
        if height >= least:
            found |= {(width, height), (height, width)}
        width += step
    return sorted(found)


@pytest.mark.parametrize(("pixels", "step", "least", "most"), [
    (1024 * 1024, 64, 256, 2048), (512 * 512, 64, 256, 1024), (768 * 1344, 32, 512, 1536), (PIXELS, STEP, 16, 128)])
def test_the_bucket_of_a_picture_is_that_of_sd_scripts(pixels, step, least, most):
    buckets = tarflume.Buckets.aspect(pixels, step, min_side=least, max_side=most)
    sizes = theirs(pixels, step, least, most)
    assert [(width, height) for height, width in buckets.sizes] == sizes
    ratios = np.array([width / height for width, height in sizes])
    random = np.random.default_rng(5)
    for width, height in random.integers(1, 5000, (500, 2)).tolist() + [list(size) for size in sizes]:
        chosen = sizes.index((width, height)) if (width, height) in sizes else np.abs(ratios - width / height).argmin()
        assert buckets.bucket_of(height, width) == chosen, (width, height)


def crop_of(width: int, height: int, to: tuple[int, int]) -> tuple[int, int, int, int]:
    """The largest part of the shape `to`, height and width, in the middle: left, top, right, bottom."""
    if width * to[0] > height * to[1]:
        own = int(height * to[1] / to[0] + 0.5)
        left = (width - own) // 2
        return left, 0, left + own, height
    own = int(width * to[0] / to[1] + 0.5)
    top = (height - own) // 2
    return 0, top, width, top + own


def loader(shards: pathlib.Path, **settings) -> tarflume.Loader:
    settings.setdefault("bucket", tarflume.Buckets.aspect(PIXELS, STEP))
    settings.setdefault("image", tarflume.Image(T.BucketCrop(), "png"))
    if "batch_size" not in settings and "max_tokens" not in settings:
        settings.setdefault("max_pixels", 6 * PIXELS)
    return tarflume.Loader(shards, shuffle="full", seed=3, columns={"n": tarflume.Json("/n", dtype="int64")}, **settings)


def test_pictures_are_those_of_pillow_in_batches_of_one_shape(sized):
    buckets = tarflume.Buckets.aspect(PIXELS, STEP)
    seen = []
    with loader(sized, bucket=buckets) as ours:
        for batch in ours.epoch(0):
            pictures = batch["image"].numpy()
            rows, height, width, channels = pictures.shape
            assert (rows, channels) == (batch.rows, 3) and rows * height * width <= 6 * PIXELS
            for n, picture in zip(batch["n"].tolist(), pictures):
                own = size_of(n)
                assert buckets.sizes[buckets.bucket_of(own[1], own[0])] == (height, width)
                y, x = np.mgrid[0:own[1], 0:own[0]]
                rgb = (np.stack([x * 2 + n, y * 2 + n, (x + y) + 3 * n], axis=-1) % 256).astype(np.uint8)
                part = Image.fromarray(rgb).crop(crop_of(*own, (height, width)))
                right = part.resize((width, height), Image.Resampling.BILINEAR)
                difference = np.abs(np.asarray(right, np.int16) - picture)
                assert difference.max() <= 1, (n, difference.max())
                seen.append(n)
        assert ours.ledger() == ours.expected(0)
    assert sorted(seen) == list(range(90))


def ranks(shards: pathlib.Path, world: int, state: dict | None, **settings) -> list[tarflume.Loader]:
    made = [loader(shards, rank=rank, world_size=world, **settings) for rank in range(world)]
    for one in made:
        if state is not None:
            one.load_state_dict(state)
    return made


@pytest.mark.parametrize("same", ["rank", "step"])
@pytest.mark.parametrize("stop", [0, 1, 3])
def test_four_ranks_go_on_as_three(sized, same, stop):
    begun = ranks(sized, 4, None, same_bucket=same, batch_size=3, max_pixels=None)
    shapes = []
    for one in begun:
        epoch = iter(one.epoch(1))
        shapes.append([next(epoch)["image"].shape for _ in range(stop)])
    if same == "step":
        assert all(own == shapes[0] for own in shapes)
    states = [one.state_dict() for one in begun]
    assert all(state == states[0] for state in states)
    assert sum(states[0]["buckets"]["taken"]) == states[0]["position"]
    rest = ranks(sized, 3, pickle.loads(pickle.dumps(states[0])), same_bucket=same, batch_size=3, max_pixels=None)
    assert len({one.steps_of(1) for one in rest}) == 1
    whole = begun[0].ledger()
    for one in begun[1:]:
        whole = whole.merge(one.ledger())
    for one in rest:
        steps = one.steps_of(1)
        assert sum(1 for _ in one.epoch(1)) == steps and one.current_epoch == 2
        whole = whole.merge(one.ledger())
    whole.prove(rest[0].expected(1))


def test_lengths_and_numbers(sized):
    lengths = [n * 13 % 97 for n in range(90)]
    for source in ("/tokens", np.array(lengths)):
        bucket = tarflume.Buckets.length(source, [32, 64, 128])
        seen = 0
        with loader(sized, bucket=bucket, max_tokens=256, image=None) as ours:
            for batch in ours.epoch(0):
                bounds = {next(bound for bound in (32, 64, 128) if lengths[n] <= bound) for n in batch["n"].tolist()}
                assert len(bounds) == 1 and batch.rows * bounds.pop() <= 256
                seen += batch.rows
        assert seen == 90
    numbers = [n % 2 for n in range(90)]
    by = tarflume.Buckets.by(numbers, sizes=[(32, 64), (64, 32)])
    with loader(sized, bucket=by, batch_size=[8, 4], drop_last=True) as ours:
        shapes = {(batch.rows, *batch["image"].shape[1:3]) for batch in ours.epoch(0)}
        assert shapes == {(8, 32, 64), (4, 64, 32)}
        steps = len(ours)
    assert steps == 45 // 8 + 45 // 4


def test_a_mask_and_boxes_follow_into_the_bucket(tmp_path):
    (tmp_path / "pairs").mkdir()
    for n, (width, height) in enumerate([(160, 80), (80, 160)] * 4):
        Image.new("RGB", (width, height), (9, 9, 9)).save(tmp_path / "pairs" / f"{n}.jpg")
        (tmp_path / "pairs" / f"{n}.json").write_text('{"boxes": [[20, 20, 40, 40]]}')
    pack("build", tmp_path / "pairs", "-o", tmp_path / "shards")
    boxes = tarflume.Boxes("/boxes", format="xywh")
    bucket = tarflume.Buckets.of_sizes([(40, 80), (80, 40)])
    with tarflume.Loader(tmp_path / "shards", image=T.BucketCrop(), boxes=boxes, bucket=bucket, batch_size=2) as ours:
        for batch in ours:
            assert batch["image"].shape[1:3] in ((40, 80), (80, 40))
            np.testing.assert_allclose(batch["boxes"].values.numpy(), [[10, 10, 30, 30]] * 2)


def test_pytorch_gets_one_tensor(sized):
    torch = pytest.importorskip("torch")
    import tarflume.torch

    image = tarflume.Image(T.Compose([T.BucketCrop(random=True), T.RandomHorizontalFlip()]), "png", layout="chw")
    made = tarflume.torch.Loader(sized, image=image, bucket=tarflume.Buckets.aspect(PIXELS, STEP), max_pixels=6 * PIXELS,
                                 shuffle="full", seed=3)
    shapes = [batch["image"].shape for batch in made]
    assert all(isinstance(batch["image"], torch.Tensor) for batch in made)
    assert all(shape[1] == 3 and shape[0] * shape[2] * shape[3] <= 6 * PIXELS for shape in shapes)


@pytest.mark.parametrize(("settings", "says"), [
    ({"max_pixels": 100}, "less than one row of the bucket"),
    ({"bucket": None, "max_pixels": 100, "image": None}, "max_pixels= needs bucket="),
    ({"bucket": None, "batch_size": 4}, "bucket=tarflume.Buckets.aspect()"),
    ({"bucket": 64, "batch_size": 4}, "Buckets.aspect"),
    ({"batch_size": 4, "max_pixels": 1 << 20}, "give batch_size=, max_pixels= or max_tokens="),
    ({"max_tokens": 100}, "buckets by length"),
    ({"batch_size": [4, 4]}, "give one for each"),
    ({"batch_size": 4, "same_bucket": "world"}, "rank"),
    ({"batch_size": 4, "divide": "shard"}, "divide"),
    ({"batch_size": 4, "bucket": tarflume.Buckets.length("/tokens", [10, 20]), "image": None}, "give a larger last bound"),
])
def test_impossible_settings_say_what_to_give(sized, settings, says):
    with pytest.raises(tarflume.Error, match=re.escape(says)):
        loader(sized, **settings)


def test_a_bucket_crop_inside_another_operation_is_refused():
    with pytest.raises(tarflume.Error, match="first list of a recipe"):
        tarflume.Image(T.RandomApply([T.BucketCrop()]), "png")


def test_states_of_other_buckets_are_refused(sized):
    with loader(sized, batch_size=3) as ours:
        next(iter(ours.epoch(0)))
        state = ours.state_dict()
    with loader(sized, batch_size=3, bucket=tarflume.Buckets.aspect(PIXELS, 32)) as other:
        with pytest.raises(tarflume.Error, match="other buckets"):
            other.load_state_dict(state)
    with tarflume.Loader(sized, shuffle="full", seed=3, batch_size=3) as plain:
        with pytest.raises(tarflume.Error, match="with buckets"):
            plain.load_state_dict(state)
