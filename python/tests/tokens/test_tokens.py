"""Text to token blocks and back: `pack.tokens`, the columns of a loader, and files of Megatron-LM."""

from __future__ import annotations

import json
import pathlib
import pickle
import struct

import numpy as np
import pytest

import tarflume
from tarflume import errors

LENGTH = 64


def texts(count: int) -> list[str]:
    return [f"{n} " + "word " * (n * 7919 % 23) for n in range(count)]


@pytest.fixture
def corpus(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "text.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts(200)))
    return path


class Bytes:
    """A tokenizer whose ids are bytes; counts the texts that it reads."""

    def __init__(self) -> None:
        self.texts = 0

    def __call__(self, batch: list[str]) -> list[list[int]]:
        self.texts += len(batch)
        return [list(text.encode()) for text in batch]


def test_any_function_tokenizes_once(corpus, tmp_path):
    encode = Bytes()
    cache = tmp_path / "cache"
    first = tarflume.pack.tokens(
        corpus, tmp_path / "one", length=LENGTH, encode=encode, fingerprint="bytes", eos=0, cache=cache, fsync=False
    )
    assert encode.texts == 200 and first["documents"] == 200 and first["dtype"] == "uint16"
    assert first["tokens"] == sum(len(text) + 1 for text in texts(200))
    assert "published" in str(first) and first["fill"] > 0.9
    again = tarflume.pack.tokens(
        corpus, tmp_path / "two", length=128, encode=encode, fingerprint="bytes", pack="concat", cache=cache, fsync=False
    )
    assert encode.texts == 200 and again["tokenized_bytes"] == 0 and again["fill"] > 0.98
    assert tarflume.pack.verify(tmp_path / "two", require="").whole
    tarflume.pack.tokens(
        corpus, tmp_path / "three", length=LENGTH, encode=encode, fingerprint="other", cache=cache, fsync=False
    )
    assert encode.texts == 400


@pytest.mark.parametrize("form", [np.array, tuple, lambda ids: type("Encoding", (), {"ids": ids})()])
def test_ids_may_be_arrays_and_encodings(corpus, tmp_path, form):
    def encode(batch):
        return [form(list(text.encode())) for text in batch]

    made = tarflume.pack.tokens(corpus, tmp_path / "out", length=LENGTH, encode=encode, fingerprint="f", fsync=False)
    assert made["tokens"] == sum(len(text) for text in texts(200))


def test_columns_are_those_of_a_causal_model(corpus, tmp_path):
    out = tmp_path / "out"
    tarflume.pack.tokens(corpus, out, length=LENGTH, encode=Bytes(), fingerprint="b", eos=1, pad=2, fsync=False)
    with pytest.warns(UserWarning, match="see each other"):
        columns = tarflume.token_columns(LENGTH, labels=True, position_ids=True, segment_ids=True, attention_mask=True)
    loader = tarflume.Loader(out, batch_size=4, columns=columns | {"cu": tarflume.Npy("int32", "cu_seqlens.npy")})
    found = []
    for batch in loader.epoch(0):
        rows = {name: np.asarray(batch[name]) for name in columns}
        assert all(array.dtype == np.int64 and array.shape[1] == LENGTH for array in rows.values())
        for row in range(len(rows["input_ids"])):
            bounds = np.asarray(batch["cu"][row])
            ids, used = rows["input_ids"][row], bounds[-1]
            assert (ids[used:] == 2).all() and bounds[0] == 0
            labels, positions, segments = np.full(LENGTH, -100), np.zeros(LENGTH, int), np.zeros(LENGTH, int)
            for number, (begin, end) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
                labels[begin + 1 : end] = ids[begin + 1 : end]
                positions[begin:end] = np.arange(end - begin)
                segments[begin:end] = number + 1
                found.append(bytes(ids[begin:end].astype(np.uint8)))
            np.testing.assert_array_equal(rows["labels"][row], labels)
            np.testing.assert_array_equal(rows["position_ids"][row], positions)
            np.testing.assert_array_equal(rows["segment_ids"][row], segments)
            np.testing.assert_array_equal(rows["attention_mask"][row], segments > 0)
    whole = [text.encode() + b"\x01" for text in texts(200)]
    assert sorted(piece for piece in found if piece in whole) == sorted(text for text in whole if len(text) <= LENGTH)
    assert sum(map(len, found)) == sum(map(len, whole))


def test_ragged_bounds_are_padded_with_their_lengths(corpus, tmp_path):
    out = tmp_path / "out"
    tarflume.pack.tokens(corpus, out, length=LENGTH, encode=Bytes(), fingerprint="b", fsync=False)
    loader = tarflume.Loader(out, batch_size=8, columns={"cu": tarflume.Npy("int32", "cu_seqlens.npy")})
    batch = next(iter(loader.epoch(0)))
    values, lengths = batch["cu"].padded(-1)
    for row, length in enumerate(np.asarray(lengths)):
        assert (np.asarray(values)[row, length:] == -1).all() and (np.asarray(values)[row, :length] >= 0).all()


def test_files_of_megatron_are_packed(tmp_path):
    documents = [np.arange(n, dtype=np.uint16) for n in range(1, 40)]
    (tmp_path / "ids.bin").write_bytes(b"".join(map(bytes, documents)))
    lengths = [len(document) for document in documents]
    pointers = np.concatenate([[0], np.cumsum(lengths)[:-1] * 2]).astype(np.int64)
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(documents), len(documents) + 1)
    tables = [np.array(lengths, np.int32), pointers, np.arange(len(documents) + 1, dtype=np.int64)]
    (tmp_path / "ids.idx").write_bytes(head + b"".join(map(bytes, tables)))
    made = tarflume.pack.tokens(f"megatron:{tmp_path / 'ids'}", tmp_path / "out", length=LENGTH, fsync=False)
    assert made["documents"] == len(documents) and made["tokens"] == sum(lengths) and made["dtype"] == "uint16"


def test_wrong_calls_say_what_to_give(corpus, tmp_path):
    def tokens(**words):
        return tarflume.pack.tokens(corpus, tmp_path / "out", length=LENGTH, fsync=False, **words)

    for words, text in [
        ({}, "tokenizer= or encode="),
        ({"encode": Bytes()}, "encode= needs fingerprint="),
        ({"encode": Bytes(), "fingerprint": "f", "where": "len(id) > 1"}, "where=: column 1"),
        ({"encode": Bytes(), "fingerprint": "f", "pack": "best"}, 'there are "bfd", "concat"'),
        ({"encode": Bytes(), "fingerprint": "f", "eos": "<end>"}, "has no such token"),
        ({"encode": lambda batch: [[1]], "fingerprint": "g"}, "1 lists of ids for 200 texts"),
    ]:
        with pytest.raises(errors.UsageError, match=text.replace("(", r"\(")):
            tokens(**words)

    def broken(batch):
        raise ValueError("no vocabulary")

    with pytest.raises(errors.PackError, match="encode= failed: ValueError: no vocabulary"):
        tokens(encode=broken, fingerprint="h")
    with pytest.raises(errors.UsageError, match="kind= is one of"):
        tarflume.Tokens(8, "positions")
    assert isinstance(pickle.loads(pickle.dumps(tarflume.Tokens(8, "mask", dtype="bool"))), tarflume.Tokens)
