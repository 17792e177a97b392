"""Numbers of sources and exports, compared with NumPy, h5py and pyarrow value by value: each stays the same, or is
refused with its row and what helps."""

from __future__ import annotations

import csv
import json
import math
import pathlib
from collections.abc import Callable

import h5py
import litdata.streaming.writer
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import streaming
import tfrecord
from PIL import Image

import tarflume
from conftest import pack
from proof import facts, jpeg, members, packed, refused

pytestmark = pytest.mark.filterwarnings("ignore")

#: Row 1 has the number that JSON lacks; the others are numbers of 32 bits.
REALS = [0.5, math.nan, 2.25]


# A number that JSON lacks, in every source


def npy(root: pathlib.Path, reals: list[float]) -> str:
    np.save(root / "x.npy", np.array(reals, np.float32))
    return f"npy:{root}/x.npy"


def npz(root: pathlib.Path, reals: list[float]) -> str:
    np.savez_compressed(root / "data.npz", x=np.array(reals))
    return f"npz:{root}/data.npz"


def hdf5(root: pathlib.Path, reals: list[float]) -> str:
    with h5py.File(root / "f.h5", "w") as file:
        file["x"] = np.array(reals, np.float32)
    return f"hdf5:{root}/f.h5"


def parquet(root: pathlib.Path, reals: list[float]) -> str:
    pq.write_table(pa.table({"x": pa.array(reals, pa.float32(), from_pandas=False)}), root / "t.parquet")
    return f"parquet:{root}/t.parquet"


def parquet_list(root: pathlib.Path, reals: list[float]) -> str:
    lists = pa.array([[{"y": real}] for real in reals], pa.list_(pa.struct([("y", pa.float64())])))
    pq.write_table(pa.table({"x": lists}), root / "t.parquet")
    return f"parquet:{root}/t.parquet"


def of_csv(root: pathlib.Path, reals: list[float]) -> str:
    with (root / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["x", "name"], *([real, "a"] for real in reals)])
    return f"csv:{root}/t.csv"


def jsonl(root: pathlib.Path, reals: list[float]) -> str:
    (root / "t.jsonl").write_text("".join(json.dumps({"x": real}) + "\n" for real in reals))
    return f"jsonl:{root}/t.jsonl"


def mds(root: pathlib.Path, reals: list[float]) -> str:
    with streaming.MDSWriter(out=str(root / "mds"), columns={"x": "float32"}) as out:
        for real in reals:
            out.write({"x": np.float32(real)})
    return f"mds:{root}/mds"


def mds_json(root: pathlib.Path, reals: list[float]) -> str:
    with streaming.MDSWriter(out=str(root / "mds"), columns={"x": "json"}) as out:
        for real in reals:
            out.write({"x": {"y": real}})
    return f"mds:{root}/mds"


def of_litdata(root: pathlib.Path, reals: list[float]) -> str:
    (root / "lit").mkdir()
    writer = litdata.streaming.writer.BinaryWriter(str(root / "lit"), chunk_bytes=1 << 14)
    for n, real in enumerate(reals):
        (root / f"{n}.jpg").write_bytes(jpeg(n))
        writer[n] = {"image": Image.open(root / f"{n}.jpg"), "x": real}
    writer.done()
    writer.merge()
    return f"litdata:{root}/lit"


def of_tfrecord(root: pathlib.Path, reals: list[float]) -> str:
    out = tfrecord.TFRecordWriter(str(root / "t.tfrecord"))
    for real in reals:
        out.write({"x": (real, "float")})
    out.close()
    return f"tfrecord:{root}/t.tfrecord"


SOURCES = [npy, npz, hdf5, parquet, parquet_list, of_csv, jsonl, mds, mds_json, of_litdata, of_tfrecord]


def number_of(sample: dict[str, bytes]) -> float:
    value = facts(sample)["x"]
    value = value[0] if isinstance(value, list) else value
    return value["y"] if isinstance(value, dict) else value


@pytest.mark.parametrize("lacking", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("source", SOURCES)
def test_a_number_that_json_lacks_is_refused_or_kept_as_python_writes_it(source, lacking, tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "0")  # the number of LitData's writer
    reals = [0.5, lacking, 2.25]
    name = source(tmp_path, reals)
    word = json.dumps(lacking)
    text = refused("build", name, "-o", tmp_path / "none")
    assert word in text and "JSON" in text and "--json-rules python" in text, text
    assert any(f"{unit} {n}" in text for unit in ("row", "sample", "record") for n in (1, 2)), text
    found = packed(name, tmp_path / "out", "--json-rules", "python")
    assert [repr(number_of(found[key])) for key in sorted(found)] == [repr(real) for real in reals]
    assert word in found[sorted(found)[1]]["json"].decode(), "not null, and not the text \"nan\""
    left = packed_without(name, tmp_path / "left") if source is not jsonl else None
    assert left in (None, [0.5, 2.25])


def packed_without(name: str, out: pathlib.Path) -> list[float]:
    """The numbers of the samples that are left if others are passed over."""
    pack("build", name, "-o", out, "--on-problem", "skip")
    found = members(out)
    return [number_of(found[key]) for key in sorted(found)]


def test_loaders_read_the_kept_number(tmp_path):
    pack("build", npy(tmp_path, REALS), "-o", tmp_path / "out", "--json-rules", "python")
    column = tarflume.Json("/x", dtype="float32", rules="python")
    batch = next(iter(tarflume.Loader(tmp_path / "out", columns={"x": column}, batch_size=3)))
    assert np.array_equal(np.asarray(batch["x"]), np.array(REALS, np.float32), equal_nan=True)
    with pytest.raises(tarflume.errors.DecodeError, match="NaN"):
        strict = tarflume.Json("/x", dtype="float32")
        list(tarflume.Loader(tmp_path / "out", columns={"x": strict}, batch_size=3))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_joined_tables_follow_the_same_rule(kind, tmp_path):
    names = ["a", "b", "c"]
    for n, name in enumerate(names):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{name}.jpg").write_bytes(jpeg(n))
    table = tmp_path / f"t.{kind}"
    if kind == "csv":
        table.write_text("name,x\na,0.5\nb,nan\nc,2.25\n")
    else:
        pq.write_table(pa.table({"name": names, "x": pa.array(REALS, pa.float32(), from_pandas=False)}), table)
    words = [tmp_path / "in", "--join", table]
    text = refused("build", *words, "-o", tmp_path / "none")
    assert "row 2" in text and "NaN" in text and "--json-rules python" in text, text
    found = packed(words[0], tmp_path / "out", *words[1:], "--json-rules", "python")
    assert [repr(facts(found[name])["x"]) for name in names] == [repr(real) for real in REALS]
    if kind == "csv":
        found = packed(words[0], tmp_path / "missing", "--join", f"{table}:missing=nan")
        assert [facts(found[name])["x"] for name in names] == [0.5, None, 2.25]


def test_words_beside_words_are_texts_and_a_missing_value_stays_null(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c,d\nnan,1,NaN,\nx,2,nan,1.5\n1,nan,inf,2\n")
    text = refused("build", f"csv:{tmp_path}/t.csv", "-o", tmp_path / "none")
    assert 'row 3: column "b": it is NaN' in text and "missing=nan" in text, text
    found = packed(f"csv:{tmp_path}/t.csv?missing=nan", tmp_path / "out")
    assert [facts(found[key]) for key in sorted(found)] == [
        {"a": None, "b": 1, "c": "NaN", "d": None},
        {"a": "x", "b": 2, "c": None, "d": 1.5},
        {"a": "1", "b": None, "c": "inf", "d": 2.0},
    ]
    pq.write_table(pa.table({"x": pa.array([0.5, None], pa.float64())}), tmp_path / "t.parquet")
    found = packed(f"parquet:{tmp_path}/t.parquet", tmp_path / "pq")
    assert [facts(found[key])["x"] for key in sorted(found)] == [0.5, None]


# The types that dataset.json declares, and the texts of numbers


def declared(out: pathlib.Path) -> dict[str, str]:
    columns = json.loads((out / "dataset.json").read_text())["columns"]
    return {column["name"]: column["type"] for column in columns}


SINGLES = np.concatenate([
    (np.arange(4000, dtype=np.uint32) * np.uint32(0x9E3779B9)).view(np.float32),
    np.array([0x15AE43FD, 0x95AE43FD, 1, 0x007FFFFF, 0x7F7FFFFF, 0x80000000], np.uint32).view(np.float32),
])  # fmt: skip
SINGLES = SINGLES[np.isfinite(SINGLES)]


def singles_as(kind: str, root: pathlib.Path) -> str:
    match kind:
        case "npy":
            np.save(root / "x.npy", SINGLES)
            return f"npy:{root}/x.npy"
        case "hdf5":
            with h5py.File(root / "f.h5", "w") as file:
                file["x"] = SINGLES
            return f"hdf5:{root}/f.h5"
        case "parquet":
            pq.write_table(pa.table({"x": SINGLES}), root / "t.parquet")
            return f"parquet:{root}/t.parquet"
        case "mds":
            with streaming.MDSWriter(out=str(root / "mds"), columns={"x": "float32"}) as out:
                for single in SINGLES:
                    out.write({"x": single})
            return f"mds:{root}/mds"
    out = tfrecord.TFRecordWriter(str(root / "t.tfrecord"))
    for single in SINGLES:
        out.write({"x": (float(single), "float")})
    out.close()
    return f"tfrecord:{root}/t.tfrecord"


@pytest.mark.parametrize("kind", ["npy", "hdf5", "parquet", "mds", "tfrecord"])
def test_floats_of_32_bits_read_back_the_same_as_the_type_that_is_declared(kind, tmp_path):
    pack("build", singles_as(kind, tmp_path), "-o", tmp_path / "out")
    assert declared(tmp_path / "out") == {"/x": "float32"}
    column = tarflume.Json("/x", dtype="float32")
    loader = tarflume.Loader(tmp_path / "out", columns={"x": column}, batch_size=len(SINGLES))
    found = np.asarray(next(iter(loader))["x"])
    assert np.array_equal(found.view(np.uint32), SINGLES.view(np.uint32))
    # Readers whose numbers have 64 bits find the same float of 32 bits.
    samples = members(tmp_path / "out")
    through = np.array([np.float32(facts(samples[key])["x"]) for key in sorted(samples)])
    assert np.array_equal(through.view(np.uint32), SINGLES.view(np.uint32))


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [("uint64", "uint64"), ("uint32", "int64"), ("int64", "int64"), ("float64", "float64"), ("bool", "bool")],
)
def test_every_source_of_arrays_declares_the_type_of_its_numbers(dtype, kind, tmp_path):
    most = True if dtype == "bool" else np.finfo(dtype).max if "float" in dtype else np.iinfo(dtype).max
    array = np.array([most, 0, 1]).astype(dtype)
    np.save(tmp_path / "x.npy", array)
    np.savez(tmp_path / "data.npz", x=array)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["x"] = array
    pq.write_table(pa.table({"x": array}), tmp_path / "t.parquet")
    files = {"npy": "x.npy", "npz": "data.npz", "hdf5": "f.h5", "parquet": "t.parquet"}
    sources = [f"{source}:{tmp_path}/{file}" for source, file in files.items()]
    for n, source in enumerate(sources):
        found = packed(source, tmp_path / f"out{n}")
        assert declared(tmp_path / f"out{n}") == {"/x": kind}, source
        assert facts(found[sorted(found)[0]])["x"] == array[0].item()


# Rounding to 16 bits


def test_floats_of_16_bits_are_rounded_once_from_64_bits(tmp_path):
    rng = np.random.default_rng(5)
    middles = 1 + (2 * rng.integers(0, 1024, 25_000) + 1) / 2048  # halfway between two floats of 16 bits
    reals = np.concatenate([np.nextafter(middles, 2), np.nextafter(middles, 0), rng.normal(size=20_000) * 1e-5])
    with tarflume.ShardWriter(tmp_path / "out") as out:
        out.write({"__key__": "a", "json": {"x": reals.tolist()}})
    column = tarflume.Json("/x", dtype="float16", shape=[len(reals)])
    found = np.asarray(next(iter(tarflume.Loader(tmp_path / "out", columns={"x": column}, batch_size=1)))["x"])[0]
    assert np.array_equal(found.view(np.uint16), reals.astype(np.float16).view(np.uint16))


def test_rows_are_not_padded_with_a_number_that_their_type_lacks(tmp_path):
    with tarflume.ShardWriter(tmp_path / "out") as out:
        out.write({"__key__": "a", "json": {"x": [1, 2]}})
        out.write({"__key__": "b", "json": {"x": [3]}})
    for dtype, bad, good in [("uint16", -100, 7), ("int8", 128, -128), ("int64", 0.5, -100), ("float16", 1e5, 0.1)]:
        column = tarflume.Json("/x", dtype=dtype, variable=True)
        rows = next(iter(tarflume.Loader(tmp_path / "out", columns={"x": column}, batch_size=2)))["x"]
        with pytest.raises(tarflume.errors.UsageError, match="padded"):
            rows.padded(bad)
        assert np.asarray(rows.padded(good)[0])[1, 1] == np.array(good).astype(dtype)


# HDF5 types that are not NumPy's


def bfloat16() -> h5py.h5t.TypeFloatID:
    kind = h5py.h5t.IEEE_F16LE.copy()
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_ebias(127)
    return kind


def low_level(file: h5py.File, name: str, kind, data: np.ndarray, filters: Callable | None = None, memory=None) -> None:
    """Writes `data`, of the type `memory` or of the file's own bits, as a data set of type `kind`."""
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if filters is not None:
        made.set_chunk((4, *data.shape[1:]))
        filters(made)
    space = h5py.h5s.create_simple(data.shape)
    found = h5py.h5d.create(file.id, name.encode(), kind, space, made)
    found.write(h5py.h5s.ALL, h5py.h5s.ALL, data, kind if memory is None else memory)


@pytest.mark.parametrize("chunked", [False, True])
def test_bfloat16_of_hdf5_is_bfloat16(chunked, tmp_path):
    bits = np.random.default_rng(6).integers(0, 0x7F80, (10, 3)).astype(np.uint16)
    filters = (lambda made: made.set_deflate(4)) if chunked else None
    with h5py.File(tmp_path / "f.h5", "w") as file:
        low_level(file, "x", bfloat16(), bits, filters)
        low_level(file, "y", bfloat16(), np.ascontiguousarray(bits[:, 0]), filters)
        wanted = file["y"][:]  # h5py reads it as float32
    pack("build", f"hdf5:{tmp_path}/f.h5", "-o", tmp_path / "out")
    found = members(tmp_path / "out")
    assert declared(tmp_path / "out") == {"x.raw": "bfloat16", "/y": "float64"}
    torch = pytest.importorskip("torch")
    batch = next(iter(tarflume.Loader(tmp_path / "out", columns={"x": "x.raw"}, batch_size=10)))
    rows = torch.from_dlpack(batch["x"])
    assert rows.dtype == torch.bfloat16 and np.array_equal(rows.view(torch.int16).numpy().view(np.uint16), bits)
    for n in range(10):
        sample = found[f"{n:08}"]
        assert sample["x.raw"] == bits[n].tobytes()
        assert facts(sample)["y"] == float(wanted[n]) == float((bits[n, 0].astype(np.uint32) << 16).view(np.float32))


def test_floats_that_numpy_lacks_are_refused_with_the_cure(tmp_path):
    odd = h5py.h5t.IEEE_F32LE.copy()
    odd.set_fields(31, 24, 7, 0, 24)
    odd.set_ebias(63)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        low_level(file, "x", odd, np.array([[0.5, -2.0]], np.float32), memory=h5py.h5t.NATIVE_FLOAT)
    text = refused("build", f"hdf5:{tmp_path}/f.h5?x=/x", "-o", tmp_path / "none")
    assert "another layout" in text, text
    with h5py.File(tmp_path / "f.h5", "r+") as file:  # the lines of the message
        data = file["/x"].astype("float64")[:]
        del file["/x"]
        file["/x"] = data
    found = packed(f"hdf5:{tmp_path}/f.h5", tmp_path / "out")
    assert np.frombuffer(found["00000000"]["x.raw"]).tolist() == [0.5, -2.0]


@pytest.mark.parametrize("order", ["LE", "BE"])
@pytest.mark.parametrize("nbit", [False, True])
@pytest.mark.parametrize(
    ("size", "offset", "precision"), [(16, 0, 12), (16, 3, 12), (32, 5, 20), (8, 1, 5), (64, 7, 40)]
)
def test_integers_of_fewer_bits_are_those_that_h5py_reads(size, offset, precision, nbit, order, tmp_path):
    filters = (lambda made: made.set_filter(h5py.h5z.FILTER_NBIT)) if nbit else None
    rng = np.random.default_rng(7)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        for letter, low in [("I", -(2 ** (precision - 1))), ("U", 0)]:
            kind = getattr(h5py.h5t, f"STD_{letter}{size}{order}").copy()
            kind.set_precision(precision)
            kind.set_offset(offset)
            data = rng.integers(low, low + 2**precision, (12, 3)).astype(f"{'i' if low else 'u'}{size // 8}")
            native = h5py.h5t.py_create(data.dtype)
            low_level(file, f"x{letter.lower()}", kind, data, filters, native)
            low_level(file, f"y{letter.lower()}", kind, np.ascontiguousarray(data[:, 0]), filters, native)
            assert np.array_equal(file[f"x{letter.lower()}"][:], data), "h5py reads what was written"
        wanted = {name: file[name][:] for name in file}
    found = packed(f"hdf5:{tmp_path}/f.h5", tmp_path / "out")
    for n in range(12):
        sample = found[f"{n:08}"]
        for letter in "IU":
            little = wanted[f"x{letter.lower()}"].dtype.newbyteorder("<")
            assert sample[f"x{letter.lower()}.raw"] == wanted[f"x{letter.lower()}"][n].astype(little).tobytes()
            assert facts(sample)[f"y{letter.lower()}"] == wanted[f"y{letter.lower()}"][n]
    if not nbit:
        with pytest.raises(tarflume.errors.Error, match="fewer bits|big-endian"):
            tarflume.ArrayDataset(tmp_path / "f.h5", "/xi")


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
    for name, word in {"chunked": "is chunked", "big": "big-endian", "compact": "compact"}.items():
        with pytest.raises(tarflume.errors.Error, match=word):
            tarflume.ArrayDataset(file, f"/{name}")
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
