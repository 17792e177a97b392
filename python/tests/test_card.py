"""The card that `pack index --export hf` writes: Hugging Face datasets takes the splits from it."""

from __future__ import annotations

import pathlib

import pytest

from conftest import pack, pairs

datasets = pytest.importorskip("datasets", reason="datasets is not installed")


def keys(shards: pathlib.Path, split: str) -> list[str]:
    rows = datasets.load_dataset(str(shards), split=split, streaming=True)
    return sorted(row["__key__"] for row in rows.decode(False))


def test_the_splits_of_the_card_are_those_of_the_data_set(tmp_path):
    shards = tmp_path / "shards"
    pack("build", pairs(tmp_path / "pairs", 60), "-o", shards, "--split", "train=0.8,val=0.2", "--shard-samples", 10)
    pack("index", "-q", "--export", "hf", shards)
    found = {split: keys(shards, split) for split in datasets.get_dataset_split_names(str(shards))}
    wanted = {split: pack("ls", "--split", split, shards).split("\n")[:-1] for split in ("train", "val")}
    assert found == {split: sorted(line.split()[0] for line in lines) for split, lines in wanted.items()}
    assert sum(map(len, found.values())) == 60


def test_a_card_without_splits_names_all_shards_as_train(tmp_path):
    shards = tmp_path / "shards"
    pack("build", pairs(tmp_path / "pairs", 24), "-o", shards, "--shards", 3)
    pack("index", "-q", "--export", "hf", shards)
    assert datasets.get_dataset_split_names(str(shards)) == ["train"]
    assert keys(shards, "train") == [f"{n:04}" for n in range(24)]
