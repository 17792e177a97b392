"""Where a part runs: on a GPU; or, to try the script without one, on the CPU, against the CUDA driver that
fixtures/cuda simulates. The parts are the same code in both cases; what differs stands here."""
import contextlib
import ctypes
import time

import numpy as np
import torch

import tarflume
import tarflume.torch


class Clock:
    """Replaces a CUDA event where all work is complete when it is submitted."""

    def record(self):
        self.at = time.perf_counter()

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return 1e3 * (end.at - self.at)


class Gpu:
    """A GPU, by its number."""

    dry = False

    def __init__(self, number):
        if not torch.cuda.is_available():
            raise RuntimeError(f"PyTorch {torch.__version__} sees no GPU: install a build with CUDA")
        self.name = f"cuda:{number}"
        self.device = torch.device(self.name)
        torch.cuda.set_device(self.device)
        self._cycles = None

    def event(self):
        return torch.cuda.Event(enable_timing=True)

    def wait(self):
        torch.cuda.synchronize()

    def stream(self):
        """A separate stream, current in a `with`."""
        return torch.cuda.stream(torch.cuda.Stream())

    def linger(self, us):
        """Occupies the current stream for this long; the host continues."""
        if self._cycles is None:
            self._cycles = self._rate()
        torch.cuda._sleep(int(us * self._cycles))

    def _rate(self):
        """Cycles in a microsecond."""
        torch.cuda._sleep(1_000_000)
        begin, end = self.event(), self.event()
        begin.record()
        torch.cuda._sleep(20_000_000)
        end.record()
        end.synchronize()
        return 20_000_000 / (1e3 * begin.elapsed_time(end))

    def pinned(self, length):
        return torch.empty(length, dtype=torch.uint8, pin_memory=True)

    def columns(self, batch, own):
        """What `tarflume.torch.Loader` makes of a batch: with `own` PyTorch's memory, else views of the ring."""
        return tarflume.torch.tensors(batch, own=own)

    def batches(self, shards, deliver="torch", **settings):
        """What a user iterates over."""
        return tarflume.torch.Loader(shards, device=self.name, deliver=deliver, drop_last=True, **settings)

    def autocast(self):
        return torch.autocast("cuda", torch.bfloat16)


class Simulated(Gpu):
    """No GPU: the loader's driver is simulated, PyTorch is on the CPU, and what a column holds is copied out of the
    simulated memory, as a consumer of DLPack would, in the order of its stream."""

    dry = True

    def __init__(self):
        self.name, self.device = "cuda:0", torch.device("cpu")
        # The consumer's own context, as PyTorch's would be; a loader leaves what is current as it was.
        self._driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        if self._driver.cuInit(0) or self._driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) \
                or self._driver.cuCtxSetCurrent(context):
            raise RuntimeError("the simulated driver has no context")

    def event(self):
        return Clock()

    def wait(self):
        pass

    def stream(self):
        return contextlib.nullcontext()

    def linger(self, us):
        time.sleep(us / 1e6)

    def pinned(self, length):
        return torch.empty(length, dtype=torch.uint8)

    def columns(self, batch, own):
        return {name: self._read(batch[name]) if isinstance(batch[name], tarflume.DeviceColumn) else batch[name]
                for name in batch}

    def _read(self, column):
        stream, capsule = ctypes.c_void_p(1), column.__dlpack__(stream=1, max_version=(1, 0))
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        # Of a versioned tensor: version, context, deleter, flags, then the address.
        address = ctypes.cast(pointer(capsule, b"dltensor_versioned"), ctypes.POINTER(ctypes.c_uint64))[4]
        made = np.empty(column.nbytes, np.uint8)
        copy = self._driver.cuMemcpyDtoHAsync_v2
        code = copy(ctypes.c_void_p(made.ctypes.data), ctypes.c_uint64(address), ctypes.c_size_t(made.nbytes), stream)
        if code or self._driver.cuStreamSynchronize(stream):
            raise RuntimeError(f"the simulated driver did not copy a column ({code})")
        return torch.from_numpy(made).view(getattr(torch, column.dtype)).reshape(column.shape)

    def batches(self, shards, deliver="torch", **settings):
        return Walked(self, tarflume.Loader(shards, device=self.name, drop_last=True, **settings))

    def autocast(self):
        return torch.autocast("cpu", torch.bfloat16)


class Walked:
    """As `tarflume.torch.Loader`, with tensors on the CPU."""

    def __init__(self, place, loader):
        self._place, self._loader = place, loader

    def __iter__(self):
        for batch in self._loader:
            made = self._place.columns(batch, True)
            batch.release()
            yield made

    def stats(self):
        return self._loader.stats()

    def close(self):
        self._loader.close()


def place(dry, number=0):
    return Simulated() if dry else Gpu(number)
