"""The cases of fine_tuning.py that are Python: datasets with transformers, trl's packing, both loaders. Prints KEY=VALUE."""
import json
import pathlib
import sys
import time

import numpy as np

LENGTH, MULTIPLE = 2048, 8


def tokenizer_of(model):
    from transformers import PreTrainedTokenizerFast

    words = json.loads((pathlib.Path(model) / "tokenizer_config.json").read_text())
    made = PreTrainedTokenizerFast(tokenizer_file=str(pathlib.Path(model) / "tokenizer.json"), **words)
    made.chat_template = (pathlib.Path(model) / "chat_template.jinja").read_text()
    made.padding_side = "right"
    return made


def rows(chats, model, folder):
    """Renders, tokenizes, cuts and filters as the examples of transformers do, with a file for the cache."""
    import datasets

    datasets.disable_progress_bars()
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    made = tokenizer_of(model)
    data = datasets.load_dataset("json", data_files=chats, split="train", cache_dir=str(folder / "json"))

    def encode(batch):
        found = made.apply_chat_template(
            batch["messages"], tokenize=True, return_dict=True, return_assistant_tokens_mask=True, truncation=True, max_length=LENGTH
        )
        labels = [
            [own if mask else -100 for own, mask in zip(ids, masks, strict=True)]
            for ids, masks in zip(found["input_ids"], found["assistant_masks"], strict=True)
        ]
        return {"input_ids": found["input_ids"], "labels": labels}

    words = {"batched": True, "num_proc": 2, "remove_columns": data.column_names}
    return data.map(encode, cache_file_name=str(folder / "rows.arrow"), **words)


def same(chats, model, folder, out, length):
    """Compares ids and labels of all rows that have a label; `pack tokens` leaves the others out."""
    import tarflume

    columns = {kind: tarflume.Tokens(int(length), kind) for kind in ("ids", "labels", "mask")}
    theirs = (row for row in rows(chats, model, folder) if any(label != -100 for label in row["labels"][1:]))
    count = 0
    for batch in tarflume.Loader(out, batch_size=64, shuffle=None, columns=columns, drop_last=False):
        arrays = [np.asarray(batch[name]) for name in columns]
        for ids, labels, mask in zip(*arrays, strict=True):
            own, used = next(theirs), int(mask.sum())
            # The label of the first id is used by no model.
            if own["input_ids"] != ids[:used].tolist() or own["labels"][1:] != labels[1:used].tolist():
                raise SystemExit(f"row {count} differs")
            count += 1
    if next(theirs, None) is not None:
        raise SystemExit("datasets has more rows")
    print(f"rows={count}")


def deliver(batches):
    start = time.monotonic()
    rows = filled = all_ids = 0
    first = None
    for batch in batches:
        first = first or time.monotonic() - start
        mask = batch["attention_mask"]
        rows += mask.shape[0]
        filled += int(mask.sum())
        all_ids += mask.numel()
        assert batch["input_ids"].shape == batch["labels"].shape == mask.shape
    seconds = time.monotonic() - start
    print(f"rows_per_s={rows / seconds}\nfirst_s={first}\nfilled={filled / all_ids}\nrows={rows}")


def load(chats, model, folder, batch):
    import torch
    from transformers import DataCollatorForSeq2Seq

    data = rows(chats, model, folder)
    collate = DataCollatorForSeq2Seq(tokenizer_of(model), pad_to_multiple_of=MULTIPLE)
    deliver(torch.utils.data.DataLoader(data, batch_size=int(batch), shuffle=True, num_workers=2, collate_fn=collate, drop_last=True))


def ours(out, length, batch):
    import tarflume.torch

    columns = tarflume.token_columns(int(length), labels=True, attention_mask=True, pad="longest", multiple_of=MULTIPLE)
    deliver(tarflume.torch.Loader(out, batch_size=int(batch), shuffle="full", seed=1, columns=columns, num_threads=2))


def packed(chats, model, folder):
    """trl's packing by best fit, of rows that are cached."""
    from trl import pack_dataset

    data = rows(chats, model, folder).select_columns(["input_ids", "labels"])
    start = time.monotonic()
    made = pack_dataset(data, LENGTH, strategy="bfd")
    seconds = time.monotonic() - start
    ids = sum(len(row) for row in made["input_ids"])
    print(f"rows={len(made)}\nfilled={ids / (len(made) * LENGTH)}\npacking_s={seconds}")


def messages_of(row):
    return row["messages"]


def epoch(blocks):
    """Delivers blocks of `LENGTH` ids in batches."""
    start = time.monotonic()
    rows = 0
    first = None
    for ids, labels in blocks:
        first = first or time.monotonic() - start
        assert ids.shape == labels.shape and ids.shape[1] == LENGTH
        rows += ids.shape[0]
    print(f"epoch_s={time.monotonic() - start}\nfirst_s={first}\nrows={rows}")


def titan(chats, model, folder, batch):
    """torchtitan's loader of conversations, which renders, tokenizes and packs while it loads, in one worker: each of several
    would deliver all conversations."""
    from torchtitan.components.tokenizer import HuggingFaceTokenizer
    from torchtitan.hf_datasets.text_datasets import ChatDataLoader

    given = {"data_files": chats, "split": "train", "cache_dir": str(pathlib.Path(folder) / "json")}
    config = ChatDataLoader.Config(
        dataset_path="json", load_dataset_kwargs=given, sample_processor=messages_of, infinite=False, num_workers=1,
        prefetch_factor=2,
    )  # fmt: skip
    loader = ChatDataLoader(
        config, dp_world_size=1, dp_rank=0, tokenizer=HuggingFaceTokenizer(tokenizer_path=model), seq_len=LENGTH,
        local_batch_size=int(batch),
    )  # fmt: skip
    epoch((columns["input"], labels) for columns, labels in loader)


def blocks(out, length, batch):
    import tarflume.torch

    columns = tarflume.token_columns(int(length), labels=True)
    loader = tarflume.torch.Loader(out, batch_size=int(batch), shuffle="full", seed=1, columns=columns, num_threads=2)
    epoch((rows["input_ids"], rows["labels"]) for rows in loader)


def versions():
    import importlib.metadata

    names = ["datasets", "transformers", "tokenizers", "trl", "torch", "torchtitan"]
    print("; ".join(f"{name} {importlib.metadata.version(name)}" for name in names))


def main():
    what, *words = sys.argv[1:]
    if what == "map":
        print(f"rows={len(rows(*words))}")
    else:
        {"same": same, "load": load, "ours": ours, "packed": packed, "titan": titan, "blocks": blocks, "versions": versions}[what](*words)


if __name__ == "__main__":
    main()
