"""Several sources of arrays, arrays that are exported and packed again, and the messages about sources of arrays."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import streaming

import tarflume
from conftest import pack
from proof import members, packed, refused

pytestmark = pytest.mark.filterwarnings("ignore")


# Sources that follow one another


def test_arrays_in_two_sources_are_no_samples_of_both(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((4, 3)))
    np.save(tmp_path / "y.npy", np.arange(4))
    text = refused("build", f"npy:{tmp_path}/x.npy", f"npy:{tmp_path}/y.npy", "-o", tmp_path / "out")
    assert f"pack build 'npy:{tmp_path}/x.npy,{tmp_path}/y.npy' -o OUT" in text, text
    found = packed(f"npy:{tmp_path}/x.npy,{tmp_path}/y.npy", tmp_path / "out")
    assert all(set(sample) == {"x.raw", "json"} for sample in found.values())
    (tmp_path / "more").mkdir()
    np.save(tmp_path / "more" / "x.npy", np.zeros((2, 3)))
    assert len(packed(f"npy:{tmp_path}/x.npy", tmp_path / "two", f"npy:{tmp_path}/more/x.npy")) == 6


def test_other_sources_with_different_columns_are_refused_with_the_cure(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(3))
    np.savez(tmp_path / "b.npz", y=np.arange(3))
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["x"], file["y"] = np.arange(3), np.arange(3)
    for name, table in {"a.csv": "x,z\n1,2\n", "b.csv": "y,z\n1,2\n"}.items():
        (tmp_path / name).write_text(table)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"y": [1]}), tmp_path / "b.parquet")
    for kind, first, second, cure in [
        ("npz", "a.npz", "b.npz", "numpy.savez('all.npz', **numpy.load("),
        ("hdf5", "f.h5?x=/x", "f.h5?y=/y", "?x=/x&y=/y' -o OUT"),
        ("csv", "a.csv", "b.csv", "the same columns"),
        ("parquet", "a.parquet", "b.parquet", "the same columns"),
    ]:
        text = refused("build", f"{kind}:{tmp_path}/{first}", f"{kind}:{tmp_path}/{second}", "-o", tmp_path / "out")
        assert "follow one another" in text and cure in text, text
    for kind in ["npz", "csv"]:
        text = refused("build", f"{kind}:{tmp_path}/a.{kind},{tmp_path}/b.{kind}", "-o", tmp_path / "out")
        assert "follow one another" in text, text


def test_what_some_lines_lack_is_nullable_and_whole_numbers_of_one_table_are_fractions_of_both(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "a", "x": 1, "y": 2}\n')
    (tmp_path / "b.jsonl").write_text('{"id": "b", "x": 0.5}\n')
    pack("build", f"jsonl:{tmp_path}/a.jsonl,{tmp_path}/b.jsonl?key=id", "-o", tmp_path / "out")
    columns = json.loads((tmp_path / "out" / "dataset.json").read_text())["columns"]
    assert columns == [{"name": "/x", "type": "float64"}, {"name": "/y", "type": "int64", "nullable": True}]
    (tmp_path / "c.jsonl").write_text('{"x": "one"}\n')
    text = refused("build", f"jsonl:{tmp_path}/a.jsonl", f"jsonl:{tmp_path}/c.jsonl", "-o", tmp_path / "none")
    assert "'/x' is int64 in one source and string in another" in text
    for n in range(2):
        pq.write_table(pa.table({"id": [str(n)], "x": [n]}), tmp_path / f"{n}.parquet")
    first, second = (f"parquet:{tmp_path}/{n}.parquet?key=id" for n in range(2))
    assert len(packed(first, tmp_path / "two", second)) == 2


# Arrays that are exported and packed again


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int64", "bool"])
@pytest.mark.parametrize("form", ["mds", "litdata", "tfrecord", "parquet", "hf"])
def test_exported_arrays_keep_type_and_shape(form, dtype, tmp_path):
    array = np.arange(12).reshape(2, 2, 3).astype(dtype)
    np.save(tmp_path / "x.npy", array)
    np.save(tmp_path / "y.npy", np.arange(2))
    pack("build", f"npy:{tmp_path}/x.npy,{tmp_path}/y.npy", "-o", tmp_path / "set")
    pack("export", tmp_path / "set", "--to", form, "-o", tmp_path / "out")
    kind = {"hf": "parquet", "parquet": "parquet"}.get(form, form)
    files = {"tfrecord": "/*.tfrecord", "hf": "/data/*.parquet"}.get(form, "")
    found = packed(f"{kind}:{tmp_path}/out{files}", tmp_path / "again")
    columns = json.loads((tmp_path / "again" / "dataset.json").read_text())["columns"]
    [again] = [column for column in columns if column["name"] == "x.raw"]
    assert (again["type"], again["shape"]) == (dtype, [2, 3])
    assert [found[key]["x.raw"] for key in sorted(found)] == [row.tobytes() for row in array]
    batch = next(iter(tarflume.Loader(tmp_path / "again", columns={"x": "x.raw"}, batch_size=2)))
    assert np.array_equal(np.asarray(batch["x"]), array)
    if form == "mds" and dtype != "bool":
        read = streaming.StreamingDataset(local=str(tmp_path / "out"), shuffle=False, batch_size=1)
        assert np.array_equal(np.stack([sample["x.raw"] for sample in read]), array)


def test_an_encoding_that_is_given_and_parts_of_another_length(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    pack("build", f"npy:{tmp_path}/x.npy", "-o", tmp_path / "set")
    pack("export", tmp_path / "set", "--to", "mds", "-o", tmp_path / "bytes", "--as", "x.raw=bytes")
    index = json.loads((tmp_path / "bytes" / "index.json").read_text())
    assert index["shards"][0]["column_encodings"] == ["str", "bytes"] and "tarflume" not in index
    about = tmp_path / "set" / "dataset.json"
    about.write_text(about.read_text().replace('"float32"', '"float64"'))
    pack("index", "--accept-edits", tmp_path / "set")
    text = refused("export", tmp_path / "set", "--to", "mds", "-o", tmp_path / "none")
    assert "'x.raw' has 12 bytes" in text and "--as x.raw=bytes" in text, text


# Messages


def test_messages_about_hdf5_say_what_is_there(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = np.ones((2, 3))
    (tmp_path / "raw.bin").write_bytes(bytes(24))
    for name, others in {"f.h5": 10, "links.h5": 0}.items():  # many links are stored in another way
        with h5py.File(tmp_path / name, "w") as file:
            file["far"] = h5py.ExternalLink("other.h5", "/x")
            file["broken"] = h5py.SoftLink("/nowhere")
            for n in range(others):
                file[f"more{n}"] = h5py.SoftLink("/far")
    with h5py.File(tmp_path / "f.h5", "a") as file:
        file["null"] = h5py.Empty("f4")
        file["none"] = np.zeros((0, 3))
        file["flat"] = np.zeros((5, 0))
        file["group/x"] = np.ones(2)
        file.create_dataset("away", (2, 3), "f4", external=[("raw.bin", 0, 24)])
        file.create_dataset("chunked", data=np.ones((4, 2)), chunks=(2, 2))
        file.create_dataset("big", data=np.ones((4, 2)).astype(">f8"))
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        h5py.h5d.create(file.id, b"compact", h5py.h5t.NATIVE_INT16, h5py.h5s.create_simple((2, 2)), compact)
    file = tmp_path / "f.h5"
    for name, words in {
        "far": ["a link to another file", f"hdf5:{tmp_path}/other.h5?x=/DATASET"],
        "null": ["no values (h5py.Empty)"],
        "none": ["it has 0 rows"],
        "flat": ["[5, 0]", "no values"],
        "group": ["it is a group", "/group/x"],
        "away": ["external files", "create_dataset"],
    }.items():
        text = refused("build", f"hdf5:{file}?x=/{name}", "-o", tmp_path / "out")
        assert all(word in text for word in words), text
    for name, words in {"far": f"hdf5:{tmp_path}/other.h5?x=/x'", "broken": "a link to '/nowhere'"}.items():
        text = refused("build", f"hdf5:{tmp_path}/links.h5?x=/{name}", "-o", tmp_path / "out")
        assert words in text, text
    text = refused("build", f"hdf5:{tmp_path}/links.h5", "-o", tmp_path / "out")
    assert "a link to another file" in text, "the data set behind it is not left out"
    with h5py.File(file) as whole:
        for name in ("chunked", "big", "compact"):
            assert np.array_equal(tarflume.ArrayDataset(file, f"/{name}")[:], whole[name][:]), name
    assert len(tarflume.ArrayDataset(file, "/none")) == 0


def test_messages_about_npz_name_the_source(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 3)))
    np.savez(tmp_path / "m.npz", x=np.ones((2, 3)))
    for source, words in {
        f"npy:{tmp_path}/m.npz": "pack build npz:FILE",
        f"npz:{tmp_path}/x.npy": f"npy:{tmp_path}/x.npy",
        f"{tmp_path}/m.npz": f"npz:{tmp_path}/m.npz",
        f"{tmp_path}/x.npy": f"npy:{tmp_path}/x.npy",
    }.items():
        text = refused("build", source, "-o", tmp_path / "out")
        assert words in text, text
    with pytest.raises(tarflume.errors.Error, match="npz"):
        tarflume.ArrayDataset(tmp_path / "m.npz")
    with pytest.raises(tarflume.errors.Error, match="numpy.load"):
        tarflume.ArrayDataset(tmp_path / "m.npz", "x")
    with pytest.raises(tarflume.errors.Error, match="leave out the name"):
        tarflume.ArrayDataset(tmp_path / "x.npy", "x")


def test_types_and_shapes_of_other_forms_are_refused_with_the_right_one(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 4), np.float32))
    opened = tarflume.ArrayDataset(tmp_path / "x.npy", dtype="float32", shape=(4,))
    assert (len(opened), opened.dtype) == (2, "float32")
    with pytest.raises(tarflume.errors.Error, match="not of I32"):
        tarflume.ArrayDataset(tmp_path / "x.npy", dtype="int32", shape=(4,))
    torch = pytest.importorskip("torch")
    for dtype in [np.float32, np.dtype("float32"), torch.float32]:
        for make in [
            lambda dtype: tarflume.ArrayDataset(tmp_path / "x.npy", dtype=dtype, shape=(4,)),
            lambda dtype: tarflume.Json("/x", dtype=dtype),
            lambda dtype: tarflume.Raw("x.raw", dtype=dtype),
            lambda dtype: tarflume.Npy(dtype),
            lambda dtype: tarflume.ClassLabel(dtype=dtype),
        ]:
            with pytest.raises(tarflume.errors.UsageError, match='dtype="float32"'):
                make(dtype)
    for make in [
        lambda shape: tarflume.ArrayDataset(tmp_path / "x.npy", dtype="float32", shape=shape),
        lambda shape: tarflume.Json("/x", shape=shape),
        lambda shape: tarflume.Raw("x.raw", shape=shape),
    ]:
        with pytest.raises(tarflume.errors.UsageError, match=r"such as \(4,\), not 4"):
            make(4)
        with pytest.raises(tarflume.errors.UsageError, match="a shape is a tuple"):
            make("4")


# Numbers without a header

TYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", TYPES)
def test_rows_of_raw_numbers_are_those_of_numpy(dtype, tmp_path):
    bytes_ = np.random.default_rng(3).integers(0, 2 if dtype == "bool" else 256, 24 * 40, np.uint8)
    (tmp_path / "x.dat").write_bytes(b"head!" + bytes_.tobytes())
    rows = np.fromfile(tmp_path / "x.dat", dtype, offset=5).reshape(-1, 3, 1)
    found = sorted(packed(f"raw:{tmp_path}/x.dat?dtype={dtype}&shape=3,1&offset=5", tmp_path / "out").items())
    assert [key for key, _ in found] == [f"{n:08}" for n in range(len(rows))]
    assert [sample["x.raw"] for _, sample in found] == [row.tobytes() for row in rows]
    described = json.loads((tmp_path / "out" / "dataset.json").read_text())["columns"]
    assert described == [{"name": "x.raw", "type": dtype, "shape": [3, 1]}]
    column = next(iter(tarflume.Loader(tmp_path / "out", columns={"x": "x.raw"}, batch_size=len(rows))))["x"]
    assert column.numpy().tobytes() == rows.tobytes() and column.numpy().dtype == dtype


def test_several_raw_files_have_types_and_shapes_of_their_own(tmp_path):
    x = np.random.default_rng(1).standard_normal((10, 2, 2)).astype(np.float32)
    y = np.arange(10, dtype=np.int16) - 5
    half = (x[:, 0].copy().view(np.uint32) >> 16).astype(np.uint16)
    x.tofile(tmp_path / "x.dat"), y.tofile(tmp_path / "y.dat"), half.tofile(tmp_path / "half.dat")
    files = ",".join(f"{tmp_path}/{name}.dat" for name in ("x", "y", "half"))
    options = "dtype=float32&x.shape=2,2&y.dtype=int16&half.dtype=bfloat16&half.shape=2"
    pack("build", f"raw:{files}?{options}", "-o", tmp_path / "out")
    found = members(tmp_path / "out")
    for n, (_, sample) in enumerate(sorted(found.items())):
        assert sample["x.raw"] == x[n].tobytes() and sample["half.raw"] == half[n].tobytes()
        assert json.loads(sample["json"]) == {"y": n - 5}
    columns = json.loads((tmp_path / "out" / "dataset.json").read_text())["columns"]
    assert {column["name"]: column["type"] for column in columns} == {
        "x.raw": "float32", "half.raw": "bfloat16", "/y": "int64",
    }  # fmt: skip
    text = refused("build", f"raw:{tmp_path}/x.dat?dtype=float32&shape=4", f"raw:{tmp_path}/y.dat?dtype=int16", "-o", tmp_path / "o")
    assert f"'raw:{tmp_path}/x.dat,{tmp_path}/y.dat?x.dtype=float32&x.shape=4&y.dtype=int16' -o OUT" in text


def test_messages_about_raw_numbers_have_the_next_command(tmp_path):
    np.arange(10, dtype=np.float32).tofile(tmp_path / "x.dat")
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    x = f"raw:{tmp_path}/x.dat"
    for source, words in {
        x: f"pack build '{x}?dtype=float32&shape=768' -o OUT",
        f"{x}?dtype=float32&shape=4": f"byte 32: after 2 rows of 16 bytes (float32 [4]), 8 bytes are left",
        f"{x}?shape=4&dtype=float32": f"pack build '{x}?shape=4&dtype=float32&offset=8' -o OUT",
        f"{x}?dtype=float32&offset=50": "no row can begin at byte 50",
        f"{x}?dtype=%3Ef4": "there are bool, uint8",
        f"{x}?dtype=float32&shape=0": "whole numbers above 0",
        f"{x}?dtype=float32&offset=a": "no number of bytes",
        f"{x}?dtype=float32&shapes=4": "raw: has no option 'shapes'",
        f"{x}?dtype=float32&y.shape=4": "of an array 'y', and the arrays are x",
        f"raw:{tmp_path}/a.npy?dtype=float64": f"pack build 'npy:{tmp_path}/a.npy' -o OUT",
        f"raw:{tmp_path}/none.dat?dtype=float64": "none.dat",
    }.items():
        text = refused("build", source, "-o", tmp_path / "out")
        assert words in text, text
    packed(f"{x}?shape=4&dtype=float32&offset=8", tmp_path / "out")
    with pytest.raises(tarflume.errors.Error, match=r"tarflume.pack.build\('?\"?raw:.*offset=8"):
        tarflume.pack.build(f"{x}?shape=4&dtype=float32", tmp_path / "other")
