"""`pack`: plans on the driver, packs in Ray tasks, and publishes on the driver.

A task gets the numbers of its shards and nothing else; it runs `pack run` on a path that all machines see. What is
finished is read from the records of the shards, never from Ray, so lost and repeated tasks do no harm.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import ray

from ..arguments import Path, pairs_of, paths_of, words_of
from ..errors import PackError, TryAgainError, UsageError
from ..results import Built

__all__ = ["pack"]

# Exit codes of the command.
_BAD_DATA, _TRY_AGAIN = 65, 75
# The command of the package that a worker has installed.
_COMMAND = [sys.executable, "-c", "import sys; from tarflume.pack import main; sys.argv[0] = 'pack'; sys.exit(main())"]
# Options of `tarflume.pack.build` that are flags of `pack plan` under other names, or lists.
_LISTS = ("exclude", "pair")


def pack(
    src: Path | Sequence[Path],
    out: Path,
    *,
    shards_per_task: int = 8,
    num_cpus: float = 1,
    max_retries: int = 5,
    stall_timeout_s: float = 600,
    storage: Mapping[str, object] | None = None,
    progress: bool = False,
    **options: Any,
) -> Built:
    """Packs folders into shards on the machines of a Ray cluster; the bytes are those of `tarflume.pack.build`.

    Arguments:

    - `src`, `out`, and the further options: as in `tarflume.pack.build`. All machines must see `src` under the same
      paths, and `out`, which may be a URL ("s3://bucket/set").
    - `shards_per_task`: the number of shards of a task. `num_cpus`: the processors of a task, and its threads.
    - `max_retries`: how often a task is repeated after the failure of its machine or of the network.
    - `stall_timeout_s`: the seconds after which it is an error that no task has ended, for example because no machine
      is left.
    - `storage`: how the store of a URL is reached; without secrets, which belong into the environment of the workers.
    - `progress`: prints a line when a task has ended.

    Uses the cluster that `ray.init` has connected to. A machine that dies costs the shards that it was packing; its
    tasks run elsewhere. An interrupted call continues where it was, if it is repeated.

    Returns the manifest. Raises `UsageError` for wrong arguments, `PackError` for bad data, `TryAgainError` if the
    machines failed too often or `stall_timeout_s` is over.
    """
    if shards_per_task < 1:
        raise UsageError(f"shards_per_task={shards_per_task}: at least 1 is needed")
    place = os.fspath(out) if "://" in os.fspath(out) else os.path.abspath(os.fspath(out))
    stores = [f"--storage={name}={value}" for name, value in (storage or {}).items()]
    _run("plan", *paths_of(src), "-o", place, "--quiet", *_flags(options), *stores)
    status = _status(place, stores)
    if not status["published"]:
        _pack_missing(place, stores, status, (shards_per_task, num_cpus, max_retries, stall_timeout_s), progress)
        _run("finalize", place, "--quiet", *stores)
    return _manifest(place, storage)


def _pack_missing(
    place: str,
    stores: list[str],
    status: dict[str, Any],
    limits: tuple[int, float, int, float],
    progress: bool,
) -> None:
    """Starts tasks until every shard is finished."""
    shards_per_task, num_cpus, max_retries, stall_timeout_s = limits
    task = ray.remote(num_cpus=num_cpus, max_retries=max_retries, retry_exceptions=[OSError])(_pack_shards)
    # Tasks that Ray gives up are started again once, by what the records say.
    for _ in range(2):
        missing = status["missing"]
        groups = [missing[at : at + shards_per_task] for at in range(0, len(missing), shards_per_task)]
        jobs = max(1, int(num_cpus))
        pending = [task.remote(place, group, jobs, stores) for group in groups]
        try:
            _wait(pending, status["shards"], len(groups), stall_timeout_s, progress)
        finally:
            for reference in pending:
                ray.cancel(reference, force=True)
        status = _status(place, stores)
        if not status["missing"]:
            return
    raise TryAgainError(
        f"{place}: {len(status['missing'])} of {status['shards']} shards are not finished; call pack again: it continues"
    )


def _wait(pending: list[Any], shards: int, tasks: int, stall_timeout_s: float, progress: bool) -> None:
    """Waits for all tasks; an error of the data ends it at once, a task whose machine died too often does not."""
    while pending:
        done, rest = ray.wait(pending, num_returns=1, timeout=stall_timeout_s)
        if not done:
            nodes = sum(node["Alive"] for node in ray.nodes())
            raise TryAgainError(
                f"no task has ended in {stall_timeout_s:g} s, {len(pending)} of {tasks} are left, and Ray has {nodes} "
                "machines; add machines, or give a larger stall_timeout_s, and call pack again: it continues"
            )
        pending[:] = rest
        try:
            ray.get(done[0])
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, PackError) and not isinstance(error.cause, TryAgainError):
                raise error.cause from None
        except ray.exceptions.RayError:
            pass  # the records say what is missing
        if progress:
            print(f"{tasks - len(pending)} of {tasks} tasks of {shards} shards have ended", flush=True)


def _pack_shards(place: str, shards: list[int], jobs: int, stores: list[str]) -> None:
    """A task: packs some shards of the plan in `place`."""
    words = [word for number in shards for word in ("--shard", str(number))]
    ran = subprocess.run(
        [*_COMMAND, "run", place, *words, "--jobs", str(jobs), "--progress", "none", "--quiet", *stores],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if ran.returncode == 0:
        return
    said = ran.stderr.strip() or f"pack ended with {ran.returncode}"
    if ran.returncode == 2 and "there is no plan" in said:
        node = ray.util.get_node_ip_address()
        raise PackError(f"the machine {node} does not see {place}: all machines need the same path, or a URL")
    # A signal ends a process with a negative code: the machine, or its memory, failed.
    if ran.returncode == _TRY_AGAIN or ran.returncode < 0:
        raise OSError(said)
    raise PackError(said)


def _run(*words: str) -> str:
    """Runs the command on the driver."""
    ran = subprocess.run([*_COMMAND, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ran.returncode != 0:
        said = ran.stderr.strip().removeprefix("error: ")
        kind = {2: UsageError, _TRY_AGAIN: TryAgainError}.get(ran.returncode, PackError)
        raise kind(said)
    return ran.stdout


def _status(place: str, stores: list[str]) -> dict[str, Any]:
    ran = subprocess.run(
        [*_COMMAND, "status", place, "--format", "json", *stores],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if ran.returncode not in (0, _TRY_AGAIN):
        raise TryAgainError(ran.stderr.strip().removeprefix("error: "))
    status: dict[str, Any] = json.loads(ran.stdout)
    return status


def _flags(options: dict[str, Any]) -> list[str]:
    """The options of `tarflume.pack.build` as flags of `pack plan`."""
    flags: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if name == "entry_points":
            flags += [] if value else ["--no-entry-points"]
        elif value is None or value is False:
            continue
        elif value is True:
            flags.append(flag)
        elif name in _LISTS and not isinstance(value, str):
            items = [f"{folder}={ext}" for folder, ext in value.items()] if isinstance(value, Mapping) else value
            flags += [word for item in items for word in (flag, str(item))]
        elif name in ("ext_map", "names", "split"):
            flags += [flag, pairs_of(value) or ""]
        elif name == "require":
            flags += [flag, words_of(value) or ""]
        else:
            flags += [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    return flags


def _manifest(place: str, storage: Mapping[str, object] | None) -> Built:
    from .. import _core

    if "://" not in place:
        with open(os.path.join(place, "dataset.json"), encoding="utf-8") as file:
            return Built(json.load(file) | {"problems": _problems(place)})
    found = _core.Dataset(place, storage=None if storage is None else dict(storage))
    sizes = found.shard_sizes
    shards = [
        {"name": str(shard).rsplit("/", 1)[-1], "samples": samples, "bytes": count}
        for shard, (samples, count) in zip(found.shards, sizes, strict=True)
    ]
    return Built({"samples": len(found), "bytes": sum(count for _, count in sizes), "shards": shards, "problems": []})


def _problems(place: str) -> list[dict[str, Any]]:
    try:
        with open(os.path.join(place, "problems.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []
