"""What `make gpu-kit` collects stays small enough to be copied, long before a wheel is built for it."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

from conftest import ROOT

KIT = ROOT / "bench" / "gpu" / "kit.sh"
MIB = 1 << 20
#: Of the files of the repository and the kit together.
ALL = 64 * MIB
#: Of a wheel. Those of today have 18 MiB; with this one the photographs of the repository fit three times.
WHEEL = 32 * MIB


def limit() -> int:
    found = re.search(r"^limit=\$\(\((\d+) << 20\)\)$", KIT.read_text(), re.M)
    assert found is not None
    return int(found[1]) * MIB


def kit(folder: pathlib.Path, wheel_bytes: int) -> subprocess.CompletedProcess[str]:
    """A kit with a wheel of this size that holds nothing: the installed package packs the photographs."""
    wheel = folder / "tarflume-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as out:
        out.writestr("unused", bytes(wheel_bytes))
    words = ["bash", KIT, folder / "kit", wheel, ROOT / "fixtures" / "photos", sys.executable]
    return subprocess.run(words, text=True, capture_output=True, check=False)


def size(folder: pathlib.Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_the_photographs_of_the_repository_fit_beside_a_large_wheel(tmp_path):
    done = kit(tmp_path, WHEEL)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "kit").iterdir()}
    # The wheel has the command.
    assert {"run.py", "README.md", "trial", "photographs", "tarflume-0-py3-none-any.whl"} <= names and "pack" not in names
    assert {path.suffix for path in (tmp_path / "kit").iterdir() if path.is_file()} == {".py", ".md", ".whl"}
    photographs = size(tmp_path / "kit" / "photographs")
    assert sum(path.stat().st_size for path in (ROOT / "fixtures" / "photos").rglob("*.jpg")) < photographs
    assert WHEEL + 3 * photographs < limit() and size(tmp_path / "kit") - WHEEL - photographs < MIB


def test_a_wheel_that_leaves_no_room_is_named(tmp_path):
    done = kit(tmp_path, limit())
    assert done.returncode == 1
    assert re.search(r"the wheel and the script have \d+ MiB, which leaves no room for photographs in \d+: .*make wheel", done.stderr)


def test_the_repository_and_a_full_kit_can_be_copied_together():
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, text=True, capture_output=True, check=True).stdout.split("\0")
    files = {ROOT / name for name in listed if name}
    tracked = sum(path.lstat().st_size for path in files if path.is_file())
    assert tracked > 5 * MIB  # or nothing was counted
    assert tracked + limit() < ALL, f"the repository has {tracked / MIB:.1f} MiB: lower the limit in bench/gpu/kit.sh"


def test_a_wheel_that_was_built_is_small_enough():
    # The kit takes the wheel of `make wheel`. That of `make python` may be of the profile dev, which is larger.
    limits = {"wheel": WHEEL, "wheels": WHEEL * 3 // 2}
    wheels = [(path, most) for name, most in limits.items() for path in (ROOT / "target" / name).glob("tarflume-*.whl")]
    if not wheels:
        pytest.skip("no wheel was built here: `make python` builds one")
    for path, most in wheels:
        assert path.stat().st_size < most, path


def test_the_wheel_of_the_kit_is_for_old_systems():
    done = subprocess.run(["make", "--dry-run", "--always-make", "gpu-kit"], cwd=ROOT, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    built = [line for line in done.stdout.replace("\\\n", " ").splitlines() if "maturin build" in line]
    assert len(built) == 1 and re.search(r"--zig +--compatibility manylinux_2_28 .*-o target/wheel", built[0])
    assert "bench/gpu/kit.sh target/gpu-kit target/wheel/*.whl" in done.stdout
