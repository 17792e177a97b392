"""Rows for tests of arrays, and their comparison with those of NumPy."""

from __future__ import annotations

import numpy as np

import tarflume
import tarflume.torch

DTYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64", "bool"]


def values(dtype: str, *shape: int) -> np.ndarray:
    """Numbers of a type that compress, with all signs."""
    dice = np.random.default_rng(11)
    if dtype == "bool":
        return dice.integers(0, 2, shape).astype(bool)
    return (dice.integers(0, 200, shape) - (0 if dtype.startswith("u") else 100)).astype(dtype)


def equal(array: tarflume.ArrayDataset, truth: np.ndarray) -> None:
    """Row by row, as a whole, and in any order, the array has the rows of NumPy, bit by bit."""
    truth = truth.astype(truth.dtype.newbyteorder("="))
    assert (array.shape, array.dtype, len(array)) == (truth.shape, truth.dtype.name, len(truth))
    for n in range(0, len(truth), 7):
        assert np.asarray(array[n]).tobytes() == truth[n].tobytes()
    dice = np.random.default_rng(4).permutation(len(truth)).tolist()
    for index in (slice(None), slice(5, None, 3), dice):
        found = np.asarray(array[index])
        assert found.dtype == truth.dtype and found.tobytes() == np.ascontiguousarray(truth[index]).tobytes()


def assert_each_row_once(arrays: dict[str, tarflume.ArrayDataset], truth: dict[str, np.ndarray], divide: str) -> None:
    """Two ranks that shuffle blocks have each row once, in another order, and what NumPy has in it."""
    rows = []
    for rank in range(2):
        loader = tarflume.torch.ArrayLoader(
            **arrays, batch_size=9, shuffle="blocks", seed=3, rank=rank, world_size=2, divide=divide, drop_last="uneven"
        )
        for batch in loader:
            found = batch["row"].numpy()
            assert all(np.array_equal(batch[name].numpy(), truth[name][found]) for name in truth)
            rows += found.tolist()
    count = len(next(iter(truth.values())))
    assert sorted(rows) == list(range(count)) and rows != sorted(rows)
