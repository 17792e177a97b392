"""docs/TRANSFORMS.md beside the package: each name is in it, each row has the arguments that the class has."""

from __future__ import annotations

import ast
import inspect
import re

import pytest

import tarflume.transforms as T
from conftest import ROOT

PAGE = (ROOT / "docs" / "TRANSFORMS.md").read_text()
SHEETS = 5
KILOBYTES = 600

#: The rows of operations: the call with its defaults, and the counterparts in torchvision, timm and albumentations.
ROWS = re.findall(r"^\| `(\w+)\(([^`]*)\)` \| [^|]+ \| ([^|/]+) / ([^|/]+) / ([^|/]+) \|$", PAGE, re.M)
OPERATIONS = [
    name
    for name in T.__all__
    if inspect.isclass(getattr(T, name)) and name not in ("Operation", "Converted", "Preview")
]


@pytest.mark.parametrize("name", T.__all__)
def test_each_name_of_the_package_is_in_the_page(name):
    assert re.search(rf"`([\w.]+\.)?{name}\b", PAGE), name


def test_each_operation_has_one_row():
    assert len(OPERATIONS) > 38
    assert sorted(row[0] for row in ROWS) == sorted([*OPERATIONS, "timm"])


@pytest.mark.parametrize("name", [*OPERATIONS, "timm"])
def test_a_row_has_the_arguments_and_the_defaults(name):
    given = next(row[1] for row in ROWS if row[0] == name)
    call = ast.parse(f"f({given})", mode="eval").body
    assert isinstance(call, ast.Call)
    required = [ast.unparse(word) for word in call.args]
    shown = {word.arg: ast.unparse(word.value) for word in call.keywords}
    parameters = inspect.signature(getattr(T, name)).parameters.values()
    assert [*required, *shown] == [parameter.name for parameter in parameters]
    for parameter in parameters:
        if parameter.default is inspect.Parameter.empty:
            assert parameter.name in required
        else:
            assert eval(shown[parameter.name]) == parameter.default, parameter


@pytest.mark.parametrize("name", OPERATIONS)
def test_same_in_torchvision_is_the_same_name(name):
    v2 = pytest.importorskip("torchvision.transforms.v2")
    theirs = next(row[2] for row in ROWS if row[0] == name)
    assert theirs.startswith("same") == hasattr(v2, name)


@pytest.mark.parametrize("library", ["torchvision", "timm", "albumentations"])
def test_counterparts_are_classes_of_the_library_that_are_converted(library):
    place = {"torchvision": "torchvision.transforms.v2", "timm": "timm.data", "albumentations": "albumentations"}
    module = pytest.importorskip(place[library])
    if library == "timm":
        from timm.data import auto_augment, random_erasing, transforms

        have = {**vars(auto_augment), **vars(random_erasing), **vars(transforms)}
    else:
        have = vars(module)
    column = 2 + list(place).index(library)
    named = {word for row in ROWS for word in re.findall(r"`([A-Z]\w+)", row[column])}
    assert len(named) >= {"torchvision": 1, "timm": 7, "albumentations": 28}[library]
    assert {word for word in named if word not in have} == set()
    if library == "albumentations":
        from tarflume.transforms.migration.albumentations import _TABLE as table
    else:
        from tarflume.transforms.migration.timm import _TABLE as table
    assert {word for word in named if (library, word) not in table and word != "PadIfNeeded"} == set()


def test_the_sheets_of_pictures_are_small_and_their_script_calls_each_operation():
    sheets = re.findall(r"\]\((images/transforms-\w+\.jpg)\)", PAGE)
    assert len(sheets) == SHEETS
    sizes = [(ROOT / "docs" / sheet).stat().st_size for sheet in sheets]
    assert all(sizes) and sum(sizes) < 1000 * KILOBYTES
    script = (ROOT / "docs" / "transforms_pictures.py").read_text()
    # No picture of their own: those of Grayscale and timm, and several pictures.
    without = {"Compose", "RandomGrayscale", "TimmAugment", "FiveCrop", "TenCrop"}
    # A crop that needs boxes, one that needs a loader, and a resize that looks like others.
    without |= {"RandomIoUCrop", "BucketCrop", "PatchResize"}
    assert {name for name in OPERATIONS if f"T.{name}(" not in script} - without == set()
