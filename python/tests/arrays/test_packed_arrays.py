"""Columns of numbers that were packed by blocks of rows, and their single rows beside those of pyarrow."""

from __future__ import annotations

import json
import pathlib
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tarflume.torch

import tarflume
from conftest import PACK, pack

ROWS = 3000
DTYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64", "bool"]


def table() -> pa.Table:
    """Numbers of each type, and lists of lists."""
    dice = np.random.default_rng(5)
    columns = {dtype: pa.array(dice.integers(0, 2 if dtype == "bool" else 100, ROWS).astype(dtype)) for dtype in DTYPES}
    flat = pa.array(dice.standard_normal(ROWS * 6).astype(np.float32))
    columns["list"] = pa.FixedSizeListArray.from_arrays(flat, 6)
    columns["grid"] = pa.FixedSizeListArray.from_arrays(pa.FixedSizeListArray.from_arrays(flat, 3), 2)
    return pa.table(columns)


def truth(column: pa.ChunkedArray) -> np.ndarray:
    return np.array(column.to_pylist(), dtype=np.float32) if pa.types.is_fixed_size_list(column.type) else column.to_numpy()


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("packed")
    made = table()
    pq.write_table(made.slice(0, 2000), folder / "a.parquet", row_group_size=700)
    pq.write_table(made.slice(2000), folder / "b.parquet", compression="zstd", data_page_size=512, data_page_version="2.0")
    pack("build", f"parquet:{folder}/*.parquet?rows=256", "-o", folder / "shards", "--shard-size", "64KiB")
    return folder / "shards"


@pytest.mark.parametrize("name", [*DTYPES, "list", "grid"])
def test_rows_are_those_of_pyarrow(packed, name):
    array = tarflume.ArrayDataset(packed, f"{name}.npy")
    expected = truth(table()[name])
    assert (array.shape, array.dtype, array.block_rows) == (expected.shape, expected.dtype.name, 256)
    for rows in (slice(None), [2999, 0, 1999, 2000, 699, 700, 255, 256]):
        found = np.asarray(array[rows])
        assert found.dtype == expected.dtype and np.array_equal(found, expected[rows])


def test_a_loader_takes_each_row_once_in_any_order(packed):
    arrays = {name: tarflume.ArrayDataset(packed, f"{name}.npy") for name in ("int64", "grid")}
    for shuffle in (True, "blocks", False):
        seen = []
        for rank in range(3):
            loader = tarflume.torch.ArrayLoader(
                **arrays, batch_size=64, shuffle=shuffle, seed=7, drop_last="uneven", rank=rank, world_size=3
            )
            for batch in loader:
                rows = batch["row"].numpy()
                assert np.array_equal(batch["int64"].numpy(), truth(table()["int64"])[rows])
                assert np.array_equal(batch["grid"].numpy(), truth(table()["grid"])[rows])
                seen += rows.tolist()
        assert sorted(seen) == list(range(ROWS))


def test_shards_are_about_as_large_as_the_numbers(tmp_path):
    numbers = np.random.default_rng(1).standard_normal((20_000, 3)).astype(np.float32)
    pq.write_table(pa.table({name: numbers[:, n] for n, name in enumerate("abc")}), tmp_path / "t.parquet")
    pack("build", f"parquet:{tmp_path}/t.parquet?rows=4096", "-o", tmp_path / "shards")
    size = sum(path.stat().st_size for path in (tmp_path / "shards").glob("*.tar"))
    assert numbers.nbytes <= size < 1.2 * numbers.nbytes


def test_a_damaged_block_is_an_error_of_its_sample(packed, tmp_path):
    shards = tmp_path / "shards"
    shards.mkdir()
    for path in packed.iterdir():
        if path.is_file():
            (shards / path.name).write_bytes(path.read_bytes())
    tar = next(path for path in shards.glob("*.tar") if b"00000256.bool.npy" in path.read_bytes())
    bytes_ = bytearray(tar.read_bytes())
    at = bytes_.index(b"00000256.bool.npy") + 512 + 140
    bytes_[at] ^= 1
    tar.write_bytes(bytes_)
    array = tarflume.ArrayDataset(shards, "bool.npy")
    with pytest.raises(tarflume.Error, match="00000256") as raised:
        array[300]
    assert tar.name in str(raised.value)
    assert len(np.asarray(array[:256])) == 256


@pytest.mark.parametrize(
    ("options", "columns", "text"),
    [
        ("rows=0", {"x": [1]}, "rows=4096"),
        ("rows=8&key=x", {"x": [1]}, "'key=x' is an option of single rows"),
        ("rows=8", {"x": [1], "name": ["a"]}, "column 'name' has no numbers"),
        ("rows=8", {"x": [1], "s": [{"a": 1, "b": 2}]}, "leave it out with drop=s"),
        ("rows=8&drop=y", {"x": [1]}, "there is no such column; there are x"),
        ("rows=8&drop=x", {"x": [1]}, "no column is left"),
        ("rows=8", {"X": [1], "x": [2]}, "become the part 'x.npy'"),
        ("rows=8", {"x": [1, None]}, "column 'x' has nulls"),
        ("rows=8", {"x": [[1, 2], [3]]}, "lists of different lengths"),
    ],
)
def test_what_is_no_array_is_refused_with_a_remedy(options, columns, text, tmp_path):
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    words = [PACK, "build", f"parquet:{tmp_path}/t.parquet?{options}", "-o", str(tmp_path / "shards")]
    done = subprocess.run(words, text=True, capture_output=True, check=False)
    assert done.returncode in (1, 2) and text in done.stderr, done.stderr
    assert "t.parquet" in done.stderr or "option" in done.stderr or "rows=0" in done.stderr
    assert not list((tmp_path / "shards").glob("*.tar"))


def test_a_column_can_be_left_out(tmp_path):
    pq.write_table(pa.table({"x": [1, 2, 3], "name": ["a", "b", "c"]}), tmp_path / "t.parquet")
    pack("build", f"parquet:{tmp_path}/t.parquet?rows=2&drop=name", "-o", tmp_path / "shards")
    assert np.asarray(tarflume.ArrayDataset(tmp_path / "shards", "x.npy")[:]).tolist() == [1, 2, 3]
    with pytest.raises(tarflume.Error, match="y.npy"):
        tarflume.ArrayDataset(tmp_path / "shards", "y.npy")


def test_a_part_may_be_called_rows(tmp_path):
    pq.write_table(pa.table({"lines": ["a", "b"], "n": [1, 2]}), tmp_path / "t.parquet")
    pack("build", f"parquet:{tmp_path}/t.parquet?rows=lines&json=n", "-o", tmp_path / "shards")
    dataset = tarflume.Dataset(tmp_path / "shards")
    assert [(bytes(sample["rows"]), json.loads(sample["json"])["n"]) for sample in dataset] == [(b"a", 1), (b"b", 2)]


def test_parts_of_other_types_are_an_error(tmp_path):
    with tarflume.ShardWriter(tmp_path / "shards") as writer:
        writer.write({"__key__": "a", "x.npy": np.zeros((4, 2), np.float32)})
        writer.write({"__key__": "b", "x.npy": np.zeros((4, 2), np.int32)})
        writer.write({"__key__": "c", "x.npy": np.zeros((2, 4), np.float32)})
    array = tarflume.ArrayDataset(tmp_path / "shards", "x.npy")
    assert np.asarray(array[0]).tolist() == [0, 0]
    for row in (4, 8):
        with pytest.raises(tarflume.Error, match="another type or shape than the first sample"):
            array[row]
    with tarflume.ShardWriter(tmp_path / "odd") as writer:
        writer.write({"__key__": "a", "x.npy": np.zeros((4, 2), np.float32)})
        writer.write({"__key__": "b", "x.npy": np.zeros(3, np.float32)})
    with pytest.raises(tarflume.Error, match="no whole number of rows of 8 bytes"):
        tarflume.ArrayDataset(tmp_path / "odd", "x.npy")
