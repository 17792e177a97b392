"""What each rank does in the tests that need several: torchrun starts it, each rank writes what it saw as JSON.

    torchrun --nproc-per-node 2 ranks.py each SHARDS OUT      every loader and data set, one epoch
    torchrun --nproc-per-node 2 ranks.py killed SHARDS OUT    saves a state, goes on, and rank 1 is killed
    torchrun --nproc-per-node 3 ranks.py resumed SHARDS OUT   goes on from the saved state
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import sys
from collections.abc import Iterable

import torch.distributed
from torch.utils.data import DataLoader, DistributedSampler

import tarflume.torch as ours

WORDS = {"label": "/class", "shuffle": "full", "seed": 6}
SAVED_AFTER, KILLED_AFTER = 3, 5


def seen(batches: Iterable[dict], key: str = "key") -> list[list[str]]:
    return [list(batch[key]) for batch in batches]


def each(shards: str) -> dict[str, list[list[str]]]:
    made = {"loader": seen(ours.Loader(shards, batch_size=5, **WORDS))}
    whole = ours.Dataset(shards, batch_size=5, **WORDS)
    samples = ours.Dataset(shards, **WORDS)
    numbered = ours.MapDataset(shards, parts=["json"])
    made["alone"] = seen(whole)
    made["samples alone"] = [[sample["key"]] for sample in samples]
    for name, workers in (("in a DataLoader", 0), ("forked", 3), ("spawned", 1)):
        method = name.removesuffix("ed") if name != "in a DataLoader" else None
        more = {"num_workers": workers, "multiprocessing_context": method}
        whole.set_epoch(0)
        made[name] = seen(DataLoader(whole, batch_size=None, **more))
        if name != "spawned":
            made[f"samples {name}"] = seen(DataLoader(samples, batch_size=4, **more))
    sampler = DistributedSampler(numbered, seed=1)
    made["sampler"] = seen(DataLoader(numbered, batch_size=5, sampler=sampler), "__key__")
    return made


def killed(shards: str, out: pathlib.Path) -> None:
    rank = torch.distributed.get_rank()
    loader = ours.Loader(shards, batch_size=5, drop_last="pad", **WORDS)
    loader.set_epoch(2)
    for step, _ in enumerate(loader, 1):
        if step == SAVED_AFTER:
            state = {"state": loader.state_dict(), "ledger": str(loader.ledger())}
            (out / f"killed-{rank}.json").write_text(json.dumps(state))
        torch.distributed.barrier()
        if step == KILLED_AFTER and rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)


def resumed(shards: str, out: pathlib.Path) -> dict[str, object]:
    loader = ours.Loader(shards, batch_size=5, drop_last="pad", **WORDS)
    loader.load_state_dict(json.loads((out / "killed-0.json").read_text())["state"])
    epoch = loader.current_epoch
    steps = len(seen(loader))
    return {"epoch": epoch, "steps": steps, "ledger": str(loader.ledger()), "after": loader.current_epoch}


def main() -> None:
    what, shards, out = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    torch.distributed.init_process_group("gloo")
    told = each(shards) if what == "each" else {"killed": killed, "resumed": resumed}[what](shards, out)
    (out / f"{what}-{torch.distributed.get_rank()}-done.json").write_text(json.dumps(told))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
