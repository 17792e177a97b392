"""Arrays of Zarr behind a URL: which files are asked for."""

from __future__ import annotations

import pathlib

import numpy as np
import zarr

import servers
import tarflume


def test_the_metadata_of_an_array_of_zarr_is_asked_for_once(tmp_path: pathlib.Path) -> None:
    rows = np.arange(24, dtype="int16").reshape(6, 4)
    for name, version in (("three.zarr", 3), ("two.zarr", 2)):
        zarr.create_array(tmp_path / name, name="a/x", data=rows, chunks=(2, 4), zarr_format=version)
    asked: list[str] = []

    class Counted(servers.RangeHandler):
        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            asked.append(f"{self.command} {self.path} {int(code)}")

    with servers.http_files(tmp_path, Counted) as url:
        for place, name in ((f"{url}/three.zarr", "a/x"), (f"{url}/three.zarr/a/x", None)):
            asked.clear()
            assert np.array_equal(np.asarray(tarflume.ArrayDataset(place, name)[:]), rows)
            assert [line for line in asked if ".json" in line] == ["GET /three.zarr/a/x/zarr.json 200"]
        asked.clear()
        assert np.array_equal(np.asarray(tarflume.ArrayDataset(f"{url}/two.zarr", "a/x")[:]), rows)
        assert [line for line in asked if ".z" in line.rpartition("/")[2] or ".json" in line] == [
            "GET /two.zarr/a/x/zarr.json 404",
            "GET /two.zarr/a/x/.zarray 200",
        ]
