"""For PyTorch: a loader that yields tensors, and data sets for a DataLoader.

    loader = tarflume.torch.Loader("shards/", batch_size=256, shuffle="full", seed=42,
                                   image=tarflume.RandomResizedCrop(224, flip=0.5), label="/class")
    for epoch in range(90):
        loader.set_epoch(epoch)
        for batch in loader:                      # {"image": uint8 tensor [256, 224, 224, 3], "label": ...}
            images = batch["image"].to(device, non_blocking=True)

- `Loader`: batches as dicts of tensors, made by threads in Rust, without worker processes. It works in Lightning and
  Accelerate.
- `ArrayLoader`: the same for rows of arrays: NumPy, raw, HDF5, Zarr and Parquet, read where they are.
- `Dataset`: an `IterableDataset` that works alone, inside `DataLoader(num_workers=N)`, and on many ranks.
- `MapDataset`: samples by number, for samplers.
- `ElasticLoader`: batches by step, for jobs whose ranks change while they run (torchft).
- `Prefetcher`: copies the batches of any other loader to the GPU while the step computes.
- `cu_seqlens`: where documents begin in a batch of packs of tokens.
- `stragglers`: which rank of a running job waits for its data, and why.

Rank and world size come from the process group if there is one, otherwise from the environment of torchrun, otherwise
there is one rank. If the group contains processes that are not data-parallel (tensor parallelism), give
`rank=` and `world_size=`.
"""

from __future__ import annotations

try:
    import torch as _torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError("tarflume.torch needs PyTorch: pip install torch", name="torch") from None

from .arrays import ArrayLoader
from .datasets import Dataset
from .elastic import ElasticLoader
from .loader import Loader
from .numbered import MapDataset
from .objects import Objects
from .packs import cu_seqlens
from .place import rank_and_world_size
from .prefetch import Prefetcher
from .ranks import Ranks
from .rows import Rows
from .stragglers import stragglers
from .tensors import tensor, tensors

__all__ = [
    "ArrayLoader", "Dataset", "ElasticLoader", "Loader", "MapDataset", "Objects", "Prefetcher", "Ranks", "Rows", "cu_seqlens",
    "rank_and_world_size",
    "stragglers", "tensor", "tensors",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


del _torch
