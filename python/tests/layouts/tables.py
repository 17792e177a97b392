"""Tables and arrays: Parquet of the Hub, arrays in files, pixels in tables."""

from __future__ import annotations

import gzip
import struct

from typing import Any

import datasets
import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import scipy.io

from miniature import Miniature, layout

Array = np.ndarray[Any, np.dtype[np.uint8]]


def pictures(new: Miniature, count: int, *shape: int) -> Array:
    """Arrays of pictures, all different."""
    new.count += count
    size = int(np.prod(shape))
    numbers = np.arange(new.count - count, new.count)[:, None] * 31 + np.arange(size)[None, :] * 7
    found: Array = (numbers % 251).astype(np.uint8).reshape(count, *shape)
    return found


def idx(array: Array) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@layout("MNIST")
def mnist(new: Miniature) -> None:
    for name, split, count in [("train", "train", 3), ("t10k", "test", 2)]:
        images, labels = pictures(new, count, 28, 28), (np.arange(count) * 3 % 10).astype(np.uint8)
        new.at(f"mnist/{name}-images-idx3-ubyte").write_bytes(idx(images))
        new.at(f"mnist/{name}-labels-idx1-ubyte").write_bytes(idx(labels))
        for image, label in zip(images, labels):
            new.expect(image, split, label=int(label))


@layout("Fashion-MNIST")
def fashion_mnist(new: Miniature) -> None:
    images, labels = pictures(new, 4, 28, 28), np.array([9, 0, 3, 9], dtype=np.uint8)
    new.at("train-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
    new.at("train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    for image, label in zip(images, labels):
        new.expect(image, label=int(label))


def records(labels: list[list[int]], images: Array) -> bytes:
    """Labels before each picture, as CIFAR has them."""
    found: Array = np.concatenate([np.array(labels, dtype=np.uint8), images.reshape(len(images), -1)], axis=1)
    return found.tobytes()


@layout("CIFAR-10, binary")
def cifar10(new: Miniature) -> None:
    names = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    new.text("cifar-10-batches-bin/batches.meta.txt", [*names, ""])
    new.text("cifar-10-batches-bin/readme.html", "<html></html>")
    for number, (name, split) in enumerate([("data_batch_1", "train"), ("data_batch_2", "train"), ("test_batch", "test")]):
        images, labels = pictures(new, 3, 3, 32, 32), [6, 9, number]
        content = records([[label] for label in labels], images)
        new.at(f"cifar-10-batches-bin/{name}.bin").write_bytes(content)
        for image, label in zip(images, labels):
            new.expect(image.transpose(1, 2, 0), split, label=label, **{"class": label, "class_name": names[label]})


@layout("CIFAR-100, binary")
def cifar100(new: Miniature) -> None:
    names = [f"fine_{n:03}" for n in range(100)]
    new.text("cifar-100-binary/fine_label_names.txt", names)
    for split in ("train", "test"):
        images, labels = pictures(new, 3, 3, 32, 32), [[11, 19], [15, 99], [4, 0]]
        new.at(f"cifar-100-binary/{split}.bin").write_bytes(records(labels, images))
        for image, (coarse, label) in zip(images, labels):
            known = {"class": label, "class_name": names[label]}
            new.expect(image.transpose(1, 2, 0), split, coarse=coarse, label=label, **known)


@layout("STL-10")
def stl10(new: Miniature) -> None:
    for split, labels in [("train", [2, 10, 1]), ("test", [7, 3])]:
        images = pictures(new, len(labels), 3, 96, 96)
        new.at(f"stl10_binary/{split}_X.bin").write_bytes(images.tobytes())
        new.at(f"stl10_binary/{split}_y.bin").write_bytes(bytes(labels))
        for image, label in zip(images, labels):
            new.expect(image.transpose(2, 1, 0), split, label=label)


@layout("SVHN, cropped")
def svhn(new: Miniature) -> None:
    for split, numbers in [("train", [1, 9, 10]), ("test", [5, 10])]:
        images = pictures(new, len(numbers), 32, 32, 3)
        labels = np.array(numbers, dtype=np.uint8)[:, None]
        arrays = {"X": images.transpose(1, 2, 3, 0), "y": labels}
        scipy.io.savemat(new.at(f"{split}_32x32.mat"), arrays, do_compression=True)
        for image, label in zip(images, numbers):
            new.expect(image, split, label=label)


@layout("PCam")
def pcam(new: Miniature) -> None:
    images = pictures(new, 3, 96, 96, 3)
    with h5py.File(new.at("camelyonpatch_level_2_split_valid_x.h5"), "w") as file:
        file["x"] = images
    with h5py.File(new.at("camelyonpatch_level_2_split_valid_y.h5"), "w") as file:
        file["y"] = np.array([0, 1, 0], dtype=np.uint8).reshape(3, 1, 1, 1)
    for image, label in zip(images, [0, 1, 0]):
        new.expect(image, label=label)


@layout("MedMNIST")
def medmnist(new: Miniature) -> None:
    arrays: dict[str, Any] = {}
    for split, count in [("train", 3), ("val", 1), ("test", 2)]:
        arrays[f"{split}_images"] = pictures(new, count, 28, 28, 3)
        arrays[f"{split}_labels"] = np.arange(count, dtype=np.uint8)[:, None]
        for image, label in zip(arrays[f"{split}_images"], range(count)):
            new.expect(image, split, label=label)
    np.savez_compressed(new.at("pathmnist.npz"), **arrays)


@layout("Digits of Kaggle")
def digits(new: Miniature) -> None:
    images = pictures(new, 3, 28, 28)
    rows = [",".join(["label", *(f"pixel{n}" for n in range(784))])]
    for image, label in zip(images, [5, 0, 9]):
        rows.append(",".join([str(label), *map(str, image.ravel())]))
        new.expect(image, label=label)
    new.text("train.csv", rows)


@layout("FER2013")
def fer(new: Miniature) -> None:
    images = pictures(new, 3, 48, 48)
    rows = ["emotion,pixels,Usage"]
    for image, split in zip(images, ["Training", "PublicTest", "Training"]):
        rows.append(f"3,{' '.join(map(str, image.ravel()))},{split}")
        new.expect(image, split, emotion=3)
    new.text("fer2013.csv", rows)


@layout("Parquet of the Hub, one picture")
def parquet(new: Miniature) -> None:
    for split, count in [("train", 3), ("test", 1)]:
        contents = [new.encoded() for _ in range(count)]
        images = [{"bytes": content, "path": f"{n}.jpg"} for n, content in enumerate(contents)]
        table = pyarrow.table({"image": images, "label": list(range(count))})
        pyarrow.parquet.write_table(table, new.at(f"data/{split}-00000-of-00001.parquet"))
        for label, content in enumerate(contents):
            new.expect(content, split, label=label)


@layout("Parquet of the Hub, several pictures")
def parquet_lists(new: Miniature) -> None:
    rows = []
    for n, count in enumerate([2, 1]):
        contents = [new.encoded() for _ in range(count)]
        rows.append([{"bytes": content, "path": None} for content in contents])
        new.expect(contents[0], parts={f"{k}.jpg": content for k, content in enumerate(contents)}, text=f"t{n}")
    pyarrow.parquet.write_table(pyarrow.table({"images": rows, "text": ["t0", "t1"]}), new.at("data/train.parquet"))


@layout("Parquet with paths")
def parquet_paths(new: Miniature) -> None:
    names = ["images/a.jpg", "images/b.jpg"]
    for n, name in enumerate(names):
        new.expect(new.picture(f"set/{name}"), label=n)
    pyarrow.parquet.write_table(pyarrow.table({"image": names, "label": [0, 1]}), new.at("set/train.parquet"))


@layout("NumPy archive, one split")
def npz(new: Miniature) -> None:
    x = np.arange(4 * 6, dtype=np.float32).reshape(4, 6)
    np.savez(new.at("data.npz"), x=x, y=np.array([3, 1, 2, 0]))
    for n in range(4):
        new.expect(None, key=f"{n:08}", y=int([3, 1, 2, 0][n]), parts={"x.raw": x[n].tobytes()})


@layout("save_to_disk of Hugging Face")
def saved(new: Miniature) -> None:
    contents = [new.encoded() for _ in range(3)]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])})
    rows = {"image": [{"bytes": content, "path": None} for content in contents], "label": [1, 0, 1]}
    datasets.Dataset.from_dict(rows, features=features).save_to_disk(new.at("saved"))
    for content, label in zip(contents, [1, 0, 1]):
        new.expect(content, label=label)
