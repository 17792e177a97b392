"""The card that `pack index --export hf` writes: Hugging Face datasets takes the splits from it."""

from __future__ import annotations

import json
import pathlib

import pytest

from conftest import pack, pairs

datasets = pytest.importorskip("datasets", reason="datasets is not installed")


@pytest.fixture(autouse=True)
def offline(tmp_path, monkeypatch):
    """`datasets` asks no server, and keeps what it prepares in a folder of this test's."""
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()


def rows(shards: pathlib.Path, split: str, streaming: bool) -> list[tuple[str, bytes, object]]:
    """Key, JPEG and JSON of each sample of a split, in the order of the keys."""
    found = datasets.load_dataset(str(shards), split=split, streaming=streaming)
    assert isinstance(found, datasets.IterableDataset if streaming else datasets.Dataset)
    found = found.cast_column("jpg", datasets.Image(decode=False))
    return sorted((row["__key__"], row["jpg"]["bytes"], row["json"]) for row in found)


def packed(source: pathlib.Path, keys: list[str]) -> list[tuple[str, bytes, object]]:
    """What `rows` gives of the samples `keys`."""
    return [(key, (source / f"{key}.jpg").read_bytes(), json.loads((source / f"{key}.json").read_text()))
            for key in sorted(keys)]  # fmt: skip


@pytest.mark.parametrize("streaming", [False, True])
def test_the_splits_of_the_card_are_those_of_the_data_set(tmp_path, streaming):
    source, shards = pairs(tmp_path / "pairs", 60), tmp_path / "shards"
    pack("build", source, "-o", shards, "--split", "train=0.8,val=0.2", "--shard-samples", 10)
    pack("index", "-q", "--export", "hf", shards)
    found = {split: rows(shards, split, streaming) for split in datasets.get_dataset_split_names(str(shards))}
    listed = {split: pack("ls", "--split", split, shards).split("\n")[:-1] for split in ("train", "val")}
    keys = {split: [line.split()[0] for line in lines] for split, lines in listed.items()}
    assert found == {split: packed(source, keys[split]) for split in ("train", "val")}
    assert sorted(keys["train"] + keys["val"]) == [f"{n:04}" for n in range(60)]


@pytest.mark.parametrize("streaming", [False, True])
def test_a_card_without_splits_names_all_shards_as_train(tmp_path, streaming):
    source, shards = pairs(tmp_path / "pairs", 24), tmp_path / "shards"
    pack("build", source, "-o", shards, "--shards", 3)
    pack("index", "-q", "--export", "hf", shards)
    assert datasets.get_dataset_split_names(str(shards)) == ["train"]
    assert rows(shards, "train", streaming) == packed(source, [f"{n:04}" for n in range(24)])
