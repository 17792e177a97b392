"""Where the time went."""

from __future__ import annotations

from typing import Any

__all__ = ["Stats"]


class Stats(dict[str, Any]):
    """Numbers of a loader, in seconds, bytes and shares of 1; printed, a table that ends in a verdict.

    Keys: `threads`, `running_s`, `starved` (the share of its time that the consumer waited), `bottleneck`,
    `verdict`, `device` (which GPU, and why that one; None without), `hidden` (the share of the time of copies to a GPU that was hidden at least) and `ring` (how full its
    slots were when a batch was `asked` for: `occupancy`, a share, and how many were `missing`), both None without a
    GPU, `decoder` (what the GPU's own JPEG decoder did: `decoded`, `refused`, `why`, `share`, `waited_s`,
    `redone_s`), `warning`, `stages` (`plan`, `read`, `decode`, `batch`, `transform` if batches have one,
    `consumer`: each with `busy_s`, `waiting_input_s`, `waiting_output_s`, `items`, `bytes`), `functions` (what the
    functions given to `Apply` cost: `calls`, `busy_s`, `waiting_s` for the interpreter's lock),
    `jpeg_blocks_skipped`.
    """

    def __init__(self, facts: dict[str, Any], table: str) -> None:
        super().__init__(facts)
        self._table = table

    def __str__(self) -> str:
        return self._table

    def __reduce__(self) -> tuple[object, ...]:
        return (Stats, (dict(self), self._table))
