"""A player of array jobs: does to `pack run` what Kubernetes, LSF, PBS and AWS Batch do to the jobs of an array.

It starts a process for each index, kills some at random moments, starts two of the same index at once, and follows the
exit codes: 0 is done, 65 fails the index for good, 75 and a kill start the index again.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from patience import PATIENCE_S

DONE, BAD_DATA, TRY_AGAIN = 0, 65, 75


@dataclass
class Played:
    """What happened."""

    done: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    starts: int = 0
    kills: int = 0
    doubles: int = 0
    restarts: int = 0


@dataclass
class _Pod:
    index: int
    process: subprocess.Popen[bytes]
    killed: bool = False


def play(
    command: Sequence[str],
    variables: Callable[[int], Mapping[str, str]],
    count: int,
    *,
    parallel: int = 3,
    seed: int = 0,
    kill_after: tuple[float, float] = (0.0, 0.1),
    kills: int = 4,
    doubles: int = 2,
    limit: int = 6,
    deadline_s: float = PATIENCE_S,
) -> Played:
    """Runs `command` for each index below `count`; `variables` are those that the scheduler sets for an index.

    The first `kills` starts are killed after a random time in `kill_after`; `doubles` indexes are started twice at once.
    An index that has been started `limit` times and is not done is an error.
    """
    rng, played = random.Random(seed), Played()
    waiting = list(range(count))
    tries = dict.fromkeys(waiting, 0)
    running: list[_Pod] = []
    end = time.monotonic() + deadline_s
    try:
        while waiting or running:
            if time.monotonic() > end:
                raise AssertionError(f"not done after {deadline_s} s: {played}, {waiting} wait")
            while waiting and len(running) < parallel:
                index = waiting.pop(0)
                tries[index] += 1
                assert tries[index] <= limit, f"index {index} was started {limit} times: {played}"
                for _ in range(2 if played.doubles < doubles else 1):
                    running.append(_Pod(index, _start(command, variables(index))))
                    played.starts += 1
                if len(running) > 1 and running[-2].index == index:
                    played.doubles += 1
                if played.kills < kills:
                    time.sleep(rng.uniform(*kill_after))
                    _kill(running[-1], played)
            running = _ended(running, waiting, played)
            time.sleep(0.005)
        return played
    finally:
        for pod in running:
            pod.process.kill()
            pod.process.wait()


def _start(command: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, env=os.environ | variables, stdout=quiet, stderr=quiet, start_new_session=True)


def _kill(pod: _Pod, played: Played) -> None:
    if pod.process.poll() is None:
        os.killpg(pod.process.pid, signal.SIGKILL)
        pod.killed = True
        played.kills += 1


def _ended(running: list[_Pod], waiting: list[int], played: Played) -> list[_Pod]:
    """Removes the processes that have ended, and starts their indexes again if the exit code says so."""
    left = []
    for pod in running:
        code = pod.process.poll()
        if code is None:
            left.append(pod)
        elif code == DONE:
            played.done.add(pod.index)
        elif code == BAD_DATA:
            played.failed.add(pod.index)
        elif code == TRY_AGAIN or pod.killed:
            if pod.index not in waiting and not any(other.index == pod.index for other in running if other is not pod):
                waiting.append(pod.index)
                played.restarts += 1
        else:
            raise AssertionError(f"index {pod.index} ended with {code}, which is no answer to a scheduler")
    return left
