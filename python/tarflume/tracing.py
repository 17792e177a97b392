"""`trace`: steps of a training and the work of its loader on a time line, for Perfetto and chrome://tracing."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .diagnosis import clocks
from .diagnosis.recording import Record
from .diagnosis.stepping import Run, Step, run
from .errors import UsageError
from .statistics import rank_and_world_size

__all__ = ["trace"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: The thread of the steps, and that of a worker, in their processes.
_THREAD = 1


def trace(
    loader: Iterable[Any],
    path: str | os.PathLike[str],
    steps: int = 20,
    *,
    step: Callable[[Any], object] | None = None,
    warmup: int = 0,
) -> pathlib.Path:
    """Takes batches of a loader and writes a time line of the steps, which https://ui.perfetto.dev and chrome://tracing open:

    - Each step, with the wait for its batch (`fetch`), the copy to a CUDA device (`transfer`) and `step` (`compute`).
    - What each worker of a DataLoader of PyTorch did: `read`, `transform` and `collate` of each batch, with arrows to the
      steps that used them. Batches that were prepared before the first step are there, too.
    - Of a loader of tarflume, how many of its threads were busy in each stage, and what idle ones waited for, during each
      step.

    Arguments:

    - `loader`, `step`: as those of `tarflume.diagnose`. The loader is afterwards as it was, too.
    - `path`: a file whose name ends in `.json` or `.json.gz`.
    - `steps`: the number of steps to write; fewer if the loader ends before. `warmup`: the number of steps before them.

    Returns the path. Of a batch, at most 2,048 spans are written.

    Raises:
        UsageError: the loader ends within the warm-up, or the name of the file ends in something else.
        OSError: the file cannot be written.
    """
    file = pathlib.Path(path)
    if not file.name.endswith((".json", ".json.gz")):
        raise UsageError(f"{file}: the viewers open files that end in .json or .json.gz; write to {file}.json")
    watch = _Watch(loader)
    made = run(loader, steps, warmup, step, what="trace", with_spans=True, look=watch.look)
    text = json.dumps(_file(made, watch, loader), allow_nan=False)
    data = text.encode()
    _put(file, gzip.compress(data) if file.name.endswith(".gz") else data)
    return file


def _put(file: pathlib.Path, data: bytes) -> None:
    """Writes a file that has its name when all of it is written."""
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        os.replace(part, file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


class _Look(NamedTuple):
    """The statistics of a loader at a time."""

    at: float
    stats: Mapping[str, Any]


class _Watch:
    """The statistics of a loader of tarflume after each step."""

    def __init__(self, loader: object) -> None:
        stats = getattr(loader, "stats", None)
        self._stats = stats if type(loader).__module__.startswith("tarflume") and callable(stats) else None
        self.looks: list[_Look] = []
        self.look()

    def look(self) -> None:
        if self._stats is not None:
            self.looks.append(_Look(clocks.now(), self._stats()))


def _file(run: Run, watch: _Watch, loader: object) -> dict[str, Any]:
    """The whole file, as the Trace Event Format describes it."""
    records = [step.record for step in run.steps if step.record is not None]
    # The last look before the steps is the one that the first of them is compared with.
    looks = watch.looks[-len(run.steps) - 1 :]
    events = [*_steps(run), *_made(records), *_arrows(run.steps), *_threads(looks)]
    # Viewers drop what lies before 0.
    zero = min(event["ts"] for event in events)
    events = [event | {"ts": round((event["ts"] - zero) * 1e6, 3)} for event in events]
    # Enclosing spans come before those in them.
    events.sort(key=lambda event: (event["ts"], -event.get("dur", 0.0)))
    rank, world_size = rank_and_world_size()
    about = {"loader": f"{type(loader).__module__}.{type(loader).__qualname__}", "rank": rank, "world_size": world_size}
    if watch.looks:
        about["verdict"] = str(watch.looks[-1].stats["verdict"])
    return {"traceEvents": [*_names(records, rank), *events], "displayTimeUnit": "ms", "otherData": about}


def _names(records: list[Record], rank: int) -> Iterator[dict[str, Any]]:
    """The names of the processes and their threads, in the order in which they are shown."""
    workers = {record.pid: record.worker for record in records if record.worker is not None}
    processes = [(os.getpid(), f"training, rank {rank}", "steps")]
    processes += [(pid, f"worker {worker}", "batches") for pid, worker in sorted(workers.items(), key=lambda each: each[1] or 0)]
    for place, (pid, process, thread) in enumerate(processes):
        for name, key, value in (
            ("process_name", "name", process),
            ("process_sort_index", "sort_index", place),
            ("thread_name", "name", thread),
        ):
            yield {"name": name, "ph": "M", "ts": 0, "pid": pid, "tid": _THREAD, "args": {key: value}}


def _span(name: str, pid: int, begin: float, end: float, **args: Any) -> dict[str, Any]:
    dur = round(max(0.0, end - begin) * 1e6, 3)
    return {"name": name, "cat": "loader", "ph": "X", "ts": begin, "dur": dur, "pid": pid, "tid": _THREAD, "args": args}


def _steps(run: Run) -> Iterator[dict[str, Any]]:
    for number, step in enumerate(run.steps):
        pid = os.getpid()
        yield _span("step", pid, step.asked, step.done, number=number, rows=run.rows)
        yield _span("fetch", pid, step.asked, step.got, number=number)
        if step.transfer is not None:
            yield _span("transfer", pid, step.got, step.moved, number=number, on_device_s=step.transfer)
        if step.compute is not None:
            yield _span("compute", pid, step.moved, step.done, number=number)


def _made(records: list[Record]) -> Iterator[dict[str, Any]]:
    """What was done for each batch where it was made."""
    for number, record in enumerate(records):
        parts = {name: phase._asdict() for name, phase in record.phases.items()}
        yield _span("batch", record.pid, record.begin, record.end, number=number, seconds=parts)
        for span in record.spans:
            yield _span(span.name, record.pid, span.begin, span.end, number=number)


def _arrows(steps: list[Step]) -> Iterator[dict[str, Any]]:
    """From each batch of a worker to the step that used it."""
    for number, step in enumerate(steps):
        record = step.record
        if record is None or record.worker is None:
            continue
        common = {"name": "batch", "cat": "loader", "id": number, "tid": _THREAD}
        # Both ends lie within spans: of the batch, and of the step.
        yield common | {"ph": "s", "ts": (record.begin + record.end) / 2, "pid": record.pid}
        yield common | {"ph": "f", "bp": "e", "ts": max(step.asked, min(step.got, record.end)), "pid": os.getpid()}


def _threads(looks: list[_Look]) -> Iterator[dict[str, Any]]:
    """How many threads did what between two looks at the statistics, on average."""
    for before, after in zip(looks, looks[1:], strict=False):
        seconds = after.at - before.at
        if seconds <= 0:
            continue
        stages, stages_before = after.stats["stages"], before.stats["stages"]
        busy = {
            name: max(0.0, numbers["busy_s"] - stages_before.get(name, numbers)["busy_s"]) / seconds
            for name, numbers in stages.items()
            if name != "consumer"
        }
        asleep = max(0.0, after.stats["reads_asleep_s"] - before.stats["reads_asleep_s"]) / seconds
        causes, causes_before = after.stats["idle_s"], before.stats["idle_s"]
        idle = {name: max(0.0, causes[name] - causes_before[name]) / seconds for name in causes}
        for name, numbers in (("threads busy", busy), ("threads idle", idle), ("threads asleep in reads", {"asleep": asleep})):
            rounded = {key: round(number, 4) for key, number in numbers.items()}
            yield {"name": name, "cat": "loader", "ph": "C", "ts": before.at, "pid": os.getpid(), "tid": _THREAD, "args": rounded}
