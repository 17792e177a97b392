"""`Stats`: the statistics of a loader."""

from __future__ import annotations

import html
import json
import os
import pathlib
import socket
import sys
import time
from typing import Any

from . import _core
from .errors import UsageError

__all__ = ["Stats"]


def __dir__() -> list[str]:
    return sorted(__all__)


def rank_and_world_size() -> tuple[int, int]:
    if "torch" in sys.modules:
        from .torch import place

        return place.rank_and_world_size()
    return _core.launcher_rank()


class Stats(dict[str, Any]):
    """Numbers of a loader, in seconds, bytes and shares of 1. Its text is a table that ends with the verdict.

    Keys:

    - `num_threads`, `running_s`, `starved` (the share of its time that the consumer waited).
    - `verdict`: what limits the rate and what would help. `bottleneck` is the same as one word: "storage", "decode",
      "functions", "memory" (the limit has no room for another batch), "prefetch" (too few batches are in preparation
      at once), "consumer", "transform", "balanced" (loader and consumer are about equally fast), "loader" (planning,
      copying and closing batches), "upload", "decoder", or "unknown" if it cannot be determined.
    - `stages` (`plan`, `read`, `decode`, `batch`, `transform` if batches have one, `consumer`: each with `busy_s`,
      `waiting_input_s`, `waiting_output_s`, `items`, `bytes`).
    - `idle_s`: what idle threads waited for, in seconds of all threads: `consumer`, `memory`, `prefetch`, `plan`,
      `input`, `wake`, `end`. `reads_asleep_s`: the time that threads slept in reads. `startup_s`: the time that the
      consumer waited for the first batches of epochs.
    - `batch_wait_s`: how long the consumer waited for a batch: `count` (batches, the first ones of epochs among them),
      `mean`, `p50`, `p95`, `p99` (within 3.2 % of the exact ones), `max`. `waiting_s`: how long it has been waiting for
      the batch that it requested last, 0 if it waits for none. `ready_batches`: how many of the batches in preparation
      were ready when one was requested (`requests`, `missing`: requests that found none, `occupancy`: the share that was
      ready).
    - `functions` (the cost of the functions of `Apply`: `calls`, `busy_s`, `waiting_s` for the interpreter lock),
      `operations` (the operations of recipes, in the order of the columns and the recipes: each with `column`, `name`,
      `calls`, the pictures that it changed, and `busy_s`, which is part of decoding; crops, a resize and flips at the
      beginning of a recipe are done while pictures are decoded and are not listed), `jpeg_blocks_skipped`,
      `jpegs_irregular` (their files break rules of the format, but all pixels are there),
      `jpegs_damaged` (pixels are lost, `Image(damaged="keep")`), `warning` (None without one).
    - `fetch`: requests to an object store since the data set was opened, None for files (`requests`, `retries`, `hedges`:
      second requests for late bytes, `throttled`: answers that asked for a pause, `bytes`, `first_byte_p50_s`,
      `first_byte_p95_s`, `usd`: requests and retrieval at list price, transfer within the region being free; None if
      the price is not known, as with an endpoint of your own). `reread`, `reread_texts`: parts that were read again because their checksum differed.
    - With a GPU, otherwise None: `device` (which one, and why), `hidden` (a lower bound of the share of the copies'
      time that was hidden), `device_slots` (`requests`: of a batch, `missing`: those that found no slot ready,
      `occupancy`: the share of the slots that were ready), `decoder` (the GPU's JPEG decoder: `about`, `decoded`,
      `refused`, `why`, `share`, `waited_s`, `redone_s`).
    """

    def __init__(self, facts: dict[str, Any], table: str) -> None:
        super().__init__(facts)
        self._table = table

    def append(self, path: str | os.PathLike[str], *, rank: int | None = None, world_size: int | None = None) -> None:
        """Appends these numbers to a file as a line of JSON, with the time, the machine and the rank; for a folder, to
        its file `rank-00007.jsonl`. `pack doctor --ranks` compares the ranks of a job by these lines.

            if step % 100 == 0:
                loader.stats().append("stats/")

        A path in a folder that holds a data set, and a file with other content, are a `UsageError`.

        Without `rank`, the rank of torch's process group, or of the launcher (`tarflume.launcher_rank`).
        """
        if (rank is None) != (world_size is None):
            raise UsageError("give rank= and world_size= together, or neither")
        if rank is None or world_size is None:
            rank, world_size = rank_and_world_size()
        file = pathlib.Path(path)
        if file.is_dir() or os.fspath(path).endswith(("/", os.sep)):
            file.mkdir(parents=True, exist_ok=True)
            file /= f"rank-{rank:05}.jsonl"
        place = {"time": time.time(), "host": socket.gethostname(), "pid": os.getpid()}
        line = json.dumps(place | {"rank": rank, "world_size": world_size} | dict(self)) + "\n"
        _core.check_statistics_file(file)
        # One call of write: a rank that is killed leaves whole lines.
        with file.open("ab", buffering=0) as out:
            out.write(line.encode())

    def __str__(self) -> str:
        return self._table

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f'<pre style="white-space:pre-wrap">{html.escape(self._table)}</pre>'

    def __reduce__(self) -> tuple[object, ...]:
        return (Stats, (dict(self), self._table))
