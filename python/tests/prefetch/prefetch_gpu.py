"""A simulated GPU: streams, events, pinned memory and PyTorch's allocator, in place of `Accelerator`.

What is put into a stream is done later, when `advance` or a wait gets to it, in an order that the test draws. Memory of the
device is used again as PyTorch's allocator does: at once for the stream that it was made for, and for it alone; after
`record_stream`, when the work is done that the other stream had when the last tensor of it was dropped. Pinned memory is
overwritten as soon as its last tensor is dropped. Kernels have addresses, not tensors, so they see whatever is there by then.
"""

from __future__ import annotations

import ctypes
import dataclasses
import threading
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

#: What is in memory that nothing was written to.
GARBAGE = 0xCD
#: Faults that can be planted, one for each call that a prefetcher must make.
FAULTS = ("consumer does not wait", "no record_stream", "host does not wait", "marked too early", "memory of another stream",
          "thread without stream")


class Token:
    """What an event had recorded: whether the stream has got there."""

    def __init__(self) -> None:
        self.done = False


@dataclasses.dataclass
class Work:
    """What is put into a stream: something that is done, an event that is reached, or one that is waited for."""

    does: Callable[[], None] | None = None
    reaches: Token | None = None
    after: Token | None = None

    @property
    def is_ready(self) -> bool:
        return self.after is None or self.after.done

    @property
    def is_quick(self) -> bool:
        return self.does is None

    def do(self) -> None:
        if self.does is not None:
            self.does()
        if self.reaches is not None:
            self.reaches.done = True


class Block:
    """A piece of memory of the device."""

    def __init__(self, length: int, stream: str) -> None:
        self.memory = np.full(length, GARBAGE, np.uint8)
        self.stream = stream
        #: The streams that use it, and what they must get to before others may.
        self.used: set[str] = set()
        self.pending: list[Token] = []


class Gpu:
    """Stands in for `Accelerator`. `choose(n)` draws what happens next, of `n` possibilities."""

    COPY = "copy"

    def __init__(self, choose: Callable[[int], int], *, faults: Iterable[str] = (), eager: bool = False) -> None:
        self.device = torch.device("cuda", 0)
        self.choose, self.faults, self.eager = choose, frozenset(faults), eager
        assert self.faults <= set(FAULTS)
        self.queues: dict[str, deque[Work]] = defaultdict(deque)
        self.lock = threading.RLock()
        self._blocks: dict[int, Block] = {}
        self._free: list[Block] = []
        self._pinned: dict[int, int] = {}
        self._buried: list[Any] = []
        self._local = threading.local()
        self.consumer = threading.local()
        self.wrong: list[str] = []
        #: Memory that a loader keeps.
        self.kept: list[torch.Tensor] = []
        #: Threads that copied from memory that is not pinned; blocks that were made; bytes that were copied.
        self.pageable: list[int] = []
        self.made = self.copied_bytes = self.kernels = 0
        self.pinned_limit: int | None = None

    # The stream that is current.

    @property
    def current(self) -> str:
        """The consumer's current stream, of this thread."""
        return getattr(self.consumer, "stream", "default")

    def use(self, stream: str) -> None:
        """Makes a stream the consumer's current one."""
        self.consumer.stream = stream

    def _check_thread(self) -> None:
        if not getattr(self._local, "entered", False):
            self.wrong.append("a call by a thread that did not enter the device")

    # Time.

    def able(self) -> list[str]:
        """The streams that can do something."""
        with self.lock:
            return sorted(name for name, queue in self.queues.items() if queue and queue[0].is_ready)

    def run(self, stream: str) -> None:
        """Does what is next in a stream, and what takes no time behind it."""
        with self.lock:
            queue = self.queues[stream]
            queue.popleft().do()
            while queue and queue[0].is_ready and queue[0].is_quick:
                queue.popleft().do()

    def advance(self) -> bool:
        """Does what is next in one of the streams; False if nothing can be done."""
        with self.lock:
            able = self.able()
            if able:
                self.run(able[self.choose(len(able)) if len(able) > 1 else 0])
            return bool(able)

    def hurry(self) -> None:
        """Does a few things or none."""
        for _ in range(max(0, self.choose(6) - 3)):
            self.advance()

    def drain(self) -> None:
        """Does everything."""
        while self.advance():
            pass
        left = {name: len(queue) for name, queue in self.queues.items() if queue}
        if left:
            self.wrong.append(f"streams wait for each other: {left}")

    def _put(self, stream: str, work: Work) -> None:
        with self.lock:
            self.queues[stream].append(work)
            if len(self.queues[stream]) == 1 and work.is_ready and work.is_quick:
                self.run(stream)
            if self.eager:
                self.hurry()

    def _record(self, stream: str) -> Token:
        token = Token()
        self._put(stream, Work(reaches=token))
        return token

    # `Accelerator`, for the consumer.

    def prepare(self) -> None:
        token = self._record(self.current)
        self._put(self.COPY, Work(after=token))

    def check_capture(self) -> None:
        pass

    def deliver(self, mark: Token, tensors: Iterable[torch.Tensor]) -> None:
        with self.lock:
            if "consumer does not wait" not in self.faults:
                self._put(self.current, Work(after=mark))
            for tensor in tensors:
                block = self._blocks[address(tensor)]
                if "no record_stream" not in self.faults and block.stream != self.current:
                    block.used.add(self.current)

    def kernel(self, tensor: torch.Tensor, right: torch.Tensor, what: str = "") -> None:
        """The step: reads a tensor in the current stream, when that gets there. It keeps no reference to it."""
        with self.lock:
            block = self._blocks[address(tensor)]
            offset, size, stride, dtype = tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype
            self.kernels += 1

            def read() -> None:
                seen = torch.empty(0, dtype=dtype).set_(torch.from_numpy(block.memory).untyped_storage(), offset, size, stride)
                if not same(seen, right):
                    self.wrong.append(f"{what}: a kernel read what is not the batch's")

            self._put(self.current, Work(read))

    # `Accelerator`, for the thread.

    def enter(self) -> None:
        self._local.entered = "thread without stream" not in self.faults

    def has(self, tensor: torch.Tensor) -> bool:
        return address(tensor) in self._blocks

    def is_pinned(self, tensor: torch.Tensor) -> bool:
        return address(tensor) in self._pinned

    def pinned(self, length: int) -> torch.Tensor:
        with self.lock:
            if self.pinned_limit is not None and sum(self._pinned.values()) + length > self.pinned_limit:
                raise RuntimeError("CUDA error: out of memory\nand more lines")
            memory = np.full(length, GARBAGE, np.uint8)
            view = memory[:]
            tensor = torch.from_numpy(view)
            self._pinned[address(tensor)] = length
            weakref.finalize(view, self._unpin, address(tensor), memory)
            return tensor

    def _unpin(self, at: int, memory: Any) -> None:
        with self.lock:
            del self._pinned[at]
            memory.fill(GARBAGE)
            self._buried.append(memory)  # a copy that comes too late reads it

    def empty(self, size: torch.Size, stride: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        self._check_thread()
        with self.lock:
            last = sum((extent - 1) * step for extent, step in zip(size, stride, strict=True)) if 0 not in size else -1
            length = 64 + -(-(last + 1) * dtype.itemsize // 64) * 64
            stream = "default" if "memory of another stream" in self.faults else self.COPY
            block = self._block(length, stream)
            view = block.memory[:]
            memory = torch.from_numpy(view)
            weakref.finalize(view, self._freed, block)
            return torch.empty(0, dtype=dtype).set_(memory.untyped_storage(), 0, size, stride)

    def _block(self, length: int, stream: str) -> Block:
        for block in self._free:
            if block.stream == stream and len(block.memory) == length and all(token.done for token in block.pending):
                self._free.remove(block)
                block.pending = []
                break
        else:
            block = Block(length, stream)
            self._blocks[block.memory.ctypes.data] = block
            self.made += 1
        return block

    def _freed(self, block: Block) -> None:
        with self.lock:
            block.pending = [self._record(stream) for stream in sorted(block.used)]
            block.used = set()
            self._free.append(block)

    def copy(self, target: torch.Tensor, source: torch.Tensor, *, waits: bool = False) -> None:
        self._check_thread()
        with self.lock:
            block = self._blocks[address(target)]
            shape, stride, dtype = target.shape, target.stride(), target.dtype
            self.copied_bytes += target.numel() * target.element_size()
            where: Any = (source.data_ptr(), source.shape, source.stride(), source.dtype)
            held = None
            if not self.is_pinned(source):
                self.pageable.append(threading.get_ident())
                held = source.clone(memory_format=torch.preserve_format)
                assert waits, "a copy from memory that is not pinned"

            def write() -> None:
                goal = torch.empty(0, dtype=dtype).set_(torch.from_numpy(block.memory).untyped_storage(), 0, shape, stride)
                goal.copy_(at_address(*where) if held is None else held)

            self._put(self.COPY, Work(write))
            if waits:
                self.wait(self._record(self.COPY))

    def moved(self, thing: Any, **words: Any) -> tuple[Any, list[torch.Tensor]]:
        self._local.made = []
        try:
            return thing.to(self, **words), self._local.made
        finally:
            del self._local.made

    def put(self, tensor: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        """`tensor.to(device)` of an object's own `to`."""
        made = self.empty(tensor.shape, tensor.stride(), tensor.dtype)
        self.copy(made, tensor, waits=not (non_blocking and self.is_pinned(tensor)))
        self._local.made.append(made)
        return made

    def mark(self) -> Token:
        self._check_thread()
        if "marked too early" in self.faults:
            early = Token()
            early.done = True
            return early
        return self._record(self.COPY)

    def wait(self, mark: Token) -> None:
        if "host does not wait" in self.faults:
            return
        while not mark.done:
            if not self.advance() and not mark.done:
                raise AssertionError("the host waits for what no stream does")

    def is_reached(self, mark: Token) -> bool:
        return mark.done

    def seconds(self, begin: Token, end: Token) -> float:
        assert begin.done and end.done
        return 0.001


def address(tensor: torch.Tensor) -> int:
    """Where the memory of a tensor begins."""
    return tensor.untyped_storage().data_ptr()


def at_address(pointer: int, size: torch.Size, stride: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """What is at an address, whoever owns it by now."""
    length = (sum((extent - 1) * step for extent, step in zip(size, stride, strict=True)) + 1) * dtype.itemsize
    raw = torch.frombuffer(bytearray(ctypes.string_at(pointer, length)), dtype=torch.uint8)
    return torch.empty(0, dtype=dtype).set_(raw.untyped_storage(), 0, size, stride)


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have the same bytes, shape and type; NaN is NaN."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return raw(one).equal(raw(other))


def raw(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of the elements, in order."""
    whole = torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor.detach())
    return whole.flatten().view(torch.uint8)
