"""`Converted`: a recipe of another library as a recipe of tarflume, with the settings of its column."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...errors import UsageError
from ..control import Compose
from ..pictures import bitmap, seed_or_random

if TYPE_CHECKING:
    from ..._core import Image, PartDecoder

__all__ = ["Converted"]


@dataclass(frozen=True)
class Converted:
    """A recipe, and what the steps after it, such as `ToTensor` and `Normalize`, decide about a column.

    `Loader(image=...)` and `columns=` take it as it is. Its text is what a program without the other library writes:

        converted = tarflume.transforms.from_torchvision(theirs)
        loader = tarflume.Loader("shards/", batch_size=256, image=converted)
        print(converted)                             # tarflume.Image(transforms.Compose([...]), layout='chw', ...)

    Attributes:
        recipe: the operations.
        layout: "chw" after a step that makes tensors, else "hwc".
        dtype: of the elements. Floats are from 0 to 1, or normalized.
        mean, std: what is subtracted, and then divided by, on a scale of 0 to 1.
    """

    recipe: Compose
    layout: Literal["hwc", "chw"] = "hwc"
    channels: Literal["rgb", "gray"] = "rgb"
    dtype: Literal["uint8", "float32", "float16", "bfloat16"] = "uint8"
    mean: tuple[float, float, float] | None = None
    std: tuple[float, float, float] | None = None

    def settings(self) -> dict[str, Any]:
        """The keywords of `tarflume.Image` that are not as by default."""
        plain = {"layout": "hwc", "channels": "rgb", "dtype": "uint8", "mean": None, "std": None}
        return {name: getattr(self, name) for name, usual in plain.items() if getattr(self, name) != usual}

    def image(self, part: str | None = None, **settings: Any) -> Image:
        """The column of the part with this extension. `settings` are more keywords of `tarflume.Image`.

            loader = tarflume.Loader("shards/", image=converted.image("png", dtype="float16"))
        """
        from ..._core import Image

        return Image(self.recipe, part, **{**self.settings(), **settings})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the operations to a file, for `pack view --transform FILE`. Replaces the file."""
        self.recipe.save(path)

    def __call__(self, picture: Any, seed: int | None = None) -> Any:
        """The row that a loader makes of a picture: a NumPy array with the layout and type of the column. `picture` and
        `seed` are those of an operation.

            row = converted(array, seed=7)                   # float32 [3, 224, 224]
        """
        if self.dtype == "bfloat16":
            raise UsageError('NumPy has no bfloat16: use a column, or dataclasses.replace(recipe, dtype="float32")')
        made, dtype, shape = self._decoder.decode(bitmap(picture), seed_or_random(seed))
        return np.frombuffer(made, dtype).reshape(shape)

    @cached_property
    def _decoder(self) -> PartDecoder:
        from ..._core import PartDecoder

        return PartDecoder(self)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __str__(self) -> str:
        words = "".join(f", {name}={value!r}" for name, value in self.settings().items())
        return f"tarflume.Image({self.recipe!r}{words})"

    def __repr__(self) -> str:
        words = "".join(f", {name}={value!r}" for name, value in self.settings().items())
        return f"transforms.Converted({self.recipe!r}{words})"
