"""`Diagnosis`: what was measured, as a dict that prints as a table."""

from __future__ import annotations

from typing import Any

__all__ = ["Diagnosis"]


class Diagnosis(dict[str, Any]):
    """Times of a loader, in seconds and shares of 1. Its text is a table that ends with the suggested change.

    Keys:

    - `steps` (measured), `warmup` (left out), `rows` (of a batch; None if unknown), `first_batch_s`, `step_s` (mean),
      `batches_per_s`, `samples_per_s`.
    - `fetch` (how long the training waited for a batch), `transfer` and `compute`: each with `mean_s`, `p50_s`, `p95_s`,
      `p99_s`, `max_s`, `share` of the step; None if not measured. They add up to the step. Without `stages`, `fetch` has the
      parts of its mean, too: `computing_s` (this process computed), `asleep_s`, `queued_s` (it had no core).
    - `stages`: what the workers of a DataLoader of PyTorch, or a pipeline of webdataset, did for a batch; None for other
      loaders. `read` (the data set without its transforms), `transform` (None if the data set has no such attribute:
      then it is part of `read`), `collate` (None in a pipeline): each with `mean_s`, `p50_s`, `p95_s`, `p99_s`, `max_s`,
      `share` of the workers' work, and the parts of the mean `computing_s`, `asleep_s` (the thread slept: for a disk, the
      network, a lock) and `queued_s` (it had no core). `handover`: the time that the training waited for a batch which
      was ready.
    - `workers`: `count` (0: the training process makes the batches), `busy` (the share of their time in which they made
      batches), `computing` (the share in which they computed: what a monitor of processors shows of them), `disk_bytes`
      (what they read from a disk for a batch; bytes in the page cache are not counted). None without `stages`.
    - `bottleneck`: "fetch", "transfer" or "compute". `cause`: what limits the workers if the training waits for them:
      "storage" (they sleep in reads), "read" (the data set computes), "transform", "collate", "handover", "bursts" (they are
      idle, and batches come unevenly) or "mixed". Of a loader of another kind: "computing" (in this process) or "asleep"
      (this process waits: for the storage, other processes, a device). Otherwise None.
    - `loader` (its settings), `verdict` (a sentence, with the change to try and what it would make of a step).
    """

    def __str__(self) -> str:
        return _table(self)

    def __reduce__(self) -> tuple[object, ...]:
        return (Diagnosis, (dict(self),))


_COLUMNS = ("mean_s", "p50_s", "p95_s", "max_s")


def _table(facts: Diagnosis) -> str:
    rows = [f"{'':12}{'mean ms':>10}{'p50 ms':>10}{'p95 ms':>10}{'max ms':>10}{'share':>8}"]
    for name in ("fetch", "transfer", "compute"):
        rows.append(_row(name, facts[name]) + _parts(facts[name]))
    stages, workers = facts["stages"], facts["workers"]
    if stages is not None:
        count, busy = workers["count"], f"busy in {workers['busy']:.0%}"
        where = f"in {count} workers, {busy} of their time" if count else f"in the training process, {busy} of its time"
        rows.append(f"{where}, for each batch:")
        for name in ("read", "transform", "collate"):
            rows.append(_row(name, stages[name]) + _parts(stages[name]))
    pace = f"{facts['steps']} steps, {facts['step_s'] * 1e3:.2f} ms each"
    if facts["samples_per_s"] is not None:
        pace += f", {facts['samples_per_s']:,.0f} samples/s"
    rows.append(f"{pace}; first batch after {facts['first_batch_s'] * 1e3:.1f} ms")
    rows.append(str(facts["verdict"]))
    return "\n".join(rows)


def _row(name: str, part: dict[str, float] | None) -> str:
    if part is None:
        return f"{name:12}{'not measured':>20}"
    numbers = "".join(f"{part[key] * 1e3:10.2f}" for key in _COLUMNS)
    return f"{name:12}{numbers}{part['share']:8.1%}"


def _parts(part: dict[str, float] | None) -> str:
    """What the mean of a stage is made of."""
    if part is None or part["mean_s"] == 0 or "asleep_s" not in part:
        return ""
    shares = [f"{word} {part[key] / part['mean_s']:.0%}" for word, key in _PARTS if part[key] > 0.005 * part["mean_s"]]
    return "  " + ", ".join(shares)


_PARTS = (("computing", "computing_s"), ("asleep", "asleep_s"), ("without a core", "queued_s"))
