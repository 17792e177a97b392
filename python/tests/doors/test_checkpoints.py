"""docs/frameworks/checkpoints.md: DCP saves on some ranks and loads on others, and each sample comes once."""

from __future__ import annotations

import json
import pathlib

import pytest

from headings import blocks
from launched import launched

PAGE = "docs/frameworks/checkpoints.md"
BATCH, COUNT = 4, 100
JOB = """
import json, os, sys
from launched import meet

steps = int(sys.argv[1])
rank, ranks = meet()
from block import job
seen = []
job(steps, seen)
with open(f"{sys.argv[2]}-{rank}.json", "w") as out:
    json.dump(seen, out)
import torch.distributed
torch.distributed.barrier()
"""


@pytest.mark.parametrize(("before", "after", "steps"), [(2, 3, 5), (3, 2, 4)])
def test_dcp_continues_on_another_number_of_ranks(shards, tmp_path, before, after, steps):
    (tmp_path / "shards").symlink_to(shards)
    (tmp_path / "block.py").write_text(blocks(PAGE, "DCP")[0].replace('"/class"', '"/n"'))
    (tmp_path / "job.py").write_text(JOB)
    stages = [(before, [steps, "first"]), (after, [COUNT, "rest"])]
    launched(pathlib.Path("job.py"), tmp_path, stages, imports=["torch.distributed.checkpoint", "tarflume.torch"])
    ranks = {"first": before, "rest": after}
    told = {name: [json.loads((tmp_path / f"{name}-{rank}.json").read_text()) for rank in range(count)] for name, count in ranks.items()}
    assert [len(rows) for rows in told["first"]] == [steps * BATCH] * before
    assert len({len(rows) for rows in told["rest"]}) == 1, "all ranks take the same number of steps"
    rows = sum(told["first"] + told["rest"], [])
    assert set(rows) == set(range(COUNT)) and len(rows) - COUNT < after, "a last step repeats fewer than there are ranks"
