"""Every setting that the tables of LOADING.md and MIXING.md name is a setting of the loader."""

from __future__ import annotations

import re

import tarflume
from conftest import ROOT


def test_the_settings_of_the_tables_are_settings(shards):
    text = "".join((ROOT / "docs" / page).read_text() for page in ("LOADING.md", "MIXING.md"))
    rows = re.findall(r"^\| .*", text, re.M)
    words = [word for row in rows for word in re.findall(r"`(\w+=[^`]+)`", row)]
    assert len(words) >= 8
    for word in words:
        if "device" in word:
            continue  # needs a GPU
        settings = eval(f"dict({word})")
        if "filter" in settings:
            settings = {"image": tarflume.Image(tarflume.Resize(8), **settings)}
        tarflume.Loader(shards, batch_size=4, **settings).close()
