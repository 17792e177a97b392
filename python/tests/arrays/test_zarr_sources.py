"""Arrays of zarr-python as sources of `pack build`: packed rows beside those of zarr-python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import zarr
from zarr.codecs import BloscCodec

import tarflume
from array_rows import values
from conftest import pack
from proof import by_two_machines, facts, packed, refused

ROWS = 53


def group(folder: Path) -> dict[str, np.ndarray]:
    """A group of arrays with chunks of different rows."""
    truth = {
        "image": values("uint8", ROWS, 6, 5),
        "Depth": values("float32", ROWS, 6),
        "label": np.arange(ROWS) % 10,
        "share": np.arange(ROWS, dtype=np.float32) / 10,
        "flag": np.arange(ROWS) % 3 == 0,
    }
    zarr.create_array(folder, name="image", data=truth["image"], chunks=(8, 3, 5), shards=(16, 6, 5))
    zarr.create_array(folder, name="Depth", data=truth["Depth"], chunks=(5, 4), zarr_format=2)
    zarr.create_array(folder, name="label", data=truth["label"], chunks=(20,))
    zarr.create_array(folder, name="share", data=truth["share"], chunks=(ROWS,), compressors=BloscCodec())
    zarr.create_array(folder, name="flag", data=truth["flag"], chunks=(7,))
    return truth


def test_a_group_is_packed_as_samples_of_all_its_arrays(tmp_path):
    truth = group(tmp_path / "x.zarr")
    found = packed(f"zarr:{tmp_path / 'x.zarr'}", tmp_path / "out", "--shards", 3)
    assert len(found) == ROWS
    for n in range(ROWS):
        sample = found[f"{n:08}"]
        assert (sample["image.raw"], sample["depth.raw"]) == (truth["image"][n].tobytes(), truth["Depth"][n].tobytes())
        assert facts(sample) == {"label": n % 10, "share": n / 10, "flag": n % 3 == 0}
    about = json.loads((tmp_path / "out/dataset.json").read_text())["columns"]
    assert {"name": "image.raw", "type": "uint8", "shape": [6, 5]} in about
    one = packed(f"zarr:{tmp_path / 'x.zarr/image'}", tmp_path / "one")
    assert [one[f"{n:08}"] for n in range(ROWS)] == [{"image.raw": row.tobytes()} for row in truth["image"]]
    named = packed(f"zarr:{tmp_path / 'x.zarr'}?x=/image&json=label", tmp_path / "named")
    assert facts(named["00000012"]) == {"label": 2} and named["00000012"]["x.raw"] == truth["image"][12].tobytes()
    key = packed(f"zarr:{tmp_path / 'x.zarr'}?key=ids&x=image", tmp_path / "key") if ids(tmp_path / "x.zarr") else {}
    assert sorted(key) == [str(1000 + n) for n in range(ROWS)]


def ids(folder: Path) -> bool:
    zarr.create_array(folder, name="ids", data=1000 + np.arange(ROWS), chunks=(20,))
    return True


def test_two_machines_and_one_build_pack_zarr_alike(tmp_path):
    group(tmp_path / "x.zarr")
    source, words = f"zarr:{tmp_path / 'x.zarr'}", ("--shard-samples", 10, "--shuffle", 5)
    pack("build", source, "-o", tmp_path / "whole", *words)
    by_two_machines([source], tmp_path / "out", tmp_path / "whole", *words)


@pytest.mark.parametrize("change", ["written", "removed", "cut", "touched", "metadata"])
def test_an_array_that_changes_between_plan_and_run_is_an_error(change, tmp_path):
    array = zarr.create_array(tmp_path / "x", shape=(40, 8), dtype="i4", chunks=(8, 8), compressors=None, fill_value=7)
    array[8:] = 3
    pack("plan", f"zarr:{tmp_path / 'x'}", "-o", tmp_path / "out")
    chunk = tmp_path / "x/c/2/0"
    if change == "written":
        array[:8] = 5
    elif change == "removed":
        chunk.unlink()
    elif change == "cut":
        chunk.write_bytes(chunk.read_bytes()[:-4])
    elif change == "touched":
        data = chunk.read_bytes()
        chunk.write_bytes(bytes(len(data)))
    else:
        path = tmp_path / "x/zarr.json"
        path.write_text(path.read_text().replace('"fill_value": 7', '"fill_value": 8'))
    assert "was changed after it was planned" in refused("run", tmp_path / "out")


def test_what_zarr_cannot_give_is_refused_by_name(tmp_path):
    folder, out = tmp_path / "x.zarr", tmp_path / "out"
    zarr.create_array(folder, name="x", data=np.zeros((4, 2)), chunks=(2, 2))
    zarr.create_array(folder, name="long", data=np.zeros((5, 2)), chunks=(2, 2))
    zarr.create_array(folder, name="many", shape=(10**9, 2), chunks=(10**6, 2), dtype="u1")
    zarr.create_array(folder, name="share", data=np.zeros(4), chunks=(2,))
    assert "x has 4 rows and long has 5" in refused("build", f"zarr:{folder}?a=x&b=long", "-o", out)
    assert "there is no array of Zarr" in refused("build", f"zarr:{folder}?a=nope", "-o", out)
    assert "it is no key: keys are whole numbers" in refused("build", f"zarr:{folder}?key=share", "-o", out)
    assert "an array of more than one dimension is no field" in refused("build", f"zarr:{folder}?json=x", "-o", out)
    assert "declares 1000000000 rows" in refused("build", f"zarr:{folder}?a=many", "-o", out)
    zarr.open_group(folder, mode="a")
    assert f"`pack build zarr:{folder} -o {out}`" in refused("build", folder, "-o", out)
    with pytest.raises(tarflume.Error, match="is a folder of Zarr.*give it with its kind: zarr:"):
        tarflume.pack.build(folder, out)
    (tmp_path / "empty").mkdir()
    assert "the folder has no arrays of Zarr" in refused("build", f"zarr:{tmp_path / 'empty'}", "-o", out)
