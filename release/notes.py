#!/usr/bin/env python3
"""Prints the release notes of a version: its section of CHANGELOG.md. `release/notes.py 0.1.0`

Refuses a version that is not the workspace's, or whose section is missing, empty or marked as unreleased.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def section(text: str, version: str) -> str:
    """The lines between `## VERSION, DATE` and the next heading of that rank."""
    found = re.search(rf"^## {re.escape(version)}, (.+)\n((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    if found is None or not found[2].strip():
        sys.exit(f"CHANGELOG.md has no section `## {version}, DATE` with text")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", found[1]):
        sys.exit(f"CHANGELOG.md: `## {version}, {found[1]}` has no date: YYYY-MM-DD")
    return found[2].strip() + "\n"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    version = sys.argv[1].removeprefix("v")
    ours = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    if version != ours:
        sys.exit(f"the tag is {version}, the version in Cargo.toml {ours}")
    sys.stdout.write(section((ROOT / "CHANGELOG.md").read_text(), version))


if __name__ == "__main__":
    main()
