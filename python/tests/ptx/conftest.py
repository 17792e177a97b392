"""The programs of fixtures/cuda and the PTX of the kernels, each made once."""

from __future__ import annotations

import ctypes
import pathlib
import re
import subprocess

from concurrent.futures import ThreadPoolExecutor

import pytest
from kernel_runs import Compiled, library, source

BUILD = pathlib.Path(__file__).parents[3] / "fixtures" / "cuda" / "build.sh"
GENERATIONS = [80, 90, 100, 120]


@pytest.fixture(scope="session")
def cuda_programs(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with run_kernel and run_ptx."""
    out = tmp_path_factory.mktemp("programs")
    for what in ("kernel", "ptx"):
        done = subprocess.run(["bash", BUILD, out, what], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="session")
def ptx_program(cuda_programs: pathlib.Path) -> pathlib.Path:
    return cuda_programs / "run_ptx"


def compiled(generation: int, *options: str) -> str:
    made = Compiled(ctypes.CDLL(str(library())), source(), f"compute_{generation}", *options)
    assert (made.code, made.log) == (0, "")
    return made.output.decode().rstrip("\0")


def distinct(*options: str) -> dict[int, str]:
    """The texts of all generations of GPUs, without those that differ from an earlier one only by their target."""
    with ThreadPoolExecutor(2) as pool:
        texts = pool.map(lambda generation: compiled(generation, *options), GENERATIONS)
    found: dict[str, int] = {}
    for generation, text in zip(GENERATIONS, texts, strict=True):
        found.setdefault(re.sub(r"\.target sm_\d+", ".target sm_any", text), generation)
    return {generation: text.replace("sm_any", f"sm_{generation}") for text, generation in found.items()}


@pytest.fixture(scope="session")
def texts() -> dict[int, str]:
    """What a driver gets."""
    return distinct()


@pytest.fixture(scope="session")
def unfused() -> dict[int, str]:
    """The same with a rounding behind each product, as in C++: only for comparisons to the bit."""
    return distinct("--fmad=false")
