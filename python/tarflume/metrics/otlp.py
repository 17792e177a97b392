"""Numbers of loaders as instruments of OpenTelemetry, which its exporters send (OTLP)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .collecting import Loaders, Watched, watched
from .families import METRICS, Metric

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

__all__ = ["observe"]

_UNITS = {"seconds": "s", "bytes": "By", "ratio": "1", "usd": "{USD}", "": "1"}


def observe(
    loaders: Loaders, meter: Meter | None = None, *, rank: int | None = None, world_size: int | None = None
) -> None:
    """Makes an instrument of each metric, from the names of docs/METRICS.md with dots (`tarflume.stage_busy`) and the unit
    beside. They are read whenever a reader of the program's meter provider collects, and live as long as it.

    meter: of `opentelemetry.metrics.get_meter`; without it, one of the global meter provider. Needs the package
    `opentelemetry-api`; `pip install tarflume[otlp]` installs the SDK and the exporter, too.

    Raises:
        UsageError: a loader has no `stats()`.
        ModuleNotFoundError: OpenTelemetry is not installed.
    """
    try:
        from opentelemetry import metrics
    except ModuleNotFoundError as error:
        if error.name not in ("opentelemetry", "opentelemetry.metrics"):
            raise
        raise ModuleNotFoundError(
            "this needs OpenTelemetry: pip install opentelemetry-sdk opentelemetry-exporter-otlp", name="opentelemetry"
        ) from None
    made: Any = metrics.get_meter("tarflume") if meter is None else meter
    numbers = _Numbers(watched(loaders, rank, world_size))
    for metric in METRICS:
        is_counter = metric.kind == "counter"
        create = made.create_observable_counter if is_counter else made.create_observable_gauge
        callback = _callback(metric, numbers, metrics.Observation)
        create(f"tarflume.{metric.name}", [callback], unit=_UNITS[metric.unit], description=metric.help)
        if metric.totals is not None:
            for key, unit, what in (("count", "1", "How many."), ("sum", _UNITS[metric.unit], "The sum.")):
                callback = _of_totals(metric, key, numbers, metrics.Observation)
                text = f"{metric.help} {what}"
                made.create_observable_counter(f"tarflume.{metric.name}_{key}", [callback], unit=unit, description=text)


class _Numbers:
    """The numbers of one collection: each instrument asks once, and all get those of one moment."""

    def __init__(self, loaders: Watched) -> None:
        self._loaders, self._lock = loaders, threading.Lock()
        self._asked: set[str] = set()
        self._stats: list[tuple[tuple[str, ...], Mapping[str, Any]]] = []

    def of(self, name: str) -> list[tuple[tuple[str, ...], Mapping[str, Any]]]:
        with self._lock:
            if not self._asked or name in self._asked:
                self._asked, self._stats = set(), self._loaders.stats()
            self._asked.add(name)
            return self._stats


def _callback(metric: Metric, numbers: _Numbers, observation: Any) -> Callable[[Any], list[Any]]:
    names = (*Watched.LABELS, *metric.labels)

    def observed(options: Any) -> list[Any]:
        found = []
        for labels, stats in numbers.of(metric.name):
            for sample in metric.samples(stats):
                attributes = dict(zip(names, (*labels, *sample.labels), strict=True))
                found.append(observation(sample.number, attributes))
        return found

    return observed


def _of_totals(metric: Metric, key: str, numbers: _Numbers, observation: Any) -> Callable[[Any], list[Any]]:
    def observed(options: Any) -> list[Any]:
        found = []
        for labels, stats in numbers.of(f"{metric.name}_{key}"):
            totals = metric.totals(stats) if metric.totals is not None else None
            if totals is not None:
                number = getattr(totals, key)
                found.append(observation(number, dict(zip(Watched.LABELS, labels, strict=True))))
        return found

    return observed
