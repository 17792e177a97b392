"""From shards to samples: one tar after the other, each read ahead by a thread in Rust."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from .._core import TarStores
from ..arguments import dict_of
from ..calling import _called, _of_sample
from ..errors import DamagedError
from .drawing import Drawing, Place, placed, takes_drawing
from .handlers import Handler, reraise_exception, told
from .opening import opened

__all__ = ["tarfile_samples"]


@takes_drawing
def tarfile_samples(
    src: Iterable[Any],
    handler: Handler = reraise_exception,
    select_files: Callable[[str], bool] | None = None,
    rename_files: Callable[[str], str] | None = None,
    allow: Collection[str] = (),
    memory_limit: int | None = None,
    storage: Mapping[str, object] | None = None,
    ignore_zeros: bool = False,
    drawing: Drawing | None = None,
) -> Iterator[dict[str, Any]]:
    """The samples of shards (`{"url": ...}` or texts) in their order.

    select_files: selects parts by their names in the tar. rename_files: renames them. Both receive extensions in lower
    case. memory_limit: bytes that reading may use; a sample may use an eighth. storage: how the stores of URLs are
    reached, as for `tarflume.Dataset`. ignore_zeros: reads on behind the end marker of a tar, for tars that were joined;
    without it, bytes other than zeros there are an error. drawing: what recipes draw, for which samples get their places.
    """
    stores = TarStores(dict_of(storage))
    for shard in src:
        url = shard["url"] if isinstance(shard, dict) else shard
        try:
            with opened(url, allow, memory_limit, stores, ignore_zeros) as samples:
                found = _guarded(samples if drawing is None else _Placed(samples, drawing.shard(url)), handler)
                if select_files or rename_files:
                    found = _guarded(_regrouped(found, select_files, rename_files), handler)
                yield from found
        except _Stop:
            return
        except Exception as exn:
            if not told(handler, exn):
                return


class _Stop(Exception):
    """A handler ended the iteration."""


def _guarded(samples: Iterator[dict[str, Any]], handler: Handler) -> Iterator[dict[str, Any]]:
    """All samples; passes an error in the place of a sample to `handler`, and continues."""
    while True:
        try:
            sample = next(samples)
        except StopIteration:
            return
        except _Stop:
            raise
        except Exception as exn:
            if not told(handler, exn):
                raise _Stop from None
            continue
        yield sample


class _Placed:
    """The samples of a shard with their places; a bad one has a place, too."""

    def __init__(self, samples: Iterator[dict[str, Any]], place: Callable[[int], Place]) -> None:
        self.samples, self.place, self.number = samples, place, -1

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> Any:
        self.number += 1
        return placed(next(self.samples), self.place(self.number))


class _regrouped:
    """The samples of a tar after selecting and renaming parts: neighbors with the same key, as in the tar."""

    def __init__(
        self,
        samples: Iterable[dict[str, Any]],
        select: Callable[[str], bool] | None,
        rename: Callable[[str], str] | None,
    ) -> None:
        self.samples, self.select, self.rename = iter(samples), select, rename
        self.open: dict[str, Any] | None = None
        self.bad: str | None = None
        self.place: Place | None = None
        self.whole: list[dict[str, Any]] = []

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        while not self.whole:
            sample = next(self.samples, None)
            if sample is None:
                if self.open is None:
                    raise StopIteration
                last, self.open = self.open, None
                return last
            self._take(sample)
        return self.whole.pop(0)

    def _take(self, sample: dict[str, Any]) -> None:
        about: dict[str, Any] = {name: sample[name] for name in ("__url__", "__local_path__") if name in sample}
        self.place = getattr(sample, "place", None)
        for ext, data in sample.items():
            if ext.startswith("__"):
                continue
            name = f"{sample['__key__']}.{ext}"
            if self.rename is not None:
                name = _called(self.rename, name, partial(_of_sample, "rename_files=", self.rename, sample))
            if self.select is not None and not _called(
                self.select, name, partial(_of_sample, "select_files=", self.select, sample)
            ):
                continue
            folder, slash, base = name.rpartition("/")
            stem, dot, ext = base.partition(".")
            if not stem or not dot:
                continue  # it belongs to no sample
            self._add(folder + slash + stem, ext.lower(), data, about)

    def _add(self, key: str, ext: str, data: bytes, about: dict[str, Any]) -> None:
        if key == self.bad:
            return
        if self.open is None or self.open["__key__"] != key:
            self.bad = None
            if self.open is not None:
                self.whole.append(self.open)
            self.open = placed({"__key__": key, "__url__": about["__url__"]}, self.place)
        if ext in self.open:
            self.bad, self.open = key, None
            raise DamagedError(f"after rename_files two parts of a sample are called {ext!r}", key=key)
        self.open[ext] = data
        self.open.update(about)
