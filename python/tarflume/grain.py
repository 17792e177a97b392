"""For Grain, and with it JAX: a `RandomAccessDataSource`.

    source = tarflume.grain.Source("shards/", parts=["jpg", "cls"])
    loader = grain.DataLoader(data_source=source, sampler=grain.samplers.IndexSampler(len(source), ...), ...)
    dataset = grain.MapDataset.source(source).shuffle(seed=1).map(decode).batch(32)

Grain needs a length and samples by number, so this module does not import Grain.
"""

from __future__ import annotations

from .samples import Samples

__all__ = ["Source"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Source(Samples):
    """Samples by number. `parts` are the extensions to read, and `transform` is a function that changes each sample.

    It can be pickled: workers of Grain open the shards again. Its `repr`, which Grain's checkpoints compare, does not
    depend on the folder of the shards.
    """

    def __repr__(self) -> str:
        parts = "" if self._parts is None else f", parts={self._parts}"
        return f"tarflume.grain.Source({len(self)} samples in {len(self._data.shards)} shards{parts})"
