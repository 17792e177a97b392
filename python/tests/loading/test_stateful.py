"""`tarflume.torch.Dataset` in torchdata's StatefulDataLoader: it goes on at the next sample, without a replay."""

from __future__ import annotations

import copy

import pytest
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

import tarflume
import tarflume.torch as ours
from conftest import n_of
from tarflume import errors

WORDS = {"label": "/class", "shuffle": "full", "seed": 3}


def numbers(batches) -> list[list[int]]:
    return [n_of(batch) for batch in batches]


def made(shards, workers, size, **settings):
    """A loader of batches of 8, made by the data set (`size`) or by the DataLoader."""
    data = ours.Dataset(shards, batch_size=size, drop_last=False, **WORDS, **settings)
    return StatefulDataLoader(data, batch_size=8 if size is None else None, num_workers=workers)


@pytest.mark.parametrize("size", [8, None])
@pytest.mark.parametrize(("workers", "steps"), [(0, 0), (0, 1), (0, 5), (0, 13), (2, 0), (2, 5), (2, 13)])
def test_it_goes_on_at_the_next_sample(shards, workers, steps, size):
    whole = made(shards, workers, size)
    epochs = [numbers(whole) for _ in range(3)]
    assert all(sorted(sum(epoch, [])) == list(range(100)) for epoch in epochs) and epochs[0] != epochs[1]
    first = made(shards, workers, size)
    list(first)
    iterator, taken = iter(first), []
    for _ in range(steps):
        taken.append(n_of(next(iterator)))
    state = copy.deepcopy(first.state_dict())
    del iterator, first
    second = made(shards, workers, size)
    second.load_state_dict(state)
    assert taken + numbers(second) == epochs[1]
    assert numbers(second) == epochs[2]


@pytest.mark.parametrize("size", [8, None])
def test_nothing_that_was_handed_out_is_decoded_again(shards, size):
    """A part that stands in every sample is counted as it is decoded: no replay, but for a group of samples."""
    calls = []

    def counted(value):
        calls.append(value)
        return value

    column = {"column": tarflume.Apply(counted, tarflume.Json("/n"))}
    first = made(shards, 0, size, columns=column, prefetch=1, num_threads=1)
    iterator = iter(first)
    taken = [n for _ in range(9) for n in n_of(next(iterator))]
    state = copy.deepcopy(first.state_dict())
    del iterator, first
    calls.clear()
    second = made(shards, 0, size, columns=column, prefetch=1, num_threads=1)
    second.load_state_dict(state)
    rest = [n for batch in second for n in n_of(batch)]
    assert sorted(taken + rest) == list(range(100)) and len(taken) == 72
    assert len(calls) == (28 if size else 36)  # 36: from sample 64 on, where its group begins


def test_samples_that_are_skipped_do_not_shift_the_place(shards, tmp_path):
    def fails(value):
        if int(value) % 9 == 0:
            raise ValueError("bad")
        return value

    words = {"columns": {"column": tarflume.Apply(fails, tarflume.Json("/n"))}, "on_bad": "skip"}
    whole = [n for batch in made(shards, 0, None, **words) for n in n_of(batch)]
    assert sorted(whole) == [n for n in range(100) if n % 9]
    for steps in (3, 8, 9, 10):
        first = made(shards, 0, None, **words)
        iterator = iter(first)
        taken = [n for _ in range(steps) for n in n_of(next(iterator))]
        second = made(shards, 0, None, **words)
        second.load_state_dict(copy.deepcopy(first.state_dict()))
        assert taken + [n for batch in second for n in n_of(batch)] == whole


def test_states_of_others_are_refused(shards):
    data = ours.Dataset(shards, batch_size=8, **WORDS)
    state = data.state_dict()
    assert state["epoch"] == state["batches"] == 0
    with pytest.raises(errors.UsageError, match="batch_size=8"):
        ours.Dataset(shards, batch_size=5, **WORDS).load_state_dict(state)
    with pytest.raises(tarflume.Error, match="seed"):
        ours.Dataset(shards, batch_size=8, **(WORDS | {"seed": 4})).load_state_dict(state)
    with pytest.raises(errors.UsageError, match="not a state of a"):
        data.load_state_dict(ours.Loader(shards, batch_size=8, **WORDS).state_dict())
    other = ours.Dataset(shards, batch_size=8, **WORDS)
    other.load_state_dict(state | {"worker": 1, "workers": 2})
    with pytest.raises(errors.UsageError, match="worker 1 of 2"):
        iter(other)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_in_a_dataloader_says_what_to_use_instead(shards, workers):
    for loader in (ours.Loader(shards, batch_size=8), tarflume.Loader(shards, batch_size=8)):
        with pytest.raises(errors.UsageError, match=r"tarflume\.torch\.Dataset"):
            list(DataLoader(loader, batch_size=None, num_workers=workers))


def test_a_loader_behind_a_data_set_of_ones_own_in_many_workers_says_so(shards):
    import torch

    class Behind(torch.utils.data.IterableDataset):
        def __init__(self, loader):
            self.loader = loader

        def __iter__(self):
            return iter(self.loader)

    batches = DataLoader(Behind(ours.Loader(shards, batch_size=8, **WORDS)), batch_size=None, num_workers=2)
    with pytest.raises(errors.UsageError, match="every batch 2 times"):
        list(batches)


@pytest.mark.parametrize("epoch", [1, 2])
def test_setting_the_epoch_of_a_loaded_state_keeps_it_and_another_drops_it(shards, epoch):
    whole = made(shards, 0, 8)
    epochs = [numbers(whole) for _ in range(3)]
    first = ours.Dataset(shards, batch_size=8, drop_last=False, **WORDS)
    first.set_epoch(1)
    iterator = iter(first)
    taken = [n_of(next(iterator)) for _ in range(4)]
    assert taken == epochs[1][:4]
    second = ours.Dataset(shards, batch_size=8, drop_last=False, **WORDS)
    second.load_state_dict(first.state_dict())
    second.set_epoch(epoch)
    assert numbers(second) == (epochs[1][4:] if epoch == 1 else epochs[2])
