"""Forks, spawned processes, Ctrl-C, threads and files left behind."""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import tarflume
from conftest import n_of


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
    assert queue.get(timeout=60) == [n for batch in loader.epoch(0) for n in n_of(batch)]
    child.join(60)
    assert child.exitcode == 0


def run(code: str, *words: object, **more) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, words)]
    return subprocess.run(command, text=True, capture_output=True, timeout=60, check=False, **more)


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
    """A batch of a hundred large pictures in one thread takes seconds; the signal comes well before it is done."""
    done = run(
        """
        import os, signal, sys, threading, time, tarflume
        loader = tarflume.Loader(sys.argv[1], batch_size=100, image=tarflume.Resize(2000), memory_limit="12GiB", num_threads=1,
                                 prefetch=1)
        epoch = loader.epoch(0)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            next(epoch)
            print("a batch")
        except KeyboardInterrupt:
            print("interrupted after", loader.stats()["stages"]["decode"]["items"] < 100)
        print(next(epoch).rows)
        """,
        shards,
    )
    assert done.stdout.splitlines() == ["interrupted after True", "100"], done.stderr


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def files() -> int:
    return len(os.listdir("/proc/self/fd"))


def settled(count) -> int:
    """Threads end a moment after their loader."""
    last = count()
    for _ in range(100):
        time.sleep(0.01)
        if (now := count()) == last:
            return now
        last = now
    return last


def test_a_thousand_loaders_leave_no_thread_and_no_file(shards):
    next(iter(ours(shards)))
    gc.collect()
    before = settled(threads), files()
    for n in range(1000):
        loader = ours(shards)
        if n % 10 == 0:
            next(iter(loader))
        del loader
    gc.collect()
    assert (settled(threads), files()) == before


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_two_hundred_epochs_leave_memory_flat(shards):
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
        taker.join(30)
    assert sorted(seen) == list(range(100))


def test_the_lock_of_the_interpreter_is_free_while_a_batch_is_waited_for(shards):
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    counter = threading.Thread(target=count)
    counter.start()
    slow = tarflume.Loader(shards, batch_size=50, image=tarflume.Resize(1500), memory_limit="2GiB", num_threads=1)
    epoch = slow.epoch(0)
    before = counted[0]
    next(epoch)
    during = counted[0] - before
    stop.set()
    counter.join()
    epoch.close()
    assert during > 10
