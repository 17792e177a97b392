"""Keywords of a `DataLoader` that a `Dataset` refuses, and what to write in their place."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import UsageError

__all__ = ["refuse"]

_OF_A_DATALOADER = {
    **dict.fromkeys(
        ("num_workers", "persistent_workers", "worker_init_fn", "multiprocessing_context", "timeout", "prefetch_factor",
         "pin_memory", "pin_memory_device", "in_order"),
        "it belongs to the DataLoader: DataLoader(dataset, batch_size=None, {name}=...)",
    ),
    **dict.fromkeys(
        ("sampler", "batch_sampler"),
        "shuffle= and seed= determine the order here; tarflume.torch.MapDataset takes samplers",
    ),
    "collate_fn": "it belongs to the DataLoader; transform=function changes each sample here, or each batch with batch_size=",
    **dict.fromkeys(
        ("deliver", "collate"), "it belongs to tarflume.torch.Loader; transform=function changes each sample or batch here"
    ),
}  # fmt: skip


def refuse(settings: Mapping[str, object]) -> None:
    """
    Raises:
        UsageError: a keyword belongs to a DataLoader.
    """
    for name in settings:
        if name in _OF_A_DATALOADER:
            instead = _OF_A_DATALOADER[name].format(name=name)
            raise UsageError(f"tarflume.torch.Dataset takes no {name}=; {instead}")
