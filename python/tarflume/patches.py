"""Columns of patches for models that take pictures of their own sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._core import Patches

if TYPE_CHECKING:
    from ._core import Image
    from .transforms import Operation

__all__ = ["patch_columns"]


def __dir__() -> list[str]:
    return sorted(__all__)


def patch_columns(image: Operation | Image, patch: int, tokens: int) -> dict[str, Patches]:
    """The columns of NaFlex models (timm, open_clip), under the names that timm gives them.

        image = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.PatchResize(16, max_tokens=256)])
        loader = tarflume.torch.Loader("shards/", columns=tarflume.patch_columns(image, 16, 256), batch_size=64)

    - `patches`: [batch, tokens, patch * patch * channels], of the type of the image.
    - `patch_coord`: int32 [batch, tokens, 2], the row and the column of each patch.
    - `patch_valid`: bool [batch, tokens], False behind the patches of a picture.

    `image` is a recipe whose pictures have whole patches, at most `tokens` of them, or a `tarflume.Image` with one.
    """
    return {
        "patches": Patches(image, patch, "pixels", tokens=tokens),
        "patch_coord": Patches(image, patch, "coordinates", tokens=tokens),
        "patch_valid": Patches(image, patch, "mask", tokens=tokens),
    }
