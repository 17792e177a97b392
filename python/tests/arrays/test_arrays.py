"""`ArrayDataset` and `ArrayLoader`: rows of HDF5, Parquet, npy and raw files, read where they are."""

from __future__ import annotations

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import tarflume
from proof import packed, facts

ROWS = 300
IMAGES = np.random.default_rng(2).integers(0, 256, (ROWS, 12, 10, 3), dtype=np.uint8)
VECTORS = np.random.default_rng(1).standard_normal((ROWS, 16)).astype(np.float32)


def columns() -> dict[str, pa.Array]:
    return {
        "id": pa.array([f"k{n:05}" for n in range(ROWS)]),
        "score": pa.array([None if n % 7 == 0 else n / 10 for n in range(ROWS)], pa.float32()),
        "vector": pa.array(VECTORS.tolist(), pa.list_(pa.float32())),
        "boxes": pa.array([[[n, 1, 2, 3]] * (n % 3) for n in range(ROWS)], pa.list_(pa.list_(pa.int32()))),
    }


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
    assert array.block_rows is None
    assert np.array_equal(tarflume.ArrayDataset(tmp_path / "f.h5", "/packed")[:], IMAGES)
    assert np.array_equal(tarflume.ArrayDataset(tmp_path / "f.h5", "/big")[:], VECTORS)
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
    for name, why in {"boxes": "no common shape", "score": "nulls", "id": "numbers"}.items():
        with pytest.raises(tarflume.Error, match=why):
            tarflume.ArrayDataset(tmp_path / "t.parquet", name)
    pq.write_table(table, tmp_path / "c.parquet")
    compressed = tarflume.ArrayDataset(tmp_path / "c.parquet", "vector")
    assert compressed.block_rows == ROWS and np.array_equal(compressed[:], VECTORS)


def test_lists_of_different_lengths_are_no_array(tmp_path):
    rows = [[1.0, 2.0]] * 50 + [[3.0], [4.0, 5.0, 6.0]] + [[1.0, 2.0]] * 50
    table = pa.table({"x": pa.array(rows, pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "t.parquet", compression="none", use_dictionary=False)
    with pytest.raises(tarflume.Error, match="different lengths"):
        tarflume.ArrayDataset(tmp_path / "t.parquet", "x")[0]
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


def test_an_index_means_what_it_means_in_numpy(tmp_path):
    rows = np.arange(15, dtype=np.int32).reshape(5, 3)
    np.save(tmp_path / "x.npy", rows)
    array = tarflume.ArrayDataset(tmp_path / "x.npy")
    mask = rows[:, 0] % 2 == 0
    for index in (mask, mask.tolist(), [True] * 5, [False] * 5, [], np.array([], int), np.array([4, -5]), np.int16(2),
                  slice(None, None, -2), np.array(3), [np.int64(1), 0]):  # fmt: skip
        assert np.array_equal(array[index], rows[index]), index
    for index in (True, np.True_, (1, 0), (1,), 1.0, [0.5], [1, True], "1", None, rows, [[0]]):
        with pytest.raises(TypeError):
            array[index]
    for index in (mask[:4], [True] * 6, 5, -6, [0, 5]):
        with pytest.raises(IndexError):
            array[index]


def test_the_header_of_an_npy_file_is_not_read_as_rows(tmp_path):
    np.save(tmp_path / "x.npy", VECTORS)
    same = tarflume.ArrayDataset(tmp_path / "x.npy", dtype="float32", shape=(16,))
    assert np.array_equal(same[:], VECTORS)
    with pytest.raises(tarflume.errors.UsageError, match="npy file with rows of"):
        tarflume.ArrayDataset(tmp_path / "x.npy", dtype="float32", shape=(4,))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "int32", "int64", "uint64", "float16", "float32", "float64", "bool"])
def test_a_row_that_is_a_number_is_the_one_of_numpy(dtype, tmp_path):
    values = np.arange(48, 58).astype(dtype)
    np.save(tmp_path / "x.npy", values)
    rows = tarflume.ArrayDataset(tmp_path / "x.npy")
    for n, value in enumerate(values):
        found = rows[n]
        assert type(found) is type(value) and found == value
        assert (int(found), float(found), bool(found)) == (int(value), float(value), bool(value))


def test_a_row_of_bfloat16_is_no_wrong_number(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"\x80\x3f\x00\x40")
    rows = tarflume.ArrayDataset(tmp_path / "x.bin", dtype="bfloat16", shape=())
    assert torch.from_dlpack(rows[:]).tolist() == [1.0, 2.0]
    for meaning in (int, float, bool):
        with pytest.raises(BufferError, match="bfloat16"):
            meaning(rows[0])
    with pytest.raises(TypeError, match="no length"):
        len(rows[0])


class Rows(torch.utils.data.Dataset):
    """What a user writes: a row of an array and its label."""

    def __init__(self, folder):
        self.images = tarflume.ArrayDataset(folder / "images.npy")
        self.labels = tarflume.ArrayDataset(folder / "labels.npy")

    def __len__(self):
        return len(self.images)

    def __getitem__(self, n):
        return self.images[n], self.labels[n]


@pytest.mark.parametrize(("workers", "method"), [(0, None), (2, "fork"), (2, "spawn")])
def test_rows_are_collated_by_a_data_loader(workers, method, tmp_path):
    labels = np.arange(48, 48 + ROWS) % 251
    np.save(tmp_path / "images.npy", IMAGES)
    np.save(tmp_path / "labels.npy", labels.astype(np.uint8))
    loader = torch.utils.data.DataLoader(Rows(tmp_path), batch_size=32, num_workers=workers, multiprocessing_context=method)
    batches = list(loader)
    assert np.array_equal(torch.cat([images for images, _ in batches]), IMAGES)
    assert torch.cat([found for _, found in batches]).tolist() == labels.tolist()
    alone = torch.utils.data.DataLoader(tarflume.ArrayDataset(tmp_path / "images.npy"), batch_size=100, num_workers=workers,
                                        multiprocessing_context=method)  # fmt: skip
    assert np.array_equal(torch.cat(list(alone)), IMAGES)
