"""Utilization while something runs: the GPU by NVML, CPUs by /proc. A thread takes samples."""
import ctypes
import os
import pathlib
import threading

from machine import identity


class Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class Nvml:
    """`nvidia-smi`'s numbers of one GPU; None where there is no NVML."""

    def __init__(self, place):
        self._library, self._handle = None, ctypes.c_void_p()
        if place.dry:
            return
        try:
            library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        found = identity(place.device.index)
        if found is None or library.nvmlInit_v2():
            return
        _, uuid, bus = found
        # The UUID of a slice of a card (MIG) is no GPU's; its address is the card's.
        asked = ((library.nvmlDeviceGetHandleByUUID, uuid), (library.nvmlDeviceGetHandleByPciBusId_v2, bus))
        if any(ask(word.encode(), ctypes.byref(self._handle)) == 0 for ask, word in asked):
            self._library = library

    def busy(self):
        """Per cent of NVML's last period in which a kernel ran."""
        rates = Utilization()
        if self._library is None or self._library.nvmlDeviceGetUtilizationRates(self._handle, ctypes.byref(rates)):
            return None
        return rates.gpu


class Sampled:
    """Asks NVML ten times a second while it is entered."""

    def __init__(self, nvml):
        self._nvml, self._over, self.percents = nvml, threading.Event(), []

    def __enter__(self):
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self):
        while not self._over.wait(0.1):
            percent = self._nvml.busy()
            if percent is None:
                return
            self.percents.append(percent)

    def __exit__(self, *error):
        self._over.set()
        self._thread.join()

    def mean(self):
        return sum(self.percents) / len(self.percents) if self.percents else None


def processor_seconds():
    """What this process and its children, such as workers, have used so far."""
    ticks = 0
    for process in [os.getpid(), *children()]:
        try:
            fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def children():
    found = []
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            found += [int(word) for word in (task / "children").read_text().split()]
        except OSError:
            continue
    return found
