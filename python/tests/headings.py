"""The programs of a page, by their headings."""

from __future__ import annotations

import re

from conftest import ROOT


def blocks(page: str, heading: str | None = None) -> list[str]:
    """The blocks of Python under a heading; without one, those before the first heading."""
    text = (ROOT / page).read_text()
    section = text.split("\n## ")[0] if heading is None else text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^```python\n(.*?)^```$", section, re.S | re.M)


def changed(code: str, changes: dict[str, str]) -> str:
    """Code with what a test needs in place of what the page says; each old text must be there."""
    for old, new in changes.items():
        assert old in code, f"the page has no {old!r}"
        code = code.replace(old, new)
    return code
