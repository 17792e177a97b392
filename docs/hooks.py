"""Hooks of the docs site: pages from outside docs/, links between them, and a check of every relative link.

A link in a page is a path in the repository. In the site it becomes the page of that path, or the address of the
file in the repository. A link to a file that does not exist is a warning, which `make site` turns into an error;
pages that are not part of the site are checked, too.
"""

from __future__ import annotations

import logging
import os
import posixpath
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/tarflume/tarflume/blob/main/"

#: Pages from outside docs/: their path in the repository, and in the site.
OUTSIDE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "FORMAT.md": "FORMAT.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "RELEASING.md": "RELEASING.md",
    "bench/README.md": "bench/README.md",
    "bench/RESULTS.md": "bench/RESULTS.md",
    "bench/jpeg/README.md": "bench/jpeg/README.md",
    "bench/dlio/README.md": "bench/dlio/README.md",
    "bench/gpu/README.md": "bench/gpu/README.md",
}
INSIDE = {page: path for path, page in OUTSIDE.items()}

FENCE = re.compile(r"(^ *```.*?^ *```$)", re.M | re.S)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")

log = logging.getLogger("mkdocs.hooks.links")


def in_site(path: str) -> str | None:
    """The page or asset of the site that a path of the repository becomes."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    if path.startswith("docs/") and not path.endswith((".py", ".json", ".txt")):
        return path.removeprefix("docs/")
    return None


def in_repository(page: str) -> str:
    return INSIDE.get(page, "docs/" + page)


def links(text: str) -> Iterator[str]:
    """The relative links of a page, outside its blocks of code."""
    for prose in FENCE.split(text)[::2]:
        for link in LINK.finditer(prose):
            target = link.group(2)
            if not re.match(r"[a-z]+:|#", target):
                yield target


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Each decision is a page below their index, in the order of their numbers."""
    decisions = sorted(path.name for path in (ROOT / "docs/decisions").glob("[0-9]*.md"))
    assert config.nav is not None
    config.nav.append({"Decisions": ["decisions/README.md", *(f"decisions/{name}" for name in decisions)]})
    return config


def pages() -> list[str]:
    """Every page of the repository; without git, those of the site."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return [*OUTSIDE, *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
    return [page for page in listed.split("\0") if page]


def on_pre_build(config: MkDocsConfig) -> None:
    for page in pages():
        file = ROOT / page
        if not file.exists():
            continue
        for target in links(file.read_text()):
            path = os.path.normpath(file.parent / target.partition("#")[0])
            if not os.path.exists(path):
                log.warning("%s links to %s, which does not exist", page, target)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, page in OUTSIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    here = page.file.src_uri
    folder = posixpath.dirname(in_repository(here))

    def moved(link: re.Match[str]) -> str:
        target = link.group(2)
        if re.match(r"[a-z]+:|#", target):
            return link.group(0)
        name, hash, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(folder, name))
        site = in_site(path)
        moved = posixpath.relpath(site, posixpath.dirname(here) or ".") if site else REPOSITORY + path
        return link.group(1) + moved + hash + anchor + link.group(3)

    pieces = FENCE.split(markdown)
    pieces[::2] = [LINK.sub(moved, prose) for prose in pieces[::2]]
    return "".join(pieces)
