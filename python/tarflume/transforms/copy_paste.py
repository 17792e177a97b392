"""`CopyPaste`: objects of another row of a batch over a picture, for `tarflume.Loader(copy_paste=...)`."""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, asdict, dataclass, fields

from .arguments import Arguments

__all__ = ["CopyPaste"]


@dataclass(frozen=True, repr=False)
class CopyPaste:
    """Pastes objects of another row of the batch over a picture, by their masks.

        recipe = transforms.Compose([transforms.ScaleJitter((640, 640)), transforms.FixedSizeCrop((640, 640))])
        boxes = tarflume.Boxes("/boxes", format="xywh", labels="/category_index")
        masks = tarflume.Masks("/segmentation")
        loader = tarflume.Loader("shards/", batch_size=32, image=recipe, boxes=boxes, masks=masks,
                                 copy_paste=tarflume.CopyPaste(p=0.5))

    A random subset of the objects of one other row is pasted, at the places where they are there. Masks of the row's own
    objects lose the covered pixels. A box whose mask loses pixels becomes that of the rest, a point that is seen and is
    covered gets visibility 1, and an object of which too little is left is left out of all columns. The pasted objects come
    behind, with all their values. Each row gives objects to one row at most. Objects are pasted in Rust, before the batch is
    delivered, behind `mosaic` and before `mix`. A row that is padding, or a substitute for a bad sample, stays as it is and
    gives none. What is drawn depends on seed, epoch and the position of the batch: not on threads, and not on where a job was
    resumed.

    Attributes:
        image: the column of pictures, all of one size.
        p: the probability that objects are pasted over a row.
        object_p: the probability of each object of the other row to be pasted. With 0.5 all subsets are equally likely.
        min_area: an object that loses pixels is left out if fewer are left. It is left out without one in any case.
        min_visibility: an object that loses pixels is left out if less than this share of them is left.
    """

    image: str = "image"
    _: KW_ONLY
    p: float = 1.0
    object_p: float = 0.5
    min_area: float = 1.0
    min_visibility: float = 0.0

    def __post_init__(self) -> None:
        check = Arguments("CopyPaste")
        if not isinstance(self.image, str) or not self.image:
            raise check.wrong("image", self.image, "it is the name of a column")
        numbers = {
            "p": check.probability("p", self.p),
            "object_p": check.probability("object_p", self.object_p),
            "min_area": check.number("min_area", self.min_area, 0.0),
            "min_visibility": check.probability("min_visibility", self.min_visibility),
        }
        self.__dict__.update(numbers)

    def to_json(self) -> str:
        """The settings as JSON, as the Rust crate reads them."""
        return json.dumps(asdict(self))

    def __repr__(self) -> str:
        given = [field for field in fields(self) if getattr(self, field.name) != field.default]
        return f"tarflume.CopyPaste({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in given)})"
