"""Instruction tuning of a small transformer on the CPU: prompts have no loss, and a run that was killed goes on.

    pack tokens chats.jsonl -o sft/ --tokenizer model/tokenizer.json --messages messages --mask-prompt
    python sft.py sft/ checkpoint.pt [--steps 60] [--batch 8] [--length 256]

Each batch is as long as its longest conversation. Model, optimizer and the place in the data are saved together after
every ten steps, so the same command goes on after a kill, with the same losses. `--length` is the limit of a row.
"""

import argparse
import itertools
import os

import torch
from torch import nn
from torch.nn import functional

import tarflume
import tarflume.torch

EVERY = 10


class Small(nn.Module):
    """A causal transformer of two layers."""

    def __init__(self, vocabulary: int, length: int, width: int = 64) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.scores = nn.Linear(width, vocabulary)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        length = input_ids.shape[1]
        later = nn.Transformer.generate_square_subsequent_mask(length)
        hidden = self.tokens(input_ids) + self.places(torch.arange(length))
        padding = torch.zeros(attention_mask.shape).masked_fill(attention_mask == 0, -torch.inf)
        return self.scores(self.layers(hidden, mask=later, src_key_padding_mask=padding, is_causal=True))


def loss_of(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Each id is predicted from those before it; prompts and padding have the label -100 and are left out."""
    return functional.cross_entropy(scores[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)


def train(shards: str, checkpoint: str, steps: int, batch: int, length: int, vocabulary: int) -> None:
    """Trains until step `steps`, from the checkpoint if there is one. Prints the loss of each step."""
    torch.manual_seed(0)
    columns = tarflume.token_columns(length, labels=True, attention_mask=True, pad="longest", multiple_of=8)
    loader = tarflume.torch.Loader(shards, batch_size=batch, shuffle="full", seed=1, drop_last=True, columns=columns)
    model = Small(vocabulary, length)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    step = 0
    if os.path.exists(checkpoint):
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])
        step = saved["step"]
    for rows in itertools.chain.from_iterable(loader for _ in itertools.count()):
        if step == steps:
            return
        loss = loss_of(model(rows["input_ids"], rows["attention_mask"]), rows["labels"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        print(f"step {step}: {loss.item():.6f}", flush=True)
        if step % EVERY == 0:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict(), "step": step}
            torch.save(state, checkpoint + ".new")
            os.replace(checkpoint + ".new", checkpoint)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("shards")
    ap.add_argument("checkpoint")
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--length", type=int, default=256)
    ap.add_argument("--vocabulary", type=int, default=1024, help="at least the number of ids of the tokenizer [1024]")
    x = ap.parse_args()
    train(x.shards, x.checkpoint, x.steps, x.batch, x.length, x.vocabulary)


if __name__ == "__main__":
    main()
