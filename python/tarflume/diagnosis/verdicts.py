"""What limits a loader, and the change to try: a function of what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Verdict", "judged"]

#: The share of a step below which waiting is not worth a change.
_SMALL = 0.05
#: A cause has this share of the workers' work.
_MOST = 0.5
#: Without a core for this share of the time of the work, the cores are named.
_CROWDED = 0.3


class Verdict(NamedTuple):
    """The cause in one word, if the workers of a DataLoader are the limit, and a sentence."""

    cause: str | None
    text: str


def judged(facts: Mapping[str, Any], own: str | None) -> Verdict:
    """The bottleneck and the suggested change. `own` is the verdict of a loader of tarflume about itself."""
    fetch, transfer, compute = facts["fetch"], facts["transfer"], facts["compute"]
    if compute is None and (transfer is None or facts["bottleneck"] == "fetch"):
        alone = f"The loader alone gives {facts['batches_per_s']:,.1f} batches/s; give step= to see whether that is enough"
        if own:
            return Verdict(None, f"{alone}. {own}")
        inner = _limit(facts)
        return Verdict(inner.cause, f"{alone}, and if not: {inner.text}.")
    if transfer is not None and transfer["share"] >= max(_SMALL, fetch["share"]):
        pinned = facts["loader"].get("pin_memory")
        advice = "copy on a separate stream, one batch ahead, or send uint8 and convert on the device"
        if pinned is False:
            advice = "set pin_memory=True and copy with non_blocking=True"
        return Verdict(None, f"Copies to the device take {transfer['share']:.0%} of a step: {advice}.")
    if fetch["share"] < _SMALL:
        waiting = f"{fetch['share']:.1%} of a step is waiting for it"
        return Verdict(None, f"The loader keeps up ({waiting}): change the step, not the loader.")
    waits = f"A step waits {fetch['share']:.0%} of its time for the loader"
    if own:
        return Verdict(None, f"{waits}. {own}")
    inner = _limit(facts)
    return Verdict(inner.cause, f"{waits}: {inner.text}.")


def _limit(facts: Mapping[str, Any]) -> Verdict:
    """What limits a loader that is not tarflume's."""
    if facts["stages"] is None:
        return _unseen(facts)
    cause = _cause(facts)
    return Verdict(cause, _ADVICE[cause](facts) + _crowded(facts))


def _cause(facts: Mapping[str, Any]) -> str:
    stages, count = facts["stages"], facts["workers"]["count"]
    if count and stages["handover"]["mean_s"] > _MOST * facts["fetch"]["mean_s"]:
        return "handover"
    if count and facts["workers"]["busy"] < _MOST:
        return "bursts"
    found = {
        "storage": stages["read"]["asleep_s"],
        "read": stages["read"]["computing_s"],
        "transform": _done(stages["transform"]),
        "collate": _done(stages["collate"]),
    }
    most = max(found, key=lambda name: found[name])
    return most if found[most] >= _MOST * _work(facts) else "mixed"


_PHASES = ("read", "transform", "collate")


def _of(stage: Mapping[str, float] | None, key: str) -> float:
    return 0.0 if stage is None else stage[key]


def _done(stage: Mapping[str, float] | None) -> float:
    """Seconds of a stage, without those in which it had no core."""
    return _of(stage, "computing_s") + _of(stage, "asleep_s")


def _work(facts: Mapping[str, Any]) -> float:
    """Seconds of workers for a batch, without those in which they had no core: these depend on other programs."""
    return sum(_done(facts["stages"][name]) for name in _PHASES)


def _queued(facts: Mapping[str, Any]) -> float:
    return sum(_of(facts["stages"][name], "queued_s") for name in _PHASES)


def _share(facts: Mapping[str, Any], seconds: float) -> str:
    """`42%`"""
    return f"{seconds / max(_work(facts), 1e-12):.0%}"


def _who(facts: Mapping[str, Any]) -> str:
    return "the workers" if facts["workers"]["count"] else "the training process, which makes the batches itself,"


def _storage(facts: Mapping[str, Any]) -> str:
    read, disk = facts["stages"]["read"], facts["workers"]["disk_bytes"]
    slept = (
        f"{_who(facts)} slept in reads of the data set for {_share(facts, read['asleep_s'])} of the work "
        f"({read['asleep_s'] * 1e3:.1f} ms of a batch)"
    )
    slept += f", with {disk / 1e6:.1f} MB of it from the disk" if disk > 0 else ""
    workers = facts["workers"]["count"]
    more = max(2 * workers, facts["loader"]["cores"])
    return (
        f"storage is the limit: {slept}. Cheaper transforms do not help; more reads at once do, if the storage has room "
        f"for them: num_workers={more} would take {_predicted(facts, more)}. Samples that lie one after the other in "
        "shards (pack build) are read in few long reads"
    )


def _read(facts: Mapping[str, Any]) -> str:
    read = facts["stages"]["read"]
    also = "" if facts["stages"]["transform"] else ", transforms that it calls itself included"
    return (
        f"the data set itself computes (decoding{also}) for {_share(facts, read['computing_s'])} of the work "
        f"({read['computing_s'] * 1e3:.1f} ms of a batch), and does not wait for the storage. {_more_cores(facts)}"
    )


def _transform(facts: Mapping[str, Any]) -> str:
    transform = facts["stages"]["transform"]
    if transform["asleep_s"] > transform["computing_s"]:
        return (
            f"the transform of the data set sleeps for {_share(facts, transform['asleep_s'])} of the work "
            f"({transform['asleep_s'] * 1e3:.1f} ms of a batch): it waits for a lock, another process or the network"
        )
    return (
        f"the transform of the data set computes for {_share(facts, transform['computing_s'])} of the work "
        f"({transform['computing_s'] * 1e3:.1f} ms of a batch). Faster storage does not help. {_more_cores(facts)}"
    )


def _collate(facts: Mapping[str, Any]) -> str:
    collate = facts["stages"]["collate"]
    return (
        f"making one batch of the samples takes {_share(facts, _done(collate))} of the work "
        f"({collate['mean_s'] * 1e3:.1f} ms of a batch). Return arrays of one shape and type from the data set, and pad or "
        "convert on the device"
    )


def _handover(facts: Mapping[str, Any]) -> str:
    late = facts["stages"]["handover"]["mean_s"]
    return (
        f"batches are ready {late * 1e3:.1f} ms before the training has them: they are copied from the workers. Send "
        "tensors (not lists of objects) and smaller types, as uint8 in place of float32"
    )


def _crowded(facts: Mapping[str, Any]) -> str:
    """What is said beside any cause if cores are short."""
    queued, count, cores = _queued(facts), facts["workers"]["count"], facts["loader"]["cores"]
    share = queued / max(queued + _work(facts), 1e-12)
    if share < _CROWDED:
        return ""
    who = f"the {count} workers" if count else "the process"
    return (
        f". For {share:.0%} of the time of that work {who} had no core: the training and other programs use the "
        f"{cores} cores, too"
    )


def _bursts(facts: Mapping[str, Any]) -> str:
    return (
        f"the workers were idle for {1 - facts['workers']['busy']:.0%} of their time while the training waited: batches "
        "come in bursts. Raise prefetch_factor, make batches of one size, or give in_order=False"
    )


def _mixed(facts: Mapping[str, Any]) -> str:
    stages = facts["stages"]
    shares = [f"sleeping in reads {_share(facts, stages['read']['asleep_s'])}"]
    shares.append(f"computing in the data set {_share(facts, stages['read']['computing_s'])}")
    for name, what in (("transform", "its transform"), ("collate", "the collate function")):
        if stages[name]:
            shares.append(f"in {what} {_share(facts, _done(stages[name]))}")
    return f"no single cause limits it ({', '.join(shares)}). {_more_cores(facts)}"


def _more_cores(facts: Mapping[str, Any]) -> str:
    workers, cores = facts["workers"]["count"], facts["loader"]["cores"]
    ours = "tarflume.torch.Loader decodes in threads, and only what a crop needs"
    if workers >= cores:
        return f"Each core has a worker: cheaper operations, or the same on the device, help; {ours}"
    now = f"It has {workers} workers for {cores} cores" if workers else "It works in the training process"
    return f"{now}: num_workers={cores} would take {_predicted(facts, cores)}; {ours}"


def _predicted(facts: Mapping[str, Any], workers: int) -> str:
    """What a step would take at best."""
    rest = _of(facts["transfer"], "mean_s") + _of(facts["compute"], "mean_s")
    least = max(rest, _work(facts) / workers)
    return f"{least * 1e3:.1f} ms a step at best, now {facts['step_s'] * 1e3:.1f}"


_ADVICE = {
    "storage": _storage,
    "read": _read,
    "transform": _transform,
    "collate": _collate,
    "handover": _handover,
    "bursts": _bursts,
    "mixed": _mixed,
}


def _unseen(facts: Mapping[str, Any]) -> Verdict:
    """What limits a loader that is only seen from outside."""
    known, fetch = facts["loader"], facts["fetch"]
    workers, cores = known.get("num_workers"), known["cores"]
    shares = {"computing": fetch["computing_s"], "asleep": fetch["asleep_s"]}
    most = max(shares, key=lambda name: shares[name])
    # Without a core for nearly all of the time, the rest is too little to judge.
    cause = most if sum(shares.values()) > 0.01 * fetch["mean_s"] else None
    ours = "or use tarflume.torch.Loader" if workers is not None else "or use tarflume.Loader"
    if workers == 0:
        what = f"set num_workers={cores}, {ours}"
    elif isinstance(workers, int) and workers < cores:
        what = f"it has {workers} workers for {cores} cores; set num_workers={cores}, {ours}"
    elif isinstance(workers, int) and fetch["p50_s"] < 0.1 * fetch["mean_s"]:
        what = "batches come in bursts; raise prefetch_factor, or make batches of one size"
    elif isinstance(workers, int):
        what = "each core has a worker, and what these do cannot be seen in a loader of this kind"
    else:
        what = f"prepare its batches ahead, in threads or processes, {ours}"
    if cause == "computing":
        return Verdict(cause, f"batches are computed in the training process, and the storage does not matter; {what}")
    if cause == "asleep" and not workers:
        slept = "sleeps while it waits for a batch (for the storage, another process, a lock or a device)"
        return Verdict(cause, f"the training process {slept}, and does not compute; {what}")
    return Verdict(cause, what)
