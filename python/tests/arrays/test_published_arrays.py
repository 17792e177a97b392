"""Arrays as they are published: MNIST, CIFAR, STL-10, SVHN, PCam, MedMNIST, Flowers, Cars. Oracles: numpy, PIL, h5py, scipy."""

from __future__ import annotations

import gzip
import io
import json
import pathlib
import pickle
import struct

import h5py
import numpy as np
import pytest
import scipy.io
from PIL import Image

from conftest import pack
from proof import members, refused

RANDOM = np.random.default_rng(7)


def built(source: str, out: pathlib.Path, *words: object) -> list[dict[str, bytes]]:
    """The samples of a source, in the order of their keys; all of them are decoded once."""
    pack("build", source, "-o", out, *words)
    pack("verify", out, "--level", "decode", "--require", "")
    found = members(out)
    return [found[key] for key in sorted(found)]


def pixels(sample: dict[str, bytes], part: str = "png") -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(sample[part])))


def fields(samples: list[dict[str, bytes]]) -> list[dict[str, object]]:
    return [json.loads(sample["json"]) for sample in samples]


def idx(array: np.ndarray) -> bytes:
    code = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}[array.dtype.str[1:]]
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.mark.parametrize("channels", [None, 1, 3, 4])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_rows_of_arrays_are_pictures_without_loss(tmp_path, channels, dtype):
    shape = (5, 9, 7) + ((channels,) if channels else ())
    x = RANDOM.integers(0, np.iinfo(dtype).max, shape, endpoint=True).astype(dtype)
    np.save(tmp_path / "x.npy", x)
    np.savez_compressed(tmp_path / "z.npz", x=x, y=np.arange(5)[:, None], unused=np.arange(3))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(2, *x.shape[1:]), compression="gzip")
    plain = built(f"npy:{tmp_path}/x.npy?png=x", tmp_path / "npy")
    zipped = built(f"npz:{tmp_path}/z.npz?png=x&label=y", tmp_path / "npz")
    chunked = built(f"hdf5:{tmp_path}/x.h5?png=/x", tmp_path / "hdf5")
    assert fields(zipped) == [{"label": n} for n in range(5)]
    for n, row in enumerate(x):
        assert plain[n]["png"] == zipped[n]["png"] == chunked[n]["png"]
        if dtype == "uint8" or channels in (None, 1):  # PIL reads 16 bits of one channel alone
            assert np.array_equal(pixels(plain[n]), row.squeeze(-1) if channels == 1 else row)
    np.save(tmp_path / "c.npy", np.moveaxis(x, -1, 1) if channels else x)
    turned = built(f"npy:{tmp_path}/c.npy?png=c&layout=chw", tmp_path / "chw")
    assert [sample["png"] for sample in turned] == [sample["png"] for sample in plain]


def test_mnist_and_its_relatives(tmp_path):
    images = RANDOM.integers(0, 256, (8, 28, 28), dtype=np.uint8)
    labels = RANDOM.integers(0, 10, 8, dtype=np.uint8)
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(labels))
    found = built(f"idx:{tmp_path}?png=image", tmp_path / "out")
    assert fields(found) == [{"label": int(label)} for label in labels]
    assert all(np.array_equal(pixels(sample), image) for sample, image in zip(found, images, strict=True))
    wide = RANDOM.integers(-(2**31), 2**31, (8, 8)).astype(np.int32)  # the labels of QMNIST
    (tmp_path / "qmnist-train-labels-idx2-int.gz").write_bytes(gzip.compress(idx(wide)))
    found = built(f"idx:{tmp_path}/qmnist-train-labels-idx2-int.gz", tmp_path / "q")
    assert [sample["label.raw"] for sample in found] == [row.tobytes() for row in wide]
    for dtype in ["i1", "i2", "f4", "f8"]:
        numbers = (RANDOM.standard_normal(6) * 50).astype(dtype)
        (tmp_path / "n.idx").write_bytes(idx(numbers))
        found = [row["n"] for row in fields(built(f"idx:{tmp_path}/n.idx", tmp_path / f"n{dtype}"))]
        assert np.array(found, dtype).tolist() == numbers.tolist()


def test_cifar_and_stl(tmp_path):
    images = RANDOM.integers(0, 256, (6, 3, 32, 32), dtype=np.uint8)
    labels = np.arange(6, dtype=np.uint8)
    record = np.concatenate([labels[:, None], images.reshape(6, -1)], axis=1)
    for n in range(2):
        record[n * 3 : n * 3 + 3].tofile(tmp_path / f"data_batch_{n + 1}.bin")
    found = built(f"raw:{tmp_path}/data_batch_*.bin?record=label:u1,image:3x32x32u1&png=image&layout=chw", tmp_path / "cifar")
    assert fields(found) == [{"label": n} for n in range(6)]
    for sample, image in zip(found, images, strict=True):
        assert np.array_equal(pixels(sample), image.transpose(1, 2, 0))
    images.transpose(0, 1, 3, 2).tofile(tmp_path / "train_X.bin")  # STL-10 has columns before lines
    labels.tofile(tmp_path / "train_y.bin")
    source = f"raw:{tmp_path}/train_X.bin,{tmp_path}/train_y.bin?dtype=uint8&train_X.shape=3,32,32&png=train_X&layout=cwh&label=train_y"
    again = built(source, tmp_path / "stl")
    assert [sample["png"] for sample in again] == [sample["png"] for sample in found]
    assert fields(again) == fields(found)
    for protocol in [2, 3, 4, 5]:
        (tmp_path / "data_batch_1").write_bytes(pickle.dumps({"data": [1], "labels": [2]}, protocol=protocol))
        text = refused("build", f"raw:{tmp_path}/data_batch_1?dtype=uint8", "-o", tmp_path / "no")
        assert "it is a pickle of Python" in text and "cifar-10-binary.tar.gz" in text, text


def test_hdf5_in_two_files(tmp_path):
    images = RANDOM.integers(0, 256, (7, 6, 6, 3), dtype=np.uint8)
    with h5py.File(tmp_path / "train_x.h5", "w") as file:
        file.create_dataset("x", data=images, chunks=(1, 6, 6, 3), compression="gzip")
    with h5py.File(tmp_path / "train_y.h5", "w") as file:
        file["y"] = np.arange(7, dtype=np.uint8).reshape(7, 1, 1, 1)
    both = f"hdf5:{tmp_path}/train_x.h5,{tmp_path}/train_y.h5"
    for n, options in enumerate(["?png=/x&label=/y", "?png=train_x.h5:/x&label=train_y.h5:/y"]):
        found = built(both + options, tmp_path / f"out{n}")
        assert fields(found) == [{"label": n} for n in range(7)]
        assert all(np.array_equal(pixels(sample), image) for sample, image in zip(found, images, strict=True))
    plain = built(both, tmp_path / "plain")
    assert plain[3]["x.raw"] == images[3].tobytes()
    assert fields(plain)[3] == {"y": 3}
    with h5py.File(tmp_path / "train_y.h5", "a") as file:
        file["x"] = images
    text = refused("build", both, "-o", tmp_path / "no")
    assert "differ in /y" in text or "differ in /x" in text, text
    with h5py.File(tmp_path / "short.h5", "w") as file:
        file["y"] = np.arange(6)
    text = refused("build", f"hdf5:{tmp_path}/train_x.h5,{tmp_path}/short.h5", "-o", tmp_path / "no")
    assert "has 7 rows" in text and "has 6" in text, text
    text = refused("build", f"{both}?png=/nope&label=/y", "-o", tmp_path / "no")
    assert "/nope" in text, text


@pytest.mark.parametrize("compressed", [False, True])
def test_mat_files(tmp_path, compressed):
    x = RANDOM.integers(0, 256, (32, 30, 3, 5), dtype=np.uint8)
    scipy.io.savemat(
        tmp_path / "train_32x32.mat", {"X": x, "y": np.array([[1.0, 10, 3, 4, 5]]).T}, do_compression=compressed
    )
    found = built(f"mat:{tmp_path}/train_32x32.mat?png=X&label=y", tmp_path / "svhn")
    assert fields(found) == [{"label": n} for n in [1, 10, 3, 4, 5]]
    for n, sample in enumerate(found):
        assert np.array_equal(pixels(sample), x[:, :, :, n])
    plain = built(f"mat:{tmp_path}/train_32x32.mat", tmp_path / "plain")
    assert plain[2]["x.raw"] == x[:, :, :, 2].tobytes()
    features = RANDOM.standard_normal((4, 6)).astype(np.float32)
    scipy.io.savemat(tmp_path / "f.mat", {"f": features, "z": np.array([0.5, 1, 2, 3]), "names": "text"}, do_compression=compressed)
    found = built(f"mat:{tmp_path}/f.mat", tmp_path / "f")
    assert [sample["f.raw"] for sample in found] == [row.tobytes() for row in features]
    assert fields(found) == [{"z": z} for z in [0.5, 1.0, 2.0, 3.0]]


@pytest.mark.parametrize("compressed", [False, True])
def test_mat_files_are_tables(tmp_path, compressed):
    (tmp_path / "jpg").mkdir()
    for n in range(1, 5):
        Image.fromarray(RANDOM.integers(0, 256, (16, 16, 3), dtype=np.uint8)).save(tmp_path / "jpg" / f"image_{n:05}.jpg")
    scipy.io.savemat(tmp_path / "imagelabels.mat", {"labels": np.array([77, 3, 102, 1], np.uint8)}, do_compression=compressed)
    found = built(f"{tmp_path}/jpg", tmp_path / "flowers", "--join", f"{tmp_path}/imagelabels.mat:rows=order")
    assert fields(found) == [{"labels": n} for n in [77, 3, 102, 1]]
    cars = np.zeros((1, 4), [("bbox_x1", object), ("class", object), ("fname", object)])
    for n in range(4):
        cars[0, n] = (n * 10 + 5, n % 3, f"image_{n + 1:05}.jpg")
    scipy.io.savemat(
        tmp_path / "cars_annos.mat",
        {"annotations": cars, "class_names": np.array([["a", "bc", "d"]], object)},
        do_compression=compressed,
    )
    found = built(f"{tmp_path}/jpg", tmp_path / "cars", "--join", f"{tmp_path}/cars_annos.mat:key=fname")
    wanted = [{"bbox_x1": n * 10 + 5, "class": n % 3, "fname": f"image_{n + 1:05}.jpg"} for n in range(4)]
    assert [{name: row[name] for name in wanted[0] if name in row} | {"fname": w["fname"]} for row, w in zip(fields(found), wanted)] == wanted
    text = refused("build", f"mat:{tmp_path}/cars_annos.mat", "-o", tmp_path / "no")
    assert "an array of structs, which is a table" in text and "--join" in text, text


def test_other_files_of_matlab_are_refused_with_what_to_do(tmp_path):
    with h5py.File(tmp_path / "x.mat", "w", userblock_size=512) as file:
        file["x"] = np.arange(3)
    head = b"MATLAB 7.3 MAT-file".ljust(124) + struct.pack("<H2s", 0x0200, b"IM")
    with open(tmp_path / "x.mat", "r+b") as file:
        file.write(head)
    assert "name it hdf5:" in refused("build", f"mat:{tmp_path}/x.mat", "-o", tmp_path / "no")
    scipy.io.savemat(tmp_path / "v4.mat", {"x": np.arange(3)}, format="4")
    assert "no MAT file of version 5" in refused("build", f"mat:{tmp_path}/v4.mat", "-o", tmp_path / "no")
    scipy.io.savemat(tmp_path / "cut.mat", {"x": np.arange(3000)})
    (tmp_path / "cut.mat").write_bytes((tmp_path / "cut.mat").read_bytes()[:-50])
    assert "it is cut" in refused("build", f"mat:{tmp_path}/cut.mat", "-o", tmp_path / "no")
