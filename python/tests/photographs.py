"""Photographs as pairs of files, for tests that compare what programs of others read with what was packed."""

from __future__ import annotations

import json
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]

#: A folder of JPEGs to take instead of those of fixtures/photos.
FOLDER = "TARFLUME_TEST_PHOTOS"

Parts = dict[str, dict[str, bytes]]


def pairs(folder: pathlib.Path) -> Parts:
    """Lays JPEG/JSON pairs into `folder`; gives the parts of each key. Some keys have a folder in them."""
    chosen = os.environ.get(FOLDER)
    source = pathlib.Path(chosen) if chosen else ROOT / "fixtures" / "photos"
    found = sorted(path for path in source.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    assert len(found) >= 9, f"{source} has {len(found)} photographs"
    parts: Parts = {}
    for number, path in enumerate(found):
        key = f"{'ab'[number % 2]}/{path.stem}"
        facts = {"class": number % 7, "n": number, "name": path.stem}
        parts[key] = {"jpg": path.read_bytes(), "json": json.dumps(facts).encode()}
        for ext, data in parts[key].items():
            (folder / f"{key}.{ext}").parent.mkdir(parents=True, exist_ok=True)
            (folder / f"{key}.{ext}").write_bytes(data)
    return parts
