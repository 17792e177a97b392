"""HDF5 of h5py -> shards: packed, verified, read for an epoch, compared with what was written."""

from __future__ import annotations

import json
import subprocess

import h5py
import numpy as np
import pytest

from conftest import PACK, pack
from proof import by_two_machines, facts, jpeg, killed, members, packed, refused

ROWS = 300
JPEGS = [jpeg(n) for n in range(ROWS)]
IMAGES = np.random.default_rng(2).integers(0, 256, (ROWS, 12, 10, 3), dtype=np.uint8)
LAYOUTS = {
    "contiguous": {},
    "chunked": {"chunks": (7, 12, 5, 3)},
    "gzip": {"chunks": (16, 12, 10, 3), "compression": "gzip"},
    "gzip and shuffle": {"chunks": (16, 6, 10, 3), "compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"chunks": (32, 12, 10, 3), "compression": "lzf", "shuffle": True},
    "growing": {"chunks": (10, 12, 10, 3), "maxshape": (None, 12, 10, 3)},
    "one chunk": {"chunks": (ROWS, 12, 10, 3), "compression": "gzip"},
}


@pytest.mark.parametrize("version", ["earliest", "latest"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_data_sets_of_h5py_are_packed_whatever_the_layout(layout, version, tmp_path):
    names = [f"name {n} ä" for n in range(ROWS)]
    smooth = np.repeat(IMAGES[:, :1], 12, axis=1)  # of which every filter makes less
    with h5py.File(tmp_path / "f.h5", "w", libver=version) as file:
        file.create_dataset("x", data=smooth, **LAYOUTS[layout])
        file.create_dataset("group/y", data=np.arange(ROWS, dtype=np.int16))
        file.create_dataset("flag", data=np.arange(ROWS) % 3 == 0)
        file.create_dataset("share", data=np.arange(ROWS, dtype=np.float32) / 10)
        file.create_dataset("name", data=names)
        file.create_dataset("fixed", data=np.array([f"f{n}" for n in range(ROWS)], "S8"))
    source = f"hdf5:{tmp_path / 'f.h5'}?image=/x&label=/group/y&flag=/flag&share=/share&name=/name&fixed=fixed"
    found = packed(source, tmp_path / "out", "--shards", 3)
    assert len(found) == ROWS
    for n in range(ROWS):
        sample = found[f"{n:08}"]
        assert sample["image.raw"] == smooth[n].tobytes()
        assert facts(sample) == {
            "fixed": f"f{n}",
            "flag": n % 3 == 0,
            "label": n,
            "name": names[n],
            "share": n / 10,
        }
    about = json.loads((tmp_path / "out" / "dataset.json").read_text())["columns"]
    assert {"name": "image.raw", "type": "uint8", "shape": [12, 10, 3]} in about


NUMBERS = ["<i2", ">i2", "<u4", ">u4", "<i8", ">f4", "<f8", ">f8", "<f2", "|i1", "?"]


@pytest.mark.parametrize("chunks", [None, (9, 4)])
def test_numbers_of_all_types_and_byte_orders_become_little_endian(chunks, tmp_path):
    rows = np.random.default_rng(3).integers(-100, 100, (50, 4))
    with h5py.File(tmp_path / "f.h5", "w") as file:
        for n, dtype in enumerate(NUMBERS):
            file.create_dataset(f"x{n}", data=rows.astype(dtype), chunks=chunks)
            file.create_dataset(f"y{n}", data=rows[:, 0].astype(dtype))
    found = packed(f"hdf5:{tmp_path / 'f.h5'}", tmp_path / "out")
    for row in range(50):
        sample = found[f"{row:08}"]
        for n, dtype in enumerate(NUMBERS):
            little = np.dtype(dtype).newbyteorder("<")
            assert sample[f"x{n}.raw"] == rows[row].astype(little).tobytes()
            assert facts(sample)[f"y{n}"] == rows[row, 0].astype(dtype)


def test_pictures_as_bytes_of_any_length_are_parts(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        pictures = file.create_dataset("pictures", (ROWS,), h5py.vlen_dtype(np.uint8))
        for n, jpeg in enumerate(JPEGS):
            pictures[n] = np.frombuffer(jpeg, np.uint8)
        file.create_dataset("id", data=[f"k{n}" for n in range(ROWS)])
    found = packed(f"hdf5:{tmp_path / 'f.h5'}?image=/pictures&key=/id", tmp_path / "out", "--shards", 2)
    assert {key: sample["jpg"] for key, sample in found.items()} == {f"k{n}": j for n, j in enumerate(JPEGS)}


def test_compact_data_sets_are_packed_and_lists_of_different_lengths_are_refused(tmp_path):
    rows = np.random.default_rng(4).integers(-500, 500, (ROWS, 2, 3)).astype(np.int16)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)  # in the header of the object; h5py has no word for it
        space = h5py.h5s.create_simple(rows.shape)
        h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_INT16, space, compact).write(h5py.h5s.ALL, h5py.h5s.ALL, rows)
        lists = file.create_dataset("list", (ROWS,), h5py.vlen_dtype(np.float32))
        lists[3] = np.ones(5)
    found = packed(f"hdf5:{tmp_path / 'f.h5'}?x=/x", tmp_path / "out", "--shards", 2)
    assert len(found) == ROWS
    for n in range(ROWS):
        assert found[f"{n:08}"] == {"x.raw": rows[n].tobytes()}
    text = refused("build", f"hdf5:{tmp_path / 'f.h5'}?list=/list", "-o", tmp_path / "none")
    assert "/list: its type is not read: lists of different lengths" in text


def test_rows_that_were_never_written_have_the_fill_value(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("x", (20, 3), "f4", fillvalue=7.5)
        grown = file.create_dataset("y", (20, 3), "i4", chunks=(4, 3), fillvalue=-1)
        grown[4:8] = 5
    found = packed(f"hdf5:{tmp_path / 'f.h5'}", tmp_path / "out")
    assert all(np.frombuffer(s["x.raw"], "f4").tolist() == [7.5] * 3 for s in found.values())
    assert [np.frombuffer(found[f"{n:08}"]["y.raw"], "i4")[0] for n in (3, 4, 7, 8)] == [-1, 5, 5, -1]


def test_what_hdf5_cannot_give_is_refused_by_name(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("x", data=np.zeros((4, 2)))
        file.create_dataset("long", data=np.zeros((5, 2)))
        file.create_dataset("pair", data=np.zeros(4, dtype=[("a", "i4"), ("b", "f4")]))
        file.create_dataset("one", data=3)
    file, out = tmp_path / "f.h5", tmp_path / "out"
    assert "/x has 4 rows and /long has 5" in refused("build", f"hdf5:{file}?a=/x&b=/long", "-o", out)
    assert "a compound of several fields" in refused("build", f"hdf5:{file}?a=/pair", "-o", out)
    assert "it is a single value" in refused("build", f"hdf5:{file}?a=/one", "-o", out)
    assert "nope" in refused("build", f"hdf5:{file}?a=/nope", "-o", out)
    data = file.read_bytes()
    file.write_bytes(data[:-1])
    assert "the file is truncated" in refused("build", f"hdf5:{file}?a=/x", "-o", out)
    file.write_bytes(b"no HDF5" * 1000)
    assert "invalid HDF5 magic bytes" in refused("build", f"hdf5:{file}?a=/x", "-o", out)


def test_two_machines_and_one_build_pack_hdf5_alike(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("x", data=IMAGES, chunks=(16, 12, 10, 3), compression="gzip")
    source, words = f"hdf5:{tmp_path / 'f.h5'}", ("--shard-samples", 20, "--shuffle", 5)
    pack("build", source, "-o", tmp_path / "whole", *words)
    by_two_machines([source], tmp_path / "out", tmp_path / "whole", *words)


def test_builds_that_are_killed_make_the_same_bytes(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("x", data=np.tile(IMAGES, (6, 1, 1, 1)), chunks=(16, 12, 10, 3), compression="gzip")
        file.create_dataset("y", data=np.arange(6 * ROWS))
    killed(f"hdf5:{tmp_path / 'f.h5'}", tmp_path, 8, "--shard-samples", 25, "--jobs", 2, "--no-fsync")


def test_names_that_change_are_told_and_names_that_meet_are_refused(tmp_path):
    rows = np.arange(6, dtype="<f4").reshape(2, 3)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        for name in ["Img", "é", "a b"]:
            file[name] = rows
    words = ["build", f"hdf5:{tmp_path / 'f.h5'}", "-o", tmp_path / "out"]
    done = subprocess.run([PACK, *map(str, words)], text=True, capture_output=True, check=True)
    assert "data set 'Img' is packed as img.raw" in done.stderr and "'é' is" not in done.stderr
    pack("verify", tmp_path / "out", "--level", "decode")
    for row, sample in zip(rows, members(tmp_path / "out").values(), strict=True):
        assert sample == dict.fromkeys(["img.raw", "é.raw", "a b.raw"], row.tobytes())
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["Img"], file["img"] = rows, rows
    assert "/Img and /img are both packed as 'img'" in refused(*words[:-1], tmp_path / "no")


def test_a_filter_that_is_not_read_is_one_error_for_all_rows(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((10,))
        # An optional filter without a plugin: HDF5 writes the chunks as they are, and states the filter.
        plist.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, (3,))
        space = h5py.h5s.create_simple((300_000,))
        data = h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_INT32, space, plist)
        data.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(300_000, dtype=np.int32))
    told = refused("build", f"hdf5:{tmp_path / 'f.h5'}", "-o", tmp_path / "out")
    assert "/x: its chunks are compressed by the filter 32015 (Zstandard), which is not read" in told
    assert "h5repack" in told and len(told) < 1000
