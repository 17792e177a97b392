"""Each row of docs/DATASETS.md: a miniature of the data set is made, the command of the page packs it, and every sample is
compared with what its publisher states: picture, label, boxes, captions, masks and split."""

from __future__ import annotations

import io
import json
import os
import pathlib
import re
import shlex
import subprocess

from typing import Any

import numpy as np
import pytest
from PIL import Image

import boxes  # noqa: F401
import captions  # noqa: F401
import classes  # noqa: F401
import pictures_in_pairs  # noqa: F401
import tables  # noqa: F401
from classes import bands_tiff
from miniature import LAYOUTS, Expected, Found, Miniature, samples

PACK = os.environ.get("TARFLUME_PACK", "pack")
PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "DATASETS.md"
IMAGES = ("jpg", "jpeg", "png", "tif", "bmp", "gif", "ppm", "webp")


def rows() -> dict[str, list[str]]:
    """The commands of each data set on the page. A cell with a vertical bar has a backslash before it."""
    found: dict[str, list[str]] = {}
    for line in PAGE.read_text().split("## What has no command")[0].splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 3 and "`pack " in cells[2]:
            assert cells[0] not in found, cells[0]
            found[cells[0]] = [command.replace(r"\|", "|") for command in re.findall(r"`(pack [^`]*)`", cells[2])]
    return found


def test_the_page_has_a_row_for_each_miniature() -> None:
    assert sorted(rows()) == sorted(LAYOUTS)
    assert len(LAYOUTS) >= 80


def same(found: Any, expected: Any) -> bool:
    """Compares values. Numbers are equal by value, and True is not 1."""
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(name in found and same(found[name], value) for name, value in expected.items())
    return isinstance(found, bool) == isinstance(expected, bool) and bool(found == expected)


def pixels(content: bytes) -> np.ndarray[Any, Any]:
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image)


def is_of(expected: Expected, found: Found) -> bool:
    """Whether a sample has the picture, and the key if one is expected."""
    if expected.key is not None and expected.key != found.key:
        return False
    content = [part for ending, part in found.parts.items() if ending.rsplit(".", 1)[-1] in IMAGES]
    if expected.picture is None:
        return expected.key is not None and not content
    if isinstance(expected.picture, bytes):
        return expected.picture in content
    return any(np.array_equal(pixels(part), expected.picture) for part in content)


def compare(expected: Expected, found: Found) -> None:
    values = json.loads(found.parts.get("json", b"{}"))
    for name, value in expected.json.items():
        assert same(values.get(name), value), f"{found.key}: {name} is {values.get(name)!r}, not {value!r}"
    assert found.split == expected.split, f"{found.key}: {found.split}"
    for name, part in expected.parts.items():
        assert found.parts.get(name) == part, f"{found.key}: {name} of {sorted(found.parts)}"


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_the_command_of_the_page_packs_the_data_set(name: str, tmp_path: pathlib.Path) -> None:
    miniature = Miniature(tmp_path)
    LAYOUTS[name](miniature)
    found: list[Found] = []
    for command in rows()[name]:
        words = shlex.split(command)
        out = tmp_path / words[words.index("-o") + 1]
        done = subprocess.run([PACK, *words[1:]], cwd=tmp_path, text=True, capture_output=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        found.extend(samples(out, {sample.split for sample in miniature.expected if sample.split is not None}))
    assert len(found) == len(miniature.expected), sorted(sample.key for sample in found)
    for sample in found:
        matching = [expected for expected in miniature.expected if is_of(expected, sample)]
        assert len(matching) == 1, f"{sample.key} has {len(matching)} pictures of the data set: {sorted(sample.parts)}"
        compare(matching[0], sample)


#: How a file of bands is written: the forms of GDAL and of other programs.
FORMS: list[dict[str, Any]] = [
    {"rowsperstrip": 5},
    {"rowsperstrip": 5, "planarconfig": "separate"},
    {"tile": (16, 16)},
    {"tile": (16, 32), "planarconfig": "separate"},
    {"rowsperstrip": 16, "compression": "zlib"},
    {"rowsperstrip": 16, "compression": "zlib", "predictor": True, "planarconfig": "separate"},
    {"tile": (16, 16), "compression": "zlib", "predictor": True},
    {"tile": (32, 16), "compression": "zlib", "bigtiff": True},
]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "float32"])
def test_bands_are_those_that_tifffile_reads(dtype: str, tmp_path: pathlib.Path) -> None:
    tarflume, tifffile = pytest.importorskip("tarflume"), pytest.importorskip("tifffile")
    rng = np.random.default_rng(7)
    (tmp_path / "photos").mkdir()
    arrays = []
    for n, (form, order) in enumerate([(form, order) for form in FORMS for order in "<>"]):
        bands = rng.integers(0, 200, (13, 37, 45)).astype(dtype)
        given = dict(form, byteorder=order, photometric="minisblack", metadata=None)
        if dtype == "float32":
            given.pop("predictor", None)  # tifffile alone cannot write that of floats
        separate = given.setdefault("planarconfig", "contig") == "separate"
        path = tmp_path / "photos" / f"{n:02}.tif"
        tifffile.imwrite(path, bands if separate else np.ascontiguousarray(bands.transpose(1, 2, 0)), **given)
        read = tifffile.imread(path)
        arrays.append(read if separate else read.transpose(2, 0, 1))
    subprocess.run([PACK, "build", "photos", "-o", "out", "--require", "tif"], cwd=tmp_path, check=True, capture_output=True)
    columns = {"bands": tarflume.Npy(dtype, "tif", shape=(13, 37, 45))}
    loader = tarflume.Loader(tmp_path / "out", batch_size=len(arrays), shuffle="none", columns=columns)
    (batch,) = list(loader)
    for n, (found, wanted) in enumerate(zip(np.asarray(batch["bands"]), arrays)):
        assert np.array_equal(found, wanted), f"{dtype} {FORMS[n // 2]} {'<>'[n % 2]}"


def test_bands_of_a_tiff_are_an_array(tmp_path: pathlib.Path) -> None:
    tarflume = pytest.importorskip("tarflume")
    rng = np.random.default_rng(5)
    arrays = rng.integers(0, 10_000, (3, 13, 8, 6), np.uint16)
    (tmp_path / "photos").mkdir()
    for n, samples_of in enumerate(arrays):
        (tmp_path / "photos" / f"{n}.tif").write_bytes(bands_tiff(samples_of))
    subprocess.run([PACK, "build", "photos", "-o", "out", "--require", "tif"], cwd=tmp_path, check=True, capture_output=True)
    columns = {"bands": tarflume.Npy("uint16", "tif", shape=(13, 8, 6))}
    loader = tarflume.Loader(tmp_path / "out", batch_size=3, shuffle="none", columns=columns)
    (batch,) = list(loader)
    assert np.array_equal(np.asarray(batch["bands"]), arrays)
