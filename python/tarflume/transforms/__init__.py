"""Recipes of operations for pictures, with the names and the arguments of `torchvision.transforms.v2`.

    import tarflume
    from tarflume import transforms

    recipe = transforms.Compose([
        transforms.RandomResizedCrop(224, interpolation="bicubic"),
        transforms.RandomHorizontalFlip(),
        transforms.timm("rand-m9-mstd0.5-inc1"),
    ])
    loader = tarflume.Loader("shards/", batch_size=256, image=recipe)

Threads in Rust apply a recipe, after they decode a picture. What a sample gets depends on its seed and on the names of
the operations: never on threads, ranks or the batch. Random numbers have the distributions of torchvision, and pixels
are those of torchvision for tensors of uint8.

`from_torchvision`, `from_timm` and `from_albumentations` convert recipes of these libraries. `draw` and `apply` show
what a recipe does with an array, and `preview` what it does with samples of a data set.
"""

from __future__ import annotations

from .base import Operation
from .color import (
    ColorJitter,
    Grayscale,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomChannelPermutation,
    RandomEqualize,
    RandomGamma,
    RandomGrayscale,
    RandomInvert,
    RandomPhotometricDistort,
    RandomPosterize,
    RandomSolarize,
)
from .control import Compose, RandomApply, RandomChoice, RandomOrder
from .crop import (
    CenterCrop,
    FiveCrop,
    Pad,
    RandomCrop,
    RandomResize,
    RandomResizedCrop,
    RandomShortestSize,
    Resize,
    ResizeKeepRatio,
    ScaleJitter,
    TenCrop,
)
from .filter import JPEG, GaussianBlur, GaussianNoise, RandomErasing
from .migration.albumentations import from_albumentations
from .migration.converted import Converted
from .migration.timm import from_timm
from .migration.torchvision import from_torchvision
from .pixels import apply, draw
from .policy import AugMix, AutoAugment, RandAugment, TimmAugment, TrivialAugmentWide, timm
from .seen import Preview, preview
from .turn import (
    ElasticTransform,
    RandomAffine,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomQuarterTurn,
    RandomRotation,
    RandomVerticalFlip,
)

__all__ = [
    "AugMix",
    "AutoAugment",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "Converted",
    "ElasticTransform",
    "FiveCrop",
    "GaussianBlur",
    "GaussianNoise",
    "Grayscale",
    "JPEG",
    "Operation",
    "Pad",
    "Preview",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChannelPermutation",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGamma",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomPerspective",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomQuarterTurn",
    "RandomResize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomShortestSize",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "ResizeKeepRatio",
    "ScaleJitter",
    "TenCrop",
    "TimmAugment",
    "TrivialAugmentWide",
    "apply",
    "draw",
    "from_albumentations",
    "from_timm",
    "from_torchvision",
    "preview",
    "timm",
]


def __dir__() -> list[str]:
    return sorted(__all__)
