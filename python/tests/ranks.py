"""What each rank does in the tests that need several: torchrun starts it, each rank writes what it saw as JSON.

    torchrun --nproc-per-node 2 ranks.py each SHARDS OUT      every loader and data set, one epoch
    torchrun --nproc-per-node 2 ranks.py killed SHARDS OUT    saves a state, goes on, and rank 1 is killed
    torchrun --nproc-per-node 3 ranks.py resumed SHARDS OUT   goes on from the saved state
    torchrun --nproc-per-node 2 ranks.py accelerate SHARDS OUT   Accelerate prepares a loader and a data set
    python ranks.py lightning SHARDS OUT                      Lightning starts the second rank itself
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import sys
from collections.abc import Iterable

import torch
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
    loader = ours.Loader(shards, batch_size=5, **WORDS)
    loader.set_epoch(2)
    for step, _ in enumerate(loader, 1):
        if step == SAVED_AFTER:
            state = {"state": loader.state_dict(), "ledger": str(loader.ledger())}
            (out / f"killed-{rank}.json").write_text(json.dumps(state))
        torch.distributed.barrier()
        if step == KILLED_AFTER and rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)


def resumed(shards: str, out: pathlib.Path) -> dict[str, object]:
    loader = ours.Loader(shards, batch_size=5, **WORDS)
    loader.load_state_dict(json.loads((out / "killed-0.json").read_text())["state"])
    epoch = loader.current_epoch
    steps = len(seen(loader))
    return {"epoch": epoch, "steps": steps, "ledger": str(loader.ledger()), "after": loader.current_epoch}


def lightning(shards: str, out: pathlib.Path) -> None:
    """The loader is made before there is a process group; the second rank knows its WORLD_SIZE and no RANK."""
    from lightning import pytorch

    class Tiny(pytorch.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.seen = torch.nn.Linear(1, 1), []

        def training_step(self, batch: dict) -> torch.Tensor:
            self.seen.append(batch["key"])
            return self.model(batch["label"].float()[:, None]).mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 0.1)

    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    model, batches = Tiny(), ours.Loader(shards, batch_size=5, **WORDS)
    trainer = pytorch.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=1, **quiet)
    trainer.fit(model, batches)
    (out / f"lightning-{trainer.global_rank}-done.json").write_text(json.dumps(model.seen))
    trainer.strategy.barrier()


def accelerate(shards: str, out: pathlib.Path) -> None:
    """Accelerate makes the process group. It leaves a loader alone, and deals a data set out by itself."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = torch.nn.Linear(1, 1)
    # What it deals out must be tensors.
    words = WORDS | {"label": "/n", "transform": lambda batch: {"label": batch["label"]}}
    data = DataLoader(ours.Dataset(shards, batch_size=5, rank=0, world_size=1, **words), batch_size=None)
    made = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1), ours.Loader(shards, batch_size=5, **WORDS))
    model, optimizer, batches = made
    told: dict[str, list] = {"loader": [], "data set": []}
    for name, of in (("loader", batches), ("data set", accelerator.prepare(data))):
        for batch in of:
            told[name].append(list(batch["key"]) if "key" in batch else batch["label"].tolist())
            optimizer.zero_grad()
            accelerator.backward(model(batch["label"].float()[:, None]).mean())
            optimizer.step()
    (out / f"accelerate-{accelerator.process_index}-done.json").write_text(json.dumps(told))
    accelerator.wait_for_everyone()


def main() -> None:
    what, shards, out = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    if what in ("lightning", "accelerate"):
        return {"lightning": lightning, "accelerate": accelerate}[what](shards, out)
    torch.distributed.init_process_group("gloo")
    told = each(shards) if what == "each" else {"killed": killed, "resumed": resumed}[what](shards, out)
    (out / f"{what}-{torch.distributed.get_rank()}-done.json").write_text(json.dumps(told))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
