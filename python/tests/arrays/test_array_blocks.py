"""Chunked HDF5 and compressed Parquet, read where they are: rows of `ArrayDataset` beside those of h5py and pyarrow."""

from __future__ import annotations

import pickle

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import tarflume
import tarflume.torch
from array_rows import DTYPES, assert_each_row_once, equal, values

ROWS = 211


FILTERS = {
    "chunks": {},
    "gzip": {"compression": "gzip"},
    "gzip and shuffle": {"compression": "gzip", "compression_opts": 9, "shuffle": True},
    "lzf": {"compression": "lzf"},
    "lzf and shuffle": {"compression": "lzf", "shuffle": True},
    "fletcher": {"fletcher32": True},
    "all": {"compression": "gzip", "shuffle": True, "fletcher32": True},
}


@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("version", ["earliest", "latest"])
def test_rows_of_chunked_hdf5_are_those_of_h5py(filters, version, tmp_path):
    with h5py.File(tmp_path / "f.h5", "w", libver=version) as file:
        for dtype in DTYPES:
            file.create_dataset(dtype, data=values(dtype, ROWS, 6, 5), chunks=(16, 4, 5), **FILTERS[filters])
            file.create_dataset(f"flat_{dtype}", data=values(dtype, ROWS), chunks=(50,), **FILTERS[filters])
    with h5py.File(tmp_path / "f.h5") as file:
        for name in file:
            array = tarflume.ArrayDataset(tmp_path / "f.h5", name)
            assert array.block_rows == (50 if name.startswith("flat") else 16)
            equal(array, file[name][:])


def test_rows_that_are_not_as_they_are_for_other_reasons_are_decoded_too(tmp_path):
    numbers = np.arange(ROWS * 3, dtype=">f4").reshape(ROWS, 3)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["big"] = numbers
        some = file.create_dataset("some", (ROWS, 3), "<i4", chunks=(10, 3), fillvalue=-7)
        some[20:40] = 5
        never = file.create_dataset("never", (ROWS, 2), "<i2", chunks=(10, 2))
        assert never.id.get_storage_size() == 0
        scaled = values("int32", ROWS, 4)
        file.create_dataset("scaled", data=scaled, chunks=(16, 4), scaleoffset=0)
        truth = {name: file[name][:] for name in file}
    equal(tarflume.ArrayDataset(tmp_path / "f.h5", "/big"), numbers.astype("<f4"))
    for name in ("some", "never", "scaled"):
        equal(tarflume.ArrayDataset(tmp_path / "f.h5", name), truth[name])


def test_a_filter_that_is_not_read_is_named_with_the_next_command(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((4, 4))
        plist.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, (3,))
        space = h5py.h5s.create_simple((8, 4))
        h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_INT32, space, plist)
    with pytest.raises(tarflume.Error, match=r"f.h5: /x: .*32015 \(Zstandard\).*h5repack -f SHUF"):
        tarflume.ArrayDataset(tmp_path / "f.h5", "/x")


PAGES = {
    "snappy": {"compression": "snappy"},
    "gzip": {"compression": "gzip"},
    "zstd": {"compression": "zstd", "data_page_version": "2.0", "row_group_size": 37},
    "lz4": {"compression": "lz4", "row_group_size": 100, "data_page_size": 200, "write_batch_size": 8},
    "dictionary": {"compression": "none", "row_group_size": 64},
    "delta": {"compression": "snappy", "use_dictionary": False, "column_encoding": {"int32": "DELTA_BINARY_PACKED"}},
}


@pytest.mark.parametrize("pages", PAGES)
def test_rows_of_compressed_parquet_are_those_of_pyarrow(pages, tmp_path):
    truth = {dtype: values(dtype, ROWS) for dtype in DTYPES}
    truth["list"] = values("float32", ROWS, 8)
    truth["lists"] = values("int16", ROWS, 2, 3)
    truth["fixed"] = values("float64", ROWS, 4)
    kinds = {"list": pa.list_(pa.float32()), "lists": pa.list_(pa.list_(pa.int16())), "fixed": pa.list_(pa.float64(), 4)}
    columns = {name: pa.array(rows.tolist() if name in kinds else rows, kinds.get(name)) for name, rows in truth.items()}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", **PAGES[pages])
    for name, rows in truth.items():
        equal(tarflume.ArrayDataset(tmp_path / "t.parquet", name), rows)


def test_a_column_that_is_no_array_is_refused_with_the_next_command(tmp_path):
    uneven = [[1.0, 2.0]] * 150 + [[3.0]] * 61
    columns = {
        "text": ["a"] * ROWS,
        "nulls": [None if n % 7 == 3 else n for n in range(ROWS)],
        "first": [None, *range(ROWS - 1)],
        "uneven": uneven,
        "holes": [[1, None]] * ROWS,
        "good": range(ROWS),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=100)
    path = tmp_path / "t.parquet"
    for name, why in {
        "text": "has no numbers",
        "nulls": "has nulls",
        "first": "has nulls",
        "holes": "nulls",
        "none": "the columns are text, nulls, first",
    }.items():
        with pytest.raises(tarflume.Error, match=why) as error:
            tarflume.ArrayDataset(path, name)
        assert name == "none" or f"tarflume.pack.build(\"parquet:{path}\"" in str(error.value)
    array = tarflume.ArrayDataset(path, "uneven")
    assert np.asarray(array[:100]).tolist() == uneven[:100]
    with pytest.raises(tarflume.Error, match=r"t.parquet: column 'uneven' in row group 1, rows 100..200, has .*lengths.*tarflume.pack.build"):
        array[120]
    pq.write_table(pa.table({"x": range(ROWS)}), path, compression="brotli")
    with pytest.raises(tarflume.Error, match="compressed by BROTLI.*compression='zstd'"):
        tarflume.ArrayDataset(path, "x")


@pytest.fixture
def chunked(tmp_path):
    """Arrays of which 400 bytes of blocks are kept, and what NumPy has."""
    x, y = values("int32", ROWS, 5), np.arange(ROWS, dtype=np.int64)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(4, 5), compression="gzip")
    pq.write_table(pa.table({"y": y}), tmp_path / "t.parquet", row_group_size=12)
    limit = {"memory_limit": "400B"}
    arrays = {"x": tarflume.ArrayDataset(tmp_path / "f.h5", "x", **limit), "y": tarflume.ArrayDataset(tmp_path / "t.parquet", "y", **limit)}
    return arrays, {"x": x, "y": y}


@pytest.mark.parametrize("divide", ["sample", "shard"])
def test_blocks_are_shuffled_and_every_row_comes_once(divide, chunked):
    arrays, truth = chunked
    assert_each_row_once(arrays, truth, divide)


def test_an_epoch_of_blocks_continues_where_it_stopped(chunked):
    arrays, _ = chunked
    loader = tarflume.torch.ArrayLoader(**arrays, batch_size=9, shuffle="blocks", seed=3)
    whole = [row for batch in loader for row in batch["row"].tolist()]
    loader.set_epoch(0)
    taken = []
    for batch in loader:
        taken += batch["row"].tolist()
        if len(taken) > 100:
            break
    again = pickle.loads(pickle.dumps(loader))
    assert taken + [row for batch in again for row in batch["row"].tolist()] == whole


def test_a_full_shuffle_needs_memory_for_all_blocks(chunked, tmp_path):
    arrays, truth = chunked
    for make in (tarflume.torch.ArrayLoader, tarflume.ArrayLoader):
        with pytest.raises(tarflume.Error, match='blocks of 4 rows|blocks of 4.*shuffle="blocks"'):
            make(x=arrays["x"], batch_size=9, shuffle=True)
    whole = tarflume.ArrayDataset(tmp_path / "f.h5", "x")
    for make in (tarflume.torch.ArrayLoader, tarflume.ArrayLoader):
        seen = [np.asarray(batch["row"]) for batch in make(x=whole, batch_size=9, shuffle=True, seed=1)]
        assert sorted(np.concatenate(seen).tolist()) == list(range(ROWS))
    in_order = [np.asarray(batch["x"]) for batch in tarflume.ArrayLoader(x=arrays["x"], batch_size=9)]
    assert np.array_equal(np.concatenate(in_order), truth["x"])


def test_a_block_that_is_larger_than_the_limit_is_an_error_with_the_next_line(chunked, tmp_path):
    with pytest.raises(tarflume.Error, match=r"f.h5: x: .*blocks of 4, which have 80 bytes.*memory_limit=\"80B\".*chunks="):
        tarflume.ArrayDataset(tmp_path / "f.h5", "x", memory_limit="79B")
    assert len(tarflume.ArrayDataset(tmp_path / "f.h5", "x", memory_limit="80B")) == ROWS


def test_a_damaged_chunk_is_an_error_of_its_rows(tmp_path):
    x = np.random.default_rng(2).integers(0, 99, (40, 64), dtype=np.int32)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        data = file.create_dataset("x", data=x, chunks=(8, 64), compression="gzip")
        info = data.id.get_chunk_info(2)
    with (tmp_path / "f.h5").open("r+b") as file:
        file.seek(info.byte_offset + info.size // 2)
        file.write(b"\xff" * 16)
    array = tarflume.ArrayDataset(tmp_path / "f.h5", "x")
    assert np.array_equal(array[list(range(16))], x[:16])
    with pytest.raises(tarflume.Error, match=r"f.h5: .*rows 16..24"):
        array[20]
    with pytest.raises(tarflume.Error, match=r"f.h5.*rows 16..24"):
        list(tarflume.torch.ArrayLoader(x=array, batch_size=10))
    loader = tarflume.torch.ArrayLoader(x=array, batch_size=10, on_bad="skip")
    rows = [row for batch in loader for row in batch["row"].tolist()]
    assert rows == [*range(16), *range(24, 40)]
    assert [bad["ordinal"] for bad in loader.bad_samples()] == list(range(16, 24))
    assert loader.ledger().bad == 8


def test_a_dataloader_reads_decoded_rows(chunked):
    arrays, truth = chunked
    loader = torch.utils.data.DataLoader(pickle.loads(pickle.dumps(arrays["x"])), batch_size=50)
    assert np.array_equal(torch.cat(list(loader)).numpy(), truth["x"])
