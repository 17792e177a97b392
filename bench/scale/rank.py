#!/usr/bin/env python3
"""One rank of a training job, for nodes.py: `rank.py SHARDS CHECKPOINTS RANK WORLD GLOBAL_BATCH THREADS EVERY`.

Reads one epoch, exactly shuffled, and decodes each picture. After each EVERY steps it writes its ledger, and rank 0 the
state of the loader; it continues when all ranks have done so, as a training job does that saves a checkpoint. A state
in CHECKPOINTS/state.json is where it begins. Prints one line of JSON at its first batch and one at its end.
"""

from __future__ import annotations

import json
import mmap
import os
import pathlib
import struct
import sys
import time

import tarflume

WORD = struct.Struct("<q")


class Steps:
    """The number of steps that each rank has finished: a shared file with eight bytes for each rank."""

    def __init__(self, path: pathlib.Path, rank: int, world: int) -> None:
        with path.open("r+b") as file:
            self.map = mmap.mmap(file.fileno(), world * WORD.size)
        self.rank, self.world = rank, world

    def arrive(self, step: int) -> None:
        """Waits for all ranks."""
        WORD.pack_into(self.map, self.rank * WORD.size, step)
        while min(struct.unpack_from(f"<{self.world}q", self.map)) < step:
            time.sleep(0.005)


def write(path: pathlib.Path, value: object) -> None:
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value))
    os.replace(new, path)


def main() -> None:
    shards, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    rank, world, batch, threads, every = map(int, sys.argv[3:8])
    begun = time.monotonic()
    loader = tarflume.Loader(
        shards, batch_size=batch // world, shuffle="full", seed=7, rank=rank, world_size=world, drop_last="uneven",
        num_threads=threads, image=tarflume.RandomResizedCrop(16),
    )  # fmt: skip
    start = folder / "state.json"
    if start.exists():
        loader.load_state_dict(json.loads(start.read_text()))
    opened = time.monotonic() - begun
    steps = Steps(folder / "steps", rank, world)
    for step, _ in enumerate(loader.epoch(0), 1):
        if step == 1:
            print(json.dumps({"open_s": opened, "first_batch_s": time.monotonic() - begun}), flush=True)
        if step % every == 0:
            write(folder / f"{step}-{rank}.json", str(loader.ledger()))
            if rank == 0:
                write(folder / f"{step}-state.json", loader.state_dict())
            steps.arrive(step)
    WORD.pack_into(steps.map, rank * WORD.size, 2**62)  # nobody waits for this rank
    print(json.dumps({"ledger": str(loader.ledger()), "expected": str(loader.expected(0))}), flush=True)


if __name__ == "__main__":
    main()
