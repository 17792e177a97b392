"""What each rank does in the tests that need several: torchrun starts it, each rank writes what it saw as JSON.

    torchrun --nproc-per-node 2 ranks.py each SHARDS OUT      every loader and data set, one epoch
    torchrun --nproc-per-node 2 ranks.py killed SHARDS OUT    saves a state, goes on, and rank 1 is killed
    torchrun --nproc-per-node 3 ranks.py resumed SHARDS OUT   goes on from the saved state
    torchrun --nproc-per-node 2 ranks.py accelerate SHARDS OUT   Accelerate prepares a loader and a data set
    torchrun --nproc-per-node 2 ranks.py dealt SHARDS OUT     Accelerate deals a data set out in all its ways
    python ranks.py lightning SHARDS OUT                      Lightning starts the second rank itself
    python ranks.py stragglers SHARDS OUT                     three ranks compare what they waited for
    python ranks.py started SHARDS OUT                        starts ranks that take a data set which was made before
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


def told(out: pathlib.Path, what: str, ranks: int) -> list:
    """What each rank wrote."""
    return [json.loads((out / f"{what}-{rank}-done.json").read_text()) for rank in range(ranks)]


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


class Played:
    """A loader with given numbers: of rank 1 reads are slow, and it waits for them."""

    def __init__(self, rank: int) -> None:
        self.slow = rank == 1

    def stats(self) -> dict[str, object]:
        consumer = {"busy_s": 50.0, "waiting_input_s": 42.0 if self.slow else 3.0, "waiting_output_s": 0.0, "items": 100}
        stage = {"waiting_input_s": 0.0, "waiting_output_s": 0.0, "items": 1000}
        stages = {"read": stage | {"busy_s": 1.0}, "decode": stage | {"busy_s": 20.0}, "consumer": consumer}
        asleep = 30.0 if self.slow else 0.5
        numbers = {"running_s": 101.0, "startup_s": 1.0, "reads_asleep_s": asleep, "bottleneck": "unknown", "stages": stages}
        return numbers | {"batch_wait_s": {"p95": 0.7 if self.slow else 0.01}, "verdict": "not sent"}


def stragglers(shards: str, out: pathlib.Path) -> None:
    torch.multiprocessing.start_processes(straggles, (shards, str(out)), nprocs=3, start_method="fork")


def straggles(rank: int, shards: str, out: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{out}/group", rank=rank, world_size=3)
    played = ours.stragglers(Played(rank))
    loader = ours.Loader(shards, batch_size=5, **WORDS)
    steps = len(seen(loader))
    two = torch.distributed.new_group([0, 2])
    some = ours.stragglers(Played(rank), group=two) if rank != 1 else None
    told = {"played": played, "text": str(played), "real": ours.stragglers(loader), "steps": steps, "some": some}
    (pathlib.Path(out) / f"stragglers-{rank}-done.json").write_text(json.dumps(told))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


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
    data = DataLoader(ours.Dataset(shards, batch_size=5, **words), batch_size=None)
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


def labels_alone(batch: dict) -> dict:
    return {"label": batch["label"]}


def dealt(shards: str, out: pathlib.Path) -> None:
    """Two epochs of each way, and the end of the second one from its third batch on."""
    from accelerate import Accelerator, DataLoaderConfiguration, skip_first_batches

    words = WORDS | {"label": "/n", "transform": labels_alone}
    told: dict[str, list] = {}
    for dispatch, split, workers in [(None, False, 0), (None, False, 3), (None, True, 3), (False, False, 0), (False, False, 3),
                                     (False, True, 3)]:  # fmt: skip
        config = DataLoaderConfiguration(dispatch_batches=dispatch, split_batches=split)
        accelerator = Accelerator(cpu=True, dataloader_config=config)
        data = ours.Dataset(shards, **words)
        loader = accelerator.prepare(DataLoader(data, batch_size=6, num_workers=workers))
        epochs = [[batch["label"].tolist() for batch in loader] for _ in range(2)]
        loader.set_epoch(1)
        rest = [batch["label"].tolist() for batch in skip_first_batches(loader, 3)]
        told[f"{dispatch} {split} {workers}"] = [*epochs, rest, [len(loader), len(data)]]
    given = ours.Dataset(shards, rank=accelerator.process_index, world_size=2, **words)
    whole = accelerator.prepare(DataLoader(given, batch_size=6))
    try:
        list(whole)
    except ours.datasets.UsageError as error:
        told["given"] = [str(error)]
    if accelerator.is_main_process:  # the other rank would wait for it
        skipping = ours.Dataset(shards, on_bad="skip", **words)
        dispatching = DataLoaderConfiguration(dispatch_batches=True)
        accelerator = Accelerator(cpu=True, dataloader_config=dispatching)
        try:
            list(accelerator.prepare(DataLoader(skipping, batch_size=6, num_workers=2)))
        except ours.datasets.UsageError as error:
            told["skip"] = [str(error)]
    told["counted"] = [counted(accelerator, shards, drop_last) for drop_last in (False, "pad", True)]
    stateful = DataLoaderConfiguration(use_stateful_dataloader=True)
    ahead = Accelerator(cpu=True, dataloader_config=stateful).prepare(DataLoader(ours.Dataset(shards, **words), batch_size=6))
    batches = iter(ahead)
    next(batches)
    ahead.load_state_dict(ahead.state_dict())
    try:
        list(ahead)
    except ours.datasets.UsageError as error:
        told["ahead"] = [str(error)]
    (out / f"dealt-{accelerator.process_index}-done.json").write_text(json.dumps(told))
    accelerator.wait_for_everyone()


def counted(accelerator: object, shards: str, drop_last: bool | str) -> list[int]:
    """What `gather_for_metrics` makes of a loader whose last batch repeats samples."""
    loader = ours.Loader(shards, batch_size=7, drop_last=drop_last, **(WORDS | {"label": "/n"}))
    gathered = [accelerator.gather_for_metrics(batch["label"]).tolist() for batch in loader]  # type: ignore[attr-defined]
    return sum(gathered, [])


def started(shards: str, out: pathlib.Path) -> None:
    for method in ("spawn", "fork"):
        words = {"batch_size": 5, **WORDS}
        sets = {0: ours.Dataset(shards, **words), 2: ours.Dataset(shards, **words)}
        place = (str(out), method, sets)
        torch.multiprocessing.start_processes(as_rank, place, nprocs=2, start_method=method)


def as_rank(rank: int, out: str, method: str, sets: dict[int, ours.Dataset]) -> None:
    """Three epochs of each data set. One rank begins when the other has ended, so that it would see its epoch."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{out}/{method}", rank=rank, world_size=2)
    told: dict[str, list] = {}
    for workers, data in sets.items():
        loader = DataLoader(data, batch_size=None, num_workers=workers, multiprocessing_context="fork" if workers else None)
        told[f"{workers}"] = []
        for _ in range(3):
            for turn in range(2):
                if turn == rank:
                    told[f"{workers}"].append(sum(seen(loader), []))
                torch.distributed.barrier()
    (pathlib.Path(out) / f"{method}-{rank}-done.json").write_text(json.dumps(told))
    torch.distributed.barrier()


def main() -> None:
    what, shards, out = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    alone = {"lightning": lightning, "accelerate": accelerate, "dealt": dealt, "started": started, "stragglers": stragglers}
    if what in alone:
        alone[what](shards, out)
        # A process that ends with its group may be ended by a thread of it.
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
        return
    torch.distributed.init_process_group("gloo")
    told = each(shards) if what == "each" else {"killed": killed, "resumed": resumed}[what](shards, out)
    (out / f"{what}-{torch.distributed.get_rank()}-done.json").write_text(json.dumps(told))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
