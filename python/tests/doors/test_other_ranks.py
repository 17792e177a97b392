"""Accelerate, Fabric and Lightning continue in the middle of an epoch on another number of ranks."""

from __future__ import annotations

import json
import pathlib

import pytest

import tarflume.torch as ours
from headings import blocks, changed
from launched import launched
from framework_runs import block, here, model, numbered_shards

JOB = pathlib.Path(__file__).with_name("other_ranks_job.py")
PAGE = "docs/frameworks/checkpoints.md"
COUNT, BATCH, SAVED = 101, 8, 3
CASES = {"accelerate": "Accelerate", "fabric": "Fabric", "lightning": "Lightning"}
#: Where the blocks say that they save after each five steps.
SAVES = {"accelerate": "step % 5", "fabric": "step % 5", "lightning": "every_n_train_steps=5"}


@pytest.fixture(scope="module")
def numbered(tmp_path_factory) -> pathlib.Path:
    return numbered_shards(tmp_path_factory.mktemp("numbered"), COUNT)


def code(case: str, ranks: int) -> str:
    """The block of a trainer; for Lightning with the callback for other ranks."""
    text = block(CASES[case])
    if case == "lightning":
        callback = blocks(PAGE, "Lightning on other ranks")[0]
        text = callback + changed(text, {"callbacks=[keep]": "callbacks=[keep, OtherRanks()]"})
    return here(changed(text, {SAVES[case]: SAVES[case].replace("5", str(SAVED))}), ranks)


@pytest.mark.parametrize(("before", "after"), [(1, 2), (3, 2)])
def test_a_job_continues_on_another_number_of_ranks(numbered, tmp_path, before, after):
    (tmp_path / "model.py").write_text(model())
    for case in CASES:
        (tmp_path / case).mkdir()
        (tmp_path / case / "shards").symlink_to(numbered)
        for ranks in (before, after):
            (tmp_path / f"{case}_{ranks}.py").write_text(code(case, ranks))
    stages = [(before, ["killed", *CASES]), (after, ["continued", *CASES])]
    launched(JOB, tmp_path, stages, imports=["accelerate", "lightning.pytorch", "tarflume.torch"])
    for case in CASES:
        first, rest = (
            [json.loads((tmp_path / f"{what}-{rank}.json").read_text())[case] for rank in range(ranks)]
            for what, ranks in (("killed", before), ("continued", after))
        )
        left = -(-(COUNT - SAVED * BATCH * before) // (BATCH * after))
        whole = -(-COUNT // (BATCH * after))
        assert [len(rank) for rank in rest] == [left + whole] * after, case
        rows = [row for rank in first for batch in rank[:SAVED] for row in batch]
        rows += [row for rank in rest for batch in rank[:left] for row in batch]
        assert set(rows) == set(range(COUNT)) and len(rows) - COUNT < after, f"{case}: the epoch in which the ranks changed"
        rows = [row for rank in rest for batch in rank[left:] for row in batch]
        assert set(rows) == set(range(COUNT)) and len(rows) - COUNT < after, f"{case}: the epoch after it"


@pytest.mark.parametrize("drop_last", [False, True, "pad", "uneven"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_steps_left_are_the_batches_that_come(numbered, drop_last, ranks):
    words = {"shuffle": "full", "seed": 1, "label": "/class"}
    first = ours.Loader(numbered, batch_size=5, **words)
    assert first.steps_left == len(first) == -(-COUNT // 5)
    for step, _ in enumerate(first, 1):
        assert first.steps_left == len(first) - step
        if step == SAVED:
            state = first.state_dict()
    for rank in range(ranks):
        loader = ours.Loader(numbered, batch_size=BATCH, rank=rank, world_size=ranks, drop_last=drop_last, **words)
        loader.load_state_dict(state)
        left = loader.steps_left
        assert left == loader.steps_left < len(loader) and loader.state_dict() == state, "asking changes nothing"
        assert sum(1 for _ in loader) == left and loader.steps_left == len(loader)
