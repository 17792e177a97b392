"""NVIDIA's runtime compiler, which needs no GPU, and programs that run kernels on files: fixtures/cuda has them."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

from collections.abc import Sequence

import numpy as np

KERNELS = pathlib.Path(__file__).parents[2] / "device" / "src" / "device" / "kernels"
Three = tuple[int, int, int]


def source() -> bytes:
    """The program of all kernels: the files that args.rs names, in their order."""
    names = re.findall(r'include_str!\("(\w+\.cu)"\)', (KERNELS / "args.rs").read_text())
    return b"\n".join((KERNELS / name).read_bytes() for name in names)


def library() -> pathlib.Path:
    """The file of NVRTC that torch brings."""
    spec = importlib.util.find_spec("nvidia")
    assert spec is not None, "the package nvidia-cuda-nvrtc is missing; torch brings it: see requirements-torch.txt"
    roots = [pathlib.Path(root) for root in spec.submodule_search_locations or []]
    found = [path for root in roots for path in root.rglob("libnvrtc.so.*")]
    assert found, "libnvrtc.so of the package nvidia-cuda-nvrtc is missing; torch brings it: see requirements-torch.txt"
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


class Array:
    """Memory of a kernel: bytes at an address, which is `off` bytes behind a multiple of 16; one that is `out` is returned."""

    def __init__(self, contents: bytes | np.ndarray, out: bool = False, off: int = 0) -> None:
        self.contents = contents.tobytes() if isinstance(contents, np.ndarray) else contents
        self.out, self.off = out, off


class Ran:
    """The exit code of a run, what it said, and the arrays that are `out`."""

    def __init__(self, code: int, said: str, outputs: list[bytes]) -> None:
        self.code, self.said, self.outputs = code, said, outputs


def u32(value: int) -> str:
    return f"u32={value}"


def u64(value: int) -> str:
    return f"u64={value}"


def f32(value: float) -> str:
    return f"f32={struct.unpack('<I', struct.pack('<f', value))[0]:x}"


def attempt(program: pathlib.Path, entry: str, parameters: Sequence[Array | str | None], *, grid: Three, block: Three,
            ptx: str | None = None, **words: int) -> Ran:
    """Runs an entry with these parameters, each an array, nothing, or a number from the functions above."""
    with tempfile.TemporaryDirectory() as folder:
        line = [str(program)]
        if ptx is not None:
            path = pathlib.Path(folder) / "text.ptx"
            path.write_text(ptx)
            line.append(f"ptx={path}")
        line += [f"{key}={value}" for key, value in words.items() if key != "shared"]
        numbers = [f"launch={entry}", "grid={},{},{}".format(*grid), "block={},{},{}".format(*block)]
        numbers += [f"shared={words['shared']}"] if "shared" in words else []
        outputs = []
        for place, parameter in enumerate(parameters):
            if isinstance(parameter, str) or parameter is None:
                numbers.append(parameter or "u64=0")
                continue
            path = pathlib.Path(folder) / f"in{place}"
            path.write_bytes(parameter.contents)
            address = ((place + 1) << 32) + parameter.off
            out = f"{folder}/out{place}" if parameter.out else ""
            line.append(f"array={address}:{len(parameter.contents)}:{path}:{out}")
            numbers.append(f"u64={address}")
            outputs += [pathlib.Path(out)] if out else []
        # A tracer, if present, would end the leak check with an error.
        env = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run([*line, *numbers], env=env, text=True, capture_output=True, check=False)
        return Ran(done.returncode, done.stderr.strip(), [out.read_bytes() for out in outputs] if done.returncode == 0 else [])


def run(program: pathlib.Path, entry: str, parameters: Sequence[Array | str | None], *, grid: Three, block: Three,
        ptx: str | None = None, **words: int) -> Ran:
    """The same, of what must go well."""
    ran = attempt(program, entry, parameters, grid=grid, block=block, ptx=ptx, **words)
    assert ran.code == 0, ran.said
    return ran


if __name__ == "__main__":
    # The PTX of all kernels for GPUs of a generation: `python kernel_runs.py 90 FILE`.
    made = Compiled(ctypes.CDLL(str(library())), source(), f"compute_{sys.argv[1]}")
    assert made.code == 0, made.log
    pathlib.Path(sys.argv[2]).write_bytes(made.output.rstrip(b"\0"))
