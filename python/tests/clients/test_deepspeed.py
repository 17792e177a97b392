"""The lines of docs/FRAMEWORKS.md for DeepSpeed, on the CPU: each sample once, and the same rows after a kill."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from framework_runs import Launch, check, numbered  # noqa: E402, F401


@pytest.mark.parametrize("ranks", [1, 2])
def test_deepspeed_sees_each_sample_once_and_the_same_rows_after_a_kill(numbered, tmp_path, monkeypatch, ranks):  # noqa: F811
    pytest.importorskip("deepspeed")
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    # DeepSpeed compiles an operation when it starts, with the ninja beside this Python.
    monkeypatch.setenv("PATH", os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]))
    launch = Launch(tmp_path / "launch", ranks)
    name = launch.add("DeepSpeed")
    check(launch.run(numbered, torchrun=True), name, launch.steps)
