"""`pack.tokens` over conversations: rows beside `apply_chat_template`, from files and from folders of `datasets`."""

from __future__ import annotations

import json
import warnings

import chat_golden
import numpy as np
import pytest

import tarflume
from tarflume import errors

TOKENIZER = chat_golden.CHAT / "tokenizers" / "bytes" / "tokenizer.json"
# With blocks `{% generation %}`, so transformers tells what the assistant writes.
NAME = "qwen-2.5-training"
TEMPLATE = chat_golden.CHAT / "templates" / f"{NAME}.jinja"
# The template refuses contents that are no text.
CHATS = [
    own
    for own in chat_golden.CONVERSATIONS.values()
    if "tools" not in own and all(isinstance(message.get("content"), str) for message in own["messages"])
]


def expected(made, conversation):
    found = made.apply_chat_template(
        conversation["messages"],
        tools=conversation.get("tools"),
        tokenize=True,
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    labels = [own if mask else -100 for own, mask in zip(found["input_ids"], found["assistant_masks"], strict=True)]
    return found["input_ids"], [-100, *labels[1:]]


def packed(source, out, **words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tarflume.pack.tokens(
            source, out, tokenizer=TOKENIZER, chat_template=TEMPLATE, messages="messages", fsync=False, **words
        )


def rows(out, report):
    columns = {
        "ids": tarflume.Tokens(report["length"]),
        "labels": tarflume.Tokens(report["length"], "labels"),
        "mask": tarflume.Tokens(report["length"], "mask"),
    }
    found = []
    for batch in tarflume.Loader(out, batch_size=3, shuffle=None, columns=columns):
        arrays = {name: np.asarray(batch[name]) for name in columns}
        for ids, labels, mask in zip(arrays["ids"], arrays["labels"], arrays["mask"], strict=True):
            used = int(mask.sum())
            assert (labels[used:] == -100).all()
            found.append((ids[:used].tolist(), labels[:used].tolist()))
    return found


@pytest.fixture
def truth():
    made = chat_golden.tokenizer_of(NAME)
    pairs = [expected(made, conversation) for conversation in CHATS]
    return [pair for pair in pairs if any(label != -100 for label in pair[1])]


def test_ids_and_labels_are_those_of_transformers(tmp_path, truth):
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps(own) + "\n" for own in CHATS))
    report = packed(path, tmp_path / "out", mask_prompt=True)
    assert report["samples"] == len(truth) and report["packing"] == "rows"
    assert report["length"] == max(len(ids) for ids, _ in truth)
    assert report["loss_tokens"] == sum(label != -100 for _, labels in truth for label in labels)
    assert rows(tmp_path / "out", report) == truth


def test_a_list_of_json_and_blocks_have_the_same_rows(tmp_path, truth):
    path = tmp_path / "chats.json"
    path.write_text(json.dumps(CHATS, indent=2))
    report = packed(path, tmp_path / "out", mask_prompt=True, length=512, pack="concat")
    columns = {"ids": tarflume.Tokens(512), "labels": tarflume.Tokens(512, "labels")}
    batches = list(tarflume.Loader(tmp_path / "out", batch_size=1, shuffle=None, columns=columns))
    joined = np.concatenate([np.asarray(batch["labels"]).ravel() for batch in batches])[: report["tokens"]]
    labels = [label for _, labels in truth for label in labels]
    # The second part of a document that is cut is a document for the loader: its first label is left out.
    differing = [at for at, (one, other) in enumerate(zip(joined, labels, strict=True)) if one != other]
    assert all(at % 512 == 0 and joined[at] == -100 for at in differing)


def test_folders_of_datasets_are_read(tmp_path, truth):
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_list(CHATS)
    table.save_to_disk(tmp_path / "saved")
    table.to_parquet(tmp_path / "parquet" / "a.parquet")
    datasets.DatasetDict(train=table).save_to_disk(tmp_path / "splits")
    for source in [tmp_path / "saved", tmp_path / "parquet", tmp_path / "splits" / "train"]:
        out = tmp_path / f"out-{source.parent.name}-{source.name}"
        assert rows(out, packed(source, out, mask_prompt=True)) == truth
    with pytest.raises(errors.UsageError, match="has the splits train; name the folder of one"):
        packed(tmp_path / "splits", tmp_path / "none")


def test_columns_of_json_in_parquet_are_objects(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    conversations = [own for own in chat_golden.CONVERSATIONS.values() if "tools" in own]
    texts = {name: [json.dumps(own[name]) for own in conversations] for name in ("messages", "tools")}
    columns = {name: pa.array(own, pa.string()).cast(pa.json_(pa.string())) for name, own in texts.items()}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(own) + "\n" for own in conversations))
    found = []
    for name in ("a.parquet", "a.jsonl"):
        out = tmp_path / f"out-{name}"
        found.append(rows(out, packed(tmp_path / name, out, mask_prompt=True, bad_budget=len(conversations))))
    assert found[0] == found[1] and len(found[0]) > 2


def test_lengths_are_cut_and_told(tmp_path, truth):
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps(own) + "\n" for own in CHATS))
    report = packed(path, tmp_path / "left", mask_prompt="last", max_length=24, truncate="left")
    assert report["truncated"] == sum(len(ids) > 24 for ids, _ in truth) or report["without_loss"]
    for ids, labels in rows(tmp_path / "left", report):
        assert len(ids) <= 24 and any(label != -100 for label in labels)
    report = packed(path, tmp_path / "drop", max_length=40, drop_longer=True, min_length=20)
    assert report["longer"] and all(20 <= len(ids) <= 40 for ids, _ in rows(tmp_path / "drop", report))
    with pytest.raises(errors.PackError, match="max_length=24 is the limit; give truncate="):
        packed(path, tmp_path / "error", max_length=24, truncate="error")


def test_wrong_words_are_refused(tmp_path):
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps(CHATS[0]) + "\n")
    for words, text in [
        ({"mask_prompt": "some"}, 'there are "all", "last"'),
        ({"alpaca": True}, "conversations are messages="),
        ({"pack": "bfd"}, "give length=N for samples of N ids"),
        ({"special_tokens": True}, "leave out special_tokens=True"),
        ({"truncate": "middle"}, 'there are "right", "left", "error"'),
    ]:
        with pytest.raises(errors.UsageError, match=text.replace("(", r"\(")):
            packed(path, tmp_path / "out", **words)
    with pytest.raises(errors.UsageError, match="encode= gives no places of ids"):
        tarflume.pack.tokens(path, tmp_path / "out", encode=len, fingerprint="f", messages="messages")
