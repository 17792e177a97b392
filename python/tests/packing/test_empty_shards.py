"""Shards without samples, as downloaders leave them, beside others and alone."""

from __future__ import annotations

import shutil

import pytest

import tarflume
import tarflume.webdataset as wds
from conftest import n_of


@pytest.fixture
def mixed(shards, tmp_path):
    """The shards of `shards`, with tars of zeros before, between and behind them."""
    out = tmp_path / "mixed"
    out.mkdir()
    for n, tar in enumerate(sorted(shards.glob("*.tar"))):
        shutil.copy(tar, out / f"{2 * n + 1:03}.tar")
        (out / f"{2 * n:03}.tar").write_bytes(bytes(10_240))
    (out / "900.tar").write_bytes(bytes(1024))
    tarflume.pack.index(out)
    return out


@pytest.mark.parametrize("shuffle", ["none", "full", "buffer"])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_all_ranks_together_see_each_sample_once(shards, mixed, shuffle, world):
    def ranks(path):
        words = {"batch_size": 8, "label": "/class", "shuffle": shuffle, "seed": 1, "drop_last": "uneven"}
        loaders = [tarflume.Loader(path, rank=rank, world_size=world, **words) for rank in range(world)]
        return [[n for batch in loader for n in n_of(batch)] for loader in loaders]

    found = ranks(mixed)
    assert sorted(sum(found, [])) == list(range(100))
    if shuffle != "buffer":  # which shuffles shards
        assert found == ranks(shards)


def test_the_dataset_for_torch_and_streams_pass_over_them(mixed):
    torch = pytest.importorskip("torch")
    import tarflume.torch

    data = tarflume.torch.Dataset(mixed, batch_size=8, label="/class", drop_last=False)
    for workers in (0, 2):
        loaded = torch.utils.data.DataLoader(data, batch_size=None, num_workers=workers)
        assert sorted(n for batch in loaded for n in n_of(batch)) == list(range(100))
    urls = sorted(str(tar) for tar in mixed.glob("*.tar"))
    assert len(list(wds.WebDataset(urls, shardshuffle=False))) == 100


def test_empty_shards_alone_are_an_error_that_says_so(tmp_path):
    (tmp_path / "a.tar").write_bytes(bytes(10_240))
    tarflume.pack.index(tmp_path)
    assert len(tarflume.Dataset(tmp_path)) == 0
    for rank in range(2):
        with pytest.raises(tarflume.errors.UsageError, match="no samples"):
            tarflume.Loader(tmp_path, batch_size=4, label="/class", rank=rank, world_size=2)
    assert list(wds.WebDataset([str(tmp_path / "a.tar")], shardshuffle=False, empty_check=False)) == []
