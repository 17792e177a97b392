"""For DLIO, the benchmark of data loading that MLPerf Storage uses: tarflume as its data loader.

    python -m tarflume.dlio shards/ folder/ jpeg      # makes DLIO's data folder and prints the words of the command line
    export TARFLUME_SHARDS=shards/                    # a folder or a URL
    dlio_benchmark workload=... ++workload.framework=pytorch WORDS...

DLIO measures the time that its training loop waits for `TarflumeLoader`. Each sample of the shards is a file that DLIO's
generator wrote. Pictures are decoded as a whole, as DLIO's readers do, and arrays are NumPy arrays in host memory.

`TarflumeLoader` needs DLIO; `pip install "tarflume[dlio]"` installs what DLIO needs for PyTorch, and
`pip install --no-deps dlio_benchmark==2.0.0` DLIO without TensorFlow and DALI. bench/dlio/README.md has the commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .folder import data_folder

if TYPE_CHECKING:
    from .loader import TarflumeLoader

__all__ = ["TarflumeLoader", "data_folder"]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # DLIO is imported for the loader only: the command works where DLIO is not installed.
    if name != "TarflumeLoader":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .loader import TarflumeLoader

    return TarflumeLoader
