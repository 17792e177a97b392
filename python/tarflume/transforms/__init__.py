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

from .annotations import apply_to_boxes, apply_to_keypoints, apply_to_masks, sanitize_boxes
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
    BucketCrop,
    CenterCrop,
    FiveCrop,
    Pad,
    PatchResize,
    RandomCrop,
    RandomResize,
    RandomResizedCrop,
    RandomShortestSize,
    Resize,
    ResizeKeepRatio,
    ScaleJitter,
    TenCrop,
)
from .detection import FixedSizeCrop, RandomIoUCrop, RandomZoomOut
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
    "BucketCrop",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "Converted",
    "ElasticTransform",
    "FiveCrop",
    "FixedSizeCrop",
    "GaussianBlur",
    "GaussianNoise",
    "Grayscale",
    "JPEG",
    "Operation",
    "Pad",
    "PatchResize",
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
    "RandomIoUCrop",
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
    "RandomZoomOut",
    "Resize",
    "ResizeKeepRatio",
    "ScaleJitter",
    "TenCrop",
    "TimmAugment",
    "TrivialAugmentWide",
    "apply",
    "apply_to_boxes",
    "apply_to_keypoints",
    "apply_to_masks",
    "draw",
    "from_albumentations",
    "from_timm",
    "from_torchvision",
    "preview",
    "sanitize_boxes",
    "timm",
]


def __dir__() -> list[str]:
    return sorted(__all__)
