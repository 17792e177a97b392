"""The files that commands of the pages take: the same pictures, arrays and texts in each form that can be packed."""

from __future__ import annotations

import csv
import gzip
import json
import pathlib
import shutil
import struct
import tarfile
import zipfile

import datasets
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr
from PIL import Image
from tokenizers import ByteLevelBPETokenizer

from conftest import pack, picture

COUNT = 12
ARRAYS = np.arange(COUNT * 6, dtype=np.float32).reshape(COUNT, 2, 3)
PIXELS = (np.arange(COUNT * 64) % 251).astype(np.uint8).reshape(COUNT, 8, 8)
TEXTS = [f"text {n} " * (n + 1) for n in range(COUNT)]


def images(root: pathlib.Path) -> None:
    """The same twelve pictures in every form that holds files."""
    folders = "photos images imagefolder set/images set/masks train/a train/b labels Annotations data/images"
    for folder in folders.split():
        (root / folder).mkdir(parents=True)
    rows, annotations = [], []
    for n in range(COUNT):
        name = f"{n:03}.jpg"
        picture(n).save(root / "photos" / name, quality=90)
        (root / "photos" / f"{n:03}.json").write_text(json.dumps({"class": n % 3, "width": 256, "height": 256, "split": ("train", "val")[n % 2]}))
        for folder in ("images", "imagefolder", "data/images", "set/images", f"train/{'ab'[n % 2]}"):
            shutil.copy(root / "photos" / name, root / folder / name)
        Image.fromarray(np.full((8, 8), n, np.uint8)).save(root / "set" / "masks" / f"{n:03}.png")
        (root / "labels" / f"{n:03}.txt").write_text(f"{n % 2} 0.5 0.5 0.25 0.25\n")
        box = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox>"
        (root / "Annotations" / f"{n:03}.xml").write_text(
            f"<annotation><filename>{name}</filename><object><name>cat</name>{box}</object></annotation>"
        )
        rows.append(
            {"id": f"row{n}", "image": f"images/{name}", "filename": name, "label": n % 3, "caption": f"no. {n}"}
        )
        annotations.append({"id": n, "image_id": n, "category_id": 5, "bbox": [1, 2, 3, 4]})
    boxes = [{"ImageID": f"{n:03}", "LabelName": "/m/01yrx", "XMin": 0.1, "XMax": 0.5, "YMin": 0.2, "YMax": 0.75} for n in range(COUNT)]
    table(root / "boxes.csv", boxes)
    (root / "data.yaml").write_text("names: [cat, dog]\n")
    (root / "sample.schema.json").write_text('{"required": ["class"]}')
    table(root / "labels.csv", [{"filename": row["filename"], "label": row["label"]} for row in rows])
    table(root / "imagefolder" / "metadata.csv", [{"file_name": row["filename"], "n": row["label"]} for row in rows])
    table(root / "data" / "pairs.csv", [row | {"depth": f"images/{row['filename']}"} for row in rows])
    (root / "data" / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    coco = {
        "images": [{"id": n, "file_name": row["filename"]} for n, row in enumerate(rows)],
        "annotations": annotations,
    }
    (root / "instances.json").write_text(json.dumps(coco | {"categories": [{"id": 5, "name": "cat"}]}))
    with zipfile.ZipFile(root / "photos.zip", "w") as out:
        for path in sorted((root / "photos").iterdir()):
            out.write(path, path.name)
    bytes_of = [path.read_bytes() for path in sorted((root / "images").iterdir())]
    for part in range(2):
        chosen = slice(part * COUNT // 2, (part + 1) * COUNT // 2)
        pq.write_table(
            pa.table({"image": bytes_of[chosen], "n": list(range(COUNT))[chosen]}), root / f"train-{part}.parquet"
        )
    for part in range(2):
        pq.write_table(pa.table({"price": [0.5 * n for n in range(COUNT)]}), root / f"ticks-{part}.parquet")
    published(root)
    pack("build", root / "photos", "-o", root / "made", "--shards", 2)
    (root / "old").mkdir()
    for path in (root / "made").glob("*.tar"):
        shutil.copy(path, root / "old")
    for form, out in [("mds", "mds"), ("litdata", "chunks"), ("tfrecord", "records")]:
        pack("export", root / "made", "--to", form, "-o", root / out)
    shutil.rmtree(root / "made")


def published(root: pathlib.Path) -> None:
    """The same pictures in the layouts of published data sets: a list, splits of YOLO, tars in a tar, `save_to_disk`."""
    pictures = sorted((root / "images").iterdir())
    shutil.copytree(root / "images", root / "val")
    (root / "val.txt").write_text("".join(f"{path.name} {n % 3}\n" for n, path in enumerate(pictures)))
    yolo = "rf/{split}/{kind}", "coco8/{kind}/{split}"
    for pattern, splits in zip(yolo, (("train", "valid"), ("train", "val")), strict=True):
        for n, path in enumerate(pictures):
            for kind, name in (("images", path.name), ("labels", f"{path.stem}.txt")):
                place = root / pattern.format(split=splits[n % 2], kind=kind) / name
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path if kind == "images" else root / "labels" / name, place)
    for name in ("rf/data.yaml", "coco8.yaml"):
        shutil.copy(root / "data.yaml", root / name)
    with tarfile.open(root / "ILSVRC2012_img_train.tar", "w") as outer:
        for n, synset in enumerate(("n01440764", "n01443537")):
            inner = root / f"{synset}.tar"
            with tarfile.open(inner, "w") as tar:
                for path in pictures[n::2]:
                    tar.add(path, f"{synset}_{path.name}")
            outer.add(inner, inner.name)
            inner.unlink()
    images = [{"bytes": path.read_bytes(), "path": None} for path in pictures]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
    rows = {"image": images, "label": list(range(COUNT))}
    datasets.Dataset.from_dict(rows, features=features).save_to_disk(root / "saved")


def table(path: pathlib.Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)


def mnist(folder: pathlib.Path) -> None:
    """The twelve pictures as files of MNIST: nine of train and three of test."""
    folder.mkdir()
    for split, rows in {"train": slice(3, None), "test": slice(3)}.items():
        pixels, labels = PIXELS[rows], np.arange(COUNT, dtype=np.uint8)[rows]
        for name, array in {f"{split}-images-idx3-ubyte": pixels, f"{split}-labels-idx1-ubyte": labels}.items():
            head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
            (folder / f"{name}.gz").write_bytes(gzip.compress(head + array.tobytes()))


def arrays(root: pathlib.Path) -> None:
    np.save(root / "x.npy", ARRAYS)
    np.save(root / "y.npy", np.arange(COUNT))
    ARRAYS.tofile(root / "x.dat")
    np.arange(COUNT).tofile(root / "y.dat")
    np.savez(root / "data.npz", x=ARRAYS, y=np.arange(COUNT))
    np.savez(root / "digits.npz", images=PIXELS, labels=np.arange(COUNT))
    mnist(root / "mnist")
    records = np.concatenate([np.arange(COUNT, dtype=np.uint8)[:, None], np.zeros((COUNT, 3072), np.uint8)], 1)
    records.tofile(root / "data_batch_1.bin")
    np.concatenate([records[:, :1], records], 1).tofile(root / "train.bin")
    with h5py.File(root / "train.h5", "w") as file:
        file["images"], file["labels"] = ARRAYS, np.arange(COUNT)
    zarr.create_array(root / "train.zarr", name="images", data=ARRAYS)
    zarr.create_array(root / "train.zarr", name="labels", data=np.arange(COUNT))


CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def chats(root: pathlib.Path) -> None:
    """Conversations in a file, and the folder of a model with a tokenizer and a chat template."""
    messages = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because it is so."}]
    (root / "chats.jsonl").write_text(json.dumps({"messages": messages}) + "\n")
    (root / "model").mkdir(exist_ok=True)
    shutil.copy(root / "tokenizer.json", root / "model" / "tokenizer.json")
    prompt = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    (root / "model" / "chat_template.jinja").write_text(CHATML + prompt)


def texts(root: pathlib.Path) -> None:
    (root / "corpus").mkdir()
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    for path in (root / "corpus" / "a.jsonl", root / "text.jsonl"):
        path.write_text(lines)
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(TEXTS, vocab_size=300, show_progress=False)
    tokenizer.save(str(root / "tokenizer.json"))
    chats(root)
    ids = [np.array(tokenizer.encode(text).ids, dtype=np.uint16) for text in TEXTS]
    lengths = np.array([len(row) for row in ids], np.int32)
    places = np.concatenate([[0], np.cumsum(lengths)[:-1] * 2]).astype(np.int64)
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, COUNT, COUNT + 1)
    (root / "corpus.bin").write_bytes(b"".join(row.tobytes() for row in ids))
    tail = [lengths, places, np.arange(COUNT + 1, dtype=np.int64)]
    (root / "corpus.idx").write_bytes(head + b"".join(array.tobytes() for array in tail))
