"""Programs that take batches from the device that fixtures/cuda simulates. A driver is loaded when a process starts, so each test
starts a new program."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

from patience import PATIENCE_S

PROGRAM = """
import ctypes, gc, sys
import numpy as np
import tarflume

SHARDS = sys.argv[1]
IMAGE = tarflume.Resize((16, 24))

def loader(**settings):
    settings = {"batch_size": 10, "image": IMAGE, "label": "/class", "shuffle": "full", "seed": 3} | settings
    return tarflume.Loader(SHARDS, **settings)

def consumer():
    '''The driver, with the first device as this thread's current one: a consumer's own, which a loader leaves alone.'''
    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == cuda.cuCtxSetCurrent(context) == 0
    return cuda

def read(column, stream=None):
    '''What a consumer of DLPack does: asks for a capsule, then copies from the address, in order.'''
    cuda = consumer()
    capsule = column.__dlpack__(stream=stream, max_version=(1, 0))
    api = ctypes.pythonapi.PyCapsule_GetPointer
    api.restype, api.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    held = api(capsule, b"dltensor_versioned")
    words = ctypes.cast(held, ctypes.POINTER(ctypes.c_uint64))
    address, flags = words[4], words[3]  # version, context, deleter, flags, then the tensor
    assert flags & 1
    made = np.empty(column.shape, column.dtype)
    code = cuda.cuMemcpyDtoHAsync_v2(ctypes.c_void_p(made.ctypes.data), ctypes.c_uint64(address),
                                     ctypes.c_size_t(made.nbytes), ctypes.c_void_p(stream or 1))
    assert code == 0, code
    assert cuda.cuStreamSynchronize(ctypes.c_void_p(stream or 1)) == 0
    return made
"""


def run(driver: pathlib.Path, shards: pathlib.Path, text: str, **knobs: str) -> str:
    program = PROGRAM + textwrap.dedent(text)
    env = os.environ | {"LD_LIBRARY_PATH": str(driver), "TARFLUME_NVRTC": str(driver / "libnvrtc.so")} | knobs
    done = subprocess.run([sys.executable, "-c", program, str(shards)], env=env, text=True, capture_output=True,
                          check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout
