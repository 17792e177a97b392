"""The Indexed Job of docs/kubernetes: valid for Kubernetes, and its commands are those of `pack`."""

from __future__ import annotations

import pathlib
import subprocess
from typing import Any

import pytest

from conftest import PACK, ROOT, pack, pairs
from patience import PATIENCE_S

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
FILE = ROOT / "docs" / "kubernetes" / "indexed-job.yaml"


def jobs() -> dict[str, dict[str, Any]]:
    return {job["metadata"]["name"]: job for job in yaml.safe_load_all(FILE.read_text())}


def test_each_job_is_valid() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    for name, job in jobs().items():
        validate.validate(job, validate.latest_version(), strict=True)
        wrong = job | {"spec": job["spec"] | {"completionMod": "Indexed"}}
        with pytest.raises(validate.ValidationError):
            validate.validate(wrong, validate.latest_version(), strict=True)
        assert name.startswith("pack-")


def test_the_number_of_indexes_is_given_once_to_each() -> None:
    spec = jobs()["pack-run"]["spec"]
    command = spec["template"]["spec"]["containers"][0]["command"]
    assert spec["completionMode"] == "Indexed"
    assert command[command.index("--of") + 1] == str(spec["completions"])


def test_the_commands_run_in_their_order(tmp_path: pathlib.Path) -> None:
    """The commands of the three jobs, with another folder: what waits, waits, and the result is a data set."""
    photos = pairs(tmp_path / "photos", 30)

    def words(job: str, kind: str = "containers") -> list[str]:
        command = jobs()[job]["spec"]["template"]["spec"][kind][0]["command"]
        program = [PACK if word == "pack" else word.replace("/data", str(tmp_path)) for word in command]
        return [word.replace("until pack ", f"until {PACK} ") for word in program]

    def run(command: list[str], index: int | None = None, limit: float = PATIENCE_S) -> int:
        variables = {} if index is None else {"JOB_COMPLETION_INDEX": str(index)}
        return subprocess.run(command, env={"PATH": "/usr/bin:/bin"} | variables, timeout=limit, capture_output=True).returncode

    for waits in (words("pack-run", "initContainers"), words("pack-finalize", "initContainers")):
        with pytest.raises(subprocess.TimeoutExpired):
            run(waits, limit=0.5)
    assert run(words("pack-plan")) == 0
    assert run(words("pack-run", "initContainers")) == 0
    with pytest.raises(subprocess.TimeoutExpired):
        run(words("pack-finalize", "initContainers"), limit=0.5)
    for index in range(16):
        assert run(words("pack-run"), index) == 0
    assert run(words("pack-finalize", "initContainers")) == 0
    assert run(words("pack-finalize")) == 0
    pack("verify", tmp_path / "shards")
    assert photos.exists()


def test_exit_codes_are_those_of_the_command() -> None:
    shown = subprocess.run([PACK, "run", "--help"], capture_output=True, text=True, check=True).stdout
    assert "65 bad data" in shown and "73 the system refuses" in shown and "75 try again" in shown
