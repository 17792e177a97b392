"""Sources of every kind for test_proof.py, each made by the tool that makes such files elsewhere."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import pathlib
import tarfile
import zipfile
from collections.abc import Callable

import numpy as np
import pytest
import tarflume
from PIL import Image

from conftest import picture
from proof import Samples, jpeg

COUNT = 24
NAMES = [f"{n:04}" for n in range(COUNT)]
KEYS = [f"{n:08}" for n in range(COUNT)]
JPEGS = [jpeg(n) for n in range(COUNT)]
ARRAY = (np.arange(COUNT * 12).reshape(COUNT, 2, 6) * 3 % 251).astype(np.uint8)


@dataclasses.dataclass
class Source:
    """The words of `pack build`, the samples that it must pack, and what a loader trains on."""

    words: list[object]
    samples: Samples
    feed: dict[str, object]


IMAGES = {"image": tarflume.Resize((8, 8)), "label": "/class"}
ROWS = {"columns": {"x": "x.raw", "class": tarflume.Json("/class")}}


def text(fields: object) -> bytes:
    """JSON as `pack` writes it: without blanks, fields sorted."""
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def write(path: pathlib.Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def png(n: int) -> bytes:
    """A mask of the size of picture `n`."""
    out = io.BytesIO()
    width, height = picture(n).size
    mask = np.zeros((height, width), np.uint8)
    mask[: 8 + n] = 255
    Image.fromarray(mask).save(out, "PNG")
    return out.getvalue()


# Six shapes of folders


def class_folders(root: pathlib.Path) -> Source:
    names, samples = ["Zebra", "cat", "dog"], {}
    for n, data in enumerate(JPEGS):
        write(root / "in" / names[n % 3] / f"{n}.JPEG", data)
        samples[f"{names[n % 3]}/{n}"] = {"jpg": data, "json": text({"class": n % 3, "class_name": names[n % 3]})}
    return Source([root / "in", "--label", "folder"], samples, IMAGES)


def splits_and_classes(root: pathlib.Path) -> Source:
    names, samples = ["cat", "dog"], {}
    for n, data in enumerate(JPEGS):
        key = f"{'val' if n % 4 == 0 else 'train'}/{names[n % 2]}/{n}"
        write(root / "in" / f"{key}.jpeg", data)
        samples[key] = {"jpg": data, "json": text({"class": n % 2, "class_name": names[n % 2]})}
    return Source([root / "in", "--label", "folder", "--split-by", "folder=1"], samples, IMAGES)


def flat_with_metadata(root: pathlib.Path) -> Source:
    rows = [{"file_name": f"{name}.jpg", "class": n % 5, "text": f"a, \"{n}\""} for n, name in enumerate(NAMES)]
    for name, data in zip(NAMES, JPEGS, strict=True):
        write(root / "in" / f"{name}.jpg", data)
    table(root / "in" / "metadata.csv", rows[::-1], ",")
    samples = {name: {"jpg": JPEGS[n], "json": text(rows[n])} for n, name in enumerate(NAMES)}
    return Source([root / "in"], samples, IMAGES)


def parallel_folders(root: pathlib.Path) -> Source:
    samples = {}
    for n, data in enumerate(JPEGS):
        key = f"scene{n % 2}/{n:02}"
        write(root / "in" / "images" / f"{key}.jpg", data)
        write(root / "in" / "masks" / f"{key}.png", png(n))
        samples[key] = {"jpg": data, "mask.png": png(n)}
    mask = tarflume.Image(tarflume.Resize((4, 4)), "mask.png", channels="gray", dtype="float32")
    feed = {"columns": {"image": tarflume.Image(tarflume.Resize((8, 8)), "jpg"), "mask": mask}}
    return Source([root / "in", "--pair", "images=jpg", "masks=mask.png"], samples, feed)


def pairs_with_json(root: pathlib.Path) -> Source:
    samples = {}
    for n, name in enumerate(NAMES):
        samples[name] = {"jpg": JPEGS[n], "json": json.dumps({"n": n, "class": n % 7}, indent=1).encode()}
        for ext, data in samples[name].items():
            write(root / "in" / f"{name}.{ext}", data)
    return Source([root / "in"], samples, IMAGES)


def nested_names(root: pathlib.Path) -> Source:
    """Folders with dots, names with dots and blanks, letters outside ASCII."""
    samples = {}
    for n, data in enumerate(JPEGS):
        folder = f"v1.{n % 3}/Zürich {n % 2}/深い"
        write(root / "in" / folder / f"日本.{n}.fin.JPG", data)
        fields = json.dumps({"class": n % 3, "name": "ä"}).encode()
        write(root / "in" / folder / f"日本.{n}.fin.json", fields)
        samples[f"{folder}/日本_{n}_fin"] = {"jpg": data, "json": fields}
    return Source([root / "in", "--names", "dot=replace,space=allow,nonascii=allow"], samples, IMAGES)


# Three tables, beside folders and as sources


def table(path: pathlib.Path, rows: list[dict[str, object]], separator: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)


def rows_of(root: pathlib.Path, kind: str, column: str) -> tuple[pathlib.Path, list[dict[str, object]]]:
    """Writes pictures and, in another order, a row for each."""
    rows = [
        {column: f"img/{name}.jpg", "class": n % 4, "score": n + 0.5, "code": f"{n:03}", "text": f"tab, \"ä\" {n}"}
        for n, name in enumerate(NAMES)
    ]
    for name, data in zip(NAMES, JPEGS, strict=True):
        write(root / "in" / "img" / f"{name}.jpg", data)
    file = root / "in" / f"table.{kind}"
    mixed = [rows[n * 7 % COUNT] for n in range(COUNT)]
    if kind == "jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in mixed))
    else:
        table(file, mixed, "," if kind == "csv" else "\t")
    return file, rows


def joined(kind: str) -> Callable[[pathlib.Path], Source]:
    def make(root: pathlib.Path) -> Source:
        file, rows = rows_of(root, kind, "path")
        samples = {f"img/{name}": {"jpg": JPEGS[n], "json": text(rows[n])} for n, name in enumerate(NAMES)}
        return Source([root / "in", "--join", file], samples, IMAGES)

    return make


def of_rows(kind: str, ending: str) -> Callable[[pathlib.Path], Source]:
    def make(root: pathlib.Path) -> Source:
        file, rows = rows_of(root, ending, "image")
        samples = {}
        for n, row in enumerate(rows):
            fields = {name: value for name, value in row.items() if name not in ("image", "code")}
            samples[row["code"]] = {"jpg": JPEGS[n], "json": text(fields)}
        return Source([f"{kind}:{file}?key=code&jpg=@image"], samples, IMAGES)

    return make


# Arrays and archives


def rows_of_array() -> Samples:
    return {key: {"x.raw": ARRAY[n].tobytes(), "json": text({"class": n % 3})} for n, key in enumerate(KEYS)}


CLASSES = np.arange(COUNT) % 3


def npy(root: pathlib.Path) -> Source:
    np.save(root / "x.npy", ARRAY)
    np.save(root / "class.npy", CLASSES)
    return Source([f"npy:{root}/x.npy,{root}/class.npy"], rows_of_array(), ROWS)


def npz(root: pathlib.Path) -> Source:
    np.savez_compressed(root / "a.npz", **{"x": ARRAY, "class": CLASSES})
    return Source([f"npz:{root}/a.npz"], rows_of_array(), ROWS)


def raw(root: pathlib.Path) -> Source:
    ARRAY.tofile(root / "x.dat")
    CLASSES.tofile(root / "class.dat")
    shape = ",".join(map(str, ARRAY.shape[1:]))
    options = f"x.dtype={ARRAY.dtype}&x.shape={shape}&class.dtype={CLASSES.dtype}"
    return Source([f"raw:{root}/x.dat,{root}/class.dat?{options}"], rows_of_array(), ROWS)


def hdf5(**layout: object) -> Callable[[pathlib.Path], Source]:
    def make(root: pathlib.Path) -> Source:
        import h5py

        with h5py.File(root / "f.h5", "w") as file:
            file.create_dataset("deep/x", data=ARRAY, **layout)
            file.create_dataset("class", data=CLASSES)
        return Source([f"hdf5:{root}/f.h5?x=/deep/x&class=/class"], rows_of_array(), ROWS)

    return make


def zarrs(**layout: object) -> Callable[[pathlib.Path], Source]:
    def make(root: pathlib.Path) -> Source:
        import zarr

        zarr.create_array(root / "f.zarr", name="deep/x", data=ARRAY, **layout)
        zarr.create_array(root / "f.zarr", name="class", data=CLASSES, chunks=(7,))
        return Source([f"zarr:{root}/f.zarr?x=deep/x&class=class"], rows_of_array(), ROWS)

    return make


def hdf5_of_pictures(root: pathlib.Path) -> Source:
    import h5py

    with h5py.File(root / "f.h5", "w") as file:
        pictures = file.create_dataset("pictures", (COUNT,), h5py.vlen_dtype(np.uint8))
        for n, data in enumerate(JPEGS):
            pictures[n] = np.frombuffer(data, np.uint8)
        file.create_dataset("class", data=CLASSES)
        file.create_dataset("id", data=NAMES)
    return Source([f"hdf5:{root}/f.h5?image=/pictures&key=/id&class=/class"], pictures_by(NAMES), IMAGES)


def pictures_by(keys: list[str]) -> Samples:
    return {key: {"jpg": JPEGS[n], "json": text({"class": n % 3})} for n, key in enumerate(keys)}


def tar(root: pathlib.Path) -> Source:
    for part in range(2):
        with tarfile.open(root / f"{part}.tar", "w") as out:
            for n in range(part, COUNT, 2):
                for ext, data in pictures_by(NAMES)[NAMES[n]].items():
                    member = tarfile.TarInfo(f"{NAMES[n]}.{ext}")
                    member.size = len(data)
                    out.addfile(member, io.BytesIO(data))
    return Source([f"tar:{root}/*.tar"], pictures_by(NAMES), IMAGES)


def archive(root: pathlib.Path) -> Source:
    with zipfile.ZipFile(root / "a.zip", "w", zipfile.ZIP_DEFLATED) as out:
        for key, parts in pictures_by(NAMES).items():
            for ext, data in parts.items():
                out.writestr(f"{key}.{ext}", data)
    return Source([f"zip:{root}/a.zip"], pictures_by(NAMES), IMAGES)


# Parquet


def parquet(writer: str) -> Callable[[pathlib.Path], Source]:
    def make(root: pathlib.Path) -> Source:
        import duckdb
        import polars
        import pyarrow.parquet

        file = root / "t.parquet"
        written = pyarrow.table({"id": NAMES, "jpg": JPEGS, "class": CLASSES})
        if writer == "pyarrow":
            pyarrow.parquet.write_table(written, file, row_group_size=7)
        elif writer == "polars":
            polars.from_arrow(written).write_parquet(file, row_group_size=7)
        else:
            assert written.num_rows == COUNT  # DuckDB finds the table by the name of the variable
            duckdb.sql(f"copy (select * from written) to '{file}' (format parquet)")
        return Source([f"parquet:{file}?key=id&jpg=jpg&json=class"], pictures_by(NAMES), IMAGES)

    return make


# Other loaders


def mds(root: pathlib.Path) -> Source:
    import streaming

    columns = {"image": "bytes", "class": "int", "id": "str"}
    with streaming.MDSWriter(out=str(root / "mds"), columns=columns, compression="zstd", size_limit=1 << 14) as out:
        for n, name in enumerate(NAMES):
            out.write({"image": JPEGS[n], "class": n % 3, "id": name})
    return Source([f"mds:{root}/mds?key=id&jpg=image&json=class"], pictures_by(NAMES), IMAGES)


def litdata(root: pathlib.Path) -> Source:
    """With pictures as objects of PIL: samples of plain values would become a table of Arrow."""
    from litdata.streaming.writer import BinaryWriter

    (root / "lit").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANK", "0")  # the writer's number
        writer = BinaryWriter(str(root / "lit"), chunk_bytes=1 << 14, compression="zstd", compression_level="chunk")
        for n, name in enumerate(NAMES):
            write(root / f"{name}.jpg", JPEGS[n])
            writer[n] = {"image": Image.open(root / f"{name}.jpg"), "class": n % 3, "id": name}
        writer.done()
        writer.merge()
    return Source([f"litdata:{root}/lit?key=id&jpg=image&json=class"], pictures_by(NAMES), IMAGES)


def tfrecord(root: pathlib.Path) -> Source:
    from tfrecord import TFRecordWriter

    out = TFRecordWriter(str(root / "a.tfrecord"))
    for n, name in enumerate(NAMES):
        out.write({"image": (JPEGS[n], "byte"), "class": (n % 3, "int"), "id": (name.encode(), "byte")})
    out.close()
    return Source([f"tfrecord:{root}/a.tfrecord?key=id&jpg=image&json=class"], pictures_by(NAMES), IMAGES)


#: Each source with the format in which its data set is exported, beside files.
SOURCES: dict[str, tuple[Callable[[pathlib.Path], Source], str]] = {
    "folders of classes": (class_folders, "mds"),
    "folders of splits and classes": (splits_and_classes, "parquet"),
    "flat folder with metadata.csv": (flat_with_metadata, "tfrecord"),
    "parallel folders": (parallel_folders, "litdata"),
    "pairs": (pairs_with_json, "mds"),
    "nested names": (nested_names, "parquet"),
    "csv joined": (joined("csv"), "tfrecord"),
    "jsonl joined": (joined("jsonl"), "mds"),
    "tsv joined": (joined("tsv"), "litdata"),
    "csv": (of_rows("csv", "csv"), "parquet"),
    "jsonl": (of_rows("jsonl", "jsonl"), "tfrecord"),
    "tsv": (of_rows("csv", "tsv"), "mds"),
    "npy": (npy, "tfrecord"),
    "npz": (npz, "litdata"),
    "raw": (raw, "mds"),
    "hdf5 contiguous": (hdf5(), "parquet"),
    "hdf5 chunked": (hdf5(chunks=(5, 2, 4)), "mds"),
    "hdf5 gzip and shuffle": (hdf5(chunks=(5, 2, 6), compression="gzip", shuffle=True), "litdata"),
    "zarr": (zarrs(chunks=(5, 2, 4)), "parquet"),
    "zarr in shards": (zarrs(chunks=(5, 2, 3), shards=(10, 4, 6)), "mds"),
    "hdf5 of any length": (hdf5_of_pictures, "tfrecord"),
    "tar": (tar, "parquet"),
    "zip": (archive, "mds"),
    "parquet of pyarrow": (parquet("pyarrow"), "parquet"),
    "parquet of polars": (parquet("polars"), "mds"),
    "parquet of DuckDB": (parquet("duckdb"), "litdata"),
    "mds": (mds, "mds"),
    "litdata": (litdata, "litdata"),
    "tfrecord": (tfrecord, "tfrecord"),
}
