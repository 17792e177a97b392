"""Hugging Face `datasets` and webdataset read packed folders as they are: every part of every photograph."""

from __future__ import annotations

import json
import pathlib
import shutil

import pytest
import webdataset

from conftest import pack
from photographs import Parts

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """`datasets` asks no server, and keeps what it prepares in a folder of this test's."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    return datasets


def check_rows(datasets, folder: pathlib.Path, streaming: bool, parts: Parts, **words) -> None:
    rows = datasets.load_dataset(str(folder), split="train", streaming=streaming, **words)
    rows = list(rows.cast_column("jpg", datasets.Image(decode=False)))
    assert sorted(row["__key__"] for row in rows) == sorted(parts)
    for row in rows:
        assert row["jpg"]["bytes"] == parts[row["__key__"]]["jpg"], row["__key__"]
        assert row["json"] == json.loads(parts[row["__key__"]]["json"])


@pytest.mark.parametrize("streaming", [False, True])
def test_datasets_reads_a_packed_folder(offline, photographs, streaming):
    folder, parts = photographs
    assert sorted({path.suffix for path in folder.iterdir()}) == [".index", ".json", ".tar"]
    check_rows(offline, folder, streaming, parts)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("shards", [1, 2])
def test_datasets_reads_the_layout_of_a_hub(offline, photographs, tmp_path, streaming, shards):
    """`data/train-000000.tar` beside a card, as repositories of the hub have it; with one shard there are as many
    tars as manifests and sidecars."""
    parts = photographs[1]
    source = tmp_path / "pairs"
    for key, of in parts.items():
        for ext, data in of.items():
            (source / f"{key}.{ext}").parent.mkdir(parents=True, exist_ok=True)
            (source / f"{key}.{ext}").write_bytes(data)
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "README.md").write_text("# Photographs\n")
    pack("build", source, "-o", tmp_path / "repository" / "data", "--prefix", "train", "--shards", shards)
    check_rows(offline, tmp_path / "repository", streaming, parts)
    check_rows(offline, tmp_path / "repository", streaming, parts, data_dir="data")


def test_the_old_name_of_a_sidecar_would_not_do(offline, photographs, tmp_path):
    """What the name `NAME.index` is for: `datasets` takes whatever has `.tar` in its name for a tar."""
    folder, parts = photographs
    shutil.copytree(folder, tmp_path / "shards")
    for sidecar in (tmp_path / "shards").glob("*.index"):
        sidecar.rename(sidecar.with_name(f"{sidecar.stem}.tar.index"))
    with pytest.raises(Exception, match="(?i)header|checksum|generating"):
        check_rows(offline, tmp_path / "shards", True, parts)


def test_webdataset_reads_the_shards(photographs):
    folder, parts = photographs
    shards = sorted(map(str, folder.glob("*.tar")))
    rows = list(webdataset.WebDataset(shards, shardshuffle=False))
    assert sorted(row["__key__"] for row in rows) == sorted(parts)
    for row in rows:
        assert {ext: row[ext] for ext in ("jpg", "json")} == parts[row["__key__"]]
