"""Batches of tokens that are as long as their longest row, beside the collator of transformers."""

from __future__ import annotations

import json
import warnings

import chat_golden
import numpy as np
import pytest

import tarflume
from tarflume import errors

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TOKENIZER = chat_golden.CHAT / "tokenizers" / "bytes" / "tokenizer.json"
TEMPLATE = chat_golden.CHAT / "templates" / "qwen-2.5-training.jinja"
# The template refuses contents that are no text.
CHATS = [
    own
    for own in chat_golden.CONVERSATIONS.values()
    if "tools" not in own and all(isinstance(message.get("content"), str) for message in own["messages"])
]
PAD = 3


@pytest.fixture(scope="module")
def sft(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sft")
    source = folder / "chats.jsonl"
    source.write_text("".join(json.dumps(own) + "\n" for own in CHATS * 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = tarflume.pack.tokens(
            source, folder / "out", tokenizer=TOKENIZER, chat_template=TEMPLATE, messages="messages",
            mask_prompt=True, fsync=False,
        )  # fmt: skip
    return folder / "out", report["length"], report["samples"]


def features(out, length, order):
    """The rows by ordinal, as a collator takes them: without padding."""
    columns = {kind: tarflume.Tokens(length, kind) for kind in ("ids", "labels", "mask")}
    found = {}
    for batch in tarflume.Loader(out, batch_size=4, shuffle=None, columns=columns):
        for row, ordinal in enumerate(np.asarray(batch.ordinals)):
            used = int(np.asarray(batch["mask"])[row].sum())
            found[int(ordinal)] = {
                "input_ids": np.asarray(batch["ids"])[row, :used].tolist(),
                "labels": np.asarray(batch["labels"])[row, :used].tolist(),
            }
    return [found[ordinal] for ordinal in order]


@pytest.mark.parametrize("multiple", [1, 8, 64])
@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_batches_are_those_of_the_collator_of_transformers(sft, multiple, batch_size):
    out, length, samples = sft
    length = -(-length // multiple) * multiple
    tokenizer = chat_golden.tokenizer_of("qwen-2.5-training")
    tokenizer.padding_side = "right"
    tokenizer.pad_token = tokenizer.convert_ids_to_tokens(PAD)
    collate = transformers.DataCollatorForSeq2Seq(tokenizer, pad_to_multiple_of=multiple)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no warning about the mask of one document
        columns = tarflume.token_columns(
            length, labels=True, attention_mask=True, padding=PAD, pad="longest", multiple_of=multiple
        )
    words = {"batch_size": batch_size, "shuffle": "full", "seed": 5, "columns": columns, "drop_last": False}
    widths, seen = set(), []
    for batch, tensors in zip(tarflume.Loader(out, **words), tarflume.torch.Loader(out, **words), strict=True):
        ordinals = np.asarray(batch.ordinals).tolist()
        expected = collate(features(out, length, ordinals))
        for name in ("input_ids", "labels", "attention_mask"):
            assert tensors[name].dtype == torch.int64 and torch.equal(tensors[name], expected[name]), name
            assert np.array_equal(np.asarray(batch[name]), expected[name].numpy()), name
        widths.add(tensors["input_ids"].shape[1])
        seen += ordinals
    assert sorted(seen) == list(range(samples))
    assert len(widths) > 1 and all(width % multiple == 0 for width in widths)


def test_memory_of_a_batch_is_not_that_of_an_earlier_one(sft):
    """Batches reuse memory: what is behind a short row is never what a longer one has left."""
    out, length, _ = sft
    columns = {"ids": tarflume.Tokens(length, padding=PAD, pad="longest"), "mask": tarflume.Tokens(length, "mask", pad="longest")}
    for epoch in range(3):
        loader = tarflume.Loader(out, batch_size=2, shuffle="full", seed=epoch, columns=columns)
        for batch in loader:
            ids, mask = np.asarray(batch["ids"]), np.asarray(batch["mask"])
            assert ids.shape == mask.shape and mask.sum(1).max() == mask.shape[1]
            assert (ids[mask == 0] == PAD).all()


def test_a_longer_row_than_the_limit_is_an_error(sft):
    out, length, _ = sft
    columns = {"ids": tarflume.Tokens(length - 1, pad="longest")}
    with pytest.raises(errors.DecodeError, match="give the length of the data"):
        list(tarflume.Loader(out, batch_size=4, columns=columns))


def test_wrong_words_are_refused():
    for words, text in [
        ({"pad": "max"}, 'pad= is "length" or "longest"'),
        ({"multiple_of": 8}, 'multiple_of= is for pad="longest"'),
        ({"pad": "longest", "multiple_of": 7}, "give a multiple"),
    ]:
        with pytest.raises(errors.UsageError, match=text):
            tarflume.Tokens(2048, **words)


def test_rows_of_a_torch_loader_can_be_padded(sft):
    out, _, _ = sft
    columns = {"loss": tarflume.Npy("int32", "loss.npy")}
    for batch in tarflume.torch.Loader(out, batch_size=4, shuffle="full", columns=columns):
        rows = batch["loss"]
        assert isinstance(rows, list) and isinstance(rows, tarflume.torch.Rows)
        values, lengths = rows.padded(-1)
        expected = torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True, padding_value=-1)
        assert torch.equal(values, expected) and values.dtype == torch.int32
        assert lengths.tolist() == [len(row) for row in rows]
        moved = torch.utils._pytree.tree_map(lambda own: own + 1, rows)
        assert isinstance(moved, tarflume.torch.Rows) and torch.equal(moved.padded(0)[0], expected + 1)
