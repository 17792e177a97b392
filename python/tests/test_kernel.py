"""The kernel for the device, given to NVIDIA's own compiler: NVRTC, which comes with torch and needs no GPU."""

from __future__ import annotations

import ctypes
import importlib.util
import pathlib
import re

import pytest

DEVICE = pathlib.Path(__file__).parents[2] / "device" / "src" / "device" / "kernels"


def source(*names: str) -> bytes:
    """One program: each part has no meaning without those before it."""
    return b"\n".join((DEVICE / f"{name}.cu").read_bytes() for name in names)


SOURCE = source("convert", "resample", "weights", "separable")
ENTRIES = {"tarflume_finish", "tarflume_draw", "tarflume_gather"}
#: What decodes JPEGs, and the bytes of shared memory of a block.
JPEGS = source("convert", "resample", "jpeg", "huff", "pixels")
SHARED = {"tarflume_huff": 12_288, "tarflume_samples": 12_288, "tarflume_pixels": 0, "tarflume_draw": 24_576}


@pytest.fixture(scope="module")
def nvrtc() -> ctypes.CDLL:
    spec = importlib.util.find_spec("nvidia")
    assert spec is not None, "torch brings the package nvidia-cuda-nvrtc: see requirements-torch.txt"
    roots = [pathlib.Path(root) for root in spec.submodule_search_locations or []]
    found = [path for root in roots for path in root.rglob("libnvrtc.so.*")]
    assert found, "torch brings libnvrtc.so: see requirements-torch.txt"
    return ctypes.CDLL(str(sorted(found)[-1]))


class Compiled:
    """A program's log, and what came out: PTX of a virtual architecture, machine code of a real one."""

    def __init__(self, nvrtc: ctypes.CDLL, source: bytes, architecture: str, *options: str) -> None:
        program = ctypes.c_void_p()
        assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"convert.cu", 0, None, None) == 0
        try:
            words = [f"--gpu-architecture={architecture}".encode(), *(option.encode() for option in options)]
            self.code = nvrtc.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
            self.log = self._take(nvrtc, program, "ProgramLog").decode().rstrip("\0")
            kind = "PTX" if architecture.startswith("compute") else "CUBIN"
            self.output = self._take(nvrtc, program, kind) if self.code == 0 else b""
        finally:
            assert nvrtc.nvrtcDestroyProgram(ctypes.byref(program)) == 0

    @staticmethod
    def _take(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
        length = ctypes.c_size_t()
        assert getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(length)) == 0
        buffer = ctypes.create_string_buffer(length.value)
        assert getattr(nvrtc, f"nvrtcGet{what}")(program, buffer) == 0
        return buffer.raw


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
    assert "fma.rn.f64" not in ptx and "fma.rn.f32" not in ptx


@pytest.mark.parametrize("generation", [75, 80, 90, 100])
def test_every_entry_becomes_machine_code_that_keeps_to_registers(nvrtc, generation):
    made = Compiled(nvrtc, SOURCE, f"sm_{generation}", "--ptxas-options=-v")
    assert made.code == 0, made.log
    assert made.output.startswith(b"\x7fELF")
    assert "warning" not in made.log
    assert set(re.findall(r"Compiling entry function '(\w+)'", made.log)) == ENTRIES
    spilled = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", made.log)
    assert spilled == [("0", "0", "0")] * len(ENTRIES)
    # 256 threads a block: two blocks and more fit a processor of 65,536 registers.
    assert all(int(registers) <= 128 for registers in re.findall(r"Used (\d+) registers", made.log))


@pytest.mark.parametrize("generation", [80, 100])
def test_kernels_that_decode_keep_to_registers_and_to_shared_memory(nvrtc, generation):
    made = Compiled(nvrtc, JPEGS, f"sm_{generation}", "--ptxas-options=-v")
    assert made.code == 0 and "warning" not in made.log, made.log
    kernels = re.split(r"Compiling entry function '(\w+)'", made.log + Compiled(
        nvrtc, SOURCE, f"sm_{generation}", "--ptxas-options=-v").log)
    found = dict(zip(kernels[1::2], kernels[2::2], strict=True))
    assert found.keys() >= SHARED.keys()
    for name, most in SHARED.items():
        shared = re.search(r"(\d+) bytes smem", found[name])
        assert int(shared[1] if shared else 0) <= most, name
        assert "0 bytes spill stores, 0 bytes spill loads" in found[name], name
    registers = re.findall(r"Used (\d+) registers", made.log)
    assert registers and all(int(count) <= 64 for count in registers)
    # Integers only, but for the conversion of finished pictures.
    ptx = Compiled(nvrtc, JPEGS, f"compute_{generation}").output.decode()
    entries = dict(re.findall(r"\.visible \.entry (\w+)\((.*?)\n}", ptx, re.DOTALL))
    decode = SHARED.keys() - {"tarflume_draw"}
    assert entries.keys() >= decode and not any(".f32" in entries[name] or ".f64" in entries[name] for name in decode)


def test_what_is_no_kernel_is_refused(nvrtc):
    """So that the tests above could fail."""
    made = Compiled(nvrtc, SOURCE + b"\n#error on purpose\n", "compute_80")
    assert made.code != 0 and "on purpose" in made.log
