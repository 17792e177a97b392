"""The tutorial pages: every program and command runs, in order, and prints what the page shows.

`TARFLUME_PAGES=write pytest test_pages.py` writes the outputs into the pages instead of comparing them.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil

import pytest

import pages
from conftest import PACK, ROOT

FOLDER = ROOT / "docs" / "tutorials"
PAGES = sorted(path.name for path in FOLDER.glob("*.md"))
WRITE = os.environ.get("TARFLUME_PAGES") == "write"


def play(text: str, folder: pathlib.Path) -> list[str]:
    """What the steps of a page print in an empty folder."""
    folder.mkdir()
    command = shutil.which(PACK)
    assert command is not None, f"no command {PACK}; TARFLUME_PACK names it"
    return [pages.run(step, folder, os.path.abspath(command)) for step in pages.steps(text)]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_its_steps_print(name, tmp_path):
    path = FOLDER / name
    text = path.read_text()
    printed = play(text, tmp_path / "work")
    if WRITE:
        path.write_text(pages.renewed(text, printed))
        return
    for step, output in zip(pages.steps(text), printed, strict=True):
        assert pages.same(step.shown, output), f"{name} shows\n{step.shown}but this prints\n{output}:\n{step.code}"


def test_the_pages_are_those_that_the_site_lists():
    listed = re.findall(r"tutorials/(\S+\.md)", (ROOT / "mkdocs.yml").read_text())
    assert sorted(listed) == PAGES and len(PAGES) >= 5


PAGE = """# A page

```python
print("one", 1 + 1)
```

```text
one 2
```

```console
$ echo made in 0.25 s
made in 0.31 s
$ printf 'a\\n' \\
    | cat; (exit 1); echo "exit code $?"
a
exit code 1
```
"""


def test_an_output_that_differs_is_found_and_written_in_its_place(tmp_path):
    page = PAGE
    printed = play(page, tmp_path / "work")
    assert printed == ["one 2\n", "made in 0.25 s\n", "a\nexit code 1\n"]
    assert all(pages.same(step.shown, output) for step, output in zip(pages.steps(page), printed, strict=True))
    assert pages.renewed(page, printed) == page  # a duration alone changes nothing
    for old, new in [("one 2\n", "one 3\n"), ("a\nexit code 1\n", ""), ("made in 0.31 s\n", "made of 0.31 s\n")]:
        other = page.replace(old, new, 1)
        assert other != page
        wrong = [
            step for step, output in zip(pages.steps(other), printed, strict=True) if not pages.same(step.shown, output)
        ]
        assert len(wrong) == 1
        assert pages.same(pages.renewed(other, printed), page)


def test_a_step_that_fails_and_an_output_without_a_block_are_errors(tmp_path):
    with pytest.raises(AssertionError, match="exit code 3"):
        play("```console\n$ exit 3\n```\n", tmp_path / "a")
    with pytest.raises(AssertionError, match="no block for this output"):
        pages.renewed("```python\nprint(1)\n```\n", ["1\n"])
    silent = pages.steps("```python\nprint(1)\n```\n")
    assert not pages.same(silent[0].shown, "1\n")
    with pytest.raises(ValueError, match="without a program"):
        pages.steps("```text\n1\n```\n")
