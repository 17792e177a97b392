"""The draws of RandomIoUCrop, RandomZoomOut and FixedSizeCrop, beside torchvision's."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
scipy_stats = pytest.importorskip("scipy.stats")

import torchvision.transforms.v2 as v2  # noqa: E402
from annotations_oracle import boxes_of  # noqa: E402
from tarflume import transforms as t  # noqa: E402
from tarflume._core import draw_many  # noqa: E402
from torchvision import tv_tensors  # noqa: E402

HEIGHT, WIDTH = 120, 160
BOXES = np.array([[10, 20, 60, 90], [100.5, 30.25, 150, 110], [70, 5, 78, 12]], np.float64)
#: The chance that a test of a true hypothesis fails; the seeds are fixed.
LEAST = 1e-4


def ours(recipe: t.Operation, count: int) -> list[list[dict[str, Any]]]:
    made: list[list[dict[str, Any]]] = json.loads(
        draw_many(recipe.to_json(), 0, count, HEIGHT, WIDTH, 3, BOXES.tobytes())
    )
    return made


def theirs(transform: Any, count: int) -> list[dict[str, Any]]:
    torch.manual_seed(5)
    inputs = [tv_tensors.Image(torch.zeros(3, HEIGHT, WIDTH, dtype=torch.uint8)), boxes_of(BOXES, (HEIGHT, WIDTH))]
    return [transform.make_params(inputs) for _ in range(count)]


def alike(found: Any, wanted: Any, context: str) -> None:
    assert scipy_stats.ks_2samp(found, wanted).pvalue > LEAST, context


@pytest.mark.parametrize(("options", "count"), [(None, 250), ([0.0], 1500), ([0.3], 800), ([0.5], 150), ([0.1, 1.0], 1500)])
def test_crops_by_boxes_have_the_distribution_of_torchvision(options: list[float] | None, count: int) -> None:
    drawn = [actions for actions in ours(t.RandomIoUCrop(sampler_options=options), count)]
    expected = theirs(v2.RandomIoUCrop(sampler_options=options), count)
    crops = [actions[1]["crop"] for actions in drawn if actions]
    wanted = [params for params in expected if params]
    whole = [count - len(crops), count - len(wanted)]
    if options is None or 1.0 in options:
        table = [[whole[0], len(crops)], [whole[1], len(wanted)]]
        assert scipy_stats.chi2_contingency(table).pvalue > LEAST, table
    else:
        assert whole == [0, 0]
    for name in ("left", "top", "width", "height"):
        alike([crop[name] for crop in crops], [params[name] for params in wanted], name)
    for actions in drawn:
        assert not actions or actions[0]["keep_centers"] == actions[1]["crop"]
    inside = [t.apply_to_boxes(actions, BOXES, HEIGHT, WIDTH).any(axis=1) for actions in drawn if actions]
    for at in range(len(BOXES)):
        shares = [[int(sum(mask[at] for mask in masks)) for masks in (inside, [p["is_within_crop_area"] for p in wanted])]]
        shares.append([len(inside) - shares[0][0], len(wanted) - shares[0][1]])
        if min(min(row) for row in shares) > 0:
            assert scipy_stats.chi2_contingency(shares).pvalue > LEAST, (at, shares)


def test_larger_canvases_have_the_distribution_of_torchvision() -> None:
    count = 4000
    drawn = ours(t.RandomZoomOut(p=1.0), count)
    expected = theirs(v2.RandomZoomOut(p=1.0), count)
    for at, name in enumerate(("left", "top", "right", "bottom")):
        found = [actions[0]["pad"]["padding"][at] for actions in drawn]
        alike(found, [params["padding"][at] for params in expected], name)
    happened = sum(len(actions) for actions in ours(t.RandomZoomOut(p=0.3), count))
    assert scipy_stats.binomtest(happened, count, 0.3).pvalue > LEAST


def test_crops_of_fixed_size_are_uniform() -> None:
    drawn = ours(t.FixedSizeCrop((100, 110)), 4000)
    tops = [actions[0]["crop"]["top"] for actions in drawn]
    # The whole part of 20 times a number from 0 to 1.
    assert scipy_stats.chisquare(np.bincount(tops, minlength=20)).pvalue > LEAST
    assert set(tops) == set(range(20))


def test_their_classes_are_converted_and_have_their_arguments() -> None:
    assert vars(t.RandomIoUCrop())["sampler_options"] == tuple(v2.RandomIoUCrop().options)
    assert t.RandomZoomOut().side_range == v2.RandomZoomOut().side_range
    theirs = v2.Compose([v2.RandomZoomOut(fill=7, side_range=(1.0, 3.0), p=0.4), v2.RandomIoUCrop(0.2, trials=9)])
    converted = t.from_torchvision(theirs).recipe
    assert converted == t.Compose([t.RandomZoomOut(7, (1.0, 3.0), 0.4), t.RandomIoUCrop(0.2, trials=9)])
