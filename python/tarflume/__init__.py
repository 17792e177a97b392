"""Streams WebDataset shards into training.

    import tarflume

    loader = tarflume.Loader("shards/", batch_size=256, shuffle="full", seed=42,
                             image=tarflume.RandomResizedCrop(224, flip=0.5), label="/class")
    for epoch in range(90):
        for batch in loader.epoch(epoch):            # batch["image"]: uint8 [256, 224, 224, 3]
            images = torch.from_dlpack(batch["image"])

The order of samples is a function of data, seed, epoch and shuffle. Threads in Rust make the batches, without
worker processes. Columns are views of a batch's memory, without a copy.

`tarflume.transforms` has recipes with the operations of torchvision. `tarflume.torch` has loaders and data sets for PyTorch; it is imported when it is first used, as the other modules
are. `tarflume.pack` makes shards from folders and from text, `tarflume.ShardWriter` from samples of a program.
`tarflume.diagnose` measures any loader, `tarflume.metrics` gives out the numbers of ours, and
`tarflume.trace` writes a time line of some steps.
`help(tarflume.Loader)` describes all settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import errors, pack
from ._core import (
    Apply,
    ArrayDataset,
    Batch,
    Boxes,
    CenterCrop,
    ClassLabel,
    Column,
    Dataset,
    DeviceColumn,
    DeviceRagged,
    Epoch,
    Image,
    Json,
    Keypoints,
    Ledger,
    Loader,
    Mask,
    Masks,
    Npy,
    OriginalSize,
    Patches,
    Ragged,
    RandomResizedCrop,
    Resident,
    Raw,
    RecordBatch,
    Resize,
    ResizeCenterCrop,
    Selection,
    Table,
    Text,
    Tokens,
    Views,
    __version__,
    launcher_rank,
)
from .arrays import ArrayLoader
from .buckets import Buckets
from .diagnosis import Diagnosis, diagnose
from .errors import Error
from .packs import Pack
from .patches import patch_columns
from .samples import Sample
from .language import token_columns
from .statistics import Stats
from .tracing import trace
from .writing import ShardWriter

if TYPE_CHECKING:
    from . import dlio, grain, huggingface, metrics, ray, timm, torch, transforms, webdataset
    from .transforms.copy_paste import CopyPaste
    from .transforms.mix import Mix
    from .transforms.mosaic import Mosaic

__all__ = [
    "Apply",
    "ArrayDataset",
    "ArrayLoader",
    "Batch",
    "Boxes",
    "Buckets",
    "CenterCrop",
    "ClassLabel",
    "Column",
    "CopyPaste",
    "Dataset",
    "DeviceColumn",
    "DeviceRagged",
    "Diagnosis",
    "Epoch",
    "Error",
    "Image",
    "Json",
    "Keypoints",
    "Ledger",
    "Loader",
    "Mask",
    "Masks",
    "Mix",
    "Mosaic",
    "Npy",
    "OriginalSize",
    "Pack",
    "Patches",
    "Ragged",
    "RandomResizedCrop",
    "Resident",
    "Raw",
    "RecordBatch",
    "Resize",
    "ResizeCenterCrop",
    "Sample",
    "Selection",
    "ShardWriter",
    "Stats",
    "Table",
    "Text",
    "Tokens",
    "Views",
    "__version__",
    "diagnose",
    "errors",
    "launcher_rank",
    "pack",
    "patch_columns",
    "token_columns",
    "trace",
]

#: Modules that are imported when they are first used: most need other packages.
_MODULES = ("dlio", "grain", "huggingface", "metrics", "ray", "timm", "torch", "transforms", "webdataset")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    if name == "CopyPaste":
        from .transforms.copy_paste import CopyPaste

        return CopyPaste
    if name == "Mix":
        from .transforms.mix import Mix

        return Mix
    if name == "Mosaic":
        from .transforms.mosaic import Mosaic

        return Mosaic
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in _MODULES if name in globals())])


def _register() -> None:
    from collections.abc import Mapping, Sequence

    Mapping.register(Batch)
    Sequence.register(Ragged)
    Sequence.register(DeviceRagged)


_register()
