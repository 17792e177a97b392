"""`MapDataset`: samples by number for a `torch.utils.data.DataLoader`."""

from __future__ import annotations

from typing import Any

import torch.utils.data

from ..samples import Samples

__all__ = ["MapDataset"]


class MapDataset(Samples, torch.utils.data.Dataset[Any]):
    """Samples by number, for a `DistributedSampler` and other samplers. `parts` are the extensions to read, and
    `transform` is a function that changes each sample."""
