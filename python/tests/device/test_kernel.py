"""The kernel for the device, given to NVIDIA's own compiler: NVRTC, which comes with torch and needs no GPU."""

from __future__ import annotations

import ctypes
import re

import pytest
from kernel_runs import Compiled, library, source

SOURCE = source()
#: What decodes JPEGs: integers only.
DECODING = {"tarflume_huff", "tarflume_samples", "tarflume_pixels"}
ENTRIES = {"tarflume_finish", "tarflume_draw", "tarflume_gather", "tarflume_change", "tarflume_deliver"} | DECODING


@pytest.fixture(scope="module")
def nvrtc() -> ctypes.CDLL:
    return ctypes.CDLL(str(library()))


@pytest.mark.parametrize("generation", [75, 80, 90, 100])
def test_every_entry_becomes_ptx_without_a_warning(nvrtc, generation):
    made = Compiled(nvrtc, SOURCE, f"compute_{generation}")
    assert (made.code, made.log) == (0, "")
    ptx = made.output.decode()
    assert set(re.findall(r"\.visible \.entry (\w+)\(", ptx)) == ENTRIES
    # The processor's own rounding where it has one, ours where not.
    assert "cvt.rn.f16.f32" in ptx
    assert ("cvt.rn.bf16.f32" in ptx) == (generation >= 80)
    # Multiplied and added in two steps, as on the host.
    assert "mul.rn.f32" in ptx and "add.rn.f32" in ptx
    # Double precision, which most GPUs hardly have, only where the weights of a resize are computed; never fused.
    entries = dict(re.findall(r"\.visible \.entry (\w+)\((.*?)\n}", ptx, re.DOTALL))
    assert [name for name, body in entries.items() if ".f64" in body] == ["tarflume_draw"]
    # One kernel asks for it, as the host does where it blends.
    assert [name for name, body in entries.items() if "fma.rn" in body] == ["tarflume_change"]
    assert not any(".f32" in entries[name] for name in DECODING)


#: The most that an entry may use: registers of a thread on each generation, and bytes of shared memory of a block. A
#: processor has 65,536 registers and gives a thread a multiple of eight, so that a block of 256 threads with 80 of them
#: is there three times. ptxas of CUDA 13.2, a part of NVRTC, made them; a bound may be raised, with a reason.
GENERATIONS = (80, 90, 100, 120)
BOUNDS = {
    "tarflume_finish": ((40, 32, 48, 48), 0),
    # Weights in double precision, and three walks over pixels in one kernel.
    "tarflume_draw": ((120, 120, 120, 120), 21_504),
    "tarflume_gather": ((24, 32, 48, 56), 0),
    # Where a record is costs some; a processor still has four blocks of the first, and six of the second.
    "tarflume_huff": ((64, 64, 64, 64), 10_240),
    "tarflume_samples": ((40, 32, 32, 40), 9_728),
    "tarflume_pixels": ((48, 56, 56, 64), 0),
    "tarflume_change": ((64, 72, 96, 96), 16136),
    "tarflume_deliver": ((56, 48, 48, 48), 0),
}


def used(log: str) -> dict[str, tuple[int, int, list[int]]]:
    """By entry, of what ptxas says: registers, bytes of shared memory, bytes of the stack and of spills."""
    found = {}
    for part in log.split("Compiling entry function '")[1:]:
        spills = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part)
        registers = re.search(r"Used (\d+) registers", part)
        assert spills and registers, part
        shared = re.search(r"(\d+) bytes smem", part)
        numbers = [int(number) for number in spills.groups()]
        found[part.split("'")[0]] = (int(registers[1]), int(shared[1]) if shared else 0, numbers)
    return found


@pytest.mark.parametrize("generation", [75, *GENERATIONS])
def test_every_entry_becomes_machine_code_that_keeps_to_its_bounds(nvrtc, generation):
    made = Compiled(nvrtc, SOURCE, f"sm_{generation}", "--ptxas-options=-v")
    assert made.code == 0, made.log
    assert made.output.startswith(b"\x7fELF")
    assert "warning" not in made.log
    found = used(made.log)
    assert set(found) == ENTRIES == set(BOUNDS), "each entry has a line in ENTRIES and in BOUNDS"
    for entry, (registers, shared, spilled) in found.items():
        most, most_shared = BOUNDS[entry]
        assert spilled == [0, 0, 0], f"{entry} on sm_{generation} keeps {spilled} bytes in local memory"
        assert shared <= most_shared, f"{entry} on sm_{generation} uses {shared} bytes of shared memory"
        # The oldest generation is compiled, and has no bounds of its own.
        bound = most[GENERATIONS.index(generation)] if generation in GENERATIONS else 128
        assert registers <= bound, f"{entry} on sm_{generation} uses {registers} registers, more than {bound}"


#: Shared memory, and more values at a time than there are registers.
GREEDY = b"""
extern "C" __global__ void greedy(const float *in, float *out)
{
    __shared__ float room[1000];
    float live[100];
#pragma unroll
    for (int n = 0; n < 100; n++) live[n] = in[n * 256 + threadIdx.x];
    room[threadIdx.x] = live[0];
    __syncthreads();
#pragma unroll
    for (int n = 0; n < 100; n++) out[n * 256 + threadIdx.x] = live[n] * room[(threadIdx.x + n) % 256] + live[99 - n];
}
"""


@pytest.mark.parametrize("generation", GENERATIONS)
def test_what_a_kernel_uses_is_read_from_the_compiler(nvrtc, generation):
    """So that the bounds could fail."""
    made = Compiled(nvrtc, GREEDY, f"sm_{generation}", "--ptxas-options=-v", "--maxrregcount=48")
    registers, shared, spilled = used(made.log)["greedy"]
    assert 40 < registers <= 48 and shared == 4000 and min(spilled) > 0, made.log


def test_what_is_no_kernel_is_refused(nvrtc):
    """So that the tests above could fail."""
    made = Compiled(nvrtc, SOURCE + b"\n#error on purpose\n", "compute_80")
    assert made.code != 0 and "on purpose" in made.log
