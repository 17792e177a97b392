"""Parquet of pyarrow, polars and DuckDB, HDF5 of h5py -> shards: packed, verified, read for an epoch, compared.

`make clients` installs the writers. Every value is compared with the one that was written.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pathlib
import random
import signal
import subprocess
import time

import duckdb
import h5py
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tarflume
from conftest import PACK, pack, picture

Samples = dict[str, dict[str, bytes]]


def epoch(folder: pathlib.Path) -> Samples:
    """All samples of a packed folder after `pack verify`, each once."""
    pack("verify", folder)
    found: Samples = {}
    for sample in tarflume.Dataset(folder):
        key = sample.pop("__key__")
        assert key not in found
        found[key] = dict(sample)
    return found


def packed(source: str, out: pathlib.Path, *words: object) -> Samples:
    pack("build", source, "-o", out, *words)
    return epoch(out)


def facts(sample: dict[str, bytes]) -> dict[str, object]:
    return json.loads(sample["json"])


def digests(folder: pathlib.Path) -> dict[str, str]:
    files = (f for f in folder.iterdir() if f.is_file())
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def jpegs(count: int) -> list[bytes]:
    made = []
    for n in range(count):
        out = io.BytesIO()
        picture(n).save(out, "JPEG", quality=90)
        made.append(out.getvalue())
    return made


ROWS = 300
JPEGS = jpegs(ROWS)
VECTORS = np.random.default_rng(1).standard_normal((ROWS, 16)).astype(np.float32)


def columns() -> dict[str, pa.Array]:
    return {
        "id": pa.array([f"k{n:05}" for n in range(ROWS)]),
        "image": pa.array(
            [{"bytes": jpeg, "path": f"{n:04}.jpg"} for n, jpeg in enumerate(JPEGS)],
            pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
        ),
        "label": pa.array([n % 10 for n in range(ROWS)], pa.int64()),
        "score": pa.array([None if n % 7 == 0 else n / 10 for n in range(ROWS)], pa.float32()),
        "small": pa.array([n % 200 for n in range(ROWS)], pa.uint8()),
        "vector": pa.array(VECTORS.tolist(), pa.list_(pa.float32())),
        "boxes": pa.array([[[n, 1, 2, 3]] * (n % 3) for n in range(ROWS)], pa.list_(pa.list_(pa.int32()))),
        "when": pa.array([n * 1_000_000 for n in range(ROWS)], pa.timestamp("us")),
    }


WRITERS = {
    "default": {},
    "one group": {"row_group_size": 10**6},
    "small groups": {"row_group_size": 37},
    "plain": {"compression": "none", "use_dictionary": False, "row_group_size": 90},
    "plain with dictionary": {"compression": "none", "row_group_size": 90},
    "pages of version 2": {"data_page_version": "2.0", "compression": "zstd", "data_page_size": 20_000},
    "plain pages of version 2": {"data_page_version": "2.0", "compression": "none", "data_page_size": 20_000},
    "gzip": {"compression": "gzip", "row_group_size": 100},
    "lz4": {"compression": "lz4", "row_group_size": 100},
    "page index": {"write_page_index": True, "data_page_size": 10_000, "write_batch_size": 16},
}


def check_rows(found: Samples, key: str = "{n:08}") -> None:
    assert len(found) == ROWS
    for n in range(ROWS):
        sample = found[key.format(n=n)]
        assert sample["jpg"] == JPEGS[n]
        assert sample["vector.raw"] == VECTORS[n].tobytes()
        row = facts(sample)
        assert row == {
            "boxes": [[n, 1, 2, 3]] * (n % 3),
            "id": f"k{n:05}",
            "label": n % 10,
            "score": None if n % 7 == 0 else n / 10,
            "small": n % 200,
            "when": f"1970-01-01T00:{n // 60:02}:{n % 60:02}",
        }
        assert list(row) == sorted(row)


@pytest.mark.parametrize("writer", WRITERS)
def test_rows_of_pyarrow_are_packed_whatever_the_pages(writer, tmp_path):
    pq.write_table(pa.table(columns()), tmp_path / "t.parquet", **WRITERS[writer])
    check_rows(packed(f"parquet:{tmp_path / 't.parquet'}", tmp_path / "out", "--shards", 3))
    about = json.loads((tmp_path / "out" / "dataset.json").read_text())
    described = {column["name"]: column for column in about["columns"]}
    assert described["vector.raw"] == {"name": "vector.raw", "type": "float32", "shape": [16]}
    assert described["/score"]["type"] == "float64" and described["/label"]["type"] == "int64"
    assert described["/boxes"]["type"] == "list"


def test_a_shuffled_build_has_the_same_samples(tmp_path):
    pq.write_table(pa.table(columns()), tmp_path / "t.parquet", row_group_size=37, data_page_size=5_000)
    check_rows(packed(f"parquet:{tmp_path / 't.parquet'}", tmp_path / "out", "--shuffle", 3, "--shards", 4))


def test_several_files_are_one_table_and_keys_come_from_a_column(tmp_path):
    table = pa.table(columns())
    for n in range(3):
        pq.write_table(table.slice(n * 100, 100), tmp_path / f"part-{n}.parquet")
    source = f"parquet:{tmp_path}/part-*.parquet"
    check_rows(packed(source, tmp_path / "a"))
    check_rows(packed(source + "?key=id", tmp_path / "b"), "k{n:05}")
    check_rows(packed(source + "?key=image", tmp_path / "c"), "{n:04}")


def test_options_choose_columns(tmp_path):
    pq.write_table(pa.table(columns()), tmp_path / "t.parquet")
    found = packed(f"parquet:{tmp_path / 't.parquet'}?key=id&jpg=image.bytes&json=label", tmp_path / "out")
    sample = found["k00007"]
    assert set(sample) == {"jpg", "json"} and sample["json"] == b'{"label":7}'


def test_a_table_of_polars_is_packed(tmp_path):
    frame = polars.from_arrow(pa.table(columns()).drop(["image"])).with_columns(jpg=polars.Series(JPEGS))
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=100)
    check_rows(packed(f"parquet:{tmp_path / 't.parquet'}", tmp_path / "out"))


def test_a_table_of_duckdb_is_packed(tmp_path):
    written = pa.table(columns())
    assert written.num_rows == ROWS  # DuckDB finds the table by the name of the variable
    duckdb.sql(f"copy (select * from written) to '{tmp_path / 't.parquet'}' (format parquet, row_group_size 2048)")
    check_rows(packed(f"parquet:{tmp_path / 't.parquet'}", tmp_path / "out"))


def test_images_and_classes_of_hugging_face_are_noticed(tmp_path):
    import datasets

    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])}
    )
    rows = {"image": [{"bytes": jpeg, "path": None} for jpeg in JPEGS], "label": [n % 2 for n in range(ROWS)]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet(str(tmp_path / "t.parquet"))
    found = packed(f"parquet:{tmp_path / 't.parquet'}", tmp_path / "out")
    assert [found[f"{n:08}"]["jpg"] for n in range(ROWS)] == JPEGS
    assert facts(found["00000003"]) == {"label": 1}
    about = json.loads((tmp_path / "out" / "dataset.json").read_text())
    assert about["classes"] == {"pointer": "/label", "names": ["cat", "dog"]}


def refused(source: str, out: pathlib.Path) -> str:
    done = subprocess.run([PACK, "build", source, "-o", out], text=True, capture_output=True, check=False)
    assert done.returncode != 0
    return done.stderr


def test_what_is_not_read_is_refused_by_name(tmp_path):
    file = tmp_path / "t.parquet"
    times = pa.table({"when": pa.array([1], pa.timestamp("ns"))})
    pq.write_table(times, file, use_deprecated_int96_timestamps=True)
    assert "'when' has the type INT96" in refused(f"parquet:{file}", tmp_path / "out")
    pq.write_table(pa.table(columns()), file)
    assert "there is no column 'nope'; the columns are id, image" in refused(f"parquet:{file}?key=nope", tmp_path / "out")
    assert "'label' is no part" in refused(f"parquet:{file}?x=label", tmp_path / "out")
    data = file.read_bytes()
    file.write_bytes(data[:-1000])
    assert "does not end with PAR1" in refused(f"parquet:{file}", tmp_path / "out")
    file.write_bytes(data[:-4] + b"PARE")
    assert "encrypted" in refused(f"parquet:{file}", tmp_path / "out")
    damaged = bytearray(data)
    damaged[2000:60_000] = os.urandom(58_000)
    file.write_bytes(damaged)
    assert str(file) in refused(f"parquet:{file}", tmp_path / "out")


def test_a_file_that_changes_after_the_plan_is_refused(tmp_path):
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns()), file)
    pack("plan", f"parquet:{file}", "-o", tmp_path / "out", "--shards", 3)
    pq.write_table(pa.table(columns()).slice(1), file)
    done = subprocess.run([PACK, "run", tmp_path / "out"], text=True, capture_output=True, check=False)
    assert done.returncode != 0 and "was changed after it was planned" in done.stderr


def test_two_machines_make_what_one_build_makes(tmp_path):
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns()), file, row_group_size=50)
    pack("build", f"parquet:{file}", "-o", tmp_path / "whole", "--shard-samples", 20)
    pack("plan", f"parquet:{file}", "-o", tmp_path / "out", "--shard-samples", 20)
    for rank in (1, 0):
        pack("run", tmp_path / "out", "--rank", rank, "--of", 2)
    pack("finalize", tmp_path / "out")
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")


def test_builds_that_are_killed_and_repeated_make_the_same_bytes(tmp_path):
    file = tmp_path / "t.parquet"
    many = pa.concat_tables([pa.table(columns())] * 20)
    pq.write_table(many, file, row_group_size=500)
    words = ["--shard-samples", "25", "--jobs", "2"]
    pack("build", f"parquet:{file}", "-o", tmp_path / "whole", *words)
    dice = random.Random(4)
    kills = 0
    for _ in range(60):
        build = subprocess.Popen(
            [PACK, "build", f"parquet:{file}", "-o", tmp_path / "out", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(dice.uniform(0.02, 0.4))
        build.send_signal(signal.SIGKILL)
        if build.wait() == 0:
            break
        kills += 1
    assert kills > 0
    pack("build", f"parquet:{file}", "-o", tmp_path / "out", *words)
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")


# HDF5

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
    assert "/x has 4 rows and /long has 5" in refused(f"hdf5:{file}?a=/x&b=/long", out)
    assert "a compound of several fields" in refused(f"hdf5:{file}?a=/pair", out)
    assert "it is a single value" in refused(f"hdf5:{file}?a=/one", out)
    assert "nope" in refused(f"hdf5:{file}?a=/nope", out)
    data = file.read_bytes()
    file.write_bytes(data[:-1])
    assert "the file is truncated" in refused(f"hdf5:{file}?a=/x", out)
    file.write_bytes(b"no HDF5" * 1000)
    assert "invalid HDF5 magic bytes" in refused(f"hdf5:{file}?a=/x", out)


def test_two_machines_and_one_build_pack_hdf5_alike(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("x", data=IMAGES, chunks=(16, 12, 10, 3), compression="gzip")
    source = f"hdf5:{tmp_path / 'f.h5'}"
    pack("build", source, "-o", tmp_path / "whole", "--shard-samples", 20, "--shuffle", 5)
    pack("plan", source, "-o", tmp_path / "out", "--shard-samples", 20, "--shuffle", 5)
    for rank in (1, 0):
        pack("run", tmp_path / "out", "--rank", rank, "--of", 2)
    pack("finalize", tmp_path / "out")
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")


# Rows without packing


def batches_of(array, **words):
    return [np.asarray(batch["x"]) for batch in tarflume.ArrayLoader(x=array, **words)]


@pytest.mark.parametrize("version", ["earliest", "latest"])
def test_rows_of_a_contiguous_data_set_are_read_where_they_are(version, tmp_path):
    with h5py.File(tmp_path / "f.h5", "w", libver=version, userblock_size=512) as file:
        file.create_dataset("group/x", data=IMAGES)
        file.create_dataset("packed", data=IMAGES, chunks=True)
        file.create_dataset("big", data=VECTORS.astype(">f4"))
    array = tarflume.ArrayDataset(tmp_path / "f.h5", "/group/x")
    assert (array.shape, array.dtype, len(array)) == ((ROWS, 12, 10, 3), "uint8", ROWS)
    assert np.array_equal(array[7], IMAGES[7]) and np.array_equal(array[-1], IMAGES[-1])
    assert np.array_equal(array[5:300:7], IMAGES[5:300:7])
    assert np.array_equal(array[[9, 3, 9]], IMAGES[[9, 3, 9]])
    with pytest.raises(IndexError):
        array[ROWS]
    for name in ("/packed", "/big"):
        with pytest.raises(tarflume.Error, match="pack build 'hdf5:"):
            tarflume.ArrayDataset(tmp_path / "f.h5", name)
    assert np.array_equal(np.concatenate(batches_of(array, batch_size=32)), IMAGES)


PAGES = {
    "version 1": {},
    "version 2": {"data_page_version": "2.0"},
    "small pages": {"data_page_size": 999, "write_batch_size": 7, "data_page_version": "2.0"},
    "small groups": {"row_group_size": 37},
}


@pytest.mark.parametrize("pages", PAGES)
def test_rows_of_plain_pages_are_read_where_they_are(pages, tmp_path):
    plain = {"compression": "none", "use_dictionary": False} | PAGES[pages]
    table = pa.table(columns())
    table = table.append_column("fixed", pa.array(VECTORS.tolist(), pa.list_(pa.float32(), 16)))
    pq.write_table(table.append_column("n", pa.array(range(ROWS), pa.int64())), tmp_path / "t.parquet", **plain)
    for name in ("vector", "fixed"):
        array = tarflume.ArrayDataset(tmp_path / "t.parquet", name)
        assert (array.shape, array.dtype) == ((ROWS, 16), "float32")
        dice = np.random.default_rng(5).permutation(ROWS).tolist()
        assert np.array_equal(array[dice], VECTORS[dice])
    assert np.asarray(tarflume.ArrayDataset(tmp_path / "t.parquet", "n")[:]).tolist() == list(range(ROWS))
    for name, why in {"boxes": "lists of lists", "score": "nulls", "id": "numbers"}.items():
        with pytest.raises(tarflume.Error, match=why):
            tarflume.ArrayDataset(tmp_path / "t.parquet", name)
    pq.write_table(table, tmp_path / "c.parquet")
    with pytest.raises(tarflume.Error, match="compressed"):
        tarflume.ArrayDataset(tmp_path / "c.parquet", "vector")


def test_lists_of_different_lengths_are_no_array(tmp_path):
    rows = [[1.0, 2.0]] * 50 + [[3.0], [4.0, 5.0, 6.0]] + [[1.0, 2.0]] * 50
    table = pa.table({"x": pa.array(rows, pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "t.parquet", compression="none", use_dictionary=False)
    with pytest.raises(tarflume.Error, match="different lengths"):
        tarflume.ArrayDataset(tmp_path / "t.parquet", "x")
    found = packed(f"parquet:{tmp_path / 't.parquet'}", tmp_path / "out")
    assert [facts(found[f"{n:08}"])["x"] for n in range(len(rows))] == rows


def test_an_epoch_of_a_shuffled_loader_has_every_row_once(tmp_path):
    import pickle

    np.save(tmp_path / "x.npy", np.arange(ROWS * 2).reshape(ROWS, 2))
    VECTORS.tofile(tmp_path / "x.dat")
    array = tarflume.ArrayDataset(tmp_path / "x.npy")
    raw = tarflume.ArrayDataset(tmp_path / "x.dat", dtype="float32", shape=(16,))
    assert np.array_equal(pickle.loads(pickle.dumps(raw))[:], VECTORS)
    loader = tarflume.ArrayLoader(x=array, y=raw, batch_size=32, shuffle=True, seed=3)
    assert len(loader) == 10
    epochs = []
    for number in range(2):
        rows = []
        for batch in loader.epoch(number):
            rows += batch["row"].tolist()
            assert np.array_equal(np.asarray(batch["y"]), VECTORS[rows[-len(batch["x"]) :]])
            assert np.asarray(batch["x"])[:, 0].tolist() == [2 * row for row in rows[-len(batch["x"]) :]]
        assert sorted(rows) == list(range(ROWS))
        epochs.append(rows)
    assert epochs[0] != epochs[1]
    late = [row for batch in loader.epoch(1, first=4) for row in batch["row"].tolist()]
    assert late == epochs[1][128:]
    ranks = [tarflume.ArrayLoader(x=array, batch_size=32, shuffle=True, rank=r, world_size=3) for r in range(3)]
    dealt = [row for rank in ranks for batch in rank for row in batch["row"].tolist()]
    assert sorted(dealt) == list(range(ROWS))
