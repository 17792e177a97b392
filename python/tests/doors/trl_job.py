"""The block of docs/FRAMEWORKS.md for trl: trains a tiny language model, is killed, and continues; in one process.

    trl_job.py BLOCK     in a folder with `texts/`, whose text n begins with the word `wN`; prints JSON
"""

from __future__ import annotations

import importlib.util
import json
import pathlib
import shutil
import sys
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

COUNT, BATCH, EPOCHS, KILL = 41, 8, 2, 8
WORDS = ["<pad>", "<eos>", "<unk>", "and", "more", "words"]


class Killed(BaseException):
    """The job is killed."""


def tokenizer() -> PreTrainedTokenizerFast:
    words = {word: number for number, word in enumerate([*WORDS, *(f"w{n}" for n in range(COUNT))])}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")


def trained(train: Any, kill: int | None) -> list[list[int]]:
    """The numbers of the texts of each batch, until the training ended or was killed."""
    seen: list[list[int]] = []

    def watch(module: torch.nn.Module, arguments: tuple[torch.Tensor]) -> None:
        if torch.is_grad_enabled():
            seen.append([int(row[0]) - len(WORDS) for row in arguments[0]])
            if kill is not None and len(seen) > kill:
                raise Killed

    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(WORDS) + COUNT, **sizes, **heads))
    model.get_input_embeddings().register_forward_pre_hook(watch)
    try:
        train(EPOCHS, model, tokenizer(), -(-COUNT // BATCH))
    except Killed:
        seen.pop()
    return seen


def main() -> None:
    spec = importlib.util.spec_from_file_location("block", sys.argv[1])
    assert spec is not None and spec.loader is not None
    block = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(block)
    whole = trained(block.train, None)
    shutil.rmtree("out")
    told = {"whole": whole, "first": trained(block.train, KILL), "rest": trained(block.train, None)}
    pathlib.Path("told.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
