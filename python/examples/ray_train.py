"""Training with Ray Train: each worker reads its share of the shards; model and place in the data are saved together.

    python ray_train.py SHARDS STORAGE

A worker that dies ends the attempt; the next one goes on at the last checkpoint, with any number of workers that
divides the global batch. No Ray Data takes part in a step.
"""

import functools
import os
import sys
import tempfile

import ray.train
import ray.train.torch
import torch
import torch.distributed as dist

import tarflume
import tarflume.torch

GLOBAL_BATCH, EVERY = 48, 10


def train(config: dict) -> None:
    """What each worker does."""
    world_size = dist.get_world_size()
    model = ray.train.torch.prepare_model(torch.nn.Linear(3 * 32 * 32, 10))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    loader = tarflume.torch.Loader(
        config["shards"], batch_size=GLOBAL_BATCH // world_size, shuffle="full", seed=7, drop_last=True,
        image=tarflume.RandomResizedCrop(32), label="/class",
    )  # fmt: skip
    before = []
    if checkpoint := ray.train.get_checkpoint():
        with checkpoint.as_directory() as folder:
            saved = torch.load(os.path.join(folder, "state"))
        model.load_state_dict(saved["model"])
        loader.load_state_dict(saved["loader"])
        before = [tarflume.Ledger(saved["ledger"])]
    for step, batch in enumerate(loader, 1):
        optimizer.zero_grad()
        scores = model(batch["image"].flatten(1).float() / 255)
        torch.nn.functional.cross_entropy(scores, batch["label"]).backward()
        optimizer.step()
        if step % EVERY == 0 or loader.current_epoch > 0:
            report(model, loader, before)
    report(model, loader, before)


def report(model: torch.nn.Module, loader: tarflume.torch.Loader, before: list[tarflume.Ledger]) -> None:
    """Saves a checkpoint of all workers."""
    texts: list[str] = [""] * dist.get_world_size()
    dist.all_gather_object(texts, str(loader.ledger()))
    ledger = functools.reduce(tarflume.Ledger.merge, before + [tarflume.Ledger(text) for text in texts])
    metrics = {"ledger": str(ledger), "expected": str(loader.expected(0))}
    with tempfile.TemporaryDirectory() as folder:
        state = {"model": model.state_dict(), "loader": loader.state_dict(), "ledger": str(ledger)}
        if dist.get_rank() == 0:
            torch.save(state, os.path.join(folder, "state"))
        checkpoint = ray.train.Checkpoint.from_directory(folder) if dist.get_rank() == 0 else None
        ray.train.report(metrics, checkpoint=checkpoint)


def fit(shards: str, storage: str, workers: int = 2) -> ray.train.Result:
    """Trains for an epoch; goes on after the death of a worker, three times at most."""
    trainer = ray.train.torch.TorchTrainer(
        train,
        train_loop_config={"shards": shards},
        scaling_config=ray.train.ScalingConfig(num_workers=workers),
        run_config=ray.train.RunConfig(
            storage_path=storage, failure_config=ray.train.FailureConfig(max_failures=3)
        ),
    )
    return trainer.fit()


if __name__ == "__main__":
    result = fit(sys.argv[1], sys.argv[2])
    tarflume.Ledger(result.metrics["ledger"]).prove(tarflume.Ledger(result.metrics["expected"]))
    print(f"{tarflume.Ledger(result.metrics['ledger']).samples} samples, each once")
