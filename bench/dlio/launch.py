"""Starts DLIO as PyPI has it (dlio_benchmark 2.0.0), without TensorFlow and DALI.

    python bench/dlio/launch.py workload=default ++workload.framework=pytorch ...

That version imports TensorFlow whatever the framework is. Empty modules stand in for both packages; workloads with the
framework PyTorch use nothing of them. The code of DLIO is not changed.
"""

from __future__ import annotations

import importlib.machinery
import sys
import types
from unittest import mock

STAND_INS = (
    "tensorflow", "tensorflow.python", "tensorflow.python.framework", "tensorflow.python.framework.errors",
    "nvidia.dali", "nvidia.dali.fn", "nvidia.dali.types", "nvidia.dali.tfrecord", "nvidia.dali.pipeline",
    "nvidia.dali.plugin", "nvidia.dali.plugin.pytorch",
)  # fmt: skip


class StandIn(types.ModuleType):
    """A module whose every name exists."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return mock.MagicMock(name=name)


def stand_in() -> None:
    """Puts the empty modules where the packages are looked for."""
    import torch  # noqa: F401  # before the stand-ins: it looks for packages of nvidia itself

    for name in STAND_INS:
        module = StandIn(name)
        module.__path__ = []
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        sys.modules[name] = module


def main() -> None:
    stand_in()
    from dlio_benchmark.main import main as dlio

    dlio()


if __name__ == "__main__":
    main()
