"""Functions of the tests that need a process of their own: they count what the process holds, and other libraries of the
tests open files and end threads whenever they want."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

from patience import PATIENCE_S


def alone(function: Callable[..., None], *words: object) -> None:
    """Calls a function of a module with the words as texts, in a new process, and fails where it raises."""
    code = f"import sys; from {function.__module__} import {function.__name__} as f; f(*sys.argv[1:])"
    folders = [pathlib.Path(function.__code__.co_filename).parent, pathlib.Path(__file__).parent]
    path = os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        env=os.environ | {"PYTHONPATH": path},
        text=True,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
