"""Figures of speed in pages, in sentences and in tables: what is counted, or bytes, in a second; how many times as fast."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

#: What is counted in a second.
COUNTED = r"(?:images|samples|rows|ids|tokens|pictures|photographs|files)"
NUMBER = r"\d[\d,]*(?:\.\d+)?"
RATE = re.compile(rf"({NUMBER}) (?:{COUNTED}(?: of [^|.;]{{1,20}})?(?:/s| a second)|(?:[GMk]B|[GM]iB)/s)")
RATIO = re.compile(r"(\d[\d,]*\.\d+) times")
CODE = re.compile(r"^ *```.*?^ *```$", re.S | re.M)


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure of speed, as its page writes it."""

    page: str
    text: str
    is_ratio: bool = False


def of_page(page: str, text: str) -> Iterator[Figure]:
    """The figures of a page, outside its blocks of code."""
    header: list[str] = []
    for line in CODE.sub("", text).splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")] if line.startswith("|") else []
        if not cells:
            header = []
        elif not header:
            header = cells
        for name, cell in zip(header, cells, strict=False):
            found = re.fullmatch(rf"\**({NUMBER})\**(?:,.*)?", cell)
            if found and re.search(rf"{COUNTED}/s|[GM]B/s", name):
                yield Figure(page, found[1])
        yield from (Figure(page, found[1]) for found in RATE.finditer(line))
        yield from (Figure(page, found[1], True) for found in RATIO.finditer(line))
