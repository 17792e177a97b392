"""Runs of the blocks of docs/FRAMEWORKS.md, on some ranks: whole, killed and resumed, and the samples that each rank saw."""

from __future__ import annotations

import json
import os
import pathlib
import re
import sys

import pytest

import forked

from conftest import ROOT, pack, picture
from patience import PATIENCE_S

#: Samples; it leaves a rest for any number of ranks and workers, and batches of 8.
COUNT = 101
EVERY = "5"
SCRIPT = pathlib.Path(__file__).parent / "doors" / "trainers.py"
PAGE = (ROOT / "docs" / "FRAMEWORKS.md").read_text()

#: What a machine without GPU and without a terminal needs beside the lines of the page.
HERE = [
    ("Fabric()", 'Fabric(accelerator="cpu", devices={ranks})'),
    ("pytorch.Trainer(", 'pytorch.Trainer(accelerator="cpu", devices={ranks}, enable_progress_bar=False, '
     "enable_model_summary=False, "),
    ("TrainingArguments(", "TrainingArguments(use_cpu=True, disable_tqdm=True, dataloader_pin_memory=False, "),
    ("SFTConfig(", "SFTConfig(use_cpu=True, bf16=False, disable_tqdm=True, dataloader_pin_memory=False, "),
]  # fmt: skip


def block(heading: str) -> str:
    """The first block of Python under a heading."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.search(r"^```python\n(.*?)^```$", section, re.S | re.M)[1]


def here(code: str, ranks: int) -> str:
    for old, new in HERE:
        code = code.replace(old, new.format(ranks=ranks))
    return code


def model() -> str:
    return re.search(r"^```python\n(.*?)^```$", PAGE, re.S | re.M)[1]


class Launch:
    """Cases that share the processes of one launch."""

    def __init__(self, folder: pathlib.Path, ranks: int) -> None:
        self.folder, self.ranks, self.cases = folder, ranks, []
        (folder / "code").mkdir(parents=True)
        (folder / "code" / "model.py").write_text(model())
        # Steps of an epoch.
        self.steps = -(-COUNT // (8 * ranks))

    def add(self, heading: str, workers: str = "0", *, whole: bool = True, end: bool = True) -> str:
        """A case; `end`: a checkpoint at the end of an epoch, too."""
        name = f"{heading}, {workers} workers"
        code = block(heading).replace("num_workers=2", f"num_workers={workers}")
        code = here(code, self.ranks)
        slug = re.sub(r"\W+", "_", name).lower()
        kills = {"middle": 8} | ({"whole": None} if whole else {})
        self._add(name, slug, code, kills)
        if end:
            code = re.sub(r"(% |save_steps=|every_n_train_steps=)5\b", rf"\g<1>{self.steps}", code)
            self._add(f"{name}, at the end", f"{slug}_end", code, {"end": self.steps + 2})
        return name

    def _add(self, name: str, slug: str, code: str, kills: dict[str, int | None]) -> None:
        (self.folder / "code" / f"{slug}.py").write_text(code)
        self.cases.append({"name": name, "module": slug, "kills": kills})

    def run(self, shards: pathlib.Path, *, torchrun: bool = False) -> list[dict]:
        """What each rank saw. `torchrun`: also for one rank."""
        (self.folder / "cases.json").write_text(json.dumps(self.cases))
        (self.folder / "set").symlink_to(shards)
        command = [sys.executable, str(SCRIPT), str(self.folder)]
        if self.ranks > 1 or torchrun:
            start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(self.ranks)]
            command = [sys.executable, *start, *command[1:]]
        job(command, self.folder)
        return [json.loads((self.folder / f"{rank}.json").read_text()) for rank in range(self.ranks)]


def job(command: list[str], folder: pathlib.Path) -> None:
    words = {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = forked.run(
        command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=os.environ | words, cwd=folder
    )
    assert done.returncode == 0, done.stderr[-6000:]


def numbered_shards(root: pathlib.Path, count: int) -> pathlib.Path:
    """Shards of so many pictures whose class is their number."""
    (root / "pairs").mkdir()
    for n in range(count):
        picture(n).save(root / "pairs" / f"{n:04}.jpg")
        (root / "pairs" / f"{n:04}.json").write_text(json.dumps({"class": n}))
    pack("build", root / "pairs", "-o", root / "shards", "--shards", 4)
    return root / "shards"


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return numbered_shards(tmp_path_factory.mktemp("numbered"), COUNT)


def assert_each_once(whole: list[list[list[int]]], steps: int) -> None:
    """Each epoch has each sample; fewer than there are ranks come twice, in the last batch."""
    assert [len(rank) for rank in whole] == [2 * steps] * len(whole)
    epochs = []
    for epoch in range(2):
        rows = [row for rank in whole for batch in rank[epoch * steps : (epoch + 1) * steps] for row in batch]
        assert set(rows) == set(range(COUNT)) and len(rows) - COUNT < len(whole)
        epochs.append(rows)
    assert epochs[0] != epochs[1]


def check(told: list[dict], name: str, steps: int, like: str | None = None) -> None:
    whole = [rank[like or name]["whole"] for rank in told]
    assert_each_once(whole, steps)
    for rank, right in zip(told, whole, strict=True):
        if like is not None and "whole" in rank[name]:
            assert rank[name]["whole"] == right, name
        first, rest = rank[name]["middle"]
        assert first == right[:8] and rest == right[5:], f"{name}, killed in the middle"
        if f"{name}, at the end" in rank:
            first, rest = rank[f"{name}, at the end"]["end"]
            assert first == right[: steps + 2] and rest == right[steps:], f"{name}, killed after the end of an epoch"
