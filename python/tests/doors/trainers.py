"""Runs blocks of docs/FRAMEWORKS.md in one rank, and writes what their models saw as JSON.

    torchrun --nproc-per-node 2 trainers.py FOLDER     on two ranks; also without torchrun, on one

FOLDER/cases.json lists the cases: a module of FOLDER/code, and the steps at which a training is killed. Each case runs
in folders of its own: once to the end if nothing kills it, otherwise until the kill and then once more.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed

EPOCHS = 2


class Killed(BaseException):
    """The job is killed: no code of a trainer catches this."""


class Watch:
    """The labels of each batch on which a model was trained, and the step in which the job is killed."""

    def __init__(self) -> None:
        self.seen: list[list[int]] = []
        self.kill: int | None = None

    def __call__(self, labels: Any) -> None:
        self.seen.append(torch.as_tensor(labels).tolist())
        if self.kill is not None and len(self.seen) > self.kill:
            raise Killed


@contextlib.contextmanager
def within(folder: pathlib.Path, shards: pathlib.Path) -> Iterator[None]:
    """Runs in a folder in which the data set has the names of the page. All ranks share it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("shards", "val"):
        with contextlib.suppress(FileExistsError):
            (folder / name).symlink_to(shards)
    before = os.getcwd()
    os.chdir(folder)
    yield
    os.chdir(before)


def trained(module: Any, watch: Watch, kill: int | None) -> tuple[list[list[int]], Any]:
    """What a training saw until it ended or was killed, and its model."""
    watch.seen, watch.kill = [], kill
    model = None
    try:
        model = module.train(EPOCHS)
    except Killed:
        watch.seen.pop()
    together()
    return watch.seen, model


def together() -> None:
    if torch.distributed.is_initialized():
        torch.distributed.barrier()


def play(case: dict[str, Any], folder: pathlib.Path, watch: Watch) -> dict[str, Any]:
    module = importlib.import_module(case["module"])
    told: dict[str, Any] = {}
    for name, kill in case["kills"].items():
        with within(folder / case["name"] / name, folder / "set"):
            seen, model = trained(module, watch, kill)
            if kill is not None:
                told[name] = [seen, trained(module, watch, None)[0]]
                continue
            told[name] = seen
            if hasattr(module, "evaluate") and model is not None:
                watch.kill = None
                told["evaluated"] = torch.as_tensor(module.evaluate(model)).tolist()
    return told


def watched(watch: Watch) -> None:
    """Makes the models of the page tell their labels."""
    import model

    forward = model.Model.forward

    @functools.wraps(forward)  # Trainer reads the names of its arguments
    def told(self: Any, image: torch.Tensor, labels: torch.Tensor) -> Any:
        if torch.is_grad_enabled():
            watch(labels)
        return forward(self, image, labels)

    model.Model.forward = told


def watched_keras(watch: Watch) -> None:
    os.environ["KERAS_BACKEND"] = "torch"
    from keras.src.backend.torch.trainer import TorchTrainer

    if hasattr(TorchTrainer, "watched"):
        return
    step = TorchTrainer.train_step

    def told(self: Any, data: Any) -> Any:
        watch(data[1])
        return step(self, data)

    TorchTrainer.train_step, TorchTrainer.watched = told, True


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    sys.path.insert(0, str(folder / "code"))
    torch.set_num_threads(1)
    rank, watch, told = int(os.environ.get("RANK", "0")), Watch(), {}
    watched(watch)
    for case in json.loads((folder / "cases.json").read_text()):
        if "keras" in case["module"]:
            watched_keras(watch)
        told[case["name"]] = play(case, folder, watch)
        (folder / f"{rank}.json").write_text(json.dumps(told))
    together()


if __name__ == "__main__":
    main()
