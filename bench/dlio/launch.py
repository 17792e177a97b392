"""Starts DLIO from PyPI (2.0.0) without TensorFlow and DALI: `python launch.py WORDS`, as `dlio_benchmark WORDS`.

DLIO 2.0.0 imports both for every workload. It uses neither with `framework=pytorch` and a loader for PyTorch. Empty
modules stand in for what is not installed. DLIO's own code is not changed. Versions that import TensorFlow and DALI only
when they are needed start with their own command instead.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from typing import Any

MODULES = (
    "tensorflow", "tensorflow.python", "tensorflow.python.framework", "nvidia.dali", "nvidia.dali.fn",
    "nvidia.dali.types", "nvidia.dali.pipeline", "nvidia.dali.tfrecord", "nvidia.dali.plugin",
    "nvidia.dali.plugin.pytorch",
)  # fmt: skip


class Absent(types.ModuleType):
    """A module that is not installed: any name in it is another one, and a call of it does nothing."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *_: Any, **__: Any) -> None:
        return None


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def stand_in() -> list[str]:
    """Puts empty modules in place of TensorFlow and DALI where they are not installed; returns the names."""
    roots = [root for root in ("tensorflow", "nvidia.dali") if not _is_installed(root)]
    names = [name for name in MODULES if any(name == root or name.startswith(f"{root}.") for root in roots)]
    if "nvidia.dali" in roots and not _is_installed("nvidia"):
        names.insert(0, "nvidia")
    for name in names:
        sys.modules[name] = Absent(name)
        parent, _, last = name.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], last, sys.modules[name])
    return names


def main() -> None:
    stand_in()
    from dlio_benchmark.main import main as dlio

    dlio()


if __name__ == "__main__":
    main()
