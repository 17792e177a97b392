"""Every snippet of the cheat sheet and of the Python pages runs as it is."""

from __future__ import annotations

import pathlib
import re
import shlex
import subprocess
import sys

import pytest

import tarflume
from conftest import PACK, ROOT, pack, picture

SHEET = ROOT / "docs" / "CHEATSHEET.md"


def blocks(page: pathlib.Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.S | re.M)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder as the snippets have it: 300 pairs in photos/, and shards/."""
    root = tmp_path_factory.mktemp("sheet")
    (root / "photos").mkdir()
    for n in range(300):
        picture(n).resize((64, 48)).save(root / "photos" / f"{n:04}.jpg")  # one size: a snippet batches them uncut
        (root / "photos" / f"{n:04}.json").write_text(f'{{"class": {n % 10}}}')
    pack("build", root / "photos", "-o", root / "shards", "--shards", 2)
    return root


def run(code: str, folder: pathlib.Path) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{code}\n{done.stderr}"


def test_the_snippets_of_the_cheat_sheet_run(folder):
    found = blocks(SHEET, "python")
    assert found
    for code in found:
        run(code + "\nassert len(next(iter(loader))['key']) == 256", folder)


def test_the_commands_of_the_cheat_sheet_run(folder, tmp_path):
    lines = [line for block in blocks(SHEET, "console") for line in block.splitlines()]
    assert len(lines) >= 3
    (tmp_path / "photos").symlink_to(folder / "photos")
    for line in lines:
        words = shlex.split(line, comments=True)
        assert words[0] == "pack"
        done = subprocess.run([PACK, *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=False)
        # The doctor's 1 is a finding about the machine that runs the tests.
        assert done.returncode in ((0, 1) if words[1] == "doctor" else (0,)), f"{line}\n{done.stderr}"


def test_the_settings_of_the_cheat_sheet_are_settings(folder):
    rows = re.findall(r"^\| .*", SHEET.read_text(), re.M)
    words = [text for row in rows for text in re.findall(r"`(\w+=[^`]+)`", row)]
    assert len(words) >= 4
    for text in words:
        if "device" in text:
            continue  # needs a GPU
        settings = eval(f"dict({text})")
        if "filter" in settings:
            settings = {"image": tarflume.Image(tarflume.Resize(8), **settings)}
        tarflume.Loader(folder / "shards", batch_size=4, **settings).close()


@pytest.mark.parametrize("page", ["README.md", "python/README.md", "docs/LOADING.md", "docs/PYTORCH.md", "docs/TABLES.md",
                                  "docs/WEBDATASET.md"])  # fmt: skip
def test_the_snippets_of_other_pages_run(folder, page):
    """With one epoch instead of 90, and the shards that there are."""
    found = blocks(ROOT / page, "python")
    assert found
    for code in found:
        code = code.replace("range(90)", "range(1)").replace("{000..765}", "{000000..000001}")
        code = code.replace("shards/{", "shards/shard-{")
        names = set(re.findall(r"^\s*(?:import|from) (\w+)", code, re.M)) - {"tarflume", "torch", "webdataset"}
        if names & {"ray", "nvidia", "megatron", "wids", "datasets"}:
            continue  # python/tests/clients and test_folders.py run what these do
        run(code + ("\nassert next(iter(dataset))" if "\ndataset = " in code else ""), folder)
