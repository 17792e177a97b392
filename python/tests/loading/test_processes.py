"""Forks, spawned processes, Ctrl-C, threads and files left behind."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import threading

import pytest

import tarflume
from alone import alone
from conftest import n_of
from patience import PATIENCE_S, until


def ours(shards, **settings):
    settings = {"batch_size": 10, "image": tarflume.Resize((16, 24))} | settings
    return tarflume.Loader(shards, **settings)


def take_all(loader, queue):
    queue.put([n for batch in loader.epoch(0) for n in n_of(batch)])


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_spawned_process_gets_a_loader_of_its_own(shards, method):
    loader = ours(shards, shuffle="full", seed=2)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=take_all, args=(loader, queue))
    child.start()
    assert queue.get(timeout=PATIENCE_S) == [n for batch in loader.epoch(0) for n in n_of(batch)]
    child.join()
    assert child.exitcode == 0


def run(code: str, *words: object, **more) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, words)]
    return subprocess.run(command, text=True, capture_output=True, timeout=PATIENCE_S, check=False, **more)


def test_a_fork_after_a_loader_started_is_refused_with_what_to_do(shards):
    done = run(
        """
        import os, sys, tarflume
        loader = tarflume.Loader(sys.argv[1], batch_size=10)
        epoch = loader.epoch(0)
        next(epoch)
        child = os.fork()
        if child == 0:
            for step in (lambda: next(epoch), lambda: next(loader.epoch(0))):
                try:
                    step()
                    print("no error")
                except tarflume.Error as error:
                    print(error)
            sys.stdout.flush()
            del epoch, loader
            other = tarflume.Loader(sys.argv[1], batch_size=10)
            print(sum(batch.rows for batch in other.epoch(0)), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        print(10 + sum(batch.rows for batch in epoch))
        """,
        shards,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 4, (done.stdout, done.stderr)
    assert all("made before a fork" in line and "make it in the" in line for line in lines[:2])
    assert lines[2:] == ["100", "100"]


def test_ctrl_c_ends_a_wait_before_the_batch_is_there(shards):
    """A sample of the batch is decoded only after the interrupt: a wait that does not end for it never ends."""
    done = run(
        """
        import os, signal, sys, threading, tarflume
        interrupted = threading.Event()
        def held(n):
            if not interrupted.is_set():
                os.kill(os.getpid(), signal.SIGINT)
                interrupted.wait()
            return n
        column = tarflume.Apply(held, tarflume.Json("/n"))
        loader = tarflume.Loader(sys.argv[1], batch_size=100, columns={"n": column}, num_threads=1, prefetch=1)
        epoch = loader.epoch(0)
        try:
            next(epoch)
            print("a batch")
        except KeyboardInterrupt:
            print("interrupted after", loader.stats()["stages"]["decode"]["items"] < 100)
        interrupted.set()
        print(next(epoch).rows)
        """,
        shards,
    )
    assert done.stdout.splitlines() == ["interrupted after True", "100"], done.stderr


def files() -> int:
    return len(os.listdir("/proc/self/fd"))


def loader_threads() -> int:
    """The threads of loaders in this process."""
    names = []
    for task in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            names.append((task / "comm").read_text())
    return sum(re.fullmatch(r"tarflume-\d+\n", name) is not None for name in names)


def make_a_thousand_loaders(shards: str) -> None:
    before = loader_threads()
    next(iter(ours(shards)))
    gc.collect()
    # Threads end a moment after their loader.
    until("no thread of a loader is left", lambda: loader_threads() <= before)
    opened = files()
    for n in range(1000):
        loader = ours(shards)
        if n % 10 == 0:
            next(iter(loader))
        del loader
    gc.collect()
    until("no thread of a loader is left", lambda: loader_threads() <= before)
    assert files() == opened


def test_a_thousand_loaders_leave_no_thread_and_no_file(shards):
    alone(make_a_thousand_loaders, shards)


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def read_two_hundred_epochs(shards: str) -> None:
    loader = ours(shards, shuffle="full", seed=1)

    def epochs(numbers):
        for epoch in numbers:
            for batch in loader.epoch(epoch):
                batch["image"].numpy()

    epochs(range(40))
    gc.collect()
    before = resident()
    epochs(range(40, 240))
    gc.collect()
    assert resident() - before < 8 << 20


def test_two_hundred_epochs_leave_memory_flat(shards):
    alone(read_two_hundred_epochs, shards)


def test_threads_share_an_epoch(shards):
    epoch, seen, lock = ours(shards).epoch(0), [], threading.Lock()

    def take():
        for batch in epoch:
            with lock:
                seen.extend(n_of(batch))

    takers = [threading.Thread(target=take) for _ in range(4)]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join()
    assert sorted(seen) == list(range(100))


def test_the_lock_of_the_interpreter_is_free_while_a_batch_is_waited_for(shards):
    """The batch comes after another thread of Python's has run: with the lock held, that is never."""
    done = run(
        """
        import sys, threading, tarflume
        asked, answered = threading.Event(), threading.Event()
        def other():
            asked.wait()
            answered.set()
        threading.Thread(target=other, daemon=True).start()
        def held(n):
            asked.set()
            answered.wait()
            return n
        column = tarflume.Apply(held, tarflume.Json("/n"))
        print(next(tarflume.Loader(sys.argv[1], batch_size=50, columns={"n": column}).epoch(0)).rows)
        """,
        shards,
    )
    assert done.stdout == "50\n", done.stderr
