"""Batches whose rows are alike: pictures of one shape, or texts of about one length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ._core import aspect_bucket, aspect_sizes
from .errors import UsageError

if TYPE_CHECKING:
    from ._core import Numbers

__all__ = ["Buckets"]


@dataclass(frozen=True)
class Buckets:
    """Into which bucket each sample belongs. All rows of a batch are of one bucket.

        buckets = tarflume.Buckets.aspect(pixels=1024 * 1024, step=64)
        loader = tarflume.Loader("shards/", image=tarflume.transforms.BucketCrop(), bucket=buckets,
                                 max_pixels=16 * 1024 * 1024, shuffle="full", seed=42)

    Make one by `Buckets.aspect`, `Buckets.of_sizes`, `Buckets.length` or `Buckets.by`.

    Attributes:
        kind: "aspect", "length" or "number".
        sizes: height and width of the pictures of each bucket; empty if buckets have none.
        bounds: the longest length of each bucket; empty if buckets have none.
        numbers: where the length or the number of each sample is found.
    """

    kind: Literal["aspect", "length", "number"]
    sizes: tuple[tuple[int, int], ...] = ()
    bounds: tuple[int, ...] = ()
    numbers: Numbers | None = None

    @classmethod
    def aspect(
        cls, pixels: int = 1024 * 1024, step: int = 64, *, min_side: int | None = None, max_side: int | None = None
    ) -> Buckets:
        """Pictures by their shape: sizes of at most `pixels` pixels whose sides are multiples of `step`.

        The sizes and the choice are those of kohya's sd-scripts. A picture is in the bucket whose ratio of width to height is
        nearest to its own. Sides are `min_side` to `max_side` pixels, by default a quarter of the side of the square to twice
        its side. Sizes of pictures are read from the sidecars; EXIF orientations are, too, where the sidecars have them.
        """
        return cls("aspect", sizes=tuple(aspect_sizes(pixels, step, min_side, max_side)))

    @classmethod
    def of_sizes(cls, sizes: Sequence[tuple[int, int]]) -> Buckets:
        """Pictures by their shape, with these sizes, each `(height, width)`."""
        return cls("aspect", sizes=tuple((int(height), int(width)) for height, width in sizes))

    @classmethod
    def length(cls, lengths: Numbers, bounds: Sequence[int]) -> Buckets:
        """Samples by a length: a bucket for the lengths up to each of `bounds`, which ascend.

        `lengths` is a pointer into the JSON part ("/tokens"), a part that contains a number, or an array with a whole number for
        each sample. Typed columns of the sidecars are used where they are there.
        """
        return cls("length", bounds=tuple(int(bound) for bound in bounds), numbers=lengths)

    @classmethod
    def by(cls, numbers: Numbers, sizes: Sequence[tuple[int, int]] = ()) -> Buckets:
        """Samples by the number of a bucket, from 0: a pointer, a part or an array as for `length`.

        With `sizes`, each `(height, width)`, `BucketCrop` gives the pictures of bucket n the size `sizes[n]`.
        """
        return cls("number", sizes=tuple((int(height), int(width)) for height, width in sizes), numbers=numbers)

    def bucket_of(self, height: int, width: int) -> int:
        """The number of the bucket of an upright picture of this size, as an index of `sizes`."""
        if self.kind != "aspect":
            raise UsageError("only buckets by shape have a bucket for a size: Buckets.aspect(), Buckets.of_sizes(...)")
        return aspect_bucket(list(self.sizes), height, width)
