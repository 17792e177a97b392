"""`json=` of a source: one rule for CSV, JSON lines, Parquet, HDF5 and TFRecord."""

from __future__ import annotations

import csv
import json

import pytest

import tarflume
from tarflume import errors

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
h5py = pytest.importorskip("h5py")

ROWS = [{"y": n, "s": f"t{n}", "f": n / 2} for n in range(3)]
#: The value of `json=`, and the fields that it makes.
OPTIONS = {"y": "y", "s": "s", "f": "f", "y,s": "ys", "f,y": "fy", "*": "ysf"}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    root = tmp_path_factory.mktemp("sources")
    with open(root / "x.csv", "w", newline="") as file:
        table = csv.DictWriter(file, list(ROWS[0]))
        table.writeheader()
        table.writerows(ROWS)
    (root / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    pq.write_table(pa.table(columns), root / "x.parquet")
    with h5py.File(root / "x.h5", "w") as file:
        for name, values in columns.items():
            file.create_dataset(name, data=values, dtype=h5py.string_dtype() if name == "s" else None)
    (root / "src").mkdir()
    for number, row in enumerate(ROWS):
        (root / "src" / f"{number}.json").write_text(json.dumps(row))
    tarflume.pack.build(root / "src", root / "set", require="json")
    tarflume.pack.export(root / "set", root / "tf", to="tfrecord")
    paths = {"csv": "x.csv", "jsonl": "x.jsonl", "parquet": "x.parquet", "hdf5": "x.h5", "tfrecord": "tf/*.tfrecord"}
    return {kind: f"{kind}:{root}/{path}" for kind, path in paths.items()}


def packed(source, out):
    tarflume.pack.build(source, out, require="")
    data = tarflume.Dataset(out)
    return [json.loads(data[n]["json"]) for n in range(len(data))]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "hdf5", "tfrecord"])
def test_columns_of_values_are_fields_of_the_json(sources, tmp_path, kind):
    for number, (option, fields) in enumerate(OPTIONS.items()):
        made = packed(f"{sources[kind]}?json={option}", tmp_path / str(number))
        for row in made:
            row.pop("__key__", None)  # TFRecord stores the keys of an export
        assert made == [{name: row[name] for name in fields} for row in ROWS], f"{kind} json={option}"
    for option in ("nope", "y,nope"):
        with pytest.raises(errors.Error, match="nope"):
            packed(f"{sources[kind]}?json={option}", tmp_path / "nothing")
    with pytest.raises(errors.Error):  # no part is left
        packed(f"{sources[kind]}?json=none", tmp_path / "nothing")


def test_one_column_of_objects_is_the_json_itself(tmp_path):
    objects = [{"a": n, "deep": [1]} for n in range(3)]
    texts = [json.dumps(one) for one in objects]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps({"m": one, "y": 1}) + "\n" for one in objects))
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({"m": one, "y": 1}) + "\n" for one in texts))
    with open(tmp_path / "x.csv", "w", newline="") as file:
        csv.writer(file).writerows([("m", "y"), *((text, 1) for text in texts)])
    blobs = [text.encode() for text in texts]
    pq.write_table(pa.table({"m": pa.array(blobs, pa.binary()), "y": [1, 1, 1]}), tmp_path / "x.parquet")
    files = ("jsonl:x.jsonl", "jsonl:t.jsonl", "csv:x.csv", "parquet:x.parquet")
    for number, source in enumerate(files):
        kind, _, name = source.partition(":")
        assert packed(f"{kind}:{tmp_path / name}?json=m", tmp_path / str(number)) == objects, source
    # A cell that is damaged is a problem, not a text.
    with open(tmp_path / "bad.csv", "w", newline="") as file:
        csv.writer(file).writerows([("m", "y"), (texts[0], 1), ("{cut", 1), ("t", 1)])
    with pytest.raises(errors.PackError) as caught:
        packed(f"csv:{tmp_path / 'bad.csv'}?json=m", tmp_path / "bad")
    assert [problem["kind"] for problem in caught.value.problems] == ["bad-json", "bad-json"]


def test_columns_that_are_named_beside_a_part_are_its_json(sources, tmp_path):
    for kind in ("csv", "jsonl", "parquet", "tfrecord"):
        out = tmp_path / kind
        tarflume.pack.build(f"{sources[kind]}?txt=s&json=y", out, require="")
        sample = tarflume.Dataset(out)[1]
        assert (sample["txt"], json.loads(sample["json"])) == (b"t1", {"y": 1}), kind
