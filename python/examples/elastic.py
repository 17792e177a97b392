"""Training that goes on when machines come and go: model and place in the data are saved together.

    torchrun --nnodes=1:4 --max-restarts=3 --rdzv-backend=c10d --rdzv-endpoint=HOST:29400 elastic.py SHARDS CHECKPOINT

When a machine dies, torchrun starts the workers again with the ranks that are left. The global batch stays the same, so
the batches of the job do, too. Batches after the last checkpoint are delivered again, because the model is the one of
the checkpoint. The ledger in the checkpoint proves at the end that each sample took part exactly once.
"""

import functools
import os
import sys

import torch
import torch.distributed as dist

import tarflume
import tarflume.torch

GLOBAL_BATCH, EVERY, EPOCHS = 48, 10, 2
shards, checkpoint = sys.argv[1:3]
dist.init_process_group("gloo")  # "nccl" on GPUs
rank, world_size = dist.get_rank(), dist.get_world_size()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3 * 32 * 32, 10))
loader = tarflume.torch.Loader(
    shards, batch_size=GLOBAL_BATCH // world_size, shuffle="full", seed=7, drop_last=True,
    image=tarflume.RandomResizedCrop(32), label="/class",
)  # fmt: skip
saved = torch.load(checkpoint) if os.path.exists(checkpoint) else None
if saved:
    model.load_state_dict(saved["model"])
    loader.load_state_dict(saved["loader"])
before = [tarflume.Ledger(saved["ledger"])] if saved else []


def delivered() -> tarflume.Ledger:
    """What all ranks have delivered, before and after the last start."""
    texts: list[str] = [""] * world_size
    dist.all_gather_object(texts, str(loader.ledger()))
    return functools.reduce(tarflume.Ledger.merge, before + [tarflume.Ledger(text) for text in texts])


def save() -> None:
    """Called by all ranks after the same step; a checkpoint is whole or it is the one before."""
    ledger = str(delivered())
    if rank == 0:
        torch.save({"model": model.state_dict(), "loader": loader.state_dict(), "ledger": ledger}, checkpoint + ".new")
        os.replace(checkpoint + ".new", checkpoint)
    dist.barrier()


optimizer = torch.optim.SGD(model.parameters(), 0.01)
while loader.current_epoch < EPOCHS:
    for step, batch in enumerate(loader, 1):
        optimizer.zero_grad()
        scores = model(batch["image"].flatten(1).float() / 255)
        torch.nn.functional.cross_entropy(scores, batch["label"]).backward()
        optimizer.step()
        if step % EVERY == 0:
            save()
    save()
expected = functools.reduce(tarflume.Ledger.merge, map(loader.expected, range(EPOCHS)))
delivered().prove(expected)
print(f"rank {rank} of {world_size}: {expected.samples} samples, each once in its epoch", flush=True)
