"""Blocks of docs/FRAMEWORKS.md in one rank: a training that is killed, or one that continues on other ranks.

    other_ranks_job.py killed|continued CASE...     in a folder with `CASE_RANKS.py`, `model.py`, and a folder for each CASE

Writes `killed-RANK.json` or `continued-RANK.json`: the labels of each batch that the model saw, by case.
"""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import sys

import torch.distributed
import trainers
from launched import meet

KILL = 5


def main() -> None:
    what, cases = sys.argv[1], sys.argv[2:]
    rank, ranks = meet()
    watch, told, here = trainers.Watch(), {}, os.getcwd()
    trainers.watched(watch)
    for case in cases:
        os.chdir(case)
        module = importlib.import_module(f"{case}_{ranks}")
        told[case] = trainers.trained(module, watch, KILL if what == "killed" else None)[0]
        os.chdir(here)
    pathlib.Path(f"{what}-{rank}.json").write_text(json.dumps(told))
    torch.distributed.barrier()


if __name__ == "__main__":
    main()
