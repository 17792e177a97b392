"""`diagnose`: measures where the time of a training step goes, for any loader, and suggests a change."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .errors import UsageError

__all__ = ["Diagnosis", "diagnose"]


def __dir__() -> list[str]:
    return sorted(__all__)


# The share of a step below which waiting is not worth a change.
_SMALL = 0.05


class Diagnosis(dict[str, Any]):
    """Times of a loader, in seconds and shares of 1. Its text is a table that ends with the suggested change.

    Keys: `steps` (measured), `warmup` (left out), `rows` (of a batch; None if unknown), `first_batch_s`, `step_s` (mean),
    `batches_per_s`, `samples_per_s`, `fetch`, `transfer` and `compute` (each with `mean_s`, `p50_s`, `p95_s`, `max_s`,
    `share` of the step; None if not measured), `bottleneck` ("fetch", "transfer" or "compute"), `loader` (its
    settings), `verdict`.
    """

    def __str__(self) -> str:
        return _table(self)

    def __reduce__(self) -> tuple[object, ...]:
        return (Diagnosis, (dict(self),))


def diagnose(
    loader: Iterable[Any],
    steps: int = 50,
    *,
    step: Callable[[Any], object] | None = None,
    warmup: int = 5,
) -> Diagnosis:
    """Takes batches of a loader and measures fetch, transfer and compute of each step.

    Arguments:

    - `loader`: a DataLoader of PyTorch, a loader of tarflume, or any iterable.
    - `steps`: the number of batches to measure; fewer if the loader ends before. `warmup`: the number of batches before
      them, which are left out.
    - `step`: a function of a batch: the training step. Without it only fetch and transfer are measured, which does not
      show whether the loader is fast enough.

    If PyTorch is loaded and has a CUDA device, the tensors of a batch are copied there before `step`, measured by events
    of the device. Every step is synchronized, so that the three times add up to it.

    Raises `UsageError` if the loader ends within the warm-up.
    """
    if isinstance(loader, (str, bytes, os.PathLike)):
        path = os.fspath(loader)
        raise UsageError(
            f"diagnose takes a loader, not the path {path!r}: "
            f"diagnose(tarflume.Loader({path!r}, batch_size=256, image=tarflume.Resize(224)))"
        )
    if not hasattr(loader, "__iter__"):
        raise UsageError(f"diagnose takes a loader, an iterable of batches, not {type(loader).__name__}")
    if steps < 1 or warmup < 0:
        raise UsageError(f"steps={steps}, warmup={warmup}: steps must be at least 1, and warmup at least 0")
    clock = _Cuda() if _has_cuda() else _Host()
    times: dict[str, list[float]] = {"fetch": [], "transfer": [], "compute": []}
    began = time.perf_counter()
    batches = iter(loader)
    first, rows, taken = 0.0, None, 0
    while taken < warmup + steps:
        start = time.perf_counter()
        try:
            batch = next(batches)
        except StopIteration:
            break
        fetch = time.perf_counter() - start
        if taken == 0:
            first, rows = time.perf_counter() - began, _rows(batch)
        transfer, compute = clock.step(batch, step)
        taken += 1
        if taken > warmup:
            for name, seconds in (("fetch", fetch), ("transfer", transfer), ("compute", compute)):
                if seconds is not None:
                    times[name].append(seconds)
    if batches is not loader:
        _close(batches)
    if taken <= warmup:
        raise UsageError(f"the loader gave {taken} batches, and warmup={warmup} are left out: give a smaller warmup=")
    return _diagnosis(times, rows, first, warmup, loader)


class _Host:
    """Times of a step without a device."""

    def step(self, batch: Any, step: Callable[[Any], object] | None) -> tuple[float | None, float | None]:
        """Seconds of transfer and of compute; None if not measured."""
        if step is None:
            return None, None
        start = time.perf_counter()
        step(batch)
        return None, time.perf_counter() - start


class _Cuda:
    """Times of a step by events on the current CUDA device."""

    def __init__(self) -> None:
        self._torch = sys.modules["torch"]
        self._events = [self._torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def step(self, batch: Any, step: Callable[[Any], object] | None) -> tuple[float | None, float | None]:
        """Seconds of transfer and of compute; None if not measured."""
        start, moved = self._events
        start.record()
        batch = self._moved(batch)
        moved.record()
        self._torch.cuda.synchronize()
        transfer = start.elapsed_time(moved) / 1e3
        if step is None:
            return transfer, None
        # Wall clock time: work of the step on the host counts, too.
        began = time.perf_counter()
        step(batch)
        self._torch.cuda.synchronize()
        return transfer, time.perf_counter() - began

    def _moved(self, value: Any) -> Any:
        if isinstance(value, self._torch.Tensor):
            return value.to("cuda", non_blocking=True)
        if isinstance(value, dict):
            return {name: self._moved(part) for name, part in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self._moved, value))
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._moved, value))
        return value


def _has_cuda() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_available())


def _close(batches: Iterator[Any]) -> None:
    """Closes an iterator of tarflume; others end when they are dropped."""
    close = getattr(batches, "close", None)
    if callable(close):
        close()


def _rows(batch: Any) -> int | None:
    """The number of samples of a batch, if it can be determined."""
    rows = getattr(batch, "rows", None)
    if isinstance(rows, int):
        return rows
    shape = getattr(batch, "shape", None)
    if shape:
        return int(shape[0])
    if isinstance(batch, Mapping):
        found = (_rows(value) for value in batch.values())
    elif isinstance(batch, (list, tuple)):
        found = (_rows(value) for value in batch)
    else:
        return None
    return next((rows for rows in found if rows is not None), None)


def _diagnosis(
    times: dict[str, list[float]], rows: int | None, first: float, warmup: int, loader: object
) -> Diagnosis:
    steps = len(times["fetch"])
    total = sum(map(sum, times.values()))
    parts = {name: _part(seconds, total) for name, seconds in times.items()}
    step_s = total / steps
    facts = Diagnosis(
        steps=steps,
        warmup=warmup,
        rows=rows,
        first_batch_s=first,
        step_s=step_s,
        batches_per_s=_rate(1, step_s),
        samples_per_s=None if rows is None else _rate(rows, step_s),
        **parts,
        bottleneck=max((name for name in times if times[name]), key=lambda name: sum(times[name])),
        loader=_settings(loader),
    )
    facts["verdict"] = _verdict(facts, loader)
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
        "p95_s": ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))],
        "max_s": ordered[-1],
        "share": sum(seconds) / total if total > 0 else 0.0,
    }


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


def _verdict(facts: Diagnosis, loader: object) -> str:
    """One sentence: the bottleneck and the suggested change."""
    fetch, transfer, compute = facts["fetch"], facts["transfer"], facts["compute"]
    own = _own_verdict(loader)
    if compute is None and (transfer is None or facts["bottleneck"] == "fetch"):
        alone = f"The loader alone gives {facts['batches_per_s']:,.1f} batches/s; give step= to see whether that is enough"
        return f"{alone}. {own}" if own else f"{alone}, and if not, {_faster(facts)}."
    if transfer is not None and transfer["share"] >= max(_SMALL, fetch["share"]):
        pinned = facts["loader"].get("pin_memory")
        advice = "copy on a separate stream, one batch ahead, or send uint8 and convert on the device"
        if pinned is False:
            advice = "set pin_memory=True and copy with non_blocking=True"
        return f"Copies to the device take {transfer['share']:.0%} of a step: {advice}."
    if fetch["share"] < _SMALL:
        waiting = f"{fetch['share']:.1%} of a step is waiting for it"
        return f"The loader keeps up ({waiting}): change the step, not the loader."
    waits = f"A step waits {fetch['share']:.0%} of its time for the loader"
    return f"{waits}. {own}" if own else f"{waits}: {_faster(facts)}."


def _faster(facts: Diagnosis) -> str:
    """The suggested change of a loader that is not tarflume's."""
    known, fetch = facts["loader"], facts["fetch"]
    workers, cores = known.get("num_workers"), known["cores"]
    if workers == 0:
        return f"it works in the training process itself; set num_workers={cores}, or use tarflume.torch.Loader"
    if isinstance(workers, int) and workers < cores:
        return f"it has {workers} workers for {cores} cores; set num_workers={cores}, or use tarflume.torch.Loader"
    if isinstance(workers, int) and fetch["p50_s"] < 0.1 * fetch["mean_s"]:
        return "batches come in bursts; raise prefetch_factor, or make batches of one size"
    if isinstance(workers, int):
        # Neither the time of reading nor that of computing in the workers is known here.
        return (
            "each core has a worker, and whether these wait for the storage or compute is not measured; "
            "the stats() of a tarflume.torch.Loader show it"
        )
    return "prepare its batches ahead, in threads or processes, or use tarflume.Loader"


def _own_verdict(loader: object) -> str | None:
    """The verdict of a loader of tarflume, from its statistics."""
    stats = getattr(loader, "stats", None)
    if not type(loader).__module__.startswith("tarflume") or not callable(stats):
        return None
    return str(stats()["verdict"])


def _table(facts: Diagnosis) -> str:
    rows = [f"{'':10}{'mean ms':>10}{'p50 ms':>10}{'p95 ms':>10}{'max ms':>10}{'share':>8}"]
    for name in ("fetch", "transfer", "compute"):
        part = facts[name]
        if part is None:
            rows.append(f"{name:10}{'not measured':>20}")
            continue
        numbers = "".join(f"{part[key] * 1e3:10.2f}" for key in ("mean_s", "p50_s", "p95_s", "max_s"))
        rows.append(f"{name:10}{numbers}{part['share']:8.1%}")
    pace = f"{facts['steps']} steps, {facts['step_s'] * 1e3:.2f} ms each"
    if facts["samples_per_s"] is not None:
        pace += f", {facts['samples_per_s']:,.0f} samples/s"
    rows.append(f"{pace}; first batch after {facts['first_batch_s'] * 1e3:.1f} ms")
    rows.append(str(facts["verdict"]))
    return "\n".join(rows)
