"""Checks whether a GPU is available, with the driver only and within a moment, before anything large is loaded."""
import ctypes

#: Exit code of "nothing to measure on here": as automake's for a skipped test.
NO_GPU = 77


def refusal():
    """Why nothing can be measured here, as one sentence; None if there is a GPU."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no NVIDIA driver (libcuda.so.1) is on this machine: run this on one with an NVIDIA GPU"
    code = cuda.cuInit(0)
    if code == 100:
        return "the NVIDIA driver sees no GPU: run this on a machine with one"
    if code:
        return f"the NVIDIA driver does not start (cuInit gave {code}): try `nvidia-smi`"
    count = ctypes.c_int()
    code = cuda.cuDeviceGetCount(ctypes.byref(count))
    if code or not count.value:
        return "the NVIDIA driver sees no GPU: run this on a machine with one"
    return None
