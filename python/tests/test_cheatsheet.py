"""Every setting that the tables of the cheat sheet name is a setting."""

from __future__ import annotations

import re

import tarflume
from conftest import ROOT


def test_the_settings_of_the_cheat_sheet_are_settings(shards):
    rows = re.findall(r"^\| .*", (ROOT / "docs" / "CHEATSHEET.md").read_text(), re.M)
    words = [text for row in rows for text in re.findall(r"`(\w+=[^`]+)`", row)]
    assert len(words) >= 4
    for text in words:
        if "device" in text:
            continue  # needs a GPU
        settings = eval(f"dict({text})")
        if "filter" in settings:
            settings = {"image": tarflume.Image(tarflume.Resize(8), **settings)}
        tarflume.Loader(shards, batch_size=4, **settings).close()
