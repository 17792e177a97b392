"""`make gpu` without a GPU: every part of bench/gpu runs, tiny, with PyTorch on the CPU and the played CUDA driver."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest
from conftest import PACK, ROOT, picture

GPU = ROOT / "bench" / "gpu"


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """What would be copied to another machine; its wheel is empty, so that what is installed here is taken."""
    root = tmp_path_factory.mktemp("gpu")
    for n in range(6):
        (root / f"pictures/{n % 2}").mkdir(parents=True, exist_ok=True)
        picture(n).save(root / f"pictures/{n % 2}/{n // 2}.jpg", quality=90)
    with zipfile.ZipFile(root / "tarflume-0-py3-none-any.whl", "w"):
        pass
    wheel, program = root / "tarflume-0-py3-none-any.whl", shutil.which(PACK)
    assert program is not None
    subprocess.run(["bash", GPU / "kit.sh", root / "kit", wheel, program, root / "pictures"], check=True)
    return root / "kit"


def script(kit: pathlib.Path, *words: object, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, kit / "run.py", *map(str, words)], env=os.environ | env, text=True,
                          capture_output=True, check=False, timeout=300)


def test_every_part_runs_without_a_gpu(kit, driver):
    pytest.importorskip("torch")
    done = script(kit, "--dry", "--driver", driver)
    assert done.returncode == 0, done.stderr
    file, = (kit / "results").glob("*-no-gpu.json")
    results = json.loads(file.read_text())
    assert {name: part["state"] for name, part in results["parts"].items()} == dict.fromkeys(
        ["machine", "correctness", "finished", "pixels", "beside", "copies", "training", "nvjpeg", "resident"], "ran"), \
        done.stderr
    rows = {name: {row["case"]: row for row in part["rows"]} for name, part in results["parts"].items()}
    failed = [row for part in rows.values() for row in part.values() if "failed" in row]
    assert not failed
    # The control, and each delivery with each consumer; each type in both layouts.
    assert len(rows["correctness"]) == 1 + 2 * 3 and len(rows["finished"]) == 4 * 2
    assert all(row["right"] and row["batches"] for row in [*rows["correctness"].values(), *rows["finished"].values()])
    compared = [row for name in ("pixels", "beside") for row in rows[name].values() if "right" in row]
    assert len(compared) == 9 + 2 and all(row["right"] and row["batches"] for row in compared), compared
    assert rows["pixels"]["bytes, cut and resized on the host"]["largest"] == 0
    assert rows["pixels"]["device_decoder=1.0"]["decoded_there"] > 0
    assert all(len(row["gb_s"]) == 2 for row in rows["copies"].values())
    assert {"tarflume, deliver=\"torch\"", "tarflume, deliver=\"ring\""} < set(rows["training"])
    text = file.with_suffix(".md").read_text()
    assert text == done.stdout.rstrip("\n") + "\n" and "no measurement" in text
    assert str(kit) not in text and str(driver) not in file.read_text()


def test_where_there_is_no_gpu_a_sentence_says_so(kit, driver):
    done = script(kit, FAKECUDA_DEVICES="0", LD_LIBRARY_PATH=str(driver))
    assert (done.returncode, done.stdout) == (77, "")
    assert done.stderr == "gpu: the NVIDIA driver sees no GPU: run this on a machine with one\n"


@pytest.mark.parametrize(("state", "right", "says"), [
    ("ran", True, "all 14 batches"), ("ran", False, "WRONG: 1 of 2"), ("LATE", True, "NOT COMPARED: finished")])
def test_the_verdict_is_that_of_what_was_compared(state, right, says):
    spec = importlib.util.spec_from_file_location("report", GPU / "report.py")
    assert spec is not None and spec.loader is not None
    report = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(report)
    rows = [{"case": "one", "batches": 7, "right": right}]
    parts = {"correctness": {"state": "ran", "rows": [{"case": "two", "batches": 7, "right": True}]},
             "finished": {"state": state, "rows": rows}}
    assert report.verdict(parts).startswith(says)
