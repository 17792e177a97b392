"""The blocks of docs/frameworks/sft.md in one of two ranks: trains a tiny model whose weights stay as they are, is
killed in the middle of the second epoch, and continues.

    sft_job.py CASE...     in a folder with a folder CASE, which has `case.py` (a block), `rows.py`, `sft/` and `val/`

Writes `CASE/RANK.json`: what the model saw, and what the trainer told. The first rank also writes `losses.json`: those
of the conversations of `oracle.json` (ids, and labels of `apply_chat_template`), each computed alone.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pathlib
import shutil
import sys
from typing import Any

import chat_golden
import torch
import torch.distributed
from launched import meet
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.trainer_callback import PrinterCallback, ProgressCallback

EPOCHS, IGNORED = 2, -100
Row = dict[str, list[int]]


class Killed(BaseException):
    """The job is killed."""


def made() -> LlamaForCausalLM:
    """The same model each time. Large weights: the losses of ids differ much, so a wrong mask is seen."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "vocab_size": 1024}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(**sizes, **heads, initializer_range=1.0, max_position_embeddings=2048))
    model.config.use_cache = False
    return model


class Watch:
    """The rows of each batch, in training and in evaluations."""

    def __init__(self, kill: int | None) -> None:
        self.kill, self.trained, self.evaluated = kill, [], []

    def __call__(self, module: torch.nn.Module, args: tuple[Any, ...], words: dict[str, Any]) -> None:
        names = ("input_ids", "labels", "attention_mask", "position_ids")
        batch = {name: words[name].tolist() for name in names if words.get(name) is not None}
        if not torch.is_grad_enabled():
            self.evaluated.append(batch)
            return
        if self.kill is not None and len(self.trained) == self.kill:
            raise Killed
        self.trained.append(batch)


def played(module: Any, kill: int | None) -> tuple[Watch, Any]:
    """A training until it ended or was killed."""
    model, watch = made(), Watch(kill)
    model.register_forward_pre_hook(watch, with_kwargs=True)
    words = {"tokenizer": chat_golden.tokenizer_of("qwen-2.5-training")}
    wanted = inspect.signature(module.train).parameters
    trainer = None
    try:
        trainer = module.train(EPOCHS, model, **{name: own for name, own in words.items() if name in wanted})
    except Killed:
        pass
    torch.distributed.barrier()
    return watch, trainer


def losses(model: LlamaForCausalLM, ids: list[int], labels: list[int]) -> tuple[float, int]:
    """The sum of the losses of one conversation alone, and the number of its labels."""
    with torch.no_grad():
        scores = model(input_ids=torch.tensor([ids])).logits[0, :-1].double()
    wanted = torch.tensor(labels)[1:]
    return float(torch.nn.functional.cross_entropy(scores, wanted, reduction="sum")), int((wanted != IGNORED).sum())


def by_hand(oracle: list[Row]) -> list[tuple[float, int]]:
    model = made().eval()
    return [losses(model, row["ids"], row["labels"]) for row in oracle]


def case(name: str, rank: int) -> None:
    os.chdir(name)
    for module in ("rows", "case"):
        sys.modules.pop(module, None)
    sys.path[0] = os.getcwd()
    module = importlib.import_module("case")
    whole, trainer = played(module, None)
    told = {"whole": whole.trained, "evaluated": whole.evaluated, "log": trainer.state.log_history}
    if rank == 0:
        shutil.rmtree("out")
    torch.distributed.barrier()
    told["first"] = played(module, len(whole.trained) - 2)[0].trained
    told["rest"] = played(module, None)[0].trained
    pathlib.Path(f"{rank}.json").write_text(json.dumps(told))
    os.chdir("..")


def main() -> None:
    rank, _ = meet()
    for callback in (PrinterCallback, ProgressCallback):  # this is no terminal
        callback.on_log = lambda *_, **__: None
    if rank == 0:
        pathlib.Path("losses.json").write_text(json.dumps(by_hand(json.loads(pathlib.Path("oracle.json").read_text()))))
    for name in sys.argv[1:]:
        case(name, rank)
    torch.distributed.barrier()


if __name__ == "__main__":
    main()
