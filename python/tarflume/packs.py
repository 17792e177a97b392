"""Samples of different lengths in packs of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ._core import Numbers

__all__ = ["Pack"]


@dataclass(frozen=True)
class Pack:
    """Packs of at most `max_tokens` tokens. No sample is divided.

        columns = tarflume.token_columns(4096, labels=True, position_ids=True, segment_ids=True)
        loader = tarflume.Loader("shards/", columns=columns, pack=tarflume.Pack(4096, lengths="/tokens"),
                                 batch_size=8, shuffle="full", seed=42)

    Attributes:
        max_tokens: the tokens of a pack.
        lengths: the length of each sample: a pointer into the JSON part ("/tokens"), a part that contains a number, or an array
            with a whole number for each sample. Typed columns of the sidecars are used where they are there.
        window: so many samples of the order are packed among each other, longest first, each into the pack with the least room
            that is enough.
        max_samples: the most samples of a pack; by default sixteen times as many as a pack has on average, and at least 32.
        too_long: what becomes of a sample that is longer than a pack: "error"; "skip", it is left out; "cut", its first
            `max_tokens` tokens are delivered. `loader.stats()["packs"]["too_long"]` counts them.
    """

    max_tokens: int
    lengths: Numbers
    window: int = 4096
    max_samples: int | None = None
    too_long: Literal["error", "skip", "cut"] = "error"
