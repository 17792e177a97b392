"""docs/frameworks/torchtitan.md: a loader in torchtitan's checkpoint, saved on some ranks and loaded on others."""

from __future__ import annotations

import json
import pathlib

import pytest

import tarflume
from headings import blocks
from launched import launched

pytest.importorskip("torchtitan")
PAGE = "docs/frameworks/torchtitan.md"
JOB = pathlib.Path(__file__).with_name("torchtitan_job.py")
ROWS, LENGTH, BATCH, IGNORED = 36, 16, 2, -100
#: Documents of 51 ids, joined and cut into rows of 17: 36 rows, and no two are equal.
DOCUMENTS = [[(n * 50 + at) % 997 + 2 for at in range(50)] + [1] for n in range(12)]


@pytest.fixture(scope="module")
def tokens(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("tokens")
    (folder / "text.jsonl").write_text("".join(json.dumps({"text": str(n)}) + "\n" for n in range(len(DOCUMENTS))))
    tarflume.pack.tokens(
        folder / "text.jsonl", folder / "tokens", length=LENGTH + 1, pack="concat", eos=1, fsync=False, fingerprint="these",
        encode=lambda texts: [DOCUMENTS[int(text)][:-1] for text in texts],
    )  # fmt: skip
    (folder / "block.py").write_text(blocks(PAGE)[0])
    return folder


def expected() -> dict[tuple[int, ...], tuple[int, list[int], list[int]]]:
    """By the ids of a row: its number, its positions, and its labels."""
    stream = [(token, at) for document in DOCUMENTS for at, token in enumerate(document)]
    found = {}
    for row in range(ROWS):
        part = stream[row * (LENGTH + 1) : (row + 1) * (LENGTH + 1)]
        begins = max((at for at, (_, place) in enumerate(part[:-1]) if place == 0), default=0)
        places = [at if at < begins else at - begins for at in range(LENGTH)]
        labels = [IGNORED if place == 0 else token for token, place in part[1:]]
        found[tuple(token for token, _ in part[:-1])] = (row, places, labels)
    assert len(found) == ROWS
    return found


def rows(folder: pathlib.Path, what: str, ranks: int) -> tuple[list[list[int]], list[list[list[list[int]]]]]:
    """The numbers of the rows of each step, of all ranks, after each was compared; and what a validator saw."""
    known = expected()
    told = [json.loads((folder / f"{what}-{rank}.json").read_text()) for rank in range(ranks)]
    steps = []
    for batches in zip(*(rank["trained"] for rank in told), strict=True):
        steps.append([])
        for ids, positions, labels in (row for batch in batches for row in zip(*batch, strict=True)):
            number, places, wanted = known[tuple(ids)]
            assert positions == places and labels == wanted
            steps[-1].append(number)
    return steps, [rank["validated"] for rank in told]


@pytest.mark.parametrize(("before", "after", "taken"), [(2, 3, 3), (3, 2, 2)])
def test_a_checkpoint_continues_on_another_number_of_ranks(tokens, tmp_path, before, after, taken):
    for path in ("tokens", "block.py"):
        (tmp_path / path).symlink_to(tokens / path)
    left = (ROWS - before * BATCH * taken) // (after * BATCH)
    stages = [(before, ["save", taken]), (after, ["load", left + ROWS // (after * BATCH)])]
    launched(JOB, tmp_path, stages, imports=["torchtitan.components.checkpoint", "tarflume.torch"])
    first, _ = rows(tmp_path, "save", before)
    steps, validated = rows(tmp_path, "load", after)
    assert sorted(sum(first + steps[:left], [])) == list(range(ROWS)), "the epoch in which the ranks changed"
    assert sorted(sum(steps[left:], [])) == list(range(ROWS)), "the epoch after it"
    assert sum(steps[left:], []) != sum(first + steps[:left], [])
    seen = [tuple(ids) for rank in validated for batch in rank for ids in batch]
    assert set(seen) == set(expected()) and len(seen) - ROWS < after, "a validator sees each row"
