"""`pack plan --files` with Parquet: lists of files, and the inventory of a bucket as S3 writes it."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import PACK, pack, pairs


@pytest.fixture
def photos(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = pairs(tmp_path / "photos", 30)
    pack("build", folder, "-o", tmp_path / "whole", "--shard-samples", 10)
    return folder


def files(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(folder.rglob("*.*"), key=lambda path: path.name[::-1])


def same(one: pathlib.Path, two: pathlib.Path) -> bool:
    names = sorted(path.name for path in two.iterdir() if path.is_file())
    return all((one / name).read_bytes() == (two / name).read_bytes() for name in names)


def refused(*words: object) -> str:
    done = subprocess.run([PACK, *map(str, words)], text=True, capture_output=True, check=False)
    assert done.returncode != 0
    return done.stderr


TIMES = {
    "none": lambda times: {},
    "text": lambda times: {"mtime": [f"{ns // 10**9}.{ns % 10**9:09}" for ns in times]},
    "float": lambda times: {"mtime": [ns / 1e9 for ns in times]},
    "seconds": lambda times: {"mtime": [ns // 10**9 for ns in times]},
    "timestamp": lambda times: {"mtime": pa.array([ns // 1000 for ns in times], pa.timestamp("us"))},
}


@pytest.mark.parametrize("kind", TIMES)
def test_a_list_packs_what_the_folder_has(photos, tmp_path, kind):
    found = files(photos)
    facts = [os.stat(path) for path in found]
    table = {"path": [str(path) for path in found], "size": [one.st_size for one in facts]}
    pq.write_table(pa.table(table | TIMES[kind]([one.st_mtime_ns for one in facts])), tmp_path / "list.parquet")
    pack("build", photos, "-o", tmp_path / "out", "--shard-samples", 10, "--files", tmp_path / "list.parquet")
    assert same(tmp_path / "out", tmp_path / "whole")


def test_a_file_that_changed_after_its_exact_time_is_named(photos, tmp_path):
    found = files(photos)
    facts = [os.stat(path) for path in found]
    table = {"path": [str(path) for path in found], "size": [one.st_size for one in facts]}
    pq.write_table(pa.table(table | TIMES["text"]([one.st_mtime_ns for one in facts])), tmp_path / "list.parquet")
    os.utime(found[0], ns=(0, 0))
    said = refused("build", photos, "-o", tmp_path / "out", "--files", tmp_path / "list.parquet")
    assert "modified after it was planned" in said and found[0].name in said


def test_an_inventory_in_parquet_leaves_out_old_versions_and_deleted_keys(photos, tmp_path):
    keys = [(str(path.relative_to(photos)), path.stat().st_size, True, False) for path in files(photos)]
    keys += [("old.jpg", 9, False, False), ("gone.jpg", None, True, True), ("folder/", 0, True, False)]
    now = datetime.datetime(2026, 11, 1)
    columns = {
        "bucket": ["bucket"] * len(keys), "key": [key for key, *_ in keys], "is_latest": [latest for *_, latest, _ in keys],
        "is_delete_marker": [deleted for *_, deleted in keys], "size": [size for _, size, *_ in keys],
        "last_modified_date": pa.array([now] * len(keys), pa.timestamp("ms")),
    }  # fmt: skip
    data, at = tmp_path / "inventory" / "data", tmp_path / "inventory" / "2026-11-01T00-00Z"
    data.mkdir(parents=True)
    at.mkdir()
    pq.write_table(pa.table(columns), data / "part.parquet")
    manifest = {"fileFormat": "Parquet", "fileSchema": "message s3.inventory {}", "files": [{"key": "x/data/part.parquet"}]}
    (at / "manifest.json").write_text(json.dumps(manifest))
    pack("build", photos, "-o", tmp_path / "out", "--shard-samples", 10, "--files", at / "manifest.json")
    assert same(tmp_path / "out", tmp_path / "whole")
    (at / "manifest.json").write_text(json.dumps(manifest | {"fileFormat": "ORC"}))
    said = refused("build", photos, "-o", tmp_path / "orc", "--files", at / "manifest.json")
    assert "inventories in the format ORC are not read; let S3 write CSV or Parquet" in said
