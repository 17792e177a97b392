"""`diagnose`: from the steps of a loader to what limits it."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterable
from typing import Any

from .recording import PHASES, Phase, Record
from .report import Diagnosis
from .stepping import Run, Step, run
from .verdicts import judged

__all__ = ["diagnose"]


def diagnose(
    loader: Iterable[Any],
    steps: int = 50,
    *,
    step: Callable[[Any], object] | None = None,
    warmup: int = 5,
) -> Diagnosis:
    """Takes batches of a loader and measures fetch, transfer and compute of each step, and what the loader spends them on.

    Arguments:

    - `loader`: a DataLoader of PyTorch, a loader of tarflume, or any iterable.
    - `steps`: the number of batches to measure; fewer if the loader ends before. `warmup`: the number of batches before
      them, which are left out.
    - `step`: a function of a batch: the training step. Without it only fetch and transfer are measured, which does not
      show whether the loader is fast enough.

    If PyTorch is loaded and has a CUDA device, the tensors of a batch are copied there before `step`, measured by events
    of the device. Every step is synchronized, so that the three times add up to it.

    A DataLoader of PyTorch (also StatefulDataLoader and those of Accelerate) is looked into: a copy of it is iterated whose
    data set and collate function are measured where they run, in the workers. Batches are the same; the loader, its
    samplers and the random numbers of the training process are afterwards as they were.

    Raises `UsageError` if the loader ends within the warm-up.
    """
    return _diagnosis(run(loader, steps, warmup, step), warmup, loader)


def _diagnosis(run: Run, warmup: int, loader: object) -> Diagnosis:
    times = {
        "fetch": [step.fetch for step in run.steps],
        "transfer": [step.transfer for step in run.steps if step.transfer is not None],
        "compute": [step.compute for step in run.steps if step.compute is not None],
    }
    total = sum(map(sum, times.values()))
    parts = {name: _part(seconds, total) for name, seconds in times.items()}
    stages = _stages(run.steps)
    if stages is None and parts["fetch"] is not None:
        parts["fetch"] |= _kinds([step.waited for step in run.steps])
    step_s = total / len(run.steps)
    settings = _settings(loader)
    facts = Diagnosis(
        steps=len(run.steps),
        warmup=warmup,
        rows=run.rows,
        first_batch_s=run.first_batch,
        step_s=step_s,
        batches_per_s=_rate(1, step_s),
        samples_per_s=None if run.rows is None else _rate(run.rows, step_s),
        **parts,
        stages=stages,
        workers=_workers(run.steps, total, settings),
        bottleneck=max((name for name in times if times[name]), key=lambda name: sum(times[name])),
        loader=settings,
    )
    verdict = judged(facts, _own_verdict(loader))
    facts["cause"], facts["verdict"] = verdict.cause, verdict.text
    return facts


def _rate(count: int, seconds: float) -> float:
    return count / seconds if seconds > 0 else float("inf")


def _part(seconds: list[float], total: float) -> dict[str, float] | None:
    if not seconds:
        return None
    ordered = sorted(seconds)
    return {
        "mean_s": statistics.fmean(seconds),
        "p50_s": statistics.median(ordered),
        "p95_s": _percentile(ordered, 0.95),
        "p99_s": _percentile(ordered, 0.99),
        "max_s": ordered[-1],
        "share": _share(sum(seconds), total),
    }


def _percentile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _share(seconds: float, total: float) -> float:
    return min(1.0, seconds / total) if total > 0 else float(seconds > 0)


def _stages(steps: list[Step]) -> dict[str, Any] | None:
    """What was done for each batch, by phase."""
    records = _records(steps)
    if not records:
        return None
    total = sum(phase.wall for record in records for phase in record.phases.values())
    made: dict[str, Any] = {}
    for name in PHASES:
        phases = [record.phases.get(name, Phase()) for record in records]
        seen = any(name in record.phases for record in records)
        made[name] = _phase(phases, total) if seen else None
    # A batch that was ready before it was asked for is handed over from then on.
    late = [step.got - max(step.record.end, step.asked) for step in steps if step.record is not None]
    handover = _part([max(0.0, seconds) for seconds in late], 0.0)
    made["handover"] = handover and {key: handover[key] for key in handover if key != "share"}
    return made


def _phase(phases: list[Phase], total: float) -> dict[str, float]:
    part = _part([phase.wall for phase in phases], total)
    assert part is not None  # there is a record
    return part | _kinds(phases)


def _kinds(phases: list[Phase]) -> dict[str, float]:
    """What the mean time of phases is made of."""
    return {
        "computing_s": statistics.fmean(phase.computing for phase in phases),
        "asleep_s": statistics.fmean(phase.asleep for phase in phases),
        "queued_s": statistics.fmean(phase.queued for phase in phases),
    }


def _workers(steps: list[Step], total: float, settings: dict[str, Any]) -> dict[str, Any] | None:
    records = _records(steps)
    if not records:
        return None
    phases = [phase for record in records for phase in record.phases.values()]
    count = int(settings.get("num_workers", 0))
    whole = total * max(1, count)
    busy = _share(sum(phase.wall for phase in phases), whole)
    computing = _share(sum(phase.computing for phase in phases), whole)
    disk = sum(phase.disk for phase in phases)
    return {"count": count, "busy": busy, "computing": computing, "disk_bytes": disk / len(records)}


def _records(steps: list[Step]) -> list[Record]:
    return [step.record for step in steps if step.record is not None]


def _settings(loader: object) -> dict[str, Any]:
    """The settings of the loader."""
    found: dict[str, Any] = {"kind": f"{type(loader).__module__}.{type(loader).__qualname__}", "cores": _cores()}
    for name in ("batch_size", "num_workers", "prefetch_factor", "pin_memory", "persistent_workers"):
        value = getattr(loader, name, None)
        if isinstance(value, (bool, int)):
            found[name] = value
    return found


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _own_verdict(loader: object) -> str | None:
    """The verdict of a loader of tarflume, from its statistics. A prefetcher has none."""
    stats = getattr(loader, "stats", None)
    if not type(loader).__module__.startswith("tarflume") or not callable(stats):
        return None
    verdict = stats().get("verdict")
    return None if verdict is None else str(verdict)
