"""Stages for single samples: functions from an iterator to an iterator. `pipelinefilter` prepares them for `compose`."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatch
from functools import partial
from typing import Any

from .. import _core
from ..calling import _called, _of_sample
from ..errors import MissingPartError, UsageError
from .drawing import placed, processing
from .handlers import Handler, reraise_exception, told
from .pipeline import PipelineStage

__all__ = ["Cached", "detshuffle", "getfirst", "transform_with"]

_NOTHING: Any = object()


class MissingFieldError(MissingPartError, ValueError):
    """A sample lacks a part that a stage needs; webdataset raises a ValueError there."""


def getfirst(a: Mapping[Any, Any], keys: Any, default: Any = None, missing_is_error: bool = True) -> Any:
    """The value of the first of `keys` (a list, or text with `;` between them) that the sample has."""
    names = keys.split(";") if isinstance(keys, str) else keys
    for name in names:
        if name in a:
            return a[name]
    if missing_is_error:
        raise MissingFieldError(f"the sample has none of {names}, but {list(a)}", key=a.get("__key__"))
    return default


def transform_with(sample: Any, transformers: Any) -> Any:
    """Applies functions to the values at the same places."""
    if not transformers:
        return sample
    pairs = itertools.zip_longest(sample, transformers)
    return [value if f is None else f(value) for value, f in pairs]


def handled(data: Iterable[Any], work: Callable[[Any], Any], handler: Handler) -> Iterator[tuple[Any, Any]]:
    """Applies `work` to each sample; passes errors to `handler`."""
    for sample in data:
        try:
            made = processing(work, sample)
        except Exception as exn:
            if told(handler, exn):
                continue
            return
        yield sample, made


def shuffled(
    data: Iterable[Any],
    bufsize: int = 1000,
    initial: int = 100,
    rng: random.Random | None = None,
    seed: Any = None,
    handler: Handler | None = None,
) -> Iterator[Any]:
    """Mixes samples with a buffer of `bufsize`; yields the first one when it contains `initial`.

    With the same `seed`, or an `rng` in the same state, the order is that of webdataset.
    """
    if seed is not None and rng is not None:
        raise UsageError("shuffle takes seed or rng, not both")
    if rng is None:
        rng = random.Random(f"{os.getpid()} {time.time_ns()}" if seed is None else seed)
    source = iter(data)
    buffer: list[Any] = []

    def drawn() -> Any:
        place = rng.randint(0, len(buffer) - 1)
        buffer[place], buffer[-1] = buffer[-1], buffer[place]
        return buffer.pop()

    for sample in source:
        buffer.append(sample)
        # Two samples enter for each that leaves, until the buffer is full.
        if len(buffer) < bufsize and (second := next(source, _NOTHING)) is not _NOTHING:
            buffer.append(second)
        if len(buffer) >= min(initial, bufsize):
            yield drawn()
    while buffer:
        yield drawn()


class detshuffle(PipelineStage):
    """As `shuffle`, in an order that depends only on `seed` and the epoch."""

    def __init__(self, bufsize: int = 1000, initial: int = 100, seed: int = 0, epoch: int = -1) -> None:
        self.bufsize, self.initial, self.seed, self.epoch = bufsize, initial, seed, epoch

    def run(self, *source: Iterable[Any]) -> Iterator[Any]:
        """The next epoch's order of `source`."""
        self.epoch += 1
        return shuffled(source[0], self.bufsize, self.initial, random.Random(self.seed + self.epoch))


class Cached(PipelineStage):
    """Keeps all samples of the first whole pass in memory and yields them in later passes."""

    def __init__(self) -> None:
        self.cached: list[Any] | None = None

    def run(self, *source: Iterable[Any]) -> Iterator[Any]:
        """The samples."""
        if self.cached is not None:
            yield from self.cached
            return
        kept = []
        for sample in source[0]:
            kept.append(sample)
            yield sample
        self.cached = kept


def mapped(data: Iterable[Any], f: Callable[[Any], Any], handler: Handler = reraise_exception) -> Iterator[Any]:
    """`f(sample)` for each sample; leaves out samples for which it returns None."""

    def work(sample: Any) -> Any:
        return _called(f, sample, partial(_of_sample, "map ", f, sample))

    for sample, made in handled(data, work, handler):
        if made is None:
            continue
        if isinstance(sample, dict) and isinstance(made, dict):
            made["__key__"] = sample.get("__key__")
        yield made


def selected(data: Iterable[Any], predicate: Callable[[Any], Any]) -> Iterator[Any]:
    """The samples for which `predicate` is true."""
    return (sample for sample in data if _called(predicate, sample, partial(_of_sample, "select ", predicate, sample)))


def dict_mapped(
    data: Iterable[Any], handler: Handler = reraise_exception, **functions: Callable[[Any], Any]
) -> Iterator[Any]:
    """Applies functions to the named parts of each sample, a dict."""
    if not functions or not all(callable(f) for f in functions.values()):
        raise UsageError("map_dict takes functions by the names of parts: map_dict(jpg=f)")

    def work(sample: dict[str, Any]) -> None:
        for name, f in functions.items():
            if name not in sample:
                raise MissingPartError(f"the sample has no {name!r}, but {list(sample)}", key=sample.get("__key__"))
            sample[name] = _called(f, sample[name], partial(_of_sample, f"map_dict {name}=", f, sample))

    return (sample for sample, _ in handled(data, work, handler))


def tuple_mapped(data: Iterable[Any], *functions: Any, handler: Handler = reraise_exception) -> Iterator[Any]:
    """Applies functions to the values of each sample, a tuple; None leaves a value unchanged."""
    if not all(f is None or callable(f) for f in functions):
        raise UsageError("map_tuple takes functions, or None for a value that does not change")

    def work(sample: Any) -> tuple[Any, ...]:
        few = list(zip(sample, functions, strict=False))
        return (*(value if f is None else f(value) for value, f in few), *sample[len(few) :])

    return (made for _, made in handled(data, work, handler))


def tuples(
    data: Iterable[Any],
    *fields: Any,
    handler: Handler = reraise_exception,
    missing_is_error: bool = True,
    none_is_error: bool | None = None,
) -> Iterator[Any]:
    """Tuples of the parts named by `fields` (or by one text with spaces), each with `;` between alternatives."""
    if len(fields) == 1 and isinstance(fields[0], str) and " " in fields[0]:
        fields = tuple(fields[0].split())
    refuse_none = missing_is_error if none_is_error is None else none_is_error

    def work(sample: Any) -> tuple[Any, ...]:
        made = tuple(getfirst(sample, field, missing_is_error=missing_is_error) for field in fields)
        if refuse_none and any(value is None for value in made):
            raise MissingFieldError(f"to_tuple{fields}: a value is None", key=sample.get("__key__"))
        return made

    return (made for _, made in handled(data, work, handler))


def renamed(
    data: Iterable[Any], handler: Handler = reraise_exception, keep: bool = True, **names: Any
) -> Iterator[Any]:
    """Renames parts, `new="old"` or `new="this;that"`; without `keep`, leaves out all others."""
    old = {name for value in names.values() for name in (value.split(";") if isinstance(value, str) else value)}

    def work(sample: dict[str, Any]) -> dict[str, Any]:
        made = {name: value for name, value in sample.items() if keep and name not in old}
        return made | {name: getfirst(sample, value) for name, value in names.items()}

    return (made for _, made in handled(data, work, handler))


def keys_renamed(
    data: Iterable[Any],
    *pairs: tuple[str, str],
    keep_unselected: bool = False,
    must_match: bool = True,
    duplicate_is_error: bool = True,
    **names: str,
) -> Iterator[Any]:
    """Renames parts by patterns, `new="*.old"`; the last matching pattern applies."""
    patterns = [*pairs, *names.items()]
    for sample in data:
        made: dict[str, Any] = {}
        seen = set()
        for name, value in sample.items():
            base = name.rpartition("/")[2].lower()
            fits = next(((new, pattern) for new, pattern in reversed(patterns) if fnmatch(base, pattern)), None)
            if fits is None:
                if keep_unselected:
                    made[name] = value
                continue
            seen.add(fits[1])
            if fits[0] not in made:
                made[fits[0]] = value
            elif duplicate_is_error:
                raise UsageError(f"rename_keys: two of {list(sample)} would be called {fits[0]!r}")
        if must_match and (missing := {pattern for _, pattern in patterns} - seen):
            raise MissingFieldError(f"rename_keys: nothing among {list(sample)} fits {sorted(missing)}")
        yield placed(made, getattr(sample, "place", None))


def keys_extracted(
    data: Iterable[Any], *patterns: Any, duplicate_is_error: bool = True, ignore_missing: bool = False
) -> Iterator[Any]:
    """Tuples of the parts that fit the patterns, each with `;` between alternatives."""
    for sample in data:
        made = []
        for pattern in patterns:
            many = pattern.split(";") if isinstance(pattern, str) else pattern
            found = [name for name in sample if any(fnmatch("." + name, p) or fnmatch(name, p) for p in many)]
            if len(found) > 1 and duplicate_is_error:
                raise UsageError(f"extract_keys: {many} fits all of {found}")
            if found:
                made.append(sample[found[0]])
            elif not ignore_missing:
                raise MissingFieldError(f"extract_keys: nothing among {list(sample)} fits {many}")
        yield placed(tuple(made), getattr(sample, "place", None))


def sampled(data: Iterable[Any], p: float = 0.5) -> Iterator[Any]:
    """Each sample with probability `p`."""
    if not 0.0 <= p <= 1.0:
        raise UsageError(f"rsample takes a probability from 0 to 1, not {p}")
    return (sample for sample in data if random.random() < p)


def associated(data: Iterable[Any], associator: Any) -> Iterator[Any]:
    """Adds to each sample the value of `associator`, a function or a dict, for its key."""
    for sample in data:
        key = sample["__key__"]
        sample.update(associator(key) if callable(associator) else associator.get(key, {}))
        yield sample


def keys_logged(data: Iterable[Any], logfile: str | None = None) -> Iterator[Any]:
    """All samples; appends their numbers and keys to `logfile`, if there is one."""
    if not logfile:
        yield from data
        return
    _core.check_outside(logfile)
    with open(logfile, "a", encoding="utf-8", errors="surrogateescape") as out:
        for n, sample in enumerate(data):
            out.write(f"{n}\t{sample.get('__worker__')}\t{sample.get('__rank__')}\t{sample.get('__key__')}\n")
            out.flush()
            yield sample
