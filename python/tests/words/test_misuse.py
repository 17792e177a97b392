"""What looks right and is not: batches unpacked into names, functions that end an epoch, batches of batches."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
import torch
from torch.utils import _pytree
from torch.utils.data import DataLoader

import tarflume
import tarflume.grain
import tarflume.torch as ours
import tarflume.webdataset as wds
from tarflume import errors

WORDS = {"image": tarflume.Resize((8, 8)), "batch_size": 10}


def unpacked(batches) -> None:
    for images, labels in batches:
        raise AssertionError(f"unpacked into {images!r} and {labels!r}")


def test_a_batch_cannot_be_unpacked_into_the_names_of_its_columns(shards):
    """Of two columns, image and key, which would fit into two variables."""
    data = ours.Dataset(shards, image=WORDS["image"])
    batches = [
        tarflume.Loader(shards, **WORDS),
        ours.Loader(shards, **WORDS),
        ours.Dataset(shards, **WORDS),
        data,
        DataLoader(data, batch_size=5),
        DataLoader(ours.Dataset(shards, **WORDS), batch_size=None, num_workers=1),
        ours.MapDataset(shards, parts=["json"]),
        DataLoader(ours.MapDataset(shards, parts=["json"]), batch_size=5),
    ]
    for loader in batches:
        with pytest.raises(errors.UsageError, match='deliver="tuple"'):
            unpacked(loader)
        with pytest.raises(errors.UsageError, match="transform=lambda"):
            first, *others = next(iter(loader))
        with pytest.raises(errors.UsageError, match="cannot be unpacked"):
            for _, (images, labels) in enumerate(loader):
                pass


def test_the_names_of_columns_are_there_for_everything_but_unpacking(shards):
    for loader in (tarflume.Loader(shards, **WORDS), ours.Loader(shards, **WORDS)):
        for number, batch in enumerate(loader):
            names = ["image", "key"]
            assert [name for name in batch] == list(batch) == sorted(batch) == names  # noqa: C416
            assert list(dict(batch)) == list({**batch}) == [*batch] == names and len(batch.keys()) == 2 and "key" in batch
            assert max(batch) == "key" and tuple(batch.keys()) == tuple(names)
            if number:
                break
    for images, keys in ours.Loader(shards, deliver="tuple", columns={"json": "json"}, **WORDS):
        assert len(images) == len(keys) == 10
    batch = next(iter(ours.Loader(shards, deliver="dict", **WORDS)))
    assert type(batch) is dict


def test_a_batch_is_a_dict_to_pickle_copy_and_the_trees_of_pytorch(shards):
    batch = next(iter(ours.Loader(shards, label="/class", **WORDS)))
    assert isinstance(batch, dict) and isinstance(batch | {"more": 1}, dict)
    for again in (pickle.loads(pickle.dumps(batch)), copy.copy(batch), copy.deepcopy(batch)):
        assert type(again) is type(batch) and list(again) == list(batch)
    doubled = _pytree.tree_map(lambda leaf: leaf * 2 if isinstance(leaf, torch.Tensor) else leaf, batch)
    assert type(doubled) is type(batch) and (doubled["label"] == batch["label"] * 2).all() and doubled["key"] == batch["key"]
    paths = [_pytree.keystr(path) for path, _ in _pytree.tree_flatten_with_path({"batch": batch["label"], "all": batch})[0]]
    assert "['all']['image']" in paths


def stops(_):
    raise StopIteration


def test_a_function_that_raises_stop_iteration_ends_no_epoch(shards):
    """Each of these yielded fewer batches, without an error."""
    made = [
        tarflume.Loader(shards, collate=stops, **WORDS),
        tarflume.Loader(shards, **WORDS).epoch(0).map(stops),
        ours.Loader(shards, collate=stops, **WORDS),
        ours.Loader(shards, transform=stops, **WORDS),
        ours.Dataset(shards, transform=stops, **WORDS),
        ours.Dataset(shards, transform=stops, image=WORDS["image"]),
        ours.MapDataset(shards, transform=stops),
        tarflume.grain.Source(shards, transform=stops),
    ]
    tars = [str(path) for path in sorted(shards.glob("*.tar"))]
    made += [
        wds.WebDataset(tars, shardshuffle=False).map(stops),
        wds.WebDataset(tars, shardshuffle=False).select(stops),
        wds.WebDataset(tars, shardshuffle=False).map_dict(json=stops),
        wds.WebDataset(tars, shardshuffle=False).to_tuple("json").map_tuple(stops),
        wds.WebDataset(tars, shardshuffle=False).decode(lambda key, data: stops(data)),
        wds.WebDataset(tars, shardshuffle=False).batched(5, collation_fn=stops),
    ]
    for data in made:
        with pytest.raises((RuntimeError, tarflume.Error)):
            list(data)
    inside = [ours.Dataset(shards, transform=stops, **WORDS), ours.MapDataset(shards, transform=stops)]
    for data in inside:
        for workers in (0, 1):
            with pytest.raises(RuntimeError):
                list(DataLoader(data, batch_size=None, num_workers=workers))
    column = tarflume.Apply(stops, tarflume.Json("/n"))
    with pytest.raises((RuntimeError, tarflume.Error)):
        list(tarflume.Loader(shards, batch_size=10, columns={"column": column}))


def test_an_index_error_of_a_function_ends_no_iteration(shards):
    def fails(sample):
        return [][json.loads(sample["json"])["n"] // 50 - 1]

    with pytest.raises(IndexError):
        list(ours.MapDataset(shards, transform=fails))


def test_samples_are_numbered_by_whole_numbers_and_slices(shards):
    data = ours.MapDataset(shards, parts=["json"], transform=lambda sample: json.loads(sample["json"])["n"])
    assert data[5:8] == [5, 6, 7] and data[-2:] == [98, 99] and data[90::5] == [90, 95] and data[7:3] == []
    assert data[torch.tensor(5)] == 5 and data[-1] == 99 and len(list(data)) == 100
    for wrong in (5.0, "5", None, [5], torch.tensor(5.0)):
        with pytest.raises(TypeError, match="number of a sample or a slice"):
            data[wrong]
    with pytest.raises(IndexError):
        data[100]


def test_batches_of_batches_are_an_error(shards):
    data = ours.Dataset(shards, **WORDS)
    loader = DataLoader(data, batch_size=4, num_workers=1)
    for use in (list, len):
        with pytest.raises(errors.UsageError, match="batches of batches"):
            use(loader)
    with pytest.raises(errors.UsageError, match="batches of batches"):
        list(DataLoader(data, batch_size=4))


@pytest.mark.parametrize("divide", ["sample", "shard"])
@pytest.mark.parametrize("world", [1, 2])
def test_the_length_of_a_data_set_is_what_it_yields(shards, divide, world):
    place = {"rank": world - 1, "world_size": world, "divide": divide, "label": "/class", "shuffle": "full"}
    for drop_last in (False, True):
        data = ours.Dataset(shards, drop_last=drop_last, **place)
        assert len(data) == sum(1 for _ in data)
        for workers, size, last in [(0, 7, False), (2, 7, False), (2, 7, True), (2, None, False)]:
            more = {} if size is None else {"drop_last": last}
            loader = DataLoader(data, batch_size=size, num_workers=workers, **more)
            assert len(loader) == sum(1 for _ in loader), (drop_last, workers, size, last)
    whole = ours.Dataset(shards, batch_size=7, **place)
    for workers in (0, 2):
        loader = DataLoader(whole, batch_size=None, num_workers=workers)
        assert len(loader) == sum(1 for _ in loader)


def test_a_column_computes_and_compares_as_its_numpy_array(shards):
    batch = next(iter(tarflume.Loader(shards, label="/class", **WORDS)))
    for name in ("image", "label"):
        column, array = batch[name], batch[name].numpy()
        for ours_, numpys in [
            (column / 255, array / 255), (255 / column.astype("f8"), 255 / array.astype("f8")), (column + 1, array + 1),
            (1 + column, 1 + array), (column - 1, array - 1), (1 - column, 1 - array), (column * 2, array * 2),
            (2 * column, 2 * array), (column // 2, array // 2), (column % 3, array % 3), (-column, -array),
            (column == 3, array == 3), (column != 3, array != 3), (column < 3, array < 3), (column <= 3, array <= 3),
            (column > 3, array > 3), (column >= 3, array >= 3), (column == column, array == array),
            (column.mean(), array.mean()), (column.max(), array.max()), (column.T, array.T), (array - column, array - array),
        ]:  # fmt: skip
            assert type(ours_) is type(numpys) and np.array_equal(ours_, numpys, equal_nan=True)
        with pytest.raises(ValueError, match="ambiguous"):
            bool(column)
        with pytest.raises(TypeError, match="only"):
            int(column)
        with pytest.raises(AttributeError, match="'Column' object has no attribute 'permute'"):
            column.permute(0, 3, 1, 2)
        again = pickle.loads(pickle.dumps(column))
        assert (again.dtype, again.shape) == (column.dtype, column.shape) and np.array_equal(again, array)
        assert np.array_equal(copy.deepcopy(column), array)
