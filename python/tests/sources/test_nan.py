"""`NaN` and infinite numbers: every source refuses them with their row and what helps, or keeps them."""

from __future__ import annotations

import csv
import json
import math
import pathlib

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
