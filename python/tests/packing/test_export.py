"""`pack export` read back by pyarrow, Hugging Face datasets and Python's csv: every part of every photograph."""

from __future__ import annotations

import csv
import io
import json
import pathlib
from collections.abc import Iterable

import datasets
import pyarrow.csv
import pyarrow.parquet
import pytest
import tarflume
from PIL import Image

from conftest import pack
from photographs import Parts

Rows = Iterable[dict[str, object]]


def check(rows: Rows, parts: Parts, image: str) -> None:
    """`rows` are all samples, each once, with their bytes and the fields of their JSON."""
    seen = set()
    for row in rows:
        key = row["__key__"]
        assert key not in seen
        seen.add(key)
        bytes_ = row[image]["bytes"] if isinstance(row[image], dict) else row[image]
        assert bytes_ == parts[key]["jpg"]
        fields = json.loads(parts[key]["json"])
        assert {name: row[name] for name in fields} == fields
    assert seen == set(parts)


@pytest.mark.parametrize("size", ["1GB", "1MB"])
def test_parquet_is_read_by_pyarrow(photographs, tmp_path, size):
    folder, parts = photographs
    pack("export", folder, "--to", "parquet", "-o", tmp_path / "out", "--shard-size", size)
    files = sorted((tmp_path / "out").iterdir())
    assert (len(files) > 1) == (size == "1MB")
    table = pyarrow.parquet.read_table(tmp_path / "out")
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["jpg"], types["class"], types["name"]) == ("binary", "int64", "string")
    rows = table.to_pylist()
    check(rows, parts, "jpg")
    for row in rows:
        with Image.open(io.BytesIO(row["jpg"])) as image:
            assert image.size == (row["__width__"], row["__height__"])
        assert row["__jpg_bytes__"] == len(row["jpg"])


def test_parquet_without_images_is_a_table_of_the_samples(photographs, tmp_path):
    folder, parts = photographs
    pack("export", folder, "--to", "parquet", "-o", tmp_path / "out", "--parts", "json")
    table = pyarrow.parquet.read_table(tmp_path / "out")
    assert "jpg" not in table.column_names
    assert set(table["__key__"].to_pylist()) == set(parts)


@pytest.mark.parametrize("streaming", [False, True])
def test_hugging_face_reads_images_and_fields(photographs, tmp_path, streaming):
    folder, parts = photographs
    pack("export", folder, "--to", "hf", "-o", tmp_path / "out", "--shard-size", "1MB")
    found = datasets.load_dataset(str(tmp_path / "out"), split="train", streaming=streaming,
                                  cache_dir=str(tmp_path / "cache"))  # fmt: skip
    assert isinstance(found.features["image"], datasets.Image)
    assert found.features["class"].dtype == "int64"
    first = next(iter(found))
    assert isinstance(first["image"], Image.Image)
    raw = found.cast_column("image", datasets.Image(decode=False))
    check(raw, parts, "image")
    assert {row["image"]["path"] for row in raw} == {f"{key}.jpg" for key in parts}


def test_hugging_face_reads_a_folder_of_images(photographs, tmp_path):
    folder, parts = photographs
    pack("export", folder, "--to", "folder", "-o", tmp_path / "out")
    found = datasets.load_dataset("imagefolder", data_dir=str(tmp_path / "out"), split="train",
                                  cache_dir=str(tmp_path / "cache"))  # fmt: skip
    rows = []
    for row in found.cast_column("image", datasets.Image(decode=False)):
        path = pathlib.Path(row["image"]["path"])
        key = str(path.relative_to(tmp_path / "out").with_suffix(""))
        rows.append({**row, "__key__": key, "image": row["image"]["bytes"] or path.read_bytes()})
    check(rows, parts, "image")


def test_a_table_of_csv_is_read_with_its_types(photographs, tmp_path):
    folder, parts = photographs
    pack("export", folder, "--to", "csv", "-o", tmp_path / "table.csv")
    table = pyarrow.csv.read_csv(tmp_path / "table.csv")
    assert str(table.schema.field("n").type) == "int64"
    with open(tmp_path / "table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["__key__"] for row in rows} == set(parts)
    for row in rows:
        assert int(row["__jpg_bytes__"]) == len(parts[row["__key__"]]["jpg"])
        assert row["name"] == json.loads(parts[row["__key__"]]["json"])["name"]


VALUES = [
    {"i": 1, "f": 0.5, "t": "a", "b": True, "l": [1, 2], "s": ["x"], "o": {"p": 1.25}, "m": [1, "x"]},
    {"i": -(2**62), "f": 2, "t": "two\nlines, \"quoted\"", "b": False, "l": [], "s": [], "o": {"p": 3}, "m": [[1]]},
    {"i": None, "t": ""},
    {},
]


@pytest.fixture
def values(tmp_path) -> pathlib.Path:
    """Samples with every type of field, and one without JSON."""
    source = tmp_path / "source"
    source.mkdir()
    for n, fields in enumerate(VALUES):
        (source / f"{n}.bin").write_bytes(bytes([n]) * (n + 1))
        (source / f"{n}.json").write_text(json.dumps(fields))
    (source / "4.bin").write_bytes(b"last")
    pack("build", source, "-o", tmp_path / "shards", "--require", "", "--check", "none")
    return tmp_path / "shards"


def test_every_type_of_field_keeps_its_value(values, tmp_path):
    pack("export", values, "--to", "parquet", "-o", tmp_path / "parquet")
    pack("export", values, "--to", "hf", "-o", tmp_path / "hf")
    plain = pyarrow.parquet.read_table(tmp_path / "parquet").to_pylist()
    hub = datasets.load_dataset(str(tmp_path / "hf"), split="train", cache_dir=str(tmp_path / "cache"))
    assert hub.features["l"] == datasets.List(datasets.Value("int64"))
    for rows in (plain, list(hub)):
        assert [row["bin"] for row in rows] == [b"\0", b"\1\1", b"\2\2\2", b"\3\3\3\3", b"last"]
        for row, want in zip(rows, [*VALUES, {}], strict=True):
            for name in ("i", "f", "t", "b", "l", "s"):
                assert row[name] == want.get(name), name
            assert row["o.p"] == want.get("o", {}).get("p")
            assert json.loads(row["m"] or "null") == want.get("m")


def test_json_as_text_is_kept_byte_by_byte(values, tmp_path):
    pack("export", values, "--to", "parquet", "-o", tmp_path / "out", "--json", "text")
    rows = pyarrow.parquet.read_table(tmp_path / "out").to_pylist()
    assert [row["json"] for row in rows] == [*map(json.dumps, VALUES), None]


@pytest.mark.parametrize("to", ["parquet", "mds", "tfrecord", "csv"])
def test_the_function_writes_the_bytes_of_the_command(photographs, tmp_path, to):
    folder, parts = photographs
    pack("export", folder, "--to", to, "-o", tmp_path / "command", "--json", "text" if to == "mds" else "columns")
    done = tarflume.pack.export(folder, tmp_path / "function", to=to, fsync=False)
    assert done["samples"] == len(parts)
    assert str(done).startswith("exported 250 samples" if len(parts) == 250 else "exported ")

    def tree(path: pathlib.Path) -> dict[str, bytes]:
        files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
        return {str(file.relative_to(path)): file.read_bytes() for file in files}

    assert tree(tmp_path / "function") == tree(tmp_path / "command")


def test_options_of_an_export_are_checked(photographs, tmp_path):
    folder, _ = photographs
    with pytest.raises(tarflume.errors.UsageError, match='to="zip" is not known'):
        tarflume.pack.export(folder, tmp_path / "out", to="zip")
    for option in ({"parts": "jpg"}, {"names": "path=replace"}, {"numbers": "text"}):
        with pytest.raises(tarflume.errors.UsageError, match="not for to=\"megatron\""):
            tarflume.pack.export(folder, tmp_path / "out", to="megatron", **option)
    with pytest.raises(tarflume.errors.PackError, match="megatron takes data sets of `tarflume.pack.tokens`"):
        tarflume.pack.export(folder, tmp_path / "out", to="megatron")
    assert list(tmp_path.iterdir()) == []
