"""The blocks of docs/FRAMEWORKS.md train, evaluate and resume: each sample once, and the same rows after a kill."""

from __future__ import annotations

import importlib.util
import json
import sys

import pytest

from conftest import pack
from framework_runs import COUNT, SCRIPT, Launch, assert_each_once, block, check, here, job, numbered  # noqa: F401

LOADERS = ["Accelerate", "Trainer with a Loader", "Lightning", "Fabric"]
DATA_SETS = ["Accelerate with a DataLoader", "Trainer"]
EVALUATED = ["Accelerate", "Accelerate with a DataLoader", "Trainer", "Trainer with a Loader"]
FORKED = "2"
#: Both take pickled data sets. Each spawned worker imports PyTorch again: on one rank only.
PICKLED = {1: '2, multiprocessing_context="spawn"', 2: '2, multiprocessing_context="forkserver"'}


@pytest.mark.parametrize("ranks", [1, 2])
def test_each_trainer_sees_each_sample_once_and_the_same_rows_after_a_kill(numbered, tmp_path, ranks):  # noqa: F811
    launch = Launch(tmp_path / "launch", ranks)
    alone = [launch.add(heading) for heading in LOADERS]
    inside = {heading: launch.add(heading) for heading in DATA_SETS}
    forked = {heading: launch.add(heading, FORKED, end=False) for heading in DATA_SETS}
    pickled = {"Accelerate with a DataLoader": launch.add("Accelerate with a DataLoader", PICKLED[ranks], whole=False, end=False)}
    told = launch.run(numbered)
    for name in [*alone, *inside.values()]:
        check(told, name, launch.steps)
    for heading, name in forked.items():
        # Where Accelerate deals samples out, the batches do not depend on workers. On one rank each worker has a rest.
        check(told, name, launch.steps + (ranks == 1), inside[heading] if ranks > 1 else None)
    for heading, name in pickled.items():
        check(told, name, launch.steps + (ranks == 1), forked[heading])
    for heading in EVALUATED:
        for rank in told:
            found = rank[f"{heading}, 0 workers"]["evaluated"]
            assert sorted(found) == list(range(COUNT)), heading


def needs(package: str) -> None:
    if importlib.util.find_spec(package) is None:  # importing Keras chooses its backend
        pytest.skip(f"{package} is not installed")


def test_keras_sees_each_sample_once_and_begins_an_interrupted_epoch_again(numbered, tmp_path):  # noqa: F811
    needs("keras")
    launch = Launch(tmp_path / "launch", 1)
    alone, forked = launch.add("Keras"), launch.add("Keras", FORKED, end=False)
    (told,) = launch.run(numbered)
    right = told[alone]["whole"]
    assert_each_once([right], launch.steps)
    assert told[forked]["whole"] == right and [len(told[name]["evaluated"]) for name in (alone, forked)] == [COUNT] * 2
    for name in (alone, forked):
        assert told[name]["middle"] == [right[:8], right]
    assert told[f"{alone}, at the end"]["end"] == [right[: launch.steps + 2], right[launch.steps :]]


def test_trl_sees_each_text_once_and_the_same_rows_after_a_kill(tmp_path):
    needs("trl")
    import trl_job

    (tmp_path / "pairs").mkdir()
    for n in range(trl_job.COUNT):
        (tmp_path / "pairs" / f"{n:04}.txt").write_text(f"w{n} and more words")
    pack("build", tmp_path / "pairs", "-o", tmp_path / "texts", "--shards", 4, "--require", "txt")
    (tmp_path / "block.py").write_text(here(block("trl"), 1))
    job([sys.executable, str(SCRIPT.with_name("trl_job.py")), "block.py"], tmp_path)
    told = json.loads((tmp_path / "told.json").read_text())
    steps = len(told["whole"]) // 2
    for epoch in (told["whole"][:steps], told["whole"][steps:]):
        assert sorted(sum(epoch, [])) == list(range(trl_job.COUNT))
    assert told["first"] == told["whole"][: trl_job.KILL] and told["rest"] == told["whole"][5:]
