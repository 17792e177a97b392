"""`Ranks`: the ranks of a job compared by what each waited for. The rules are those of `pack doctor --ranks`."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["Ranks", "compared"]

#: A rank is slow if it waits for data a share of its time that exceeds that of the median rank by this.
_MARGIN = 0.05
#: A stage is named if it takes this many times as long for a sample as on the median rank.
_FACTOR = 1.5
#: Ranks that are listed, at most: the slowest.
_LISTED = 16


class Ranks(dict[str, Any]):
    """What the ranks of a job did, in seconds and shares of 1. Its text is a table that ends with the slow ranks.

    Keys, as in `pack doctor --ranks --format json`:

    - `ranks`: of each its `rank`, `host`, `batches`, `waited_s` (for batches, without the first ones of epochs), `waited`
      (the share of its time), `sample_ms` (milliseconds of threads for a sample, by stage), `bottleneck` (what its loader
      names; None if it cannot tell), `batch_wait_p95_s` (None if it is not known).
    - `slow`: the ranks that wait much longer than the median rank, the slowest first: `rank`, `host`, `waited`,
      `median_waited`, `stage` (its name, milliseconds for a sample there and on the median rank; None if none is slower).
    - `slow_host`: the machine on which all slow ranks are, if another machine has ranks, too. `median_waited`.
    """

    def __str__(self) -> str:
        return _text(self)

    def __reduce__(self) -> tuple[object, ...]:
        return (Ranks, (dict(self),))


def compared(lines: Sequence[Mapping[str, Any]]) -> Ranks:
    """Compares ranks by the sums of their statistics, a line of each."""
    ranks = [_use(line) for line in sorted(lines, key=lambda line: int(line["rank"]))]
    median_waited = _median(rank["waited"] for rank in ranks)
    slow = [
        {
            "rank": rank["rank"],
            "host": rank["host"],
            "waited": rank["waited"],
            "median_waited": median_waited,
            "stage": _slow_stage(rank, ranks),
        }
        for rank in ranks
        if len(ranks) > 1 and rank["waited"] > median_waited + _MARGIN
    ]
    slow.sort(key=lambda rank: -rank["waited"])
    return Ranks(ranks=ranks, slow=slow, slow_host=_common_host(slow, ranks), median_waited=median_waited)


def _use(line: Mapping[str, Any]) -> dict[str, Any]:
    stages, startup = line["stages"], line.get("startup_s", 0.0)
    consumer = stages.get("consumer", {"waiting_input_s": 0.0, "items": 0})
    waited = max(0.0, consumer["waiting_input_s"] - startup)
    samples = stages.get("decode", stages.get("read", {"items": 0}))["items"]
    sample_ms = {}
    if samples > 0:
        sample_ms = {name: stage["busy_s"] * 1e3 / samples for name, stage in sorted(stages.items()) if name != "consumer"}
        # Waiting for the disk is the part of reading that differs between machines.
        sample_ms["read"] = max(sample_ms.get("read", 0.0), line.get("reads_asleep_s", 0.0) * 1e3 / samples)
    word = line.get("bottleneck")
    waits = line.get("batch_wait_s")
    return {
        "rank": int(line["rank"]),
        "host": line.get("host"),
        "batches": int(consumer["items"]),
        "waited_s": waited,
        "waited": min(1.0, waited / max(1e-9, line["running_s"] - startup)),
        "sample_ms": sample_ms,
        "bottleneck": None if word == "unknown" else word,
        "batch_wait_p95_s": None if waits is None else waits["p95"],
    }


def _slow_stage(rank: Mapping[str, Any], ranks: Sequence[Mapping[str, Any]]) -> tuple[str, float, float] | None:
    """The stage in which a rank loses the most time beside the median rank."""
    slower: list[tuple[str, float, float]] = []
    for name, own in rank["sample_ms"].items():
        others = [other["sample_ms"] for other in ranks if other["rank"] != rank["rank"]]
        usual = _median(times[name] for times in others if name in times)
        if own > usual * _FACTOR:
            slower.append((name, own, usual))
    return max(slower, key=lambda stage: stage[1] - stage[2], default=None)


def _common_host(slow: Sequence[Mapping[str, Any]], ranks: Sequence[Mapping[str, Any]]) -> str | None:
    if not slow or slow[0]["host"] is None:
        return None
    host: str = slow[0]["host"]
    here = all(rank["host"] == host for rank in slow)
    elsewhere = any(rank["host"] != host for rank in ranks)
    return host if here and elsewhere else None


def _median(values: Iterable[float]) -> float:
    found = list(values)
    return float(statistics.median(found)) if found else 0.0


def _text(report: Ranks) -> str:
    lines = ["rank  node                 batches  waited for data  bottleneck of its loader"]
    ranks = sorted(report["ranks"], key=lambda rank: -rank["waited"])
    for rank in ranks[:_LISTED]:
        host, word = rank["host"] or "?", rank["bottleneck"] or "-"
        lines.append(f"{rank['rank']:>4}  {host:<18}  {rank['batches']:>8}  {rank['waited']:>15.1%}  {word}")
    if len(ranks) > _LISTED:
        lines.append(f"... and {len(ranks) - _LISTED} that waited less")
    lines.append("")
    lines += map(_of_slow, report["slow"])
    if report["slow_host"] and len(report["slow"]) > 1:
        lines.append(f"all slow ranks are on {report['slow_host']}: look at its disk, its network and its processors")
    if not report["slow"]:
        share = f"{report['median_waited']:.1%}"
        lines.append(f"no rank waits longer than the others; the median rank waits {share} of its time for data")
    return "\n".join(lines)


def _of_slow(rank: Mapping[str, Any]) -> str:
    on = f" on {rank['host']}" if rank["host"] else ""
    told = f"rank {rank['rank']}{on} waits {rank['waited']:.1%} of its time for data, the median rank "
    told += f"{rank['median_waited']:.1%}"
    if rank["stage"] is None:
        return f"{told}, and no stage of its loader is slower: other programs may use its processors"
    stage, own, usual = rank["stage"]
    return f"{told}: its stage `{stage}` takes {own:.2f} ms of a thread for a sample, that of the median rank {usual:.2f} ms"
