"""Where the time went."""

from __future__ import annotations

from typing import Any

__all__ = ["Stats"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Stats(dict[str, Any]):
    """Numbers of a loader, in seconds, bytes and shares of 1; printed, a table that ends in a verdict.

    Keys:

    - `threads`, `running_s`, `starved` (the share of its time that the consumer waited).
    - `verdict`: what limits the rate and what would help. `bottleneck`, the same in a word: "storage", "decode",
      "functions", "memory" (the bound has no room for another batch), "prefetch" (too few batches are prepared at
      once), "consumer", "transform", "balanced" (loader and consumer are about equally fast), "loader" (nothing but
      its own work), "upload", "decoder", or "unknown", where it can't be told.
    - `stages` (`plan`, `read`, `decode`, `batch`, `transform` if batches have one, `consumer`: each with `busy_s`,
      `waiting_input_s`, `waiting_output_s`, `items`, `bytes`).
    - `idle_s`: what idle threads waited for, in seconds of all threads: `consumer`, `memory`, `prefetch`, `plan`,
      `input`, `wake`, `end`. `reads_asleep_s`: how long threads slept in reads. `startup_s`: how long the first
      batches of epochs were waited for.
    - `functions` (what the functions given to `Apply` cost: `calls`, `busy_s`, `waiting_s` for the interpreter's
      lock), `jpeg_blocks_skipped`.
    - With a GPU: `device` (which one, and why that one), `hidden` (the share of the time of copies that was hidden at
      least), `ring` (how full its slots were
      when a batch was `asked` for: `occupancy`, a share, and how many were `missing`), `decoder` (what the GPU's own
      JPEG decoder did: `decoded`, `refused`, `why`, `share`, `waited_s`, `redone_s`), `warning`; None without.
    """

    def __init__(self, facts: dict[str, Any], table: str) -> None:
        super().__init__(facts)
        self._table = table

    def __str__(self) -> str:
        return self._table

    def __reduce__(self) -> tuple[object, ...]:
        return (Stats, (dict(self), self._table))
