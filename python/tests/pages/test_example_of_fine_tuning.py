"""python/examples/sft.py learns what the assistant writes, and after a kill its losses are those of a run without one."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys

import pytest

import chat_golden
import forked
from conftest import ROOT, pack

pytest.importorskip("torch")
SCRIPT = ROOT / "python" / "examples" / "sft.py"
STEPS = 40


@pytest.fixture(scope="module")
def sft(tmp_path_factory):
    """Conversations whose answers follow from their questions."""
    folder = tmp_path_factory.mktemp("sft")
    dice = random.Random(4)
    with (folder / "chats.jsonl").open("w") as out:
        for _ in range(200):
            word = "".join(dice.choices("abc", k=dice.randint(2, 20)))
            messages = [{"role": "user", "content": f"say {word}"}, {"role": "assistant", "content": "yes " * dice.randint(1, 9)}]
            out.write(json.dumps({"messages": messages}) + "\n")
    model = folder / "model"
    shutil.copytree(chat_golden.CHAT / "tokenizers" / "bytes", model)
    shutil.copy(chat_golden.CHAT / "templates" / "chatml.jinja", model / "chat_template.jinja")
    words = ["--tokenizer", model / "tokenizer.json", "--messages", "messages", "--mask-prompt"]
    pack("tokens", folder / "chats.jsonl", "-o", folder / "sft", *words)
    return folder / "sft"


def command(shards, checkpoint):
    return [sys.executable, SCRIPT, shards, checkpoint, "--steps", str(STEPS)]


def losses(text):
    return {int(step): loss for step, loss in re.findall(r"^step (\d+): ([\d.]+)$", text, re.M)}


def test_a_run_that_was_killed_has_the_same_losses(sft, tmp_path):
    whole = forked.run(command(sft, tmp_path / "whole.pt"), text=True, capture_output=True, check=False)
    assert whole.returncode == 0, whole.stderr
    expected = losses(whole.stdout)
    assert sorted(expected) == list(range(1, STEPS + 1))
    assert float(expected[STEPS]) < 0.5 * float(expected[1])
    # Killed inside of an epoch, a few steps behind a checkpoint: 25 steps are an epoch.
    with forked.Popen(command(sft, tmp_path / "killed.pt"), text=True, stdout=subprocess.PIPE) as killed:
        seen = ""
        for line in killed.stdout:
            seen += line
            if line.startswith("step 33:"):
                os.kill(killed.pid, signal.SIGKILL)
                break
    assert killed.returncode == -signal.SIGKILL
    again = forked.run(command(sft, tmp_path / "killed.pt"), text=True, capture_output=True, check=False)
    assert again.returncode == 0, again.stderr
    rest = losses(again.stdout)
    assert min(rest) == 31 and max(rest) == STEPS
    assert {**losses(seen), **rest} == expected
