"""`ElasticLoader`: each sample is in one committed step, however ranks come, go and fail."""

from __future__ import annotations

import random

import pytest

import tarflume
import tarflume.torch as ours
from conftest import n_of

COUNT, BATCH = 100, 3
WORDS = {"batch_size": BATCH, "shuffle": "full", "seed": 4, "label": "/n"}


class Group:
    """A rank of a job that can die and come back."""

    def __init__(self, shards) -> None:
        self.place = (0, 1)
        self.loader = ours.ElasticLoader(shards, lambda: self.place, **WORDS)


def order(shards, epoch: int) -> list[int]:
    with tarflume.Loader(shards, **WORDS) as loader:
        return [n for batch in loader.epoch(epoch) for n in n_of(batch)]


@pytest.mark.parametrize("seed", range(6))
def test_each_sample_is_in_one_committed_step(shards, seed):
    dice = random.Random(seed)
    groups, epochs, failed = [Group(shards) for _ in range(dice.randint(1, 3))], {0: [], 1: []}, 0
    while groups[0].loader.current_epoch < 2:
        if dice.random() < 0.2 and len(groups) > 1:
            groups.pop(dice.randrange(len(groups))).loader.close()
        if dice.random() < 0.3 and len(groups) < 4:  # a group that comes back takes the state of another
            new = Group(shards)
            new.loader.load_state_dict(dice.choice(groups).loader.state_dict())
            groups.insert(dice.randrange(len(groups) + 1), new)
        for rank, group in enumerate(groups):
            group.place = (rank, len(groups))
        epoch = groups[0].loader.current_epoch
        batches = [group.loader.batch() for group in groups]
        assert len({len(batch["label"]) for batch in batches}) == 1, "equal work for all ranks"
        done = dice.random() < 0.8
        failed += not done
        for group in groups:
            group.loader.commit(done)
        if done:
            epochs[epoch] += [n for batch in batches for n in n_of(batch)]
        assert len({str(group.loader.state_dict()) for group in groups}) == 1
    assert failed > 0
    for epoch, seen in epochs.items():
        right = order(shards, epoch)
        assert seen[:COUNT] == right and seen[COUNT:] == right[: len(seen) - COUNT], "only a last step repeats"


def test_a_step_may_take_several_batches_and_its_state_is_one_of_a_loader(shards):
    loader = ours.ElasticLoader(shards, lambda: (1, 2), **WORDS)
    before = loader.state_dict()
    first = [n_of(loader.batch()) for _ in range(2)]
    assert loader.state_dict() == before
    loader.commit(False)
    assert [n_of(loader.batch()) for _ in range(2)] == first
    loader.commit()
    assert loader.state_dict()["position"] == 2 * 2 * BATCH
    plain = ours.Loader(shards, **WORDS)
    plain.load_state_dict(loader.state_dict())
    assert [n for batch in plain for n in n_of(batch)] == order(shards, 0)[2 * 2 * BATCH :]
    with loader, pytest.raises(tarflume.Error):
        loader.load_state_dict(ours.Loader(shards, **(WORDS | {"seed": 5})).state_dict())


def test_wrong_words_are_refused(shards):
    with pytest.raises(tarflume.errors.UsageError, match=r"place\(\) returns rank"):
        ours.ElasticLoader(shards, lambda: (0, 1), rank=0, world_size=1)
    with pytest.raises(tarflume.errors.UsageError, match="place= is a function"):
        ours.ElasticLoader(shards, (0, 1))
    for words, said in [({"drop_last": "uneven"}, "different numbers of steps"), ({"divide": "shard"}, "keeps the number of ranks")]:
        with pytest.raises(tarflume.errors.UsageError, match=said):
            ours.ElasticLoader(shards, lambda: (0, 1), **words)
