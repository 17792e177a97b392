"""The pages as a whole: the navigation has each page once, code fits its column, figures of speed have one place."""

from __future__ import annotations

import collections
import re

import pytest

import page_figures
from conftest import ROOT

#: Characters of a line of code in the column of the site, in a window of 1,000 pixels; 88 in one of 1,280 pixels.
#: Longer lines scroll, and hide their ends. It follows from docs/assets/extra.css and the theme.
COLUMN = 86

#: The pages that people read and copy from.
PAGES = [
    "README.md",
    "python/README.md",
    "command/README.md",
    *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))),
]
BELOW = [f"docs/{folder}/{path.name}" for folder in ("tutorials", "frameworks") for path in sorted((ROOT / "docs" / folder).glob("*.md"))]

#: Rates that are settings or limits of others and not measurements.
NOT_MEASURED = {
    ("docs/BENCHMARKS.md", "60"): "the link of a simulated store",
}


def text_of(page: str) -> str:
    return (ROOT / page).read_text()


def figures(page: str) -> list[page_figures.Figure]:
    found = page_figures.of_page(page, text_of(page))
    return [figure for figure in found if (page, figure.text) not in NOT_MEASURED]


def test_the_navigation_and_the_readme_have_each_page_once():
    listed = re.findall(r"^ +- [^:\n]+: (\S+\.md)$", text_of("mkdocs.yml"), re.M)
    assert [page for page, times in collections.Counter(listed).items() if times > 1] == []
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md") if "decisions" not in path.parts}
    assert pages - set(listed) == set()
    documentation = text_of("README.md").partition("## Documentation")[2]
    linked = re.findall(r"\]\(docs/([^)#]+\.md)\)", documentation)
    assert [page for page, times in collections.Counter(linked).items() if times > 1] == []
    assert pages - set(linked) == set()


def typed(language: str, block: str) -> list[str]:
    """The lines of a block that a reader copies; outputs are as wide as they are."""
    lines = block.splitlines()
    if language not in ("console", "sh") or not any(line.startswith("$ ") for line in lines):
        return lines
    return [line for before, line in zip(["", *lines], lines, strict=False) if line.startswith("$ ") or before.endswith("\\")]


def test_code_fits_the_column_of_the_site():
    looked, long = 0, []
    for page in [*PAGES, *BELOW]:
        for language, block in re.findall(r"^```(python|console|sh|rust|yaml)\n(.*?)^```", text_of(page), re.S | re.M):
            looked += 1
            long += [f"{page}: {line}" for line in typed(language, block) if len(line) > COLUMN]
    assert looked > 120
    assert long == []


def test_outputs_are_as_wide_as_they_are():
    block = f"$ pack ls \\\n    shards/\n{'x' * 200}\n$ pack info\n"
    assert typed("console", block) == ["$ pack ls \\", "    shards/", "$ pack info"]
    assert typed("console", "pack ls\npack info\n") == ["pack ls", "pack info"]


def test_each_rate_is_in_the_results():
    results = set(re.findall(page_figures.NUMBER, text_of("bench/RESULTS.md")))
    found = {(page, figure.text) for page in PAGES for figure in figures(page) if not figure.is_ratio}
    assert len(found) > 20
    assert {(page, rate) for page, rate in found if rate not in results} == set()


def test_a_figure_of_speed_is_on_one_page():
    """A page links instead of repeating one. README.md repeats rows of BENCHMARKS.md: the next test."""
    pages = collections.defaultdict(set)
    for page in PAGES[1:]:
        for figure in figures(page):
            if len(figure.text) > 3:  # shorter ones are equal by chance
                pages[figure.text, figure.is_ratio].add(page)
    assert {figure: on for figure, on in pages.items() if len(on) > 1} == {}


def test_the_figures_of_the_readme_are_those_of_the_summary():
    rows = re.findall(r"^\| ([^|]*) \| ([\d,*]+) \| ([^|]*?)(?: times)? ?\| (\S+ s) \| (\S+ MB) \|$", text_of("README.md"), re.M)
    assert len(rows) >= 5
    summary = text_of("docs/BENCHMARKS.md").partition("## Reading for training, from Python")[2].partition("\n## ")[0]
    measured = re.findall(r"^\| [^|]* \| ([\d,*]+) \| (\S+ s) \| (\S+ MB) \|$", summary, re.M)
    best = number(rows[0][1])
    for name, rate, ratio, first, memory in rows:
        assert (rate, first, memory) in measured, name
        if ratio:
            digits = len(ratio.partition(".")[2])
            assert float(ratio) == round(best / number(rate), digits), name


def number(text: str) -> float:
    return float(text.strip("*").replace(",", ""))


@pytest.mark.parametrize(("text", "figures"), [
    ("It reads 2,854 images/s on 2 cores.", ["2,854"]),
    ("reached 8,034 samples of 110 kB a second", ["8,034"]),
    ("| case | images/s | memory |\n|---|---|---|\n| a | **5,291** | 234 MB |", ["5,291"]),
    ("| job | ours |\n|---|---|\n| rows | 928,480 rows/s, 27 MB |", ["928,480"]),
    ("6.4 GB/s", ["6.4"]),
    ("is 3.27 times as fast", ["3.27"]),
    ("```\n2,854 images/s\n```", []),
    ("250 images of 108 kB", []),
])  # fmt: skip
def test_figures_are_found_in_sentences_and_tables(text, figures):
    assert [figure.text for figure in page_figures.of_page("page", text)] == figures
