"""Columns are views: without a copy, kept alive by whoever looks, never changed under them."""

from __future__ import annotations

import gc
import struct
import threading

import numpy as np
import pytest

import tarflume


def batches(shards, **settings):
    settings = {"batch_size": 10, "image": tarflume.Resize((16, 24)), "label": "/class"} | settings
    return tarflume.Loader(shards, **settings)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_numpy_takes_columns_without_a_copy_by_every_way(shards):
    column = next(iter(batches(shards)))["image"]
    there = column.__array_interface__["data"][0]
    ways = [np.asarray(column), np.asarray(memoryview(column)), np.from_dlpack(column), column.numpy()]
    for array in ways:
        assert address(array) == there and array.shape == (10, 16, 24, 3) and array.dtype == np.uint8
        assert not array.flags.writeable
        np.testing.assert_array_equal(array, ways[0])
    assert there % 64 == 0
    copied = np.from_dlpack(column, copy=True)
    assert address(copied) != there
    np.testing.assert_array_equal(copied, ways[0])


def test_every_type_of_element_arrives_as_itself(shards):
    names = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64", "float16"]
    columns = {name: tarflume.Json("/class", dtype=name) for name in names}
    batch = next(iter(tarflume.Loader(shards, batch_size=10, columns=columns)))
    for name in names:
        for array in (np.asarray(batch[name]), np.from_dlpack(batch[name])):
            assert array.dtype == np.dtype(name)
            assert array.tolist() == list(range(10))


def test_rows_are_taken_by_number_and_slice(shards):
    column = next(iter(batches(shards)))["label"]
    assert (column[0], column[-1], column[2:5].tolist()) == (0, 9, [2, 3, 4])
    with pytest.raises(IndexError):
        column[10]
    assert memoryview(column).readonly
    with pytest.raises((BufferError, TypeError)):
        struct.pack_into("B", column, 0, 1)


def test_a_view_outlives_its_batch_its_epoch_and_its_loader(shards):
    ours = batches(shards)
    epoch = ours.epoch(0)
    array = np.asarray(next(epoch)["image"])
    before = array.copy()
    for _ in epoch:
        pass
    epoch.close()
    ours.close()
    del ours, epoch
    gc.collect()
    np.testing.assert_array_equal(array, before)


def test_old_batches_never_change_while_a_thread_holds_them(shards):
    """Holds views of many batches, with copies made at once, while the slabs are used again."""
    ours = batches(shards, shuffle="full", seed=5, prefetch=2)
    held, wrong, stop = [], [], threading.Event()

    def watch():
        while not stop.is_set():
            for view, copy in list(held):
                if not np.array_equal(view, copy):
                    wrong.append(view)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for epoch in range(20):
        for batch in ours.epoch(epoch):
            view = np.from_dlpack(batch["image"])
            held.append((view, view.copy()))
            if len(held) > 12:
                held.pop(0)
    stop.set()
    watcher.join()
    assert not wrong


def test_memory_of_dropped_batches_is_used_again(shards):
    ours = batches(shards)
    addresses = set()
    for epoch in range(10):
        for batch in ours.epoch(epoch):
            addresses.add(address(np.asarray(batch["image"])))
            del batch
    assert len(addresses) < 50  # of a hundred batches


def test_padded_rows_have_the_width_of_the_longest(shards):
    columns = {"name": tarflume.Raw("json")}
    rows = next(iter(tarflume.Loader(shards, batch_size=12, columns=columns)))["name"]
    padded, lengths = rows.padded(0)
    padded, lengths = np.asarray(padded), lengths.tolist()
    assert padded.shape == (12, max(lengths))
    for row, length, bytes_ in zip(padded, lengths, rows, strict=True):
        assert row[:length].tobytes() == bytes_ and not row[length:].any()
