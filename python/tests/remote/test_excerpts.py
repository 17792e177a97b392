"""Excerpts of JPEGs in a store: what is fetched, and that the pixels are those of whole files."""

from __future__ import annotations

import pathlib
import random
from typing import Any

import pytest
from PIL import Image

import servers
import tarflume

CROPS: dict[str, Any] = {
    "image": tarflume.RandomResizedCrop(64, scale=(0.02, 0.05)),
    "batch_size": 8,
    "shuffle": "full",
    "seed": 5,
}


def test_hole_decides_which_bytes_of_large_jpegs_are_fetched(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARFLUME_SIDECARS", str(tmp_path / "sidecars"))
    source = tmp_path / "pairs"
    source.mkdir()
    for n in range(8):
        noise = random.Random(n).randbytes(256 * 128 * 3)
        picture = Image.frombytes("RGB", (256, 128), noise).resize((1024, 512), Image.Resampling.BICUBIC)
        picture.save(source / f"{n}.jpg", quality=90)
        assert (source / f"{n}.jpg").stat().st_size > 150_000
    tarflume.pack.build(source, tmp_path / "set", shards=1, require="image")

    def fetched(url: str, **storage: str) -> tuple[int, list[bytes]]:
        loader = tarflume.Loader(url, storage=storage, **CROPS)
        pixels = [batch["image"].numpy().tobytes() for batch in loader]
        return loader.stats()["fetch"]["bytes"], pixels

    files = tarflume.Loader(tmp_path / "set", **CROPS)
    expected = [batch["image"].numpy().tobytes() for batch in files]
    with servers.http_files(tmp_path / "set") as url:
        small, large = fetched(url, hole="4KiB"), fetched(url, hole="1MiB")
        assert small[1] == large[1] == expected
        assert small[0] < large[0] / 2, (small[0], large[0])
        with pytest.raises(tarflume.Error, match="hole"):
            fetched(url, hole="much")
