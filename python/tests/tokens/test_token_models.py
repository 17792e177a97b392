"""Ids and batches of `pack.tokens` beside tokenizers and transformers: the same ids, and documents that do not see each
other in what docs/TOKENS.md shows."""

from __future__ import annotations

import json
import pathlib
import random
import re
import warnings
from typing import Any

import numpy as np
import pytest

import tarflume
from conftest import ROOT

tokenizers = pytest.importorskip("tokenizers")

LENGTH = 48


def write_texts(path: pathlib.Path, texts: list[str]) -> pathlib.Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def packed_ids(path: pathlib.Path, texts: list[str], tokenizer: pathlib.Path, **words: Any) -> list[list[int]]:
    """The ids of each text, in order; texts without ids are left out."""
    made = tarflume.pack.tokens(
        write_texts(path / "texts.jsonl", texts), path / "packed", tokenizer=tokenizer, length=1 << 16, fsync=False,
        pack="concat", **words,
    )  # fmt: skip
    assert made["tokens"] < 1 << 16
    loader = tarflume.Loader(path / "packed", columns={"ids": tarflume.Tokens(1 << 16), "cu": cu_seqlens()})
    batch = next(iter(loader.epoch(0)))
    ids, bounds = np.asarray(batch["ids"])[0], np.asarray(batch["cu"][0])
    return [ids[begin:end].tolist() for begin, end in zip(bounds, bounds[1:], strict=False)]


def cu_seqlens() -> tarflume.Npy:
    return tarflume.Npy("int32", "cu_seqlens.npy")


def unigram(path: pathlib.Path, scores: list[tuple[str, str]]) -> pathlib.Path:
    """A tokenizer with scores as they are written in the file."""
    vocabulary = ", ".join(f"[{json.dumps(token)}, {score}]" for token, score in [("<unk>", "0"), *scores])
    parts = '"added_tokens": [], "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null'
    model = f'{{"type": "Unigram", "unk_id": 0, "byte_fallback": false, "vocab": [{vocabulary}]}}'
    path.write_text(f'{{"version": "1.0", "truncation": null, "padding": null, {parts}, "model": {model}}}')
    return path


def score(number: float, form: int) -> str:
    """A number in one of the forms of JSON."""
    return [repr(number), f"{number:.25f}", f"{number:.17e}", f"{number * 1e7:.12f}E-7", f"{number:.3f}"][form % 5]


def test_ties_of_unigram_scores_are_decided_as_in_python(tmp_path):
    # The two ways through `fXXX` add the same scores in another order: last bits decide.
    chance = random.Random(1)
    letters = [chr(0x4E00 + n) for n in range(1500)]
    scores = []
    for n, letter in enumerate(letters):
        one = -chance.uniform(2, 12)
        scores += [(letter, score(one, n)), (letter * 2, score(one - chance.uniform(0, 6), n))]
    tokenizer = unigram(tmp_path / "tokenizer.json", scores)
    texts = [f"f{letter * 3}" for letter in letters]
    oracle = tokenizers.Tokenizer.from_file(str(tokenizer))
    expected = [oracle.encode(text, add_special_tokens=False).ids for text in texts]
    found = packed_ids(tmp_path, texts, tokenizer)
    assert [text for text, own, other in zip(texts, found, expected, strict=True) if own != other] == []
    # The texts tell parsers apart: with correctly rounded scores, many ids are others.
    rounded = [("<unk>", 0.0), *((token, float(text)) for token, text in scores)]
    other = tokenizers.Tokenizer(tokenizers.models.Unigram(rounded, 0, False))
    assert sum(other.encode(text).ids != ids for text, ids in zip(texts, expected, strict=True)) > 10


def test_a_tie_of_two_tokens_is_decided_as_in_python(tmp_path):
    scores = [(")", "-3.9068053654298485"), ("))", "-6.351363452580451")]
    tokenizer = unigram(tmp_path / "tokenizer.json", scores)
    assert tokenizers.Tokenizer.from_file(str(tokenizer)).encode("f)))").ids == [0, 1, 2]
    assert packed_ids(tmp_path, ["f)))"], tokenizer) == [[0, 1, 2]]


def word_level(path: pathlib.Path, **parts: Any) -> pathlib.Path:
    words = {word: n for n, word in enumerate(["<unk>", "<s>", "</s>", "a", "b", "A", "bé", "be"])}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.add_special_tokens(["<s>", "</s>"])
    for name, part in parts.items():
        setattr(made, name, part)
    made.save(str(path))
    return path


def test_special_tokens_in_texts_are_counted_and_may_stay_text(tmp_path):
    around = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A $B", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    tokenizer = word_level(tmp_path / "tokenizer.json", post_processor=around)
    texts = ["a b", "<s> a", "a </s> b </s>"]
    oracle = tokenizers.Tokenizer.from_file(str(tokenizer))
    with pytest.warns(UserWarning) as warned:
        found = packed_ids(tmp_path, texts, tokenizer, special_tokens=True, eos="</s>")
    assert found == [oracle.encode(text).ids for text in texts]  # each has its end once
    told = "\n".join(str(one.message) for one in warned)
    assert "3 special tokens are in the text of 2 documents, the first is '<s>' (id 1)" in told
    assert "split_special_tokens=True" in told and "2 documents begin or end with a special token twice" in told
    assert "3 documents already ended with the token of eos, and got no second one" in told
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (tmp_path / "text").mkdir()
        found = packed_ids(tmp_path / "text", texts, tokenizer, split_special_tokens=True)
    oracle.encode_special_tokens = True
    assert found == [oracle.encode(text, add_special_tokens=False).ids for text in texts]


def test_ids_outside_the_vocabulary_raise(tmp_path):
    texts, tokenizer = write_texts(tmp_path / "texts.jsonl", ["a b"]), word_level(tmp_path / "tokenizer.json")
    for words, told in [({"eos": 50256}, "eos=50256: the tokenizer has 8 ids"), ({"pad": 8}, "pad=8: the tokenizer")]:
        with pytest.raises(tarflume.errors.UsageError, match=told):
            tarflume.pack.tokens(texts, tmp_path / "out", tokenizer=tokenizer, length=8, fsync=False, **words)
    made = tarflume.pack.tokens(
        texts, tmp_path / "out", tokenizer=tokenizer, length=8, fsync=False, pad=8, vocabulary=9
    )
    assert made["pad"] == 8
    with pytest.raises(tarflume.errors.UsageError, match="the tokenizer gave the id 98: vocabulary= has 98 ids|gave the id"):
        tarflume.pack.tokens(
            texts, tmp_path / "more", encode=lambda batch: [list(map(ord, text)) for text in batch], fingerprint="c",
            vocabulary=98, length=8, fsync=False,
        )  # fmt: skip


def test_bad_documents_are_left_out_within_a_budget(tmp_path):
    source = tmp_path / "texts.jsonl"
    source.write_text('{"text": "a"}\n{"body": 1}\n{"text": "b"}\n')
    words: Any = {"tokenizer": word_level(tmp_path / "tokenizer.json"), "length": 8, "fsync": False}
    with pytest.raises(tarflume.errors.PackError, match=r"texts.jsonl: line 2 \(byte 14\).*bad_budget"):
        tarflume.pack.tokens(source, tmp_path / "out", **words)
    with pytest.warns(UserWarning, match="1 document left out, listed in .*problems.jsonl"):
        made = tarflume.pack.tokens(source, tmp_path / "out", bad_budget=1, **words)
    assert made["bad"] == 1 and made["tokens"] == 2


def tokenizer_folder(folder: pathlib.Path, made: Any, config: dict[str, Any]) -> pathlib.Path:
    folder.mkdir()
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def gpt2() -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    made.train_from_iterator(["Abc abc and bé <s>"] * 9, trainer)
    return made


def llama(scheme: str) -> Any:
    letters = [*"▁Aabcde", "<", ">", "|", "é"]
    vocabulary = {token: n for n, token in enumerate(["<unk>", "<s>", "</s>", *letters, "▁a"])}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [("▁", "a")], fuse_unk=True))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
    made.add_special_tokens(["<unk>", "<s>", "</s>"])
    return made


def bert(lowercase: bool) -> Any:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"Aabcdelmnot", "##b", "##c", "##e", "##é", "##d", "##n"]
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=lowercase)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(words[:5])
    return made


END = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
S = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
CLS = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]"}
SETTINGS = {
    "gpt2": (gpt2, {"tokenizer_class": "GPT2Tokenizer", **END}, None),
    "gpt2-prefix": (gpt2, {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True, **END}, "add_prefix_space"),
    "gpt2-split": (gpt2, {"split_special_tokens": True, **END}, "split_special_tokens=True"),
    "gpt2-tokens": (gpt2, {"additional_special_tokens": ["bc"], **END}, "'bc'"),
    "llama": (lambda: llama("always"), {"tokenizer_class": "LlamaTokenizer", **S}, None),
    "llama-prefix": (lambda: llama("never"), {"tokenizer_class": "LlamaTokenizer", **S}, "add_prefix_space is true"),
    "llama-none": (
        lambda: llama("always"), {"tokenizer_class": "LlamaTokenizer", "add_prefix_space": False, **S},
        "add_prefix_space is false",
    ),
    "bert": (lambda: bert(True), {"tokenizer_class": "BertTokenizer", "do_lower_case": True, **CLS}, None),
    "bert-case": (
        lambda: bert(True), {"tokenizer_class": "BertTokenizer", "do_lower_case": False, **CLS},
        "do_lower_case is false",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_with_which_auto_tokenizer_gives_other_ids_are_named(name, tmp_path):
    transformers = pytest.importorskip("transformers")
    make, config, expected = SETTINGS[name]
    folder = tokenizer_folder(tmp_path / "folder", make(), config)
    texts = ["Abc bc and <|endoftext|> bé", "a b <s> c"]
    auto = transformers.AutoTokenizer.from_pretrained(folder)
    theirs = [auto(text, add_special_tokens=False)["input_ids"] for text in texts]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = packed_ids(tmp_path, texts, folder / "tokenizer.json")
    told = "\n".join(str(one.message) for one in warned if "tokenizer_config.json" in str(one.message))
    assert (found != theirs) == (expected is not None)
    assert told == "" if expected is None else expected in told
    if "backend_tokenizer" not in told and expected is not None:  # its remedy is an option
        (tmp_path / "option").mkdir()
        assert packed_ids(tmp_path / "option", texts, folder / "tokenizer.json", split_special_tokens=True) == theirs
    elif expected is not None:
        auto.backend_tokenizer.save(str(folder / "auto.json"))
        (tmp_path / "auto").mkdir()
        assert packed_ids(tmp_path / "auto", texts, folder / "auto.json") == theirs


def test_settings_of_tokens_around_a_text_are_named_and_the_post_processor_decides(tmp_path):
    transformers = pytest.importorskip("transformers")
    made = llama("always")
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)]
    )
    folder = tokenizer_folder(tmp_path / "folder", made, {"add_bos_token": False, "add_eos_token": True, **S})
    theirs = [transformers.AutoTokenizer.from_pretrained(folder)("a b c")["input_ids"]]
    with pytest.warns(UserWarning, match="add_bos_token is false, add_eos_token is true, and the post processor"):
        found = packed_ids(tmp_path, ["a b c"], folder / "tokenizer.json", special_tokens=True)
    assert found == theirs


def blocks() -> list[str]:
    """The blocks of docs/TOKENS.md that call a model."""
    page = (ROOT / "docs/TOKENS.md").read_text()
    return [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "model(" in block]


class Recorder:
    """A model that keeps what it is called with, and its logits."""

    def __init__(self, model: Any) -> None:
        self.model, self.calls = model, []

    def __call__(self, **words: Any) -> Any:
        made = self.model(**words)
        self.calls.append((words, made.logits))
        return made


def tiny_model() -> Recorder:
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    config = transformers.LlamaConfig(vocab_size=2 * LENGTH, initializer_range=0.5, **sizes, **heads)
    return Recorder(transformers.LlamaForCausalLM(config).eval())


def influence(code: str) -> float:
    """Runs the code; returns the largest difference of a logit to that of the document alone."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = tiny_model()
    exec(code.replace("2048", str(LENGTH)), {"model": model, "tarflume": tarflume, "torch": torch})
    documents, worst = 0, 0.0
    for words, logits in model.calls:
        for row, bounds in enumerate(starts(words)):
            for begin, end in zip(bounds, bounds[1:], strict=False):
                alone = model.model(input_ids=words["input_ids"][row : row + 1, begin:end], use_cache=False).logits
                worst = max(worst, (alone[0] - logits[row, begin:end]).abs().max().item())
                documents += 1
    assert documents >= 24
    return worst


def test_documents_of_a_row_do_not_see_each_other(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    texts = [" ".join(["abcde"[(n + k) % 5] for k in range(1 + n * 7 % 23)]) for n in range(24)]
    tarflume.pack.tokens(
        write_texts(tmp_path / "texts.jsonl", texts), "tokens", encode=lambda batch: [[ord(c) - 30 for c in text] for text in batch],
        fingerprint="letters", length=LENGTH, eos=1, fsync=False,
    )  # fmt: skip
    by_position, by_mask = blocks()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert influence(by_position) < 1e-3
        assert influence(by_mask) < 1e-3
    # What the page warns of, so that the limit above tells them apart.
    assert influence(by_position.replace(", use_cache=False", "")) > 0.1


def starts(words: dict[str, Any]) -> list[list[int]]:
    """Where the documents of each row begin and end."""
    found = []
    for positions in words["position_ids"].tolist():
        begins = [n for n, position in enumerate(positions) if position == 0]
        found.append([*begins, len(positions)])
    return found


def test_attention_mask_warns_that_documents_see_each_other():
    with pytest.warns(UserWarning, match=r"see each other.*use_cache=False"):
        tarflume.token_columns(LENGTH, attention_mask=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tarflume.token_columns(LENGTH, labels=True, position_ids=True, segment_ids=True)
        tarflume.Tokens(LENGTH, "mask")
