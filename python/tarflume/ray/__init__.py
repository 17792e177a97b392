"""tarflume with Ray: packs on a Ray cluster, and reads and writes data sets as Ray Data.

    import tarflume.ray

    tarflume.ray.pack("/shared/photos", "/shared/shards")           # tasks carry numbers of shards, no bytes
    samples = tarflume.ray.read("/shared/shards", parts=["json"])   # a ray.data.Dataset with exact counts
    tarflume.ray.write(samples, "/shared/filtered")                 # a data set with sidecars and manifest

Training needs no Ray Data: each worker of Ray Train uses `tarflume.torch.Loader`; see examples/ray_train.py.
Needs `pip install "tarflume[ray]"`.
"""

from __future__ import annotations

from .packing import pack
from .reading import read
from .writing import write

__all__ = ["pack", "read", "write"]


def __dir__() -> list[str]:
    return sorted(__all__)
