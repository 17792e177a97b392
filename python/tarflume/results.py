"""The results of `tarflume.pack`: dicts that print as text. Packs and verifies nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Built", "Report"]


class Report(dict[str, Any]):
    """The result of `verify`, which prints as text.

    Keys: `whole`, `finished`, `level`, `shards`, `samples`, `bytes` (of tars), `extensions` (parts by extension), `checked`
    (by extension, how many parts were `decoded`, `parsed`, `checked` or `not_checked`, at level decode, and the `checksums`
    that were compared),
    `shards_without_checksums`, `shards_of_append` (moved by an interrupted `append`), `notes` (remarks that are no
    problems, if there are any), `warnings` (what is unusual and no problem, if there is anything: dicts as in `problems`),
    `irregular_jpegs` (how many JPEGs break rules of their format without losing a pixel, `count`, and the `first`, if there
    are any, at level decode), `counts` (problems by kind),
    `coverage` (how much was read, if a part was left out), `not_pulled` (tars that Git LFS or DVC has not fetched), `sets`
    (the totals of each data set, if there are several), `problems` (dicts of `kind`, `path`, `reason` and, if known, `byte` and `key`), `unlisted` (the number of problems
    that did not fit into the list), and `policy` with a policy.
    """

    def __init__(self, facts: Mapping[str, Any], text: str) -> None:
        super().__init__(facts)
        self._text = text

    @property
    def whole(self) -> bool:
        """True if there is no problem, and all was checked."""
        return bool(self["whole"])

    @property
    def problems(self) -> list[dict[str, Any]]:
        """The problems of all data sets, in the order of shards and bytes."""
        return list(self["problems"])

    @property
    def accepted(self) -> int:
        """How many problems the policy accepts, which are not listed."""
        return int(self.get("accepted", 0))

    @property
    def known(self) -> int:
        """How many problems the baseline has, which are not listed."""
        return int(self.get("known", 0))

    def __str__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[object, ...]:
        return (Report, (dict(self), self._text))


class Built(dict[str, Any]):
    """The result of `build`, `append`, `export` and `index`: a dict that a notebook shows as one line."""

    def __init__(self, facts: Mapping[str, Any], what: str = "published") -> None:
        super().__init__(facts)
        self._what = what

    def __str__(self) -> str:
        if self._what == "indexed":
            samples = sum(tar["samples"] for tar in self["tars"])
            return f"{_counted(samples, 'sample')} in {_counted(len(self['tars']), 'tar')} {self._what}"
        if self._what == "exported":
            what = "document" if "documents" in self else "sample"
            return f"{self._what} {_counted(self[what + 's'], what)}, {self['bytes'] / 1e6:,.1f} MB"
        made = f"{_counted(self['samples'], 'sample')}, {_counted(len(self['shards']), 'shard')}"
        made += f", {self['bytes'] / 1e6:,.1f} MB"
        told = f"; {_counted(len(self['problems']), 'problem')}, listed in ['problems']" if self["problems"] else ""
        irregular = self.get("irregular_jpegs", {}).get("count", 0)
        if irregular:
            told += f"; {_counted(irregular, 'irregular JPEG')}, see ['irregular_jpegs']"
        return f"{self._what} {made}{told}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def __reduce__(self) -> tuple[object, ...]:
        return (Built, (dict(self), self._what))


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")
