"""The loader: batches, order, splitting, states, errors."""

from __future__ import annotations

import collections.abc
import pickle

import numpy as np
import pytest

import tarflume
from conftest import n_of


def loader(shards, **settings):
    settings.setdefault("image", tarflume.Resize((16, 24)))
    settings.setdefault("label", "/class")
    return tarflume.Loader(shards, **settings)


def test_a_batch_maps_names_to_columns(shards):
    with loader(shards, batch_size=10) as ours:
        batch = next(iter(ours))
    assert isinstance(batch, collections.abc.Mapping)
    assert sorted(batch) == ["image", "key", "label"]
    assert batch["image"].shape == (10, 16, 24, 3) and batch["image"].dtype == "uint8"
    assert batch["label"].tolist() == list(range(10))
    assert batch["key"] == [f"{n:04}" for n in range(10)]
    assert (batch.rows, batch.epoch, batch.step) == (10, 0, 0)
    assert batch.ordinals.tolist() == list(range(10))
    assert dict(batch).keys() == {"image", "key", "label"}
    assert batch.get("nothing", 5) == 5 and "image" in batch and "nothing" not in batch
    with pytest.raises(KeyError, match="there are image, label, key"):
        batch["picture"]


def test_without_columns_all_parts_come_as_bytes(shards):
    batch = next(iter(tarflume.Loader(shards, batch_size=4)))
    assert sorted(batch) == ["jpg", "json", "key"]
    assert len(batch["jpg"]) == 4 and all(jpeg[:2] == b"\xff\xd8" for jpeg in batch["jpg"])
    assert batch["json"][-1].startswith(b"{") and isinstance(batch["json"], collections.abc.Sequence)


def test_columns_of_text_numbers_and_floats(shards):
    columns = {"name": tarflume.Json("/name", text=True), "n": tarflume.Json("/n", dtype="float32"),
               "jpeg": "jpg"}
    batch = next(iter(tarflume.Loader(shards, batch_size=3, columns=columns)))
    assert batch["name"].tolist() == ["picture 0", "picture 1", "picture 2"]
    np.testing.assert_array_equal(np.asarray(batch["n"]), np.array([0, 1, 2], np.float32))
    offsets = batch["jpeg"].offsets.tolist()
    assert offsets[0] == 0 and offsets[-1] == batch["jpeg"].values.nbytes == sum(map(len, batch["jpeg"]))


def test_normalized_pictures_are_those_of_bytes(shards):
    resize = tarflume.Resize((16, 24))
    mean, std = [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]
    floats = tarflume.Image(resize, dtype="float32", layout="chw", mean=mean, std=std)
    plain = next(iter(loader(shards, image=resize, batch_size=5)))["image"].numpy()
    normal = next(iter(loader(shards, image=floats, batch_size=5)))["image"].numpy()
    right = (plain / np.float32(255) - np.float32(mean)) / np.float32(std)
    np.testing.assert_allclose(normal, right.transpose(0, 3, 1, 2), atol=1e-5)


@pytest.mark.parametrize("shuffle", ["none", "shards", "buffer", "blocks", "full"])
def test_every_shuffle_gives_each_sample_once_an_epoch(shards, shuffle):
    with loader(shards, batch_size=10, shuffle=shuffle, seed=3) as ours:
        orders = [[n for batch in ours.epoch(e) for n in n_of(batch)] for e in range(2)]
        assert len(ours) == 10
        for order in orders:
            assert sorted(order) == list(range(100))
        assert (orders[0] == orders[1]) == (shuffle == "none")
        again = [n for batch in ours.epoch(0) for n in n_of(batch)]
        assert again == orders[0]


def test_ranks_share_each_batch_and_their_ledgers_add_up(shards):
    seen, ledger = [], None
    alone = tarflume.Loader(shards, batch_size=12, shuffle="full", seed=1)
    batches = [set(n_of(batch)) for batch in alone.epoch(0)]
    parts = [set() for _ in batches]
    for rank in range(3):
        with tarflume.Loader(shards, batch_size=4, shuffle="full", seed=1, rank=rank, world_size=3) as ours:
            for batch in ours.epoch(0):
                own = [n for n, repeated in zip(n_of(batch), batch.padding, strict=True) if not repeated]
                parts[batch.step] |= set(own)
                seen += own
            ledger = ours.ledger() if ledger is None else ledger.merge(ours.ledger())
            expected = ours.expected(0)
    assert parts == batches and sorted(seen) == list(range(100))
    ledger.prove(expected)
    with pytest.raises(tarflume.errors.StaleError, match="were planned"):
        ours_only = tarflume.Ledger(str(alone.ledger())).merge(alone.ledger())
        ours_only.prove(expected)


def test_one_rank_delivers_a_short_last_batch_unless_it_is_left_out_or_filled(shards):
    def rows(**settings):
        return [batch.rows for batch in tarflume.Loader(shards, batch_size=30, **settings).epoch(0)]

    assert rows() == rows(drop_last=False) == rows(drop_last="uneven") == [30, 30, 30, 10]
    assert rows(drop_last=True) == [30] * 3
    assert rows(drop_last="pad") == [30] * 4
    assert not any(list(tarflume.Loader(shards, batch_size=30))[-1].padding)
    last = list(tarflume.Loader(shards, batch_size=30, drop_last="pad"))[-1]
    assert last.padding == [False] * 10 + [True] * 20


def each_rank(shards, world, **settings):
    """The batches of each rank: samples, and which of them are repeated; and the sum of the ledgers."""
    ranks, ledgers, state = [], [], settings.pop("state", None)
    for rank in range(world):
        settings |= {"rank": rank, "world_size": world, "shuffle": True, "seed": 5}
        with tarflume.Loader(shards, **settings) as ours:
            if state is not None:
                ours.load_state_dict(state)
            steps = len(ours)
            ranks.append([list(zip(n_of(batch), batch.padding, strict=True)) for batch in ours.epoch(0)])
            assert steps == len(ranks[-1]) or state is not None
            ledgers.append(ours.ledger())
            assert ours.current_epoch == 1
    total = ledgers[0]
    for ledger in ledgers[1:]:
        total = total.merge(ledger)
    return ranks, total


@pytest.mark.parametrize("batch_size", [1, 7, 16, 34, 50])
@pytest.mark.parametrize("world", [2, 3, 7, 8])
def test_ranks_deliver_as_many_samples_as_with_a_distributed_sampler(shards, world, batch_size):
    """As many steps and rows on each rank as DistributedSampler with DataLoader, and as many repeated samples."""
    with tarflume.Loader(shards, batch_size=100, shuffle=True, seed=5) as ours:
        right = n_of(next(ours.epoch(0)))
        expected = ours.expected(0)
    ranks, ledger = each_rank(shards, world, batch_size=batch_size)
    each = -(-100 // world)
    sizes = [min(batch_size, each - first) for first in range(0, each, batch_size)]
    assert [[len(batch) for batch in rank] for rank in ranks] == [sizes] * world
    given = [row for step in zip(*ranks, strict=True) for rows in step for row in rows]
    assert [n for n, repeated in given if not repeated] == right
    assert [n for n, repeated in given if repeated] == right[: world * each - 100]
    assert not any(repeated for rank in ranks for batch in rank[:-1] for _, repeated in batch)
    ledger.prove(expected)


@pytest.mark.parametrize(("drop_last", "sizes"), [
    (True, [[16, 16]] * 3), ("pad", [[16] * 3] * 3), ("uneven", [[16, 16, 2], [16, 16, 1], [16, 16, 1]]),
])
def test_other_remainders_of_three_ranks(shards, drop_last, sizes):
    ranks, _ = each_rank(shards, 3, batch_size=16, drop_last=drop_last)
    assert [[len(batch) for batch in rank] for rank in ranks] == sizes
    repeated = sum(repeated for rank in ranks for batch in rank for _, repeated in batch)
    assert repeated == {True: 0, "pad": 44, "uneven": 0}[drop_last]


def test_split_by_shard_ranks_deliver_as_many_samples_as_the_one_with_most(tmp_path):
    from conftest import pack, pairs

    pack("build", pairs(tmp_path / "pairs", 25), "-o", tmp_path / "shards", "--shards", 3)
    counts = [len(tarflume.Dataset(tar)) for tar in sorted((tmp_path / "shards").glob("*.tar"))]
    ranks, ledger = each_rank(tmp_path / "shards", 3, batch_size=4, divide="shard")
    assert len(set(counts)) > 1 and sum(counts) == 25
    for rank, count in zip(ranks, counts, strict=True):
        rows = sum(rank, [])
        assert [len(batch) for batch in rank] == [len(batch) for batch in ranks[0]] and len(rows) == max(counts)
        assert [n for n, repeated in rows if repeated] == [n for n, _ in rows[: max(counts) - count]]
    assert ledger.samples == 25


@pytest.mark.parametrize(("world", "batch_size"), [(1, 50), (2, 3), (3, 30), (5, 1)])
def test_a_state_in_the_last_batches_continues_with_other_ranks_and_repeats_nothing_of_them(shards, world, batch_size):
    with tarflume.Loader(shards, batch_size=30, shuffle=True, seed=5) as first:
        epoch = first.epoch(0)
        taken = [n for _ in range(3) for n in n_of(next(epoch))]
        state, ledger, expected = first.state_dict(), first.ledger(), first.expected(0)
        assert state["position"] == 90 and len(taken) == 90
    ranks, rest = each_rank(shards, world, batch_size=batch_size, state=state)
    given = [row for step in zip(*ranks, strict=True) for rows in step for row in rows]
    fresh = [n for n, repeated in given if not repeated]
    assert sorted(taken + fresh) == list(range(100))
    # Repeated samples are those from the beginning of the epoch, not of the part that was left.
    assert [n for n, repeated in given if repeated] == taken[: -len(fresh) % world]
    ledger.merge(rest).prove(expected)


@pytest.mark.parametrize(("bool_", "word"), [(True, "full"), (False, "none")])
def test_shuffle_takes_true_and_false(shards, bool_, word):
    orders = []
    for shuffle in (bool_, word):
        with tarflume.Loader(shards, batch_size=100, shuffle=shuffle, seed=3) as ours:
            orders.append(n_of(next(ours.epoch(0))))
            state = ours.state_dict()
    assert orders[0] == orders[1] and (orders[0] == list(range(100))) == (word == "none")
    with tarflume.Loader(shards, batch_size=9, shuffle=bool_, seed=3) as ours:
        ours.load_state_dict(state)


@pytest.mark.parametrize("steps", [0, 1, 4, 7])
def test_a_state_goes_on_at_the_next_sample_with_another_world_and_batch(shards, steps):
    with tarflume.Loader(shards, batch_size=10, shuffle="full", seed=9) as first:
        right = [n for batch in first.epoch(0) for n in n_of(batch)]
    with tarflume.Loader(shards, batch_size=10, shuffle="full", seed=9) as first:
        epoch = first.epoch(0)
        taken = [n for _ in range(steps) for n in n_of(next(epoch))]
        state = first.state_dict()
        epoch.close()
    rest = [[], []]
    for rank in range(2):
        with tarflume.Loader(shards, batch_size=5, shuffle="full", seed=9, rank=rank, world_size=2) as second:
            second.load_state_dict(state)
            assert second.current_epoch == 0
            rest[rank] = [n_of(batch) for batch in second.epoch(0)]
    for a, b in zip(*rest, strict=True):
        taken += sorted(a + b, key=right.index)
    assert taken == right


def test_a_state_of_another_seed_is_refused_by_name(shards):
    state = tarflume.Loader(shards, batch_size=10, shuffle="full", seed=1).state_dict()
    other = tarflume.Loader(shards, batch_size=10, shuffle="full", seed=2)
    with pytest.raises(tarflume.Error, match="seed"):
        other.load_state_dict(state)
    assert n_of(next(other.epoch(0)))  # and goes on as it was


def test_iterating_goes_from_epoch_to_epoch(shards):
    ours = tarflume.Loader(shards, batch_size=50)
    assert [batch.epoch for _ in range(3) for batch in ours] == [0, 0, 1, 1, 2, 2]


def test_a_mixture_keeps_its_weights(shards, tmp_path):
    from conftest import pack, pairs

    pack("build", pairs(tmp_path / "few", 20), "-o", tmp_path / "shards")
    ours = tarflume.Loader([(shards, 3), (tmp_path / "shards", 1)], batch_size=8)
    batch = next(iter(ours))
    assert sum(ordinal >= 100 for ordinal in batch.ordinals.tolist()) == 2


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"shuffle": "random"}, 'shuffle="random" is not known; there are "none"'),
        ({"shuffle": 3}, 'shuffle= takes True, False or "none"'),
        ({"batchsize": 3}, "takes no batchsize=; did you mean batch_size=?"),
        ({"xyz": 3}, "takes no xyz=; help("),
        ({"batch_size": "many"}, "batch_size= takes a whole number"),
        ({"batch_size": 0}, "at least one row"),
        ({"batch_size": 1000, "drop_last": True}, "1000"),
        ({"image": "jpg"}, "image= takes a transform"),
        ({"label": "txt"}, "no sample has a part 'txt'; the data set has: jpg, json"),
        ({"rank": 2, "world_size": 2}, "2"),
        ({"on_bad": "ignore"}, '"substitute"'),
        ({"memory_limit": "lots"}, "lots"),
        ({"buffer_size": 5}, "shuffle=\"buffer\""),
        ({"drop_last": "fill"}, 'takes True, False, "pad" or "uneven", not \'fill\''),
        ({"columns": {"key": "jpg"}}, "cannot have the name"),
    ],
)
def test_wrong_settings_are_answered_with_right_ones(shards, settings, text):
    with pytest.raises(tarflume.errors.UsageError) as caught:
        tarflume.Loader(shards, **settings)
    assert text in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("world", "did you mean world_size=?"),
        ("num_replicas", "did you mean world_size=?"),
        ("shard_id", "did you mean rank=?"),
        ("threads", "did you mean num_threads=?"),
        ("memory", "did you mean memory_limit=?"),
        ("ring", "did you mean device_slots=?"),
        ("prefetch_factor", "did you mean prefetch=?"),
        ("prefetch_queue_depth", "did you mean prefetch=?"),
        ("batch", "did you mean batch_size=?"),
        ("initial_fill", "did you mean buffer_size=?"),
        ("random_shuffle", "did you mean shuffle=?"),
        ("drop_remainder", "did you mean drop_last=?"),
        ("handler", "did you mean on_bad=?"),
        ("num_workers", "num_threads= is the number of its threads"),
        ("persistent_workers", "no worker processes"),
        ("pin_memory", "tarflume.torch.Loader takes pin_memory="),
        ("sampler", "tarflume.torch.MapDataset works with samplers"),
        ("collate_fn", "tarflume.torch.Loader(transform=function)"),
        ("transform", "tarflume.Apply(function, column)"),
        ("generator", "seed= is a whole number"),
        ("device_id", 'device="cuda:0"'),
        ("num_epochs", "loader.epoch(number)"),
    ],
)
def test_keywords_of_other_loaders_are_errors_that_name_the_right_one(shards, keyword, text):
    with pytest.raises(tarflume.errors.UsageError) as caught:
        tarflume.Loader(shards, **{keyword: 3})
    assert f"Loader takes no {keyword}=; " in str(caught.value) and text in str(caught.value)


def test_errors_say_path_byte_and_key(shards, tmp_path):
    tar = sorted(shards.glob("*.tar"))[0]
    for file in shards.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    damaged = tmp_path / tar.name
    bytes_ = bytearray(damaged.read_bytes())
    at = bytes_.index(b"\xff\xda") + 40
    bytes_[at : at + 8] = b"\xff\xd9" * 4
    damaged.write_bytes(bytes_)
    ours = loader(tmp_path, batch_size=10, verify="all")
    with pytest.raises(tarflume.errors.DamagedError) as caught:
        list(ours.epoch(0))
    error = caught.value
    assert (error.path, error.key) == (str(damaged), "0000") and error.byte > 0
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.path, again.byte, str(again)) == (type(error), error.path, error.byte, str(error))
    skipping = loader(tmp_path, batch_size=10, verify="all", on_bad="skip")
    assert [batch.rows for batch in skipping.epoch(0)] == [9] + [10] * 9
    assert [bad["key"] for bad in skipping.bad_samples()] == ["0000"]
    (tmp_path / "lists").mkdir()
    skipping.write_bad_samples(tmp_path / "lists" / "bad.jsonl")
    assert len(loader(tmp_path, batch_size=9, exclude=tmp_path / "lists" / "bad.jsonl")) == 11


def test_missing_shards_are_an_error_with_their_path(tmp_path):
    with pytest.raises(tarflume.Error, match="nowhere"):
        tarflume.Loader(tmp_path / "nowhere", batch_size=1)


def test_statistics_are_a_dict_and_a_table(shards):
    ours = loader(shards, batch_size=10)
    list(ours)
    stats = ours.stats()
    assert stats["stages"]["consumer"]["items"] == 10 and 0 <= stats["starved"] <= 1
    assert str(stats).splitlines()[-1] == stats["verdict"]
    assert stats["num_threads"] >= 1 and stats["device_slots"] is None
    assert set(stats["idle_s"]) == {"consumer", "memory", "prefetch", "plan", "input", "wake", "end"}
    assert all(seconds >= 0 for seconds in stats["idle_s"].values()) and stats["startup_s"] > 0
    wait = stats["batch_wait_s"]
    assert wait["count"] == 10 and 0 <= wait["p50"] <= wait["p95"] <= wait["p99"] <= wait["max"]
    assert wait["mean"] * 10 == pytest.approx(stats["stages"]["consumer"]["waiting_input_s"], abs=1e-6)
    assert stats["ready_batches"]["requests"] == 10 and stats["waiting_s"] == 0
    assert "Waited for a batch: p50 " in str(stats)


def test_advice_names_keywords_and_not_setters_of_rust(shards):
    with loader(shards, batch_size=50) as ours:
        list(ours)
        assert ours.stats()["bottleneck"] == "unknown"
        for text in (ours.stats()["verdict"], str(ours.stats())):
            assert "smaller batches with batch_size=" in text and ".batch()" not in text


def test_a_closed_loader_says_so(shards):
    ours = loader(shards, batch_size=10)
    batch = next(iter(ours))
    ours.close()
    ours.close()
    with pytest.raises(tarflume.errors.UsageError, match="closed"):
        ours.epoch(0)
    assert batch["label"].tolist() == list(range(10))
    assert repr(ours) == "Loader(closed)"


def test_a_loader_pickles_to_one_at_the_same_place(shards):
    ours = loader(shards, batch_size=10, shuffle="full", seed=4)
    epoch = ours.epoch(0)
    next(epoch)
    again = pickle.loads(pickle.dumps(ours))
    assert n_of(next(again.epoch(0))) == n_of(next(epoch))


def test_data_sets_are_opened_once_and_read_by_number_and_key(shards):
    data = tarflume.Dataset(shards)
    assert len(data) == 100 and data.extensions() == {"jpg": 100, "json": 100}
    assert data[7]["__key__"] == data.key(7) == "0007" and data[-1]["__key__"] == "0099"
    assert data.find("0042")["jpg"] == data[42]["jpg"]
    assert sorted(data.get(3, ["json"])) == ["__key__", "json"]
    assert len(data.shards) == 4 and len(pickle.loads(pickle.dumps(data))) == 100
    with pytest.raises(IndexError):
        data[100]
    with pytest.raises(KeyError):
        data.find("none")
    assert n_of(next(iter(tarflume.Loader(data, batch_size=3)))) == [0, 1, 2]
