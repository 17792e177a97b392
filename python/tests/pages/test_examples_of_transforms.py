"""python/examples/deit.py and simclr.py train, and the tutorial changes three lines of a program."""

from __future__ import annotations

import difflib
import importlib.util
import math
import re

import numpy as np
import pytest
from PIL import Image

from conftest import ROOT, pack
from test_pages import photographs


def example(name):
    """A program of python/examples as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "python" / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def waves(folder, count):
    """Drawn pictures, each with its own waves and colors."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:48, 0:48] / 48
    for n in range(count):
        wave = np.sin(rng.uniform(2, 30) * x + rng.uniform(2, 30) * y)
        color = rng.integers(0, 256, (2, 3))
        pixels = color[0] + (color[1] - color[0]) * (wave[..., None] + 1) / 2
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{n:03}.jpg", quality=90)


def test_the_loss_of_simclr_falls(tmp_path):
    pytest.importorskip("torch")
    waves(tmp_path / "drawn", 128)
    pack("build", tmp_path / "drawn", "-o", tmp_path / "shards", "--require", "image")
    losses = example("simclr").train(str(tmp_path / "shards"), steps=60, batch=64)
    assert len(losses) == 60 and all(map(math.isfinite, losses))
    # At the beginning a view is found among 127 by chance.
    assert losses[0] > 0.5 * math.log(127)
    assert sum(losses[-10:]) < 0.9 * sum(losses[:10])


def test_the_loss_of_pairs_is_that_of_the_paper():
    """NT-Xent of two samples, written out."""
    torch = pytest.importorskip("torch")
    features = torch.tensor([[[1.0, 0.0], [0.6, 0.8]], [[0.0, 1.0], [0.0, 2.0]]])
    units = [(1.0, 0.0), (0.0, 1.0), (0.6, 0.8), (0.0, 1.0)]  # first views of both samples, then the second ones
    terms = []
    for i, j in [(0, 2), (1, 3), (2, 0), (3, 1)]:
        likeness = [math.exp((units[i][0] * one[0] + units[i][1] * one[1]) / 0.5) for one in units]
        terms.append(-math.log(likeness[j] / (sum(likeness) - likeness[i])))
    got = example("simclr").loss_of_pairs(features, temperature=0.5).item()
    assert got == pytest.approx(sum(terms) / 4, rel=1e-5)


def test_deit_trains_on_the_photographs(tmp_path):
    pytest.importorskip("timm")
    photographs(tmp_path / "photos")
    pack("build", tmp_path / "photos", "-o", tmp_path / "shards", "--label", "folder")
    losses = example("deit").train(str(tmp_path / "shards"), classes=4, name="test_resnet", epochs=2, batch=4)
    assert len(losses) == 4 and all(map(math.isfinite, losses))


def test_the_programs_of_the_tutorial_differ_in_three_lines():
    page = (ROOT / "docs" / "tutorials" / "recipes.md").read_text()
    programs = re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M)[:2]
    assert all("timm.data.create_transform" in program and "mixup(images, labels)" in program for program in programs)
    changes = [line for line in difflib.ndiff(*(program.splitlines() for program in programs)) if line[0] in "+-"]
    assert [line[0] for line in changes].count("-") == 3
    assert [line[0] for line in changes].count("+") == 3
