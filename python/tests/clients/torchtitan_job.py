"""The block of docs/frameworks/torchtitan.md in one rank, with the checkpointer of torchtitan.

    torchtitan_job.py save|load STEPS     in a folder with `block.py`, `tokens/`, and for `load` with `checkpoint/`

Takes batches as torchtitan's trainer takes them, and writes those of each rank to `save-RANK.json` or `load-RANK.json`.
"""

from __future__ import annotations

import json
import pathlib
import sys

import torch
import torch.distributed
from block import TokenLoader
from launched import meet
from torchtitan.components.checkpoint import CheckpointManager

BATCH, LENGTH = 2, 16


class Empty:
    """The state of an optimizer that has none."""

    def state_dict(self) -> dict[str, int]:
        return {"steps": 1}

    def load_state_dict(self, state: dict[str, int]) -> None:
        assert state == {"steps": 1}


def main() -> None:
    what, steps = sys.argv[1], int(sys.argv[2])
    rank, ranks = meet()
    config = TokenLoader.Config(dataset_path="tokens/", seed=3)
    words = {"dp_world_size": ranks, "dp_rank": rank, "tokenizer": None, "snapshot_every_n_steps": None}
    loader = config.build(seq_len=LENGTH, local_batch_size=BATCH, **words)
    keeper = CheckpointManager.Config(enable=True, folder="checkpoint", interval=1).build(
        dataloader=loader, model_parts=[torch.nn.Linear(2, 2)], optimizers=Empty(), lr_schedulers=Empty(), states={},
        sd_adapter=None, base_folder=".",
    )  # fmt: skip
    if what == "load":
        assert keeper.load()
    batches, seen = iter(loader), []
    for step in range(1, steps + 1):
        inputs, labels = next(batches)
        seen.append([inputs["input"].tolist(), inputs["positions"].tolist(), labels.tolist()])
        if what == "save":
            keeper.save(step)
    once = TokenLoader.Config(dataset_path="tokens/", infinite=False).build(seq_len=LENGTH, local_batch_size=5, **words)
    last = [inputs["input"].tolist() for inputs, _ in once]
    pathlib.Path(f"{what}-{rank}.json").write_text(json.dumps({"trained": seen, "validated": last}))
    torch.distributed.barrier()
    keeper.close()


if __name__ == "__main__":
    main()
