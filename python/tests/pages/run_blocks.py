"""Runs Python blocks of pages, each in its folder, in this one process: the modules that they import are loaded once.

Reads a JSON list of blocks (`name`, `folder`, `code`) from standard input, and writes a JSON object of their errors.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from typing import Any

#: Variables of a block that must deliver something when it has run.
SOURCES = ("loader", "dataset", "balanced", "weighted")


def run(block: dict[str, str]) -> str:
    """The error of a block, or nothing."""
    names: dict[str, Any] = {"__name__": "__main__"}
    os.chdir(block["folder"])
    try:
        exec(compile(block["code"], block["name"], "exec"), names)
        for source in SOURCES:
            if source in names and next(iter(names[source]), None) is None:
                return f"{source} delivers nothing"
    except Exception:
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    blocks = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        errors = {block["name"]: run(block) for block in blocks}
    json.dump(errors, sys.stdout)
