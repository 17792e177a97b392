"""`Accelerator`: the calls of PyTorch by which batches reach a GPU. Tests put a double in its place.

All of these calls stand here, so that what is done with streams, events and memory can be tested without a GPU.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterable
from typing import Any

import torch

from ...errors import UsageError
from .. import place
from .recorded import Recorded

__all__ = ["Accelerator", "chosen"]

#: Kinds of devices with streams, events and pinned memory, as far as this package uses them.
_KINDS = ("cuda", "xpu")
#: `CU_STREAM_CAPTURE_MODE_RELAXED`.
_RELAXED = 2


class Accelerator:
    """A GPU, and a stream for copies to it.

    `prepare` and `deliver` are called by the consumer's thread. All others are called by the thread that reads, after it has
    called `enter`: the copy stream is current there.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._module: Any = torch.get_device_module(device)
        self._stream: Any = None

    def prepare(self) -> None:
        """Makes the stream at the first call. What it does from now on follows the work of the consumer's stream."""
        if self._stream is None:
            self._stream = self._module.Stream(device=self.device, priority=-1)
        self._stream.wait_stream(self._module.current_stream(self.device))

    def enter(self) -> None:
        """Makes device and stream those of this thread. A new thread would have the first device."""
        self._module.set_device(self.device)
        self._module.set_stream(self._stream)
        if self.device.type == "cuda":
            _relax_captures()

    def check_capture(self) -> None:
        """
        Raises:
            UsageError: a CUDA graph is captured in the consumer's stream. The capture stays valid.
        """
        asks = getattr(self._module, "is_current_stream_capturing", None)
        if asks is not None and asks():
            raise UsageError(
                "a batch was requested while a CUDA graph is captured: take batches before the capture, and copy them into "
                "the tensors of the graph"
            )

    def deliver(self, mark: Any, tensors: Iterable[torch.Tensor]) -> None:
        """The consumer's current stream waits for `mark`. The memory of `tensors` is used again only when the work that this
        stream has by the time at which they are dropped is done."""
        stream = self._module.current_stream(self.device)
        stream.wait_event(mark)
        for tensor in tensors:
            tensor.record_stream(stream)

    def has(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is on this device."""
        return tensor.device == self.device

    def is_pinned(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is in pinned memory."""
        return tensor.is_pinned()

    def pinned(self, length: int) -> torch.Tensor:
        """Pinned memory of `length` bytes.

        Raises:
            RuntimeError: the system gives none.
        """
        return torch.empty(length, dtype=torch.uint8, device="cpu", pin_memory=True)

    def empty(self, size: torch.Size, stride: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Memory on the device for the copy stream."""
        return torch.empty_strided(size, stride, dtype=dtype, device=self.device)

    def copy(self, target: torch.Tensor, source: torch.Tensor, *, waits: bool = False) -> None:
        """Copies to the device in the copy stream, and returns at once; with `waits`, when `source` has been read."""
        target.copy_(source, non_blocking=not waits)

    def moved(self, thing: Any, **words: Any) -> tuple[Any, list[torch.Tensor]]:
        """What `thing.to(device)` returns, and the tensors that were made on the device for it."""
        with Recorded() as recorded:
            made = thing.to(self.device, **words)
        return made, [tensor for tensor in recorded.tensors if self.has(tensor)]

    def mark(self) -> Any:
        """An event at this place of the copy stream. It says when it is reached; a thread that waits for it sleeps."""
        words = {"blocking": True} if self.device.type == "cuda" else {}
        event = self._module.Event(enable_timing=True, **words)
        event.record(self._stream)
        return event

    def wait(self, mark: Any) -> None:
        """Waits until the copy stream has reached `mark`."""
        mark.synchronize()

    def is_reached(self, mark: Any) -> bool:
        """Whether the copy stream has reached `mark`."""
        return bool(mark.query())

    def seconds(self, begin: Any, end: Any) -> float:
        """The time between two marks that were reached, by the clock of the device."""
        return float(begin.elapsed_time(end)) / 1e3


def _relax_captures() -> None:
    """While another thread captures a CUDA graph, calls that allocate or wait are allowed in this thread, and do not end the
    capture."""
    with contextlib.suppress(OSError, AttributeError):
        mode = ctypes.c_int(_RELAXED)
        ctypes.CDLL("libcuda.so.1").cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))


def chosen(device: str | int | torch.device | None) -> tuple[torch.device, str]:
    """The device, and why it is this one. `None` is the accelerator of this process, or the CPU if there is none.

    Raises:
        UsageError: there is no such device, or batches cannot be copied to devices of its kind.
    """
    if device is None:
        kind = next((kind for kind in _KINDS if _visible(kind)), None)
        if kind is None:
            return torch.device("cpu"), "PyTorch sees no GPU: batches stay in host memory"
        return _of_process(kind)
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        raise UsageError(f'device={device!r} is none of PyTorch; give device="cuda", "cuda:1", "cpu", or leave it out') from None
    if found.type == "cpu":
        return torch.device("cpu"), "as given: batches stay in host memory"
    if found.type not in _KINDS:
        raise UsageError(
            f'Prefetcher copies to devices of the kinds {" and ".join(_KINDS)}, and {device!r} is another: give device="cpu", '
            f'and write batch = batch.to("{found.type}") in the loop'
        )
    count = _visible(found.type)
    if not count:
        raise UsageError(
            f"device={str(device)!r}, and PyTorch {torch.__version__} sees none: leave device= out, and batches stay in host "
            "memory where there is no GPU"
        )
    if found.index is None:
        return _of_process(found.type)
    if found.index >= count:
        raise UsageError(f"device={str(device)!r}, and PyTorch sees {count}: 0 to {count - 1}")
    return found, "as given"


def _visible(kind: str) -> int:
    """The devices of a kind that PyTorch sees. Where NVIDIA's management library can be asked, CUDA is not initialized."""
    module = torch.get_device_module(kind)
    return int(module.device_count())


def _of_process(kind: str) -> tuple[torch.device, str]:
    module = torch.get_device_module(kind)
    current = module.current_device() if module.is_initialized() else None
    index, why = place.local_device(_visible(kind), current)
    return torch.device(kind, index), why
