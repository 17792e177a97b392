"""For Grain, and with it JAX: a `RandomAccessDataSource`.

    source = tarflume.grain.Source("shards/", parts=["jpg", "cls"])
    loader = grain.DataLoader(data_source=source, sampler=grain.samplers.IndexSampler(len(source), ...), ...)
    dataset = grain.MapDataset.source(source).shuffle(seed=1).map(decode).batch(32)

Grain asks for a length and for samples by number and nothing else, so this needs no import of Grain.
"""

from __future__ import annotations

from .samples import Samples

__all__ = ["Source"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Source(Samples):
    """Samples by number, as `Samples` has them: `parts` are the extensions to read, `transform` what becomes of each.

    It can be pickled: workers of Grain open the shards anew. Its `repr`, which Grain's checkpoints compare, is the
    same wherever the shards stand.
    """

    def __repr__(self) -> str:
        parts = "" if self._parts is None else f", parts={self._parts}"
        return f"tarflume.grain.Source({len(self)} samples in {len(self._data.shards)} shards{parts})"
