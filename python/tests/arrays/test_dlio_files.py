"""Arrays of npz and npy in memory equal those of NumPy, and damaged files are errors."""

from __future__ import annotations

import importlib
import importlib.util
import io

import numpy as np
import pytest
from PIL import Image

from tarflume.dlio.files import is_gray, npy_array, npz_array
from tarflume.errors import FormatError

ARRAYS = [
    np.arange(24, dtype="f4").reshape(2, 3, 4),
    np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3)),
    np.zeros((0, 3)),
    np.float64(3.5),
    np.random.default_rng(1).integers(0, 255, (700, 900, 1), np.uint8),
]


def saved(save, *arrays, **named):
    file = io.BytesIO()
    save(file, *arrays, **named)
    return np.frombuffer(file.getvalue(), np.uint8)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_array_of_an_npz_is_numpys(save, array):
    data = saved(save, x=array, y=[0, 1])
    found = npz_array(data)
    assert found.dtype == array.dtype and found.shape == array.shape and np.array_equal(found, array)
    assert np.shares_memory(found, data) == (save is np.savez and array.size > 0)
    assert npz_array(data, "y").tolist() == [0, 1]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_an_npy_is_a_view(array):
    data = saved(np.save, array)
    found = npy_array(data)
    assert found.dtype == array.dtype and found.shape == array.shape and np.array_equal(found, array)
    assert np.shares_memory(found, data) == (array.size > 0)


def test_every_cut_of_an_npz_is_an_error():
    data = saved(np.savez, x=np.arange(50), y=[0])
    for end in range(len(data)):
        with pytest.raises(FormatError):
            npz_array(data[:end])


def test_every_cut_of_an_npy_is_an_error():
    data = saved(np.save, np.arange(50))
    for end in range(len(data)):
        with pytest.raises(FormatError):
            npy_array(data[:end])


def test_a_changed_byte_of_a_compressed_npz_is_an_error():
    data = saved(np.savez_compressed, x=np.arange(1000)).copy()
    data[200] ^= 1
    with pytest.raises(FormatError):
        npz_array(data)


def test_other_arrays_and_objects_are_errors():
    with pytest.raises(FormatError, match="without the array 'x'"):
        npz_array(saved(np.savez, z=[1]))
    with pytest.raises(FormatError, match="Python objects"):
        npy_array(saved(np.save, np.array([{}], dtype=object)))


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_gray_is_read_from_the_header(form, mode):
    file = io.BytesIO()
    Image.new(mode, (20, 10)).save(file, form)
    assert is_gray(file.getvalue()) == (mode == "L")
    assert not any(is_gray(file.getvalue()[:end]) for end in range(8))


def test_without_dlio_the_import_names_the_package():
    if importlib.util.find_spec("dlio_benchmark") is not None:
        pytest.skip("dlio_benchmark is installed")
    with pytest.raises(ModuleNotFoundError, match="pip install --no-deps dlio_benchmark"):
        importlib.import_module("tarflume.dlio.loader")
