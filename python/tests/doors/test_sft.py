"""docs/frameworks/sft.md: labels reach the loss of `Trainer` and `SFTTrainer` as transformers' own template makes them."""

from __future__ import annotations

import json
import pathlib
import random
import re
import shutil

import pytest

import chat_golden
from headings import blocks, changed
from conftest import pack
from launched import launched

PAGE = "docs/frameworks/sft.md"
JOB = pathlib.Path(__file__).with_name("sft_job.py")
TRAINED, EVALUATED, EPOCHS, RANKS, BATCH, IGNORED = 41, 10, 2, 2, 4, -100
HERE = {"report_to": "use_cpu=True, bf16=False, learning_rate=0.0, disable_tqdm=True, dataloader_pin_memory=False, report_to"}


def conversation(n: int) -> list[dict[str, str]]:
    """Of one to three turns, and different from all others."""
    dice = random.Random(n)
    turns = []
    for turn in range(dice.randint(1, 3)):
        turns.append({"role": "user", "content": f"say {n}.{turn} " + "please " * dice.randint(0, 5)})
        turns.append({"role": "assistant", "content": f"yes {n} " * dice.randint(1, 6)})
    return turns


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[pathlib.Path, list[dict[str, list[int]]]]:
    """A folder with rows, packed rows and the conversations as transformers tokenizes and masks them."""
    folder = tmp_path_factory.mktemp("sft")
    model = folder / "model"
    shutil.copytree(chat_golden.CHAT / "tokenizers" / "bytes", model)
    shutil.copy(chat_golden.CHAT / "templates" / "qwen-2.5-training.jinja", model / "chat_template.jinja")
    parts = {"sft": range(TRAINED), "val": range(TRAINED, TRAINED + EVALUATED)}
    for name, numbers in parts.items():
        lines = [json.dumps({"messages": conversation(n)}) + "\n" for n in numbers]
        (folder / f"{name}.jsonl").write_text("".join(lines))
        words = ["--tokenizer", model / "tokenizer.json", "--messages", "messages", "--mask-prompt"]
        pack("tokens", folder / f"{name}.jsonl", "-o", folder / name, *words)
        pack("tokens", folder / f"{name}.jsonl", "-o", folder / "packed" / name, "--length", 256, *words)
    tokenizer, oracle = chat_golden.tokenizer_of("qwen-2.5-training"), []
    for n in range(TRAINED + EVALUATED):
        own = tokenizer.apply_chat_template(conversation(n), return_dict=True, return_assistant_tokens_mask=True)
        ids = own["input_ids"]
        labels = [i if loss else IGNORED for i, loss in zip(ids, own["assistant_masks"], strict=True)]
        assert labels[0] == IGNORED and max(labels) > 0
        oracle.append({"ids": ids, "labels": labels})
    (folder / "oracle.json").write_text(json.dumps(oracle))
    return folder, oracle


CASES = {"Trainer": "rows", "SFTTrainer": "rows", "Trainer packed": "packed", "SFTTrainer packed": "packed"}


@pytest.fixture(scope="module")
def told(made) -> dict[str, list[dict]]:
    """What each rank saw, of each case."""
    folder, _ = made
    (rows,), (packed,) = blocks(PAGE), blocks(PAGE, "Packed rows")
    old = re.search(r"^COLUMNS = .*?\)\n", rows, re.S | re.M)
    texts = {"rows": rows, "packed": rows.replace(old[0], packed).replace("2048", "256")}
    for name, kind in CASES.items():
        place = folder / name
        place.mkdir()
        for part in ("sft", "val"):
            (place / part).symlink_to(folder / ("packed" if kind == "packed" else "") / part)
        (place / "rows.py").write_text(texts[kind])
        (place / "case.py").write_text(changed(blocks(PAGE, name.removesuffix(" packed"))[0], HERE))
    launched(JOB, folder, [(RANKS, list(CASES))], imports=["chat_golden", "trl", "trl.trainer.sft_trainer"])
    return {name: [json.loads((folder / name / f"{rank}.json").read_text()) for rank in range(RANKS)] for name in CASES}


def conversations(batch: dict, oracle: list) -> list[int]:
    """The numbers of the conversations of a batch, after each was compared with what transformers makes of it."""
    numbers = {tuple(own["ids"]): n for n, own in enumerate(oracle)}
    assert len(batch["input_ids"][0]) % 8 == 0
    found = []
    for row, ids in enumerate(batch["input_ids"]):
        for begin, end in bounds(batch, row):
            n = numbers[tuple(ids[begin:end])]
            assert batch["labels"][row][begin:end] == oracle[n]["labels"]
            found.append(n)
        assert set(batch["labels"][row][end:]) <= {IGNORED}
    return found


def bounds(batch: dict, row: int) -> list[tuple[int, int]]:
    if "attention_mask" in batch:
        used = sum(batch["attention_mask"][row])
        assert batch["attention_mask"][row][:used] == [1] * used
        return [(0, used)]
    ids, places = batch["input_ids"][row], batch["position_ids"][row]
    begins = [at for at, place in enumerate(places) if place == 0]
    pairs = list(zip(begins, [*begins[1:], len(ids)], strict=True))
    while not any(ids[pairs[-1][0] :]):  # padding
        pairs.pop()
    last, whole = pairs[-1]
    while ids[whole - 1] == 0:
        whole -= 1
    return [*pairs[:-1], (last, whole)]


def rows_of(batches: list[dict], oracle: list) -> list[list[int]]:
    return [conversations(batch, oracle) for batch in batches]


def steps_of(seen: list, together: int) -> list[list[int]]:
    """The conversations of each step: of all ranks and the batches that are accumulated."""
    half = len(seen[0]) // EPOCHS
    begins = [epoch * half + begin for epoch in range(EPOCHS) for begin in range(0, half, together)]
    return [[n for rank in seen for batch in rank[begin : begin + together] for n in batch] for begin in begins]


def mean(losses: list, numbers: list[int]) -> float:
    """The loss of conversations together: each id has the same weight."""
    return sum(losses[n][0] for n in numbers) / sum(losses[n][1] for n in numbers)


@pytest.mark.parametrize("name", CASES)
def test_labels_reach_the_loss_and_each_row_comes_once(made, told, name):
    folder, oracle = made
    losses = json.loads((folder / "losses.json").read_text())
    seen = [rows_of(rank["whole"], oracle) for rank in told[name]]
    half = len(seen[0]) // EPOCHS
    for begin in (0, half):
        numbers = [n for rank in seen for batch in rank[begin : begin + half] for n in batch]
        assert set(numbers) == set(range(TRAINED))
        if "packed" not in name:
            assert len(numbers) - TRAINED < RANKS, "only a last batch repeats rows"
    expected = [mean(losses, numbers) for numbers in steps_of(seen, 2)]
    logged = [own["loss"] for own in told[name][0]["log"] if "loss" in own]
    assert logged == pytest.approx(expected, abs=1e-3)
    assert max(expected) - min(expected) > 0.1


@pytest.mark.parametrize("name", CASES)
def test_an_evaluation_has_the_loss_of_its_batches(made, told, name):
    folder, oracle = made
    losses = json.loads((folder / "losses.json").read_text())
    ranks = [rows_of(rank["evaluated"], oracle) for rank in told[name]]
    once = [rank[: len(rank) // EPOCHS] for rank in ranks]
    assert {n for rank in once for batch in rank for n in batch} == set(range(TRAINED, TRAINED + EVALUATED))
    if "packed" in name:
        return
    each = []
    for step in range(2):
        labels = sum(losses[n][1] for rank in once for n in rank[step]) / RANKS
        for rank in once:
            own = sum(losses[n][0] for n in rank[step]) / labels if name == "Trainer" else mean(losses, rank[step])
            each += [own] * BATCH
    each = each[:EVALUATED]  # they repeat the loss of a batch for its rows, and cut those of the last step
    found = [own["eval_loss"] for own in told[name][0]["log"] if "eval_loss" in own]
    assert found == pytest.approx([sum(each) / EVALUATED] * EPOCHS, abs=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_a_job_that_was_killed_continues_at_the_next_batch(told, name):
    for rank in told[name]:
        first, rest, whole = rank["first"], rank["rest"], rank["whole"]
        assert first == whole[: len(first)] and rest == whole[len(whole) - len(rest) :]
        assert len(first) < len(whole) and 0 < len(rest) < len(whole), "it continued, and did not begin again"
        assert len(first) + len(rest) >= len(whole)
