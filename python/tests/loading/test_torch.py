"""PyTorch: tensors, states, DataLoader's workers, ranks under torchrun."""

from __future__ import annotations

import copy
import itertools
import json
import os
import pathlib
import pickle
import subprocess
import sys
import warnings

import pytest
import torch
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

import forked
import tarflume
import tarflume.torch as ours
from conftest import n_of
from patience import PATIENCE_S
from ranks import told

WORDS = {"label": "/class", "shuffle": "full", "seed": 3}


def loader(shards, **settings):
    return ours.Loader(shards, **({"batch_size": 10} | WORDS | settings))


def order(batches) -> list[int]:
    return [n for batch in batches for n in n_of(batch)]


@pytest.fixture(scope="module")
def epochs(shards) -> list[list[int]]:
    """The first three epochs, as `tarflume.Loader` gives them."""
    core = tarflume.Loader(shards, batch_size=8, drop_last=False, **WORDS)
    return [order(core.epoch(epoch)) for epoch in range(3)]


def test_columns_become_tensors_without_a_copy_and_without_a_warning(shards):
    columns = {"name": tarflume.Json("/name", text=True), "jpeg": "jpg"}
    core = tarflume.Loader(shards, batch_size=4, image=tarflume.Resize((16, 24)), label="/class", columns=columns)
    batch = next(iter(core))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = ours.tensors(batch)
    assert made["image"].shape == (4, 16, 24, 3) and made["image"].dtype == torch.uint8
    assert made["image"].data_ptr() == batch["image"].__array_interface__["data"][0]
    assert made["label"].dtype == torch.int64 and made["label"].tolist() == [0, 1, 2, 3]
    assert made["key"] == ["0000", "0001", "0002", "0003"] and made["name"][2] == "picture 2"
    assert made["jpeg"][0][:2] == b"\xff\xd8"


def test_every_type_of_element_arrives_as_itself(shards):
    names = [f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)]
    names.remove("float8")
    columns = {name: tarflume.Json("/class", dtype=name) for name in names}
    made = next(iter(ours.Loader(shards, batch_size=10, columns=columns)))
    for name in names:
        assert made[name].dtype == getattr(torch, name) and made[name].tolist() == list(range(10))


def test_a_tensor_outlives_its_loader_and_is_not_changed_by_later_batches(shards):
    mine = loader(shards, image=tarflume.Resize((16, 24)), prefetch=2)
    iterator = iter(mine)
    image = next(iterator)["image"]
    before = image.clone()
    for _ in range(5):
        order(mine)
    mine.close()
    assert torch.equal(image, before)


def test_iterations_are_epochs_and_one_that_was_left_is_not_repeated(shards, epochs):
    mine = loader(shards)
    assert len(mine) == 10 and mine.samples == 100
    assert order(mine) == epochs[0]
    iter(mine)  # asks for nothing, changes nothing
    assert n_of(next(iter(mine))) == epochs[1][:10]
    assert order(mine) == epochs[2]
    mine.set_epoch(1)
    assert order(mine) == epochs[1]
    assert mine.current_epoch == 2
    mine.ledger().prove(_sum([mine.expected(0)] * 3 + [_ledger(mine, 10)]))


def _sum(ledgers):
    whole = ledgers[0]
    for ledger in ledgers[1:]:
        whole = whole.merge(ledger)
    return whole


def _ledger(mine, samples):
    """The ledger of the first `samples` of epoch 1."""
    again = ours.Loader(mine._shards, batch_size=samples, **WORDS)
    again.set_epoch(1)
    next(iter(again))
    return again.ledger()


def test_an_iteration_that_another_one_ended_is_an_error_and_no_short_epoch(shards):
    mine = loader(shards)
    first = iter(mine)
    next(first)
    second = iter(mine)
    next(second)
    with pytest.raises(tarflume.errors.UsageError, match="make a second loader"):
        next(first)
    assert len(list(second)) == 9


@pytest.mark.parametrize("steps", [0, 1, 7, 10])
def test_a_state_goes_on_at_the_next_batch(shards, epochs, steps):
    first = loader(shards)
    iterator = iter(first)
    taken = [n for _ in range(steps) for n in n_of(next(iterator))]
    state = json.loads(json.dumps(first.state_dict()))
    second = loader(shards)
    second.set_epoch(7)  # an older wish than the state
    second.load_state_dict(state)
    assert second.state_dict() == state
    assert taken + (order(second) if steps < 10 else []) == epochs[0]
    assert order(second) == epochs[1]
    third = loader(shards)
    third.load_state_dict(state)
    third.set_epoch(0)  # the state's own: goes on, but from the beginning if it was over
    assert order(third) == epochs[0][steps % 10 * 10 :]


class Counted(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(range(100))


@pytest.mark.parametrize("steps", [0, 3, 11])
def test_states_mean_what_they_mean_to_torchdata(shards, steps):
    """11: the epoch was gone through to its end, after 10 batches."""

    def goes_on(make):
        """How many batches the first and the second iteration after the state have."""
        first = make()
        iterator = iter(first)
        for _ in range(steps):
            next(iterator, None)
        state, second = copy.deepcopy(first.state_dict()), make()
        second.load_state_dict(state)
        return [len(list(second)) for _ in range(2)]

    theirs = goes_on(lambda: StatefulDataLoader(Counted(), batch_size=10))
    assert goes_on(lambda: loader(shards)) == theirs == [10 - steps if steps < 10 else 10, 10]


def test_a_loader_pickles_in_the_middle_of_an_epoch(shards):
    mine = loader(shards)
    iterator = iter(mine)
    next(iterator)
    again = pickle.loads(pickle.dumps(mine))
    assert order(again) == order(iterator)


def test_pinning_is_a_copy_where_there_is_a_gpu_and_a_warning_elsewhere(shards):
    if torch.accelerator.is_available():
        assert next(iter(loader(shards, pin_memory=True)))["label"].is_pinned()
        return
    with pytest.warns(UserWarning, match="not pinned"):
        mine = loader(shards, pin_memory=True)
    assert next(iter(mine))["label"].shape == (10,)


@pytest.mark.parametrize(("method", "workers"), [(None, 0), ("fork", 1), ("fork", 3), ("spawn", 1), ("spawn", 3)])
def test_batches_in_a_dataloader_are_those_of_the_loader(shards, epochs, method, workers):
    """Spawned workers take seconds to start, so they live on; forked ones are started anew for each epoch, while
    threads of the process that they are forked from are at work."""
    running = iter(loader(shards))
    next(running)
    data = ours.Dataset(shards, batch_size=8, drop_last=False, **WORDS)
    more = {"multiprocessing_context": method, "persistent_workers": method == "spawn"}
    batches = DataLoader(data, batch_size=None, num_workers=workers, **more)
    assert len(batches) == 13
    assert [order(batches) for _ in range(2)] == epochs[:2]
    data.set_epoch(0)
    assert [order(batches) for _ in range(3)] == epochs
    assert len(list(running)) == 9


@pytest.mark.parametrize(("workers", "persistent"), [(0, False), (1, False), (3, True), (3, False)])
def test_samples_in_a_dataloader_come_once(shards, workers, persistent):
    data = ours.Dataset(shards, image=tarflume.Resize((16, 24)), transform=_with_sum, **WORDS)
    batches = DataLoader(data, batch_size=7, num_workers=workers, persistent_workers=persistent)
    made = list(batches)
    assert made[0]["image"].shape == (7, 16, 24, 3) and made[0]["label"].shape == (7,)
    assert all((batch["sum"] == batch["image"].flatten(1).sum(1)).all() for batch in made)
    assert all(n % 10 == label for batch in made for n, label in zip(n_of(batch), batch["label"], strict=True))
    first, second = order(made), order(batches)
    assert sorted(first) == sorted(second) == list(range(100)) and first != second
    assert (len(data), len(batches)) == (100, len(made))


def _with_sum(sample):
    return sample | {"sum": sample["image"].sum()}


@pytest.mark.parametrize(
    ("drop_last", "sizes"),
    [(True, [30] * 3), (False, [30] * 3 + [10]), ("uneven", [30] * 3 + [10]), ("pad", [30] * 4)],
)
@pytest.mark.parametrize("workers", [0, 3])
def test_the_last_batch_is_left_out_dealt_or_filled_up(shards, epochs, workers, drop_last, sizes):
    data = ours.Dataset(shards, batch_size=30, drop_last=drop_last, transform=n_of, **WORDS)
    made = list(DataLoader(data, batch_size=None, num_workers=workers))
    assert [len(batch) for batch in made] == sizes and len(data) == len(sizes)
    assert sum(made, []) == (epochs[0] + epochs[0])[: sum(sizes)]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_bad_sample_is_an_error_of_its_kind_also_in_a_worker(shards, tmp_path, workers):
    for file in shards.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    damaged = sorted(tmp_path.glob("*.tar"))[0]
    bytes_ = bytearray(damaged.read_bytes())
    bytes_[bytes_.index(b"\xff\xda") + 40] ^= 1
    damaged.write_bytes(bytes_)
    words = {"batch_size": 10, "image": tarflume.Resize((8, 8)), "verify": "all"}
    with pytest.raises(tarflume.errors.DamagedError, match=damaged.name):
        list(DataLoader(ours.Dataset(tmp_path, **words), batch_size=None, num_workers=workers))
    skipping = ours.Dataset(tmp_path, on_bad="skip", **words)
    batches = DataLoader(skipping, batch_size=None, num_workers=workers)
    assert order(batches) == list(range(1, 100))


@pytest.mark.parametrize("world", [1, 2, 3])
@pytest.mark.parametrize(("split", "workers"), [("sample", 1), ("sample", 3), ("shard", 1)])
@pytest.mark.parametrize("drop_last", [True, False])
def test_ranks_have_equal_steps(shards, world, workers, split, drop_last, monkeypatch):
    seen = []
    for rank in range(world):
        data = ours.Dataset(shards, rank=rank, world_size=world, divide=split, drop_last=drop_last, **WORDS)
        seen.append([[int(sample["key"]) for sample in _worker(data, w, workers, monkeypatch)] for w in range(workers)])
    assert all([len(part) for part in rank] == [len(part) for part in seen[0]] for rank in seen)
    flat = sorted(n for rank in seen for part in rank for n in part)
    few = world * workers if world > 1 else 1
    if drop_last:
        assert len(flat) == len(set(flat)) and (split == "shard" or 100 - len(flat) < few)
    else:
        assert set(flat) == set(range(100)) and (split == "shard" or len(flat) - 100 < few)
        with ours.Dataset(shards, batch_size=5, divide=split, **WORDS)._open(0, 1) as alone:
            first = order(alone.epoch(0))
        assert split == "shard" or sorted(flat) == sorted([*range(100), *first[: len(flat) - 100]])


@pytest.mark.parametrize("workers", [1, 3])
def test_one_rank_repeats_no_sample_whatever_its_workers(shards, workers, monkeypatch):
    for split in ("sample", "shard"):
        for batch_size in (None, 7):
            data = ours.Dataset(shards, rank=0, world_size=1, divide=split, batch_size=batch_size, **WORDS)
            parts = [_worker(data, w, workers, monkeypatch) for w in range(workers)]
            keys = [sample["key"] for part in parts for sample in part]
            flat = [int(key) for of in keys for key in ([of] if batch_size is None else of)]
            assert sorted(flat) == list(range(100))


@pytest.mark.parametrize("drop_last", [True, False, "pad", "uneven"])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_workers_share_the_batches_of_their_rank_in_turn(shards, world, drop_last, monkeypatch):
    """Of 13 rows, so that the last batch is not whole; with 20 workers some have nothing to do."""
    words = {"batch_size": 13, "drop_last": drop_last, "world_size": world} | WORDS
    for rank, workers in itertools.product(range(world), (2, 3, 20)):
        core = tarflume.Loader(shards, rank=rank, **words)
        data = ours.Dataset(shards, rank=rank, **words)
        parts = [_worker(data, worker, workers, monkeypatch) for worker in range(workers)]
        made = [n_of(batch) for turn in itertools.zip_longest(*parts) for batch in turn if batch is not None]
        assert made == [n_of(batch) for batch in core.epoch(0)]
        assert len(data) == len(made)


def _worker(data, worker, workers, monkeypatch):
    """What worker number `worker` of a DataLoader sees."""

    class Info:
        id, num_workers, seed = worker, workers, 1000 + worker

    with monkeypatch.context() as patch:
        patch.setattr(torch.utils.data, "get_worker_info", lambda: Info)
        data = copy.deepcopy(data)
        return list(data)


def test_workers_agree_on_an_epoch_even_if_one_was_killed_before_it_began(monkeypatch):
    from tarflume.torch.epochs import Epochs

    epochs = Epochs()

    def begin(worker, seed):
        class Info:
            id = worker

        Info.seed = seed + worker
        monkeypatch.setattr(torch.utils.data, "get_worker_info", lambda: Info)
        return pickle.loads(pickle.dumps(epochs)).__class__(epochs._table).begin()

    assert [begin(0, 50), begin(1, 50)] == [0, 0]
    assert [begin(1, 90)] == [1]  # workers 0 and 2 never came
    assert [begin(2, 70), begin(0, 70), begin(1, 70)] == [2, 2, 2]
    assert [begin(0, 10), begin(0, 20), begin(1, 10), begin(1, 20)] == [3, 4, 3, 4]  # two at once
    epochs.set(40)
    assert [begin(0, 30), begin(1, 30), begin(0, 31)] == [40, 40, 41]


def test_half_an_environment_is_refused_when_an_epoch_begins_and_a_process_group_settles_it(
    shards, tmp_path, monkeypatch
):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("RANK", raising=False)
    mine, data = loader(shards), ours.Dataset(shards, batch_size=10, **WORDS)
    for broken in (mine, data):
        with pytest.raises(tarflume.errors.UsageError, match="process group"):
            next(iter(broken))
    monkeypatch.setenv("RANK", "1")
    assert (len(mine), len(data)) == (5, 5)
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        assert ours.rank_and_world_size() == (0, 1)
        assert (len(mine), len(data)) == (10, 10) and len(order(mine)) == 100
        spawned = pickle.loads(pickle.dumps(data))
    finally:
        torch.distributed.destroy_process_group()
    # A spawned worker is in no group, and takes the place of the process that started it.
    assert spawned._placed() == (1, 2)
    assert len(_worker(spawned, 0, 1, monkeypatch)) == 10
    with pytest.raises(tarflume.errors.UsageError, match="together"):
        loader(shards, rank=1)
    for wished in (mine, data):
        with pytest.raises(tarflume.errors.UsageError, match="epoch -1"):
            wished.set_epoch(-1)


def torchrun(ranks: int, *words: object) -> subprocess.CompletedProcess[str]:
    script = pathlib.Path(__file__).parents[1] / "ranks.py"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks, script, *words]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return forked.run(
        [*map(str, command)], text=True, capture_output=True, timeout=PATIENCE_S, check=False, env=environment
    )


def test_two_processes_under_torchrun_see_every_sample_once_with_equal_steps(shards, tmp_path):
    done = torchrun(2, "each", shards, tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = told(tmp_path, "each", 2)
    assert first.keys() == second.keys() and len(first) == 9
    for name in first:
        a, b = first[name], second[name]
        assert len(a) == len(b), name
        if name.startswith("samples") and "forked" in name:
            # 100 samples for 6 workers: each has 17, and the last one repeats two.
            seen = sum(a + b, [])
            assert len(seen) == 102 and set(map(int, seen)) == set(range(100))
        else:
            assert sorted(map(int, sum(a + b, []))) == list(range(100)), name
        if not name.startswith("samples") and name != "sampler":
            assert a == first["loader"] and b == second["loader"], name


def test_killed_under_torchrun_and_resumed_with_three_processes_the_ledgers_add_up(shards, tmp_path):
    done = torchrun(2, "killed", shards, tmp_path)
    assert done.returncode != 0 and not list(tmp_path.glob("*-done.json"))
    states = [json.loads((tmp_path / f"killed-{rank}.json").read_text()) for rank in range(2)]
    assert states[0]["state"] == states[1]["state"]
    done = torchrun(3, "resumed", shards, tmp_path)
    assert done.returncode == 0, done.stderr
    ranks = told(tmp_path, "resumed", 3)
    assert [(rank["epoch"], rank["steps"], rank["after"]) for rank in ranks] == [(2, 5, 3)] * 3
    parts = [tarflume.Ledger(of["ledger"]) for of in states + ranks]
    expected = loader(shards, seed=6).expected(2)
    assert [part.samples for part in parts[:2]] == [15, 15]
    _sum(parts).prove(expected)
    with pytest.raises(tarflume.Error):
        _sum(parts[:4]).prove(expected)


@pytest.mark.parametrize("parts", [None, ["json"]])
def test_samples_by_number(shards, parts):
    data = ours.MapDataset(shards, parts=parts, transform=None)
    assert len(data) == 100
    assert sorted(data[7]) == ["__key__", *(parts or ["jpg", "json"])] and data[7]["__key__"] == "0007"
    keys = [key for batch in DataLoader(data, batch_size=9, num_workers=2) for key in batch["__key__"]]
    assert keys == [f"{n:04}" for n in range(100)]
    with pytest.raises(IndexError):
        data[100]
    assert ours.MapDataset(shards, transform=len)[3] == 3 and len(pickle.loads(pickle.dumps(data))) == 100


def test_a_transform_makes_something_else_of_each_batch(shards):
    def transform(batch):
        return batch["image"].float() / 255, batch["label"]

    image = tarflume.Resize((16, 24))
    with ours.Loader(shards, batch_size=10, image=image, label="/class", transform=transform) as made:
        images, labels = next(iter(made))
        assert images.dtype == torch.float32 and images.shape == (10, 16, 24, 3) and labels.tolist() == list(range(10))
        assert made.stats()["stages"]["transform"]["items"] == 1
