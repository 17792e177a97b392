"""`tarflume.torch.ArrayLoader`: rows of arrays with all that `tarflume.torch.Loader` has."""

from __future__ import annotations

import inspect
import pickle

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import tarflume
import tarflume.torch

ROWS = 301
DTYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64", "bool"]


def values(dtype: str, *shape: int) -> np.ndarray:
    """Random bytes as numbers: also NaN, infinities and negative zeros."""
    dice = np.random.default_rng(11)
    if dtype == "bool":
        return dice.integers(0, 2, (ROWS, *shape)).astype(bool)
    bytes_ = dice.integers(0, 256, (ROWS, *shape, np.dtype(dtype).itemsize), dtype=np.uint8)
    return bytes_.view(dtype)[..., 0]


def same(tensor: torch.Tensor, array: np.ndarray) -> bool:
    """Whether both have the same type, shape and bytes."""
    got = tensor.numpy()
    return got.dtype == array.dtype and got.shape == array.shape and got.tobytes() == array.tobytes()


@pytest.fixture
def made(tmp_path):
    """Arrays of three kinds of files, and what NumPy has."""
    images = values("uint8", 6, 5, 3)
    vectors = np.nan_to_num(values("float32", 4))
    labels = np.arange(ROWS) * 3
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("images", data=images)
    np.save(tmp_path / "labels.npy", labels)
    table = pa.table({"vector": pa.array(vectors.tolist(), pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "t.parquet", compression="none", use_dictionary=False)
    arrays = {
        "image": tarflume.ArrayDataset(tmp_path / "f.h5", "/images"),
        "vector": tarflume.ArrayDataset(tmp_path / "t.parquet", "vector"),
        "label": tarflume.ArrayDataset(tmp_path / "labels.npy"),
    }
    return arrays, {"image": images, "vector": vectors, "label": labels}


def test_batches_are_the_rows_of_numpy(made):
    arrays, truth = made
    loader = tarflume.torch.ArrayLoader(**arrays, batch_size=32, shuffle=True, seed=3)
    assert len(loader) == 10 and loader.samples == ROWS
    epochs = []
    for _ in range(2):
        seen = []
        for batch in loader:
            rows = batch["row"]
            assert list(batch) == ["image", "vector", "label", "row"] and rows.dtype == torch.int64
            for name, array in truth.items():
                assert same(batch[name], array[rows.numpy()]), name
            seen += rows.tolist()
        assert sorted(seen) == list(range(ROWS))
        epochs.append(seen)
    assert epochs[0] != epochs[1]
    loader.set_epoch(0)
    assert [row for batch in loader for row in batch["row"].tolist()] == epochs[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)], ids=str)
def test_every_type_and_shape_is_the_one_of_numpy(dtype, shape, tmp_path):
    array = values(dtype, *shape)
    np.save(tmp_path / "x.npy", array)
    loader = tarflume.torch.ArrayLoader(x=tarflume.ArrayDataset(tmp_path / "x.npy"), batch_size=64)
    found = [(batch["row"].numpy(), batch["x"]) for batch in loader]
    assert np.array_equal(np.concatenate([rows for rows, _ in found]), np.arange(ROWS))
    assert all(same(tensor, array[rows]) for rows, tensor in found)


@pytest.mark.parametrize("drop_last", [False, "pad", "uneven"])
def test_all_ranks_together_deliver_each_row_once(drop_last, made):
    arrays, _ = made
    loaders = [
        tarflume.torch.ArrayLoader(
            **arrays, batch_size=16, shuffle=True, seed=5, rank=rank, world_size=4, drop_last=drop_last
        )
        for rank in range(4)
    ]
    batches = [list(loader) for loader in loaders]
    if drop_last != "uneven":
        assert len({len(of_rank) for of_rank in batches}) == 1
    rows = [row for of_rank in batches for batch in of_rank for row in batch["row"].tolist()]
    assert set(rows) == set(range(ROWS))
    ledger = loaders[0].ledger()
    for loader in loaders[1:]:
        ledger = ledger.merge(loader.ledger())
    ledger.prove(loaders[0].expected(0))
    assert ledger.samples == ROWS


def test_ranks_come_from_the_launcher(made, monkeypatch):
    arrays, _ = made
    dealt = []
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", "2")
        loader = tarflume.torch.ArrayLoader(**arrays, batch_size=16, drop_last="uneven")
        dealt += [row for batch in loader for row in batch["row"].tolist()]
    assert sorted(dealt) == list(range(ROWS))


def test_a_loader_continues_exactly_where_it_stopped(made):
    arrays, _ = made

    def loader(**more):
        return tarflume.torch.ArrayLoader(**arrays, shuffle=True, seed=9, **more)

    whole = loader(batch_size=20)
    epochs = [[row for batch in whole for row in batch["row"].tolist()] for _ in range(2)]
    first = loader(batch_size=20)
    taken = []
    for number, batch in enumerate(first, 1):
        taken += batch["row"].tolist()
        if number == 6:
            break
    state = first.state_dict()
    copied = pickle.loads(pickle.dumps(first))
    for again in (loader(batch_size=7), copied):
        if again is not copied:
            again.load_state_dict(state)
        rest = [row for batch in again for row in batch["row"].tolist()]
        assert taken + rest == epochs[0]
        assert [row for batch in again for row in batch["row"].tolist()] == epochs[1]
    ranks = [loader(batch_size=10, rank=rank, world_size=2, drop_last="uneven") for rank in range(2)]
    for rank in ranks:
        rank.load_state_dict(state)
    rest = [row for rank in ranks for batch in rank for row in batch["row"].tolist()]
    assert sorted(taken + rest) == list(range(ROWS))
    with pytest.raises(tarflume.Error, match="seed"):
        tarflume.torch.ArrayLoader(**arrays, shuffle=True, seed=8, batch_size=20).load_state_dict(state)


def test_a_state_of_other_rows_is_refused(made, tmp_path):
    arrays, truth = made
    state = tarflume.torch.ArrayLoader(**arrays, batch_size=8).state_dict()
    np.save(tmp_path / "other.npy", truth["label"] + 1)
    other = arrays | {"label": tarflume.ArrayDataset(tmp_path / "other.npy")}
    with pytest.raises(tarflume.Error, match="another data set|other data|fingerprint"):
        tarflume.torch.ArrayLoader(**other, batch_size=8).load_state_dict(state)


def test_an_array_loader_has_all_that_a_loader_has(made):
    """The list of what `Loader` has and `ArrayLoader` lacks is empty, and the shared parts work."""
    arrays, truth = made
    with tarflume.torch.ArrayLoader(**arrays, batch_size=32) as loader:
        batches = list(loader)
        shards = {name for name in dir(tarflume.torch.Loader) if not name.startswith("__")}
        assert shards - set(dir(loader)) == set()
        own = {name for name, kind in vars(tarflume.torch.ArrayLoader).items() if inspect.isfunction(kind)}
        assert own == {"__init__"}, "methods are shared, not repeated"
        stats = loader.stats()
        assert stats["stages"]["read"]["bytes"] == sum(array.nbytes for array in truth.values())
        assert "rows" not in stats and stats["num_threads"] >= 1 and str(stats)
        assert (loader.classes, loader.resident, loader.bad_samples(), loader.current_epoch) == (None, None, [], 1)
        loader.preload()
        assert loader.end_of_dataloader and loader.remainder == ROWS % 32
        assert len(loader.sampler) == len(batches) and loader.dataset[0]["row"].tolist() == list(range(32))
        assert repr(loader).startswith("tarflume.torch.ArrayLoader(301 samples an epoch")
    signature = inspect.signature(tarflume.torch.Loader.__init__).parameters
    mine = inspect.signature(tarflume.torch.ArrayLoader.__init__).parameters
    assert set(signature) - set(mine) == {"shards", "settings"}


def test_batches_are_changed_as_those_of_a_loader(made):
    arrays, truth = made
    images = arrays["image"]
    pairs = list(tarflume.torch.ArrayLoader(x=images, y=arrays["label"], batch_size=50, deliver="tuple"))
    assert all(len(pair) == 2 for pair in pairs)
    assert same(torch.cat([y for _, y in pairs]), truth["label"])
    halved = tarflume.torch.ArrayLoader(x=images, batch_size=50, transform=lambda batch: batch | {"x": batch["x"] // 2})
    assert same(torch.cat([batch["x"] for batch in halved]), truth["image"] // 2)
    assert halved.stats()["stages"]["transform"]["items"] == 7
    sums = tarflume.torch.ArrayLoader(x=images, batch_size=50, collate=lambda batch: int(batch["x"].sum()))
    assert sum(sums) == int(truth["image"].sum())
    with pytest.raises(tarflume.errors.UsageError, match="cannot be unpacked"):
        for x, y in tarflume.torch.ArrayLoader(x=images, y=arrays["label"], batch_size=50):
            pass


def test_a_loader_takes_a_dict_of_arrays(made):
    arrays, truth = made
    batch = next(iter(tarflume.Loader(arrays, batch_size=4)))
    assert list(batch.keys()) == ["image", "vector", "label", "row"]
    assert repr(batch).endswith("label int64 [4], row)")
    host = batch.numpy()
    assert host["row"].tolist() == [0, 1, 2, 3] and np.array_equal(host["label"], truth["label"][:4])
    assert pa.record_batch(batch.arrow())["label"].to_pylist() == truth["label"][:4].tolist()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"batch_sise": 3}, "did you mean batch_size="),
        ({"threads": 3}, "did you mean num_threads="),
        ({"num_workers": 3}, "no worker processes"),
        ({"y": np.zeros(3)}, r"y= is a ndarray.*numpy.save"),
        ({"select": [1]}, "takes no select=, which is for shards"),
        ({"image": "jpg"}, "takes no image=, which is for shards"),
        ({"resident": "1GiB"}, "takes no resident="),
        ({"on_bad": "substitute"}, "no other row replaces them"),
    ],
)
def test_what_it_does_not_take_is_said(words, text, made):
    arrays, _ = made
    with pytest.raises(tarflume.errors.UsageError, match=text):
        tarflume.torch.ArrayLoader(x=arrays["label"], **words)
    with pytest.raises(tarflume.errors.UsageError, match='"row" has the row numbers'):
        tarflume.torch.ArrayLoader(row=arrays["label"])


def test_an_array_loader_needs_an_array_and_no_dataloader(made):
    arrays, _ = made
    with pytest.raises(tarflume.errors.UsageError, match="needs an array"):
        tarflume.torch.ArrayLoader(batch_size=4)
    with pytest.raises(tarflume.errors.UsageError, match="ArrayLoader cannot be the data set of a DataLoader.*ArrayDataset"):
        tarflume.torch.ArrayLoader(**arrays)[0]
