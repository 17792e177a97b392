"""The block of docs/frameworks/open-clip.md in one rank: open_clip's own loop trains a tiny CLIP and evaluates it.

    open_clip_job.py [FIRST]     in a folder with `block.py` and `shards/`; FIRST is the first of two epochs

Writes `RANK.json`: the sums of the pixels of each picture and the ids of each text, by epoch, as the model saw them.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys

import block  # noqa: F401
import open_clip
import torch
from launched import meet
from open_clip.transform import image_transform
from open_clip_train.data import get_data
from open_clip_train.train import evaluate, train_one_epoch

EPOCHS = 2


def tiny() -> torch.nn.Module:
    vision = {"image_size": 32, "layers": 1, "width": 64, "patch_size": 16}
    text = {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 1}
    return open_clip.model.CLIP(16, vision, text, output_dict=True)


def main() -> None:
    first = int(sys.argv[1])
    rank, ranks = meet()
    words = {
        "train_data": "shards/", "val_data": "shards/", "dataset_type": "webdataset", "train_num_samples": None,
        "val_num_samples": None, "batch_size": 4, "workers": 4, "world_size": ranks, "rank": rank, "seed": 3, "device": "cpu",
        "precision": "fp32", "distill": False, "accum_freq": 1, "skip_scheduler": True, "grad_clip_norm": None,
        "log_every_n_steps": 1, "wandb": False, "horovod": False, "distributed": False, "val_frequency": 1, "epochs": EPOCHS,
        "local_rank": rank, "log_local": False, "imagenet_val": None, "imagenet_v2": None, "zeroshot_frequency": 0,
        "save_logs": False, "log_path": None,
    }  # fmt: skip
    args, tokenizer = argparse.Namespace(**words), open_clip.get_tokenizer("ViT-B-32")
    preprocess = image_transform(32, is_train=False)
    data = get_data(args, (preprocess, preprocess), first, tokenizer)
    model, told = tiny(), []

    def watch(module: torch.nn.Module, given: tuple[torch.Tensor, torch.Tensor]) -> None:
        images, texts = given
        told[-1].append([[round(float(image.double().sum()), 3) for image in images], texts.tolist()])

    model.register_forward_pre_hook(watch)
    loss = open_clip.ClipLoss()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    for epoch in range(first, EPOCHS):
        told.append([])
        train_one_epoch(model, data, loss, epoch, optimizer, None, None, None, args)
    told.append([])
    evaluate(model, data, EPOCHS, args, tokenizer=tokenizer)
    sizes = [data["train"].dataloader.num_batches, data["train"].dataloader.num_samples, data["val"].dataloader.num_samples]
    pathlib.Path(f"{first}-{rank}.json").write_text(json.dumps({"seen": told, "sizes": sizes}))
    torch.distributed.barrier()


if __name__ == "__main__":
    main()
