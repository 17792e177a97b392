"""Numbers of sources, compared with NumPy, h5py and pyarrow value by value: each stays the same, or is refused with its
row and what helps."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import streaming
import tfrecord

import tarflume
from conftest import pack
from proof import facts, members, packed, refused

pytestmark = pytest.mark.filterwarnings("ignore")


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
    for name, rows in wanted.items():
        assert np.array_equal(tarflume.ArrayDataset(tmp_path / "f.h5", name)[:], rows), name
