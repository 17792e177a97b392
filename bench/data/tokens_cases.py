"""The cases of tokens.py that are Python: the tokenizer, Hugging Face datasets, both loaders. Prints KEY=VALUE."""
import itertools
import json
import pathlib
import sys
import time

import numpy as np

END = "<end>"


def train(corpus, tokenizer):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=16_384, special_tokens=[END], initial_alphabet=alphabet)
    with open(corpus) as lines:
        texts = [json.loads(line)["text"] for line in itertools.islice(lines, 4_000)]
    made.train_from_iterator(texts, trainer)
    made.save(tokenizer)


def blocks(corpus, tokenizer, folder, length):
    """Tokenizes and joins as the examples of transformers do, with files for the cache."""
    import datasets
    from tokenizers import Tokenizer

    datasets.disable_progress_bars()
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = datasets.load_dataset("json", data_files=corpus, split="train", cache_dir=str(folder / "json"))
    made = Tokenizer.from_file(tokenizer)
    end = made.token_to_id(END)

    def tokenize(rows):
        return {"ids": [encoding.ids + [end] for encoding in made.encode_batch_fast(rows["text"])]}

    def cut(rows):
        ids = list(itertools.chain.from_iterable(rows["ids"]))
        whole = len(ids) // length * length
        return {"input_ids": [ids[at : at + length] for at in range(0, whole, length)]}

    words = {"batched": True, "num_proc": 2, "remove_columns": ["text"]}
    ids = text.map(tokenize, cache_file_name=str(folder / "ids.arrow"), **words)
    words["remove_columns"] = ["ids"]
    return ids.map(cut, cache_file_name=str(folder / f"blocks-{length}.arrow"), **words)


def same(corpus, tokenizer, folder, prefix):
    """Compares the ids of all documents with those of `pack export --to megatron`."""
    import datasets
    from tokenizers import Tokenizer

    end = Tokenizer.from_file(tokenizer).token_to_id(END)
    files = sorted(pathlib.Path(folder).glob("ids_*.arrow")) or [pathlib.Path(folder) / "ids.arrow"]
    theirs = []
    for file in files:
        column = datasets.Dataset.from_file(str(file)).with_format("arrow")["ids"]
        theirs += [chunk.values.to_numpy() for chunk in getattr(column[:], "chunks", [column[:]])]
    theirs = np.concatenate(theirs)
    wide = Tokenizer.from_file(tokenizer).get_vocab_size() > 65_536
    ours = np.fromfile(f"{prefix}.bin", dtype="<i4" if wide else "<u2")
    if len(ours) != len(theirs) or not np.array_equal(ours, theirs):
        raise SystemExit(f"the ids differ: {len(ours)} of ours, {len(theirs)} of datasets")
    print(f"ids={len(ours)}\nends={int((ours == end).sum())}")


def deliver(batches):
    """Reads all batches; each is ids and labels [rows, length]."""
    start = time.monotonic()
    tokens = first = 0
    for ids, labels in batches:
        ids, labels = np.asarray(ids), np.asarray(labels)
        first = first or time.monotonic() - start
        assert ids.shape == labels.shape and ids.dtype == labels.dtype
        tokens += int(ids.shape[0]) * int(ids.shape[1])
    seconds = time.monotonic() - start
    print(f"tokens_per_s={tokens / seconds}\nfirst_s={first}\ntokens={tokens}")


def load(corpus, tokenizer, folder, length, batch):
    import torch

    data = blocks(corpus, tokenizer, folder, length).with_format("torch")
    loader = torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True, num_workers=2)
    deliver((rows["input_ids"], rows["input_ids"].clone()) for rows in loader)


def ours(shards, length, batch):
    import tarflume

    columns = tarflume.token_columns(length, labels=True)
    loader = tarflume.Loader(shards, batch_size=batch, shuffle="full", seed=1, columns=columns, num_threads=2)
    deliver((rows["input_ids"], rows["labels"]) for rows in loader.epoch(0))


def versions():
    import importlib.metadata

    names = ["datasets", "tokenizers", "torch", "tarflume"]
    known = {distribution.metadata["Name"] for distribution in importlib.metadata.distributions()}
    print("; ".join(f"{name} {importlib.metadata.version(name)}" for name in names if name in known))


def main():
    what, *words = sys.argv[1:]
    if what == "train":
        train(*words)
    elif what == "map":
        print(f"blocks={len(blocks(*words[:3], int(words[3])))}")
    elif what == "load":
        load(*words[:3], int(words[3]), int(words[4]))
    elif what == "same":
        same(*words)
    elif what == "ours":
        ours(words[0], int(words[1]), int(words[2]))
    else:
        versions()


if __name__ == "__main__":
    main()
