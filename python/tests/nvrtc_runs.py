"""NVIDIA's runtime compiler, which needs no GPU, and programs that run kernels on files: fixtures/cuda has them."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pathlib
import subprocess
import tempfile

import numpy as np

KERNELS = pathlib.Path(__file__).parents[2] / "device" / "src" / "device" / "kernels"
# One program: the second half has no meaning without the first.
SOURCE = (KERNELS / "convert.cu").read_bytes() + b"\n" + (KERNELS / "resample.cu").read_bytes()


def library() -> pathlib.Path:
    """The file of NVRTC that torch brings."""
    spec = importlib.util.find_spec("nvidia")
    assert spec is not None, "torch brings the package nvidia-cuda-nvrtc: see requirements-torch.txt"
    roots = [pathlib.Path(root) for root in spec.submodule_search_locations or []]
    found = [path for root in roots for path in root.rglob("libnvrtc.so.*")]
    assert found, "torch brings libnvrtc.so: see requirements-torch.txt"
    return sorted(found)[-1]


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


class Run:
    """One run of a program of fixtures/cuda: its exit code, what it said, and its output."""

    def __init__(self, program: pathlib.Path, entry: str, out_bytes: int, **words: object) -> None:
        with tempfile.TemporaryDirectory() as folder:
            line = [str(program), entry, f"out={folder}/out", f"out_bytes={out_bytes}"]
            for key, value in words.items():
                if isinstance(value, np.ndarray):
                    value = value.tobytes()
                if isinstance(value, bytes):
                    path = pathlib.Path(folder) / key
                    path.write_bytes(value)
                    value = path
                line.append(f"{key}={value}")
            # A tracer, if present, would end the leak check with an error.
            env = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}
            done = subprocess.run(line, env=env, text=True, capture_output=True, check=False)
            self.code, self.said = done.returncode, done.stderr.strip()
            out = pathlib.Path(folder) / "out"
            self.output = out.read_bytes() if self.code == 0 else b""
