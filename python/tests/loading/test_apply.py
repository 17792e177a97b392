"""Functions of the user's own: for each sample (`Apply`), for each batch (`Epoch.map`, `transform=`)."""

from __future__ import annotations

import itertools
import pickle
import queue
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import tarflume
from conftest import n_of
from patience import PATIENCE_S

RESIZE = tarflume.Resize((16, 24))


def inverted(picture):
    return 255 - picture


def only(shards, column, **settings):
    with tarflume.Loader(shards, batch_size=10, columns={"x": column}, **settings) as ours:
        return [batch["x"] for batch in ours]


def test_a_function_is_called_with_each_picture(shards):
    plain = next(iter(tarflume.Loader(shards, batch_size=10, image=RESIZE)))["image"].numpy()
    image = tarflume.Apply(inverted, tarflume.Image(RESIZE))
    ours = tarflume.Loader(shards, batch_size=10, image=image, label="/class")
    batch = next(iter(ours))
    np.testing.assert_array_equal(batch["image"].numpy(), 255 - plain)
    assert batch["label"].tolist() == list(range(10))


def test_an_array_is_the_functions_own(shards):
    def scribble(picture):
        picture[:] = 7
        return picture

    column = only(shards, tarflume.Apply(scribble, tarflume.Image(RESIZE)))[0]
    assert np.unique(column.numpy()).tolist() == [7]


def test_shape_and_type_may_change(shards):
    def mean(picture):
        assert picture.shape == (16, 24, 3) and picture.dtype == np.uint8
        return picture.mean(axis=(0, 1))

    column = only(shards, tarflume.Apply(mean, tarflume.Image(RESIZE), dtype="float32", shape=[3]))[0]
    plain = next(iter(tarflume.Loader(shards, batch_size=10, image=RESIZE)))["image"].numpy()
    assert column.shape == (10, 3) and column.dtype == "float32"
    np.testing.assert_allclose(column.numpy(), plain.mean(axis=(1, 2)), rtol=1e-6)


def test_numbers_bytes_and_texts(shards):
    doubled = tarflume.Apply(lambda n: n * 2, tarflume.Json("/class"))
    assert only(shards, doubled)[0].tolist() == [2 * n for n in range(10)]
    length = tarflume.Apply(len, "jpg", dtype="int64", shape=())
    raw = only(shards, "jpg")
    assert [n for part in only(shards, length) for n in part.tolist()] == [len(x) for part in raw for x in part]
    head = tarflume.Apply(lambda jpeg: jpeg[:2], "jpg", most=2)
    assert list(only(shards, head)[0]) == [b"\xff\xd8"] * 10
    loud = tarflume.Apply(str.upper, tarflume.Json("/name", text=True), text=True, most=100)
    assert list(only(shards, loud)[0])[:2] == ["PICTURE 0", "PICTURE 1"]
    written = tarflume.Apply(lambda n: str(n), tarflume.Json("/n"), text=True, most=2)
    assert list(only(shards, written)[1]) == [str(n) for n in range(10, 20)]
    some = tarflume.Apply(lambda n: np.arange(n, dtype=np.int32), tarflume.Json("/class"), dtype="int32", most=9)
    assert [row.tolist() for row in only(shards, some)[0]][:4] == [[], [0], [0, 1], [0, 1, 2]]
    twice = tarflume.Apply(lambda n: n + 1, doubled)
    assert only(shards, twice)[0].tolist() == [2 * n + 1 for n in range(10)]


def test_seeds_are_those_of_samples_and_not_of_threads(shards):
    seed = tarflume.Apply(lambda _, seed: np.uint64(seed), tarflume.Json("/n"), dtype="uint64", seeded=True)

    def seen(**settings):
        with tarflume.Loader(shards, columns={"x": seed, "n": tarflume.Json("/n")}, shuffle="full", seed=3, **settings) as ours:
            return {n: x for batch in ours.epoch(1) for n, x in zip(batch["n"].tolist(), batch["x"].tolist())}

    one = seen(batch_size=10, num_threads=1)
    assert len(one) == len(set(one.values())) == 100
    assert seen(batch_size=20, num_threads=4) == one
    other = tarflume.Loader(shards, batch_size=100, columns={"x": seed})
    assert next(other.epoch(2))["x"].tolist() != next(other.epoch(3))["x"].tolist()


def failing(n):
    if n % 10 == 3:
        raise LookupError(f"no {n} here")
    return n


def test_what_it_raises_is_the_cause_of_the_samples_error(shards):
    column = tarflume.Apply(failing, tarflume.Json("/n"))
    with pytest.raises(tarflume.errors.DecodeError, match="column 'x': failing failed: LookupError: no 3 here") as caught:
        only(shards, column)
    assert caught.value.key == "0003" and caught.value.path.endswith(".tar") and caught.value.byte
    assert isinstance(caught.value.__cause__, LookupError)
    assert caught.value.__cause__.__traceback__ is not None


def test_a_failing_sample_is_bad_as_others_are(shards):
    ours = tarflume.Loader(shards, batch_size=10, columns={"x": tarflume.Apply(failing, tarflume.Json("/n"))},
                           on_bad="skip")
    assert [n for batch in ours for n in n_of(batch)] == [n for n in range(100) if n % 10 != 3]
    assert len(ours.bad_samples()) == 10 and "no 3 here" in ours.bad_samples()[0]["reason"]


@pytest.mark.parametrize(("column", "says"), [
    (tarflume.Apply(lambda picture: picture[1:], tarflume.Image(RESIZE)), r"shape \(15, 24, 3\); rows .* \(16, 24, 3\)"),
    (tarflume.Apply(lambda picture: picture / 255, tarflume.Image(RESIZE)), "returned float64; .* are uint8: give dtype="),
    (tarflume.Apply(lambda jpeg: jpeg, "jpg", most=10), "do not fit a row of 10"),
    (tarflume.Apply(lambda n: b"x", tarflume.Json("/n"), text=True, most=10), "returned bytes; with text=True"),
    (tarflume.Apply(lambda n: [[n]], tarflume.Json("/n"), most=10), "returns one of one dimension"),
])
def test_what_does_not_fit_the_column_is_told(shards, column, says):
    with pytest.raises(tarflume.errors.DecodeError, match=says):
        only(shards, column)


def test_wrong_requests_are_told_what_to_ask():
    for words, says in [
        ((3, "jpg"), "takes a function and a column, not 3"),
        ((len, "jpg"), "give shape=.*, or most="),
        ((len, 5), "a column is a part's name"),
    ]:
        with pytest.raises(tarflume.errors.UsageError, match=says):
            tarflume.Apply(*words)
    with pytest.raises(tarflume.errors.UsageError, match="shape or most"):
        tarflume.Apply(len, "jpg", shape=(), most=3)
    with pytest.raises(tarflume.errors.UsageError, match="a text has most="):
        tarflume.Apply(str, "jpg", text=True, dtype="uint8", most=3)


def test_it_is_pickled_with_its_function(shards):
    image = pickle.loads(pickle.dumps(tarflume.Apply(inverted, tarflume.Image(RESIZE))))
    ours = pickle.loads(pickle.dumps(tarflume.Loader(shards, batch_size=10, image=image)))
    plain = next(iter(tarflume.Loader(shards, batch_size=10, image=RESIZE)))["image"].numpy()
    np.testing.assert_array_equal(next(iter(ours))["image"].numpy(), 255 - plain)


def test_stats_show_what_functions_cost(shards):
    def slow(n):
        time.sleep(0.002)
        return n

    with tarflume.Loader(shards, batch_size=10, columns={"x": tarflume.Apply(slow, tarflume.Json("/n"))}) as ours:
        for _ in ours:
            pass
        stats = ours.stats()
    assert stats["functions"]["calls"] == 100 and stats["functions"]["busy_s"] >= 0.2
    assert stats["stages"]["decode"]["busy_s"] >= 0.2
    # The verdict itself depends on how busy the machine is.
    assert "Own functions: 100 calls" in str(stats)


def test_a_batch_is_mapped_and_its_cost_shown(shards):
    def total(batch):
        time.sleep(0.01)
        return int(batch["label"].numpy().sum())

    with tarflume.Loader(shards, batch_size=10, label="/class", num_threads=1) as ours:
        assert list(ours.epoch(0).map(total)) == [45] * 10
        stages = ours.stats()["stages"]
    assert stages["transform"]["items"] == 10 and stages["transform"]["busy_s"] >= 0.1
    with tarflume.Loader(shards, batch_size=10, label="/class") as ours:
        list(ours)
        assert "transform" not in str(ours.stats())


def test_many_threads_call_and_others_go_on(shards):
    """The interpreter's lock is free while the loader waits: every tenth call waits for another thread of Python's."""
    requests: queue.Queue[threading.Event | None] = queue.Queue()
    answered = []

    def answer():
        while (event := requests.get()) is not None:
            answered.append(event)
            event.set()

    calls = itertools.count()

    def waiting(pixels):
        if next(calls) % 10 == 0:
            event = threading.Event()
            requests.put(event)
            event.wait()
        return inverted(pixels)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    image = tarflume.Apply(waiting, tarflume.Image(RESIZE))
    with tarflume.Loader(shards, batch_size=10, image=image, num_threads=8, shuffle="full") as ours:
        assert sum(batch.rows for epoch in range(5) for batch in ours.epoch(epoch)) == 500
    requests.put(None)
    thread.join()
    assert len(answered) >= 50


def test_python_ends_while_functions_run(shards):
    """Neither a hang nor a crash, wherever the threads are when the interpreter goes."""
    text = textwrap.dedent(f"""
        import time, tarflume
        def slow(n):
            time.sleep(0.003)
            return n
        column = tarflume.Apply(slow, tarflume.Json("/n"))
        ours = tarflume.Loader({str(shards)!r}, batch_size=2, columns={{"x": column}}, num_threads=4, prefetch=20)
        epoch = iter(ours)
        next(epoch)
        print("one")
    """)
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert (done.returncode, done.stdout) == (0, "one\n"), done.stderr
