"""`make gpu` without a GPU: every part of bench/gpu runs, tiny, with PyTorch on the CPU and the simulated CUDA driver."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import textwrap
import types

import pytest
from conftest import ROOT
from patience import PATIENCE_S

GPU = ROOT / "bench" / "gpu"
#: Runs the kit. `make python-tests` gives that of an environment with NumPy and PyTorch alone.
PYTHON = os.environ.get("TARFLUME_KIT_PYTHON") or sys.executable


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """What would be copied to another machine: the built wheel, which may be of the profile dev, and the bundled
    photographs."""
    folder = tmp_path_factory.mktemp("gpu") / "kit"
    wheels = list((ROOT / "target" / "wheels").glob("tarflume-*.whl"))
    assert len(wheels) == 1, "`make python-package` builds the wheel of the kit"
    words = [GPU / "kit.sh", folder, wheels[0], ROOT / "fixtures" / "photos", sys.executable]
    subprocess.run(["bash", *words], check=True, env=os.environ | {"KIT_MIB": "64"})
    return folder


def script(kit: pathlib.Path, *words: object, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PYTHON, kit / "run.py", *map(str, words)], env=os.environ | env, text=True, cwd=kit,
                          capture_output=True, check=False, timeout=PATIENCE_S)


def test_every_part_runs_without_a_gpu(kit, driver):
    pytest.importorskip("torch")
    done = script(kit, "--dry", "--driver", driver)
    assert done.returncode == 0, done.stderr
    file, = (kit / "results").glob("*-no-gpu.json")
    results = json.loads(file.read_text())
    assert {name: part["state"] for name, part in results["parts"].items()} == dict.fromkeys(
        ["machine", "copies", "pixels", "nvjpeg", "resident", "correctness", "finished", "beside", "prefetcher", "training"], "ran"), \
        done.stderr
    rows = {name: {row["case"]: row for row in part["rows"]} for name, part in results["parts"].items()}
    failed = [row for part in rows.values() for row in part.values() if "failed" in row]
    assert not failed
    assert "gpus" in rows["machine"]["pack doctor"]["report"], rows["machine"]
    # The control, and each delivery with each consumer; each type in both layouts.
    assert len(rows["correctness"]) == 1 + 2 * 3 and len(rows["finished"]) == 4 * 2
    assert all(row["right"] and row["batches"] for row in [*rows["correctness"].values(), *rows["finished"].values()])
    compared = [row for name in ("pixels", "beside") for row in rows[name].values() if "right" in row]
    assert len(compared) == 12 + 2 and all(row["right"] and row["batches"] for row in compared), compared
    checked = [row for row in rows["prefetcher"].values() if "right" in row]
    assert len(checked) == 1 + 2 * 4 + 2 * 2 and all(row["right"] and row["batches"] == 12 for row in checked), checked
    assert all(len(row["step_ms"]) == 2 for case, row in rows["prefetcher"].items() if case.startswith("Prefetcher"))
    assert rows["pixels"]["bytes, cut and resized on the host"]["largest"] == 0
    ours = {case: row for case, row in rows["pixels"].items() if "kernels" in case}
    assert len(ours) == 3 and all(row["decoded_there"] > 0 and "of tarflume" in row["said"] for row in ours.values()), ours
    asked = [row for case, row in rows["pixels"].items() if "device_decoder=1" in case or "jpeg" in case]
    assert len(asked) == 5 and all(row["decoded_there"] > 0 and "nvJPEG" in row["said"] for row in asked), asked
    in_flight = [row for case, row in rows["pixels"].items() if "in flight" in case]
    assert [row["batches"] for row in in_flight] == [8, 8]
    assert all(len(row["gb_s"]) == 2 for row in rows["copies"].values())
    assert {"tarflume, deliver=\"torch\"", "tarflume, deliver=\"ring\""} < set(rows["training"])
    text = file.with_suffix(".md").read_text()
    assert text == done.stdout.rstrip("\n") + "\n" and "no measurement" in text
    assert str(kit) not in text and str(driver) not in file.read_text()


#: The simulated libnvjpeg refuses everything, as one that is newer than the driver does.
NO_DECODER = {"FAKENVJPEG_NEWER": "libnvjpeg"}


def test_pictures_that_the_gpu_should_have_decoded_and_did_not_are_not_compared(kit, driver, tmp_path):
    pytest.importorskip("torch")
    words = ("--dry", "--driver", driver, "--parts", "pixels", "--results", tmp_path)
    done = script(kit, *words, **NO_DECODER)
    file, = tmp_path.glob("*.json")
    rows = {row["case"]: row for row in json.loads(file.read_text())["parts"]["pixels"]["rows"]}
    asked = {case for case in rows if "device_decoder=1" in case or "jpeg" in case}
    assert len(asked) == 5 and {case for case, row in rows.items() if "right" not in row} == asked
    why = [rows[case]["missing"] for case in asked]
    assert all("cannot be used" in text for text in why), why
    assert done.returncode == 1 and "NOT COMPARED: 5 cases: " in done.stderr, done.stderr


#: As torch.cuda.graph has them, but what is recorded is done at once.
CAPTURES = """
import contextlib, sys, types
import torch
torch.cuda.CUDAGraph = lambda: types.SimpleNamespace(replay=lambda: None)
torch.cuda.graph = lambda graph, capture_error_mode: contextlib.nullcontext()
import beside, place
x = types.SimpleNamespace(place=place.place(True), data={"pictures": sys.argv[1]},
                          sizes={"side": 24, "finished_batch": 4, "graphs": 2})
for settings in ({}, {"device_decoder": 1.0}):
    row = beside.captured(x, **settings)
    print(row.get("right"), row["decoded_there"] is not None and row["decoded_there"] > 0)
"""


def program(driver: pathlib.Path, text: str, *words: object, **env: str) -> str:
    """What a program prints that imports parts of the script, with the simulated driver."""
    env = os.environ | {"LD_LIBRARY_PATH": str(driver), "TARFLUME_NVRTC": str(driver / "libnvrtc.so"),
                        "TARFLUME_NVJPEG": str(driver / "libnvjpeg.so.13"),
                        "PYTHONPATH": os.pathsep.join([str(GPU), os.environ.get("PYTHONPATH", "")])} | env
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text), *map(str, words)], env=env, text=True,
                          capture_output=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_capture_beside_a_decoder_that_decoded_nothing_shows_nothing(driver, shards):
    pytest.importorskip("torch")
    assert program(driver, CAPTURES, shards).split() == ["True", "False", "True", "True"]
    assert program(driver, CAPTURES, shards, **NO_DECODER).split() == ["True", "False", "None", "False"]


#: It knows one card, by the name that is given it, and says so on stdout of any other, as nvidia-smi does.
NVIDIA_SMI = """#!/bin/sh
[ "$1" = "--id=$CARD" ] || { echo "No devices were found"; exit 6; }
echo "Card of $1, 570.1, 81559 MiB, 5, 5, 16, 16, 1980 MHz, 700.00 W, Enabled, ${ECC-Enabled}"
"""

MACHINE = """
    import machine, sys
    name, *ids = machine.identity(1)
    assert machine.identity(2) is None
    print(name, *ids)
    machine.gpu(lambda case, said: print(f"{case}={said}"), ids)
"""


def test_a_machine_s_facts_are_those_of_the_device_that_cuda_counts(driver, tmp_path):
    (tmp_path / "nvidia-smi").write_text(NVIDIA_SMI)
    (tmp_path / "nvidia-smi").chmod(0o755)
    env = {"FAKECUDA_DEVICES": "2", "FAKECUDA_BUS": "0000:af:00.0,0000:3b:00.0",
           "PATH": os.pathsep.join([str(tmp_path), os.environ["PATH"]])}
    uuid, bus = "GPU-66616b65-2064-6576-6963-650000000001", "0000:3b:00.0"

    def facts(**words):
        first, *lines = program(driver, MACHINE, **env, **words).splitlines()
        assert first == f"Fake device 1 on the CPU {uuid} {bus}"
        return dict(line.split("=", 1) for line in lines)

    whole = facts(CARD=uuid)
    assert whole["name"] == f"Card of --id={uuid}" and whole["ecc.mode.current"] == "Enabled" and len(whole) == 11
    # Of a slice of a card, nvidia-smi knows the card alone.
    card = facts(CARD=bus)
    assert card["name of the card"] == f"Card of --id={bus}" and len(card) == 11
    assert facts(CARD="another") == {"nvidia-smi": "nothing (No devices were found)"}
    # A sentence, though the exit code is 0.
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 'Field \"power.limit\" is not a valid field to query.'\n")
    assert facts() == {"nvidia-smi": 'nothing (Field "power.limit" is not a valid field to query.)'}


BUSY = """
    import ctypes, sys, types
    asked = []
    def handle(word, to):
        asked.append(word.decode())
        return 0 if word.decode() == sys.argv[1] else 2
    library = types.SimpleNamespace(nvmlInit_v2=lambda: 0, nvmlDeviceGetHandleByUUID=handle,
                                    nvmlDeviceGetHandleByPciBusId_v2=handle,
                                    nvmlDeviceGetUtilizationRates=lambda handle, rates: 0)
    real = ctypes.CDLL
    ctypes.CDLL = lambda name: library if "nvidia-ml" in name else real(name)
    import busy
    place = types.SimpleNamespace(dry=False, device=types.SimpleNamespace(index=1))
    print(busy.Nvml(place).busy(), *asked)
"""


def test_nvml_is_asked_for_the_device_that_cuda_counts(driver):
    uuid, bus = "GPU-66616b65-2064-6576-6963-650000000001", "0000:3b:00.0"
    env = {"FAKECUDA_DEVICES": "2", "FAKECUDA_BUS": f"0000:af:00.0,{bus}"}
    assert program(driver, BUSY, uuid, **env).split() == ["0", uuid]
    assert program(driver, BUSY, bus, **env).split() == ["0", uuid, bus]
    assert program(driver, BUSY, "another", **env).split() == ["None", uuid, bus]


def test_where_there_is_no_gpu_a_sentence_says_so(kit, driver):
    done = script(kit, FAKECUDA_DEVICES="0", LD_LIBRARY_PATH=str(driver))
    assert (done.returncode, done.stdout) == (77, "")
    assert done.stderr == "gpu: the NVIDIA driver sees no GPU: run this on a machine with one\n"


def module(name: str) -> types.ModuleType:
    """A file of the script that needs no other one."""
    spec = importlib.util.spec_from_file_location(name, GPU / f"{name}.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_a_part_for_which_no_time_is_left_is_skipped_and_not_compared(monkeypatch):
    monkeypatch.syspath_prepend(GPU)
    run, clock, begun = module("run"), [20.0, 6.0, 4.9, 3.0], []

    def ran(name: str, limit: float) -> dict[str, object]:
        begun.append((name, limit))
        return {"state": "ran", "why": "", "s": 1.0, "rows": [{"case": name, "batches": 1, "right": True}]}

    parts, written = ["machine", "correctness", "finished", "training"], []
    done = run.in_turn(parts, lambda: clock.pop(0), dict.fromkeys(parts, 10), ran, lambda done: written.append([*done]))
    assert written == [parts[:n + 1] for n in range(4)]
    assert begun == [("machine", 10), ("correctness", 6.0)]
    assert [part["state"] for part in done.values()] == ["ran", "ran", "SKIPPED", "SKIPPED"]
    report = module("report")
    assert report.verdict(done) == "NOT COMPARED: finished did not come to the end"
    text = report.markdown({"title": "", "date": "2026-01-01", "command": "", "data": "", "s": 0.0, "note": "",
                            "verdict": "", "parts": done})
    assert "### training, 0 s: SKIPPED" in text and "no time was left" in text


def test_data_that_an_earlier_call_left_are_taken_again(kit, driver, tmp_path):
    words = ("--dry", "--driver", driver, "--parts", "machine", "--work", tmp_path / "work", "--results", tmp_path)
    first = script(kit, *words)
    assert first.returncode == 0, first.stderr
    made = (tmp_path / "work/data.json").stat().st_mtime_ns
    again = script(kit, *words)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "work/data.json").stat().st_mtime_ns == made


def test_a_part_that_fails_is_in_the_verdict():
    parts = {"correctness": {"state": "ran", "rows": [{"case": "one", "batches": 7, "right": True}]},
             "training": {"state": "FAILED with 1", "rows": []},
             "nvjpeg": {"state": "ran", "rows": [{"case": "ours", "failed": "RuntimeError: no"}]}}
    assert module("report").verdict(parts) == "FAILED: training, nvjpeg"


@pytest.mark.parametrize(("state", "right", "says"), [
    ("ran", True, "all 14 batches"), ("ran", False, "WRONG: 1 of 2"), ("LATE", True, "NOT COMPARED: finished")])
def test_the_verdict_is_that_of_what_was_compared(state, right, says):
    report = module("report")
    rows = [{"case": "one", "batches": 7, "right": right}]
    parts = {"correctness": {"state": "ran", "rows": [{"case": "two", "batches": 7, "right": True}]},
             "finished": {"state": state, "rows": rows}}
    assert report.verdict(parts).startswith(says)
