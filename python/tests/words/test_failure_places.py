"""Where a failure of packing was found is in the exception: `path`, `byte` and `key`."""

from __future__ import annotations

import pathlib
import pickle

import pytest

import tarflume
from conftest import pairs
from tarflume import errors


def place(error: errors.Error) -> tuple[str | None, int | None, str | None]:
    return error.path, error.byte, error.key


def test_a_table_that_cannot_be_read_is_the_path(tmp_path):
    table = tmp_path / "wide.csv"
    table.write_text("name,label\na,1\n", encoding="utf-16")
    with pytest.raises(errors.PackError, match="UTF-16") as caught:
        tarflume.pack.build(f"csv:{table}", tmp_path / "out")
    assert place(caught.value) == (str(table), None, None)
    assert str(caught.value).startswith(f"{table}: the text is UTF-16")
    assert place(pickle.loads(pickle.dumps(caught.value))) == place(caught.value)


def test_a_file_that_is_cut_has_the_byte(tmp_path):
    records = tmp_path / "cut.tfrecord"
    records.write_bytes(b"short")
    with pytest.raises(errors.PackError) as caught:
        tarflume.pack.build(f"tfrecord:{records}", tmp_path / "out")
    assert place(caught.value) == (str(records), 0, None)
    assert str(caught.value) == f"{records}: byte 0: the file ends inside a record"


def test_a_sample_that_is_refused_has_the_key(tmp_path):
    out = tmp_path / "shards"
    tarflume.pack.build(pairs(tmp_path / "pairs", 2), out)
    with pytest.raises(errors.PackError, match="megatron takes data sets") as caught:
        tarflume.pack.export(out, tmp_path / "ids", to="megatron")
    path, byte, key = place(caught.value)
    assert path == str(out / "shard-000000.tar") and byte is None
    assert key is not None and f"key {key}:" in str(caught.value)


def test_a_data_set_that_is_there_is_the_path(tmp_path):
    out = tmp_path / "shards"
    tarflume.pack.build(pairs(tmp_path / "pairs", 2), out)
    with pytest.raises(errors.UsageError, match="holds a data set") as caught:
        tarflume.pack.build(pairs(tmp_path / "others", 3), out)
    assert place(caught.value) == (str(out), None, None)


def test_the_only_tar_that_fails_is_the_path(tmp_path):
    tar = tmp_path / "a.tar"
    tar.write_bytes(b"no tar at all" * 100)
    with pytest.raises(errors.PackError) as caught:
        tarflume.pack.index(tar)
    assert pathlib.Path(str(caught.value.path)) == tar
