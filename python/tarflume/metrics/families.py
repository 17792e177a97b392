"""The metrics of a loader: their names, and what each takes from `stats()`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

__all__ = ["METRICS", "Metric", "Sample"]


class Sample(NamedTuple):
    """A number with the values of its metric's labels, in their order."""

    labels: tuple[str, ...]
    number: float


@dataclass(frozen=True)
class Totals:
    """What a summary counts beside its quantiles."""

    count: float
    sum: float


class Metric(NamedTuple):
    """A metric. Its samples are a function of what `stats()` returns; one that does not apply to a loader has none."""

    name: str
    kind: Literal["counter", "gauge", "summary"]
    #: "seconds", "bytes", "ratio", "usd", or nothing: the ending of the name.
    unit: str
    help: str
    labels: tuple[str, ...]
    samples: Callable[[Mapping[str, Any]], Iterator[Sample]]
    #: Of a summary whose samples are quantiles: how much was measured, and the sum.
    totals: Callable[[Mapping[str, Any]], Totals | None] | None = None

    @property
    def family(self) -> str:
        """The name with its unit: `tarflume_stage_busy_seconds`."""
        return f"tarflume_{self.name}" + (f"_{self.unit}" if self.unit else "")

    @property
    def exposed(self) -> str:
        """The name as Prometheus has it: counters end in `_total`."""
        return self.family + ("_total" if self.kind == "counter" else "")


def _at(*path: str) -> Callable[[Mapping[str, Any]], Iterator[Sample]]:
    """One number of the statistics, if it is there."""

    def samples(stats: Mapping[str, Any]) -> Iterator[Sample]:
        found = _found(stats, path)
        if found is not None:
            yield Sample((), float(found))

    return samples


def _found(stats: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = stats
    for name in path:
        found = None if found is None else found.get(name)
    return found


def _stages(*keys: str) -> Callable[[Mapping[str, Any]], Iterator[Sample]]:
    """A number of each stage; with several keys, the last word but one of each is a label."""

    def samples(stats: Mapping[str, Any]) -> Iterator[Sample]:
        for stage, numbers in stats["stages"].items():
            for key in keys:
                more = (key.split("_")[1],) if len(keys) > 1 else ()
                yield Sample((stage, *more), float(numbers[key]))

    return samples


def _idle(stats: Mapping[str, Any]) -> Iterator[Sample]:
    for cause, seconds in stats["idle_s"].items():
        yield Sample((cause,), float(seconds))


def _operations(key: str) -> Callable[[Mapping[str, Any]], Iterator[Sample]]:
    """A number of each operation; a recipe may have one several times."""

    def samples(stats: Mapping[str, Any]) -> Iterator[Sample]:
        sums: dict[tuple[str, str], float] = {}
        for operation in stats["operations"]:
            labels = (operation["column"], operation["name"])
            sums[labels] = sums.get(labels, 0.0) + operation[key]
        for each, number in sums.items():
            yield Sample(each, float(number))

    return samples


def _bottleneck(stats: Mapping[str, Any]) -> Iterator[Sample]:
    yield Sample((stats["bottleneck"],), 1.0)


def _warning(stats: Mapping[str, Any]) -> Iterator[Sample]:
    yield Sample((), float(stats["warning"] is not None))


def _quantiles(*path: str) -> Callable[[Mapping[str, Any]], Iterator[Sample]]:
    """The keys `p50`, `p95_s` and so on of a dict, as quantiles."""

    def samples(stats: Mapping[str, Any]) -> Iterator[Sample]:
        for key, number in (_found(stats, path) or {}).items():
            word = key.removesuffix("_s").removeprefix("first_byte_")
            if number is not None and word.startswith("p") and word[1:].isdigit():
                yield Sample((str(int(word[1:]) / 100),), float(number))

    return samples


def _waits(stats: Mapping[str, Any]) -> Totals | None:
    waits = stats.get("batch_wait_s")
    return None if waits is None else Totals(float(waits["count"]), float(waits["mean"] * waits["count"]))


METRICS = (
    Metric("threads", "gauge", "", "Threads that make batches.", (), _at("num_threads")),
    Metric("running", "counter", "seconds", "Time in which an epoch ran.", (), _at("running_s")),
    Metric("startup", "counter", "seconds", "Time that the consumer waited for first batches of epochs.", (), _at("startup_s")),
    Metric("starved", "gauge", "ratio", "Share of its time that the consumer waited for batches.", (), _at("starved")),
    Metric("bottleneck", "gauge", "", "1 for the word that names what limits the loader.", ("bottleneck",), _bottleneck),
    Metric("warning", "gauge", "", "1 if stats() has a warning.", (), _warning),
    Metric("batch_wait", "summary", "seconds", "How long the consumer waited for a batch.", ("quantile",),
           _quantiles("batch_wait_s"), _waits),
    Metric("batch_wait_max", "gauge", "seconds", "The longest wait of the consumer for a batch.", (), _at("batch_wait_s", "max")),
    Metric("waiting", "gauge", "seconds", "How long the consumer has waited for the batch that it waits for.", (), _at("waiting_s")),
    Metric("batch_requests", "counter", "", "Batches that were requested.", (), _at("ready_batches", "requests")),
    Metric("batch_misses", "counter", "", "Requests that found no batch ready.", (), _at("ready_batches", "missing")),
    Metric("batch_occupancy", "gauge", "ratio", "Share of the batches in preparation that were ready.", (),
           _at("ready_batches", "occupancy")),
    Metric("stage_busy", "counter", "seconds", "Work of a stage, in seconds of all its threads.", ("stage",), _stages("busy_s")),
    Metric("stage_waiting", "counter", "seconds", "Waits of a stage for the one before (input) or after it (output).",
           ("stage", "side"), _stages("waiting_input_s", "waiting_output_s")),
    Metric("stage_items", "counter", "", "Reads of read, samples of decode, batches of other stages.", ("stage",),
           _stages("items")),
    Metric("stage", "counter", "bytes", "Bytes that a stage read or wrote.", ("stage",), _stages("bytes")),
    Metric("idle", "counter", "seconds", "What idle threads waited for, in seconds of all threads.", ("cause",), _idle),
    Metric("reads_asleep", "counter", "seconds", "Time that threads slept in reads of the storage.", (), _at("reads_asleep_s")),
    Metric("function_calls", "counter", "", "Calls of functions of the user.", (), _at("functions", "calls")),
    Metric("function_busy", "counter", "seconds", "Time in functions of the user.", (), _at("functions", "busy_s")),
    Metric("function_waiting", "counter", "seconds", "Waits of these functions for the interpreter.", (),
           _at("functions", "waiting_s")),
    Metric("operation_calls", "counter", "", "Pictures that an operation of a recipe changed.", ("column", "operation"),
           _operations("calls")),
    Metric("operation_busy", "counter", "seconds", "Time of an operation of a recipe; part of decode.",
           ("column", "operation"), _operations("busy_s")),
    Metric("rereads", "counter", "", "Parts that were read again because their checksum differed.", (), _at("reread")),
    Metric("jpeg_blocks_skipped", "gauge", "ratio", "Share of the blocks of JPEGs that need not be decoded.", (),
           _at("jpeg_blocks_skipped")),
    Metric("jpegs_irregular", "counter", "", "JPEGs that break rules of the format and lose no pixel.", (),
           _at("jpegs_irregular")),
    Metric("jpegs_damaged", "counter", "", "JPEGs that were kept although they lose pixels.", (), _at("jpegs_damaged")),
    Metric("fetch_requests", "counter", "", "Requests to an object store.", (), _at("fetch", "requests")),
    Metric("fetch_retries", "counter", "", "Requests that failed and were repeated.", (), _at("fetch", "retries")),
    Metric("fetch_hedges", "counter", "", "Second requests for late bytes.", (), _at("fetch", "hedges")),
    Metric("fetch_throttled", "counter", "", "Answers that asked for a pause.", (), _at("fetch", "throttled")),
    Metric("fetch", "counter", "bytes", "Bytes that came from the store.", (), _at("fetch", "bytes")),
    Metric("fetch_first_byte", "summary", "seconds", "Time to the first byte of an answer.", ("quantile",), _quantiles("fetch")),
    Metric("fetch_cost", "counter", "usd", "Cost of the requests at list price.", (), _at("fetch", "usd")),
    Metric("cache", "gauge", "bytes", "Size of the cache's file.", (), _at("fetch", "cache", "bytes")),
    Metric("cache_hits", "counter", "", "Reads that the cache answered.", (), _at("fetch", "cache", "hits")),
    Metric("cache_hit", "counter", "bytes", "Bytes of these reads.", (), _at("fetch", "cache", "hit_bytes")),
    Metric("cache_misses", "counter", "", "Reads that the cache should answer and could not yet.", (),
           _at("fetch", "cache", "misses")),
    Metric("cache_fills", "counter", "", "Blocks that were written into the cache.", (), _at("fetch", "cache", "fills")),
    Metric("cache_evictions", "counter", "", "Blocks that were replaced by others.", (), _at("fetch", "cache", "evictions")),
    Metric("cache_damaged", "counter", "", "Blocks that were dropped because their bytes were wrong.", (),
           _at("fetch", "cache", "damaged")),
    Metric("cache_errors", "counter", "", "Errors of the disk of the cache.", (), _at("fetch", "cache", "errors")),
    Metric("copy_hidden", "gauge", "ratio", "Share of the copies to the GPU behind other work; a lower bound.", (), _at("hidden")),
    Metric("slot_requests", "counter", "", "Batches that were requested from the slots of a GPU.", (),
           _at("device_slots", "requests")),
    Metric("slot_misses", "counter", "", "Requests that found no slot ready.", (), _at("device_slots", "missing")),
    Metric("slot_occupancy", "gauge", "ratio", "Share of the slots that were ready.", (), _at("device_slots", "occupancy")),
    Metric("gpu_memory", "gauge", "bytes", "Memory of the GPU that the loader holds.", (), _at("device_memory", "bytes")),
    Metric("gpu_pinned", "gauge", "bytes", "Memory of the host that is pinned for the GPU.", (),
           _at("device_memory", "pinned_bytes")),
    Metric("gpu_allocations", "counter", "", "Allocations of both kinds of memory.", (), _at("device_memory", "allocations")),
    Metric("gpu_late_allocations", "counter", "", "Those after the warm-up.", (), _at("device_memory", "late_allocations")),
    Metric("gpu_pictures_decoded", "counter", "", "Pictures that the GPU's JPEG decoder decoded.", (), _at("decoder", "decoded")),
    Metric("gpu_pictures_refused", "counter", "", "Pictures that it refused, which the CPU decoded.", (),
           _at("decoder", "refused")),
    Metric("gpu_decoder_waited", "counter", "seconds", "Waits for the GPU's JPEG decoder.", (), _at("decoder", "waited_s")),
    Metric("gpu_pictures_redone", "counter", "seconds", "Time of the CPU for refused pictures.", (), _at("decoder", "redone_s")),
)  # fmt: skip
