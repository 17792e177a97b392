"""`Mosaic`: one picture of four rows of a batch, for `tarflume.Loader(mosaic=...)`."""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, asdict, dataclass, fields

from .arguments import Arguments

__all__ = ["Mosaic"]


@dataclass(frozen=True, repr=False)
class Mosaic:
    """Mosaics of four rows of each batch, with the boxes, masks and points that lie on them.

        recipe = transforms.Compose([transforms.ScaleJitter(640), transforms.FixedSizeCrop(640)])
        boxes = tarflume.Boxes("/boxes", format="xywh", labels="/category_index")
        loader = tarflume.Loader("shards/", batch_size=32, image=recipe, boxes=boxes, mosaic=tarflume.Mosaic(p=0.5))

    A row shows a part of its own picture at the upper left, and parts of three other rows of its batch. Each row is in four
    mosaics, if `p` is 1. The pictures are shifted; what shall change their size is part of the recipe. Mosaics are made in
    Rust, before the batch is delivered, and before `mix`. A row that is padding, or a substitute for a bad sample, stays as it
    is and is in no mosaic. What is drawn depends on seed, epoch and the position of the batch: not on threads, and not on
    where a job was resumed.

    Attributes:
        image: the column of pictures, all of one size.
        p: the probability that a row becomes a mosaic.
        center_range: where the four pictures meet, as the least and the largest part of the width and of the height.
        min_size: boxes whose visible part has a shorter side, in pixels, are left out, with the values of their objects.
        min_visibility: boxes of whose area less is visible are left out. Without boxes, an object without a pixel of its mask,
            or without a visible point, is left out.
    """

    image: str = "image"
    _: KW_ONLY
    p: float = 1.0
    center_range: tuple[float, float] = (0.3, 0.7)
    min_size: float = 1.0
    min_visibility: float = 0.1

    def __post_init__(self) -> None:
        check = Arguments("Mosaic")
        if not isinstance(self.image, str) or not self.image:
            raise check.wrong("image", self.image, "it is the name of a column")
        least, most = self._range(check)
        numbers = {
            "p": check.probability("p", self.p),
            "center_range": (least, most),
            "min_size": check.number("min_size", self.min_size, 0.0),
            "min_visibility": check.probability("min_visibility", self.min_visibility),
        }
        self.__dict__.update(numbers)

    def _range(self, check: Arguments) -> tuple[float, float]:
        advice = "it is the least and the largest part of a side, such as (0.3, 0.7)"
        try:
            least, most = (check.probability("center_range", part) for part in self.center_range)
        except (TypeError, ValueError) as error:
            raise check.wrong("center_range", self.center_range, advice) from error
        if least > most:
            raise check.wrong("center_range", self.center_range, advice)
        return least, most

    def to_json(self) -> str:
        """The settings as JSON, as the Rust crate reads them."""
        return json.dumps(asdict(self))

    def __repr__(self) -> str:
        given = [field for field in fields(self) if getattr(self, field.name) != field.default]
        return f"tarflume.Mosaic({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in given)})"
