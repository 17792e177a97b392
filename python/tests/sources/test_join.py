"""Tables and annotations beside folders, read back as columns of batches."""

from __future__ import annotations

import csv
import json
import pathlib

import numpy as np
import pytest

import tarflume
from conftest import pairs


@pytest.fixture
def pictures(tmp_path: pathlib.Path) -> pathlib.Path:
    """Pictures without JSON."""
    folder = pairs(tmp_path / "pictures", 12)
    for file in folder.rglob("*.json"):
        file.unlink()
    return folder


def keys(folder: pathlib.Path) -> list[str]:
    return sorted(str(file.relative_to(folder).with_suffix("")) for file in folder.rglob("*.jpg"))


def test_rows_of_a_table_are_columns_of_batches(pictures, tmp_path):
    rows = {
        key: {"key": key, "label": n % 3, "score": n / 8, "code": f"{n:03d}"} for n, key in enumerate(keys(pictures))
    }
    table = tmp_path / "labels.csv"
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["key", "label", "score", "code"])
        writer.writeheader()
        writer.writerows(reversed(list(rows.values())))
    built = tarflume.pack.build(pictures, tmp_path / "out", join=table, progress=False)
    assert built["samples"] == 12
    columns = {
        "label": tarflume.Json("/label"),
        "score": tarflume.Json("/score", dtype="float32"),
        "code": tarflume.Json("/code", text=True),
    }
    seen = 0
    for batch in tarflume.Loader(tmp_path / "out", columns=columns, batch_size=5):
        numbers = zip(np.asarray(batch["label"]), np.asarray(batch["score"]), strict=True)
        for key, code, (label, score) in zip(batch["key"], batch["code"], numbers, strict=True):
            row = rows[key]
            assert (int(label), float(score), code) == (row["label"], row["score"], row["code"])
            seen += 1
    assert seen == 12


def written(writer: str, path: pathlib.Path, rows: list[dict]) -> None:
    """Writes rows to a Parquet file with one of its usual writers."""
    if writer == "pyarrow":
        parquet = pytest.importorskip("pyarrow.parquet")
        table = pytest.importorskip("pyarrow").Table.from_pylist(rows)
        parquet.write_table(table, path, row_group_size=5, compression="zstd")
    elif writer == "polars":
        pytest.importorskip("polars").DataFrame(rows).write_parquet(path)
    else:
        duckdb = pytest.importorskip("duckdb")
        lines = path.with_suffix(".lines.jsonl")
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
        duckdb.sql(f"copy (from read_json('{lines}')) to '{path}' (format parquet)")
        lines.unlink()


@pytest.mark.parametrize("writer", ["pyarrow", "polars", "duckdb"])
def test_rows_of_a_parquet_file_are_the_json_of_samples(pictures, tmp_path, writer):
    names = keys(pictures)
    rows = [
        {"key": key, "label": n % 3, "score": n / 8, "code": f"{n:03d}x", "tags": ["a", "b"][: n % 3]}
        for n, key in enumerate(names)
    ]
    written(writer, tmp_path / "labels.parquet", rows[::-1])
    tarflume.pack.build(pictures, tmp_path / "out", join=tmp_path / "labels.parquet", progress=False)
    data = tarflume.Dataset(tmp_path / "out")
    assert len(data) == len(rows) == 12
    for row in rows:
        assert json.loads(bytes(data[row["key"]]["json"])) == row
    manifest = json.loads((tmp_path / "out" / "dataset.json").read_text())
    kinds = {column["name"]: column["type"] for column in manifest["columns"]}
    assert kinds == {
        "/key": "string", "/label": "int64", "/score": "float64", "/code": "string", "/tags": "list"
    }


@pytest.mark.parametrize("writer", ["pyarrow", "polars", "duckdb"])
def test_a_metadata_file_of_an_image_folder_is_noticed(pictures, tmp_path, writer):
    files = sorted(str(file.relative_to(pictures)) for file in pictures.rglob("*.jpg"))
    rows = [{"file_name": name, "caption": f"picture {n}"} for n, name in enumerate(files)]
    written(writer, pictures / "metadata.parquet", rows)
    built = tarflume.pack.build(pictures, tmp_path / "out", progress=False)
    assert built["samples"] == len(rows)
    data = tarflume.Dataset(tmp_path / "out")
    for row in rows:
        assert json.loads(bytes(data[row["file_name"].removesuffix(".jpg")]["json"])) == row


def test_boxes_of_a_coco_file_are_a_ragged_column(pictures, tmp_path):
    names = keys(pictures)
    boxes = {n: [[n, k + 0.5, 3, 4] for k in range(n % 4)] for n in range(len(names))}
    annotations = [
        {"id": 100 * n + k, "image_id": n, "category_id": 18 if k else 1, "bbox": box, "iscrowd": 0}
        for n, of_image in boxes.items() for k, box in enumerate(of_image)
    ]
    coco = {
        "images": [{"id": n, "file_name": name + ".jpg", "width": 8, "height": 8} for n, name in enumerate(names)],
        "annotations": annotations,
        "categories": [{"id": 18, "name": "dog"}, {"id": 1, "name": "person"}],
    }
    (tmp_path / "instances.json").write_text(json.dumps(coco))
    tarflume.pack.build(pictures, tmp_path / "out", coco=tmp_path / "instances.json", progress=False)
    manifest = json.loads((tmp_path / "out" / "dataset.json").read_text())
    assert manifest["classes"] == {"pointer": "/category_id", "names": ["person", "dog"], "ids": [1, 18]}
    columns = {
        "image": tarflume.Json("/id"),
        "boxes": tarflume.Json("/boxes", dtype="float32", shape=[4], variable=True),
        "labels": tarflume.Json("/category_index", variable=True),
    }
    seen = 0
    for batch in tarflume.Loader(tmp_path / "out", columns=columns, batch_size=5):
        for image, found, labels in zip(np.asarray(batch["image"]), batch["boxes"], batch["labels"], strict=True):
            expected = boxes[int(image)]
            assert np.asarray(found).reshape(-1, 4).tolist() == expected
            assert np.asarray(labels).tolist() == [int(k > 0) for k in range(len(expected))]
            seen += 1
    assert seen == 12


def test_parallel_folders_are_paired(tmp_path):
    for name in ("a", "b"):
        for folder, ext in (("images", "npy"), ("masks", "raw")):
            path = tmp_path / "set" / folder / f"{name}.{ext}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(f"{folder} {name}".encode())
    out = tmp_path / "out"
    pair = {"images": "npy", "masks": "mask.raw"}
    tarflume.pack.build(tmp_path / "set", out, pair=pair, require="", check="none", progress=False)
    assert len(tarflume.Dataset(out)) == 2


def test_an_option_that_names_nothing_is_a_usage_error(pictures, tmp_path):
    with pytest.raises(tarflume.errors.UsageError, match="no such file"):
        tarflume.pack.build(pictures, tmp_path / "out", join=tmp_path / "none.csv")


def test_several_lists_without_header_are_one_json(pictures, tmp_path):
    names = keys(pictures)
    classes = tmp_path / "val.txt"
    classes.write_text("".join(f"{name}.jpg   {n * 7 % 5}\r\n" for n, name in enumerate(names)))
    order = tmp_path / "truth.txt"
    order.write_text("".join(f"{100 + n}\n" for n in range(len(names))))
    captions = tmp_path / "captions.txt"
    captions.write_text("".join(f"{name}|{n} of {name}\n" for n in range(2) for name in names))
    joins = [f"{classes}:header=file+class", f"{order}:header=truth,rows=order", f"{captions}:header=key+text,fields=text,many=list"]
    built = tarflume.pack.build(pictures, tmp_path / "out", join=joins, progress=False)
    assert built["samples"] == 12
    columns = {"class": tarflume.Json("/class"), "truth": tarflume.Json("/truth"), "json": tarflume.Raw("json")}
    seen = 0
    for batch in tarflume.Loader(tmp_path / "out", columns=columns, batch_size=5):
        for key, label, truth, text in zip(
            batch["key"], np.asarray(batch["class"]), np.asarray(batch["truth"]), batch["json"], strict=True
        ):
            n = names.index(key)
            assert (int(label), int(truth)) == (n * 7 % 5, 100 + n)
            assert json.loads(bytes(text))["text"] == [f"0 of {key}", f"1 of {key}"]
            seen += 1
    assert seen == 12
    with pytest.raises(tarflume.errors.UsageError, match="12 rows and 11 samples"):
        next(pictures.rglob("*.jpg")).unlink()
        tarflume.pack.build(pictures, tmp_path / "no", join=joins[1], progress=False)
