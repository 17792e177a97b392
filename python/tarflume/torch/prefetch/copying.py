"""`Copier` and `Passer`: what happens to a batch between the loader and the consumer."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import inspect
import sys
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import torch

from ...errors import UsageError
from .counts import Counts
from .devices import Accelerator
from .staging import Staging
from .structure import mapped

__all__ = ["Copied", "Copier", "Passer"]

_COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
_LAYOUTS = (torch.strided, torch.sparse_coo, *_COMPRESSED)
#: Places of tensors in a slot are multiples of this many bytes.
_ALIGNED = 256


@dataclass
class Copied:
    """A batch for the consumer."""

    value: Any
    #: What the consumer's stream waits for; None if there is nothing to wait for.
    mark: Any = None
    #: The tensors of the batch on the device.
    tensors: list[torch.Tensor] = field(default_factory=list)


@dataclass
class _Dense:
    """A tensor that goes through the slot."""

    source: torch.Tensor
    stride: tuple[int, ...]
    offset: int
    #: Whether its memory has no gaps and no element twice, so that it is copied as it lies there.
    whole: bool


class Passer:
    """For `device="cpu"`: batches as they are."""

    def __init__(self, arrays: bool, counts: Counts) -> None:
        self._arrays, self._counts = arrays, counts

    def prepare(self) -> None:
        """Nothing."""

    def enter(self) -> None:
        """Nothing."""

    def check_capture(self) -> None:
        """Nothing."""

    def copied(self, value: Any) -> Copied:
        """The batch; with `arrays`, NumPy arrays are tensors."""
        return Copied(mapped(value, of_array, {}) if self._arrays else value)

    def deliver(self, copied: Copied) -> Any:
        """The batch."""
        return copied.value

    def settle(self) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


class Copier:
    """Copies batches to a device. `prepare`, `check_capture` and `deliver` are for the consumer's thread."""

    def __init__(self, device: Accelerator, arrays: bool, counts: Counts) -> None:
        self._device, self._arrays, self._counts = device, arrays, counts
        self._staging = Staging(device)
        self._timed: list[tuple[Any, Any]] = []
        self._sources: list[Any] = []
        self._last: Any = None
        self.prepare, self.enter, self.check_capture = device.prepare, device.enter, device.check_capture

    def deliver(self, copied: Copied) -> Any:
        """The batch. The consumer's current stream waits for its copies; the host does not."""
        self._device.deliver(copied.mark, copied.tensors)
        return copied.value

    def copied(self, value: Any) -> Copied:
        """The batch on the device, as soon as `mark` is reached."""
        leaves = _Leaves(self._device, self._arrays)
        mapped(value, leaves.add, {})
        begun = perf_counter()
        slot = self._staging.take(leaves.length) if leaves.length else None
        if slot is not None:
            for dense in leaves.staged:
                _write(slot, dense)
        self._counts.staging(perf_counter() - begun, self._staging.length, self._staging.warning)
        begin = self._device.mark()
        try:
            self._send(leaves, slot)
        finally:  # copies that were begun read their memory, also if one could not be
            end = self._last = self._device.mark()
            if slot is not None:
                self._staging.read_until(end)
        self._timed.append((begin, end))
        self._counts.copied(leaves.bytes)
        return Copied(mapped(value, leaves.get, {}), end, leaves.tensors)

    def settle(self) -> None:
        """Waits until the device has read the loader's own pinned memory, which the loader may write when it is asked for
        the next batch. Other memory of a batch was read when `copied` returned."""
        if self._sources:
            self._device.wait(self._last)
            self._sources.clear()
        self._measure()

    def end(self) -> None:
        """Waits until the device has read all memory of the host."""
        if self._last is not None:
            self._device.wait(self._last)
        self._sources.clear()
        self._measure()

    def _measure(self) -> None:
        """Adds the times of the copies that are done, in the order in which they were made."""
        while self._timed and self._device.is_reached(self._timed[0][1]):
            begin, end = self._timed.pop(0)
            self._counts.copying(self._device.seconds(begin, end))

    def _send(self, leaves: _Leaves, slot: torch.Tensor | None) -> None:
        """Begins all copies of a batch."""
        for dense in leaves.staged:
            leaves.put(dense.source, self._sent(slot, dense))
        for source in leaves.direct:
            self._sources.append(source)
            leaves.put(source, self._target(source, source.stride(), source))
        for thing in leaves.others:
            leaves.put(thing, self._moved(thing, leaves.tensors))

    def _sent(self, slot: torch.Tensor | None, dense: _Dense) -> torch.Tensor:
        """The tensor on the device: from the slot, or from its own memory if there is none, which is slower."""
        if slot is None:
            return self._target(dense.source, dense.stride, dense.source, waits=True)
        return self._target(dense.source, dense.stride, _view(slot, dense))

    def _target(
        self, source: torch.Tensor, stride: tuple[int, ...], memory: torch.Tensor, *, waits: bool = False
    ) -> torch.Tensor:
        target = self._device.empty(source.shape, stride, source.dtype)
        self._device.copy(target, memory.detach(), waits=waits)
        return target

    def _moved(self, thing: Any, tensors: list[torch.Tensor]) -> Any:
        """An object on the device, by its own `to`. The object itself does not change."""
        mine = thing if isinstance(thing, torch.Tensor) else _shallow(thing)
        if not isinstance(thing, torch.Tensor) and callable(getattr(mine, "pin_memory", None)):
            pinned = mine.pin_memory()
            mine = mine if pinned is None else pinned
        self._sources.append(mine)
        words = {"non_blocking": True} if _takes_non_blocking(mine) else {}
        made, recorded = self._device.moved(mine, **words)
        tensors += recorded
        return mine if made is None else made  # `to` may change the object and return nothing


class _Leaves:
    """The leaves of a batch, by what is done with them, and what is made of each."""

    def __init__(self, device: Accelerator, arrays: bool) -> None:
        self._device, self._arrays = device, arrays
        self.staged: list[_Dense] = []
        self.direct: list[torch.Tensor] = []
        self.others: list[Any] = []
        #: The tensors on the device.
        self.tensors: list[torch.Tensor] = []
        #: Bytes of the slot, and bytes that are copied.
        self.length = self.bytes = 0
        self._made: dict[int, Any] = {}
        #: The leaves: an id names an object only while that lives.
        self._seen: dict[int, Any] = {}
        self._parts: dict[int, tuple[Any, ...]] = {}

    def add(self, leaf: Any) -> Any:
        """Sorts a leaf, and returns it."""
        self._seen[id(leaf)] = leaf
        if isinstance(leaf, np.ndarray):
            tensor = of_array(leaf) if self._arrays else leaf
            if isinstance(tensor, torch.Tensor):
                self._parts[id(leaf)] = (tensor,)
                self.add(tensor)
        elif not isinstance(leaf, torch.Tensor) or _is_opaque(leaf):
            self.others.append(leaf)
        elif parts := _sparse_parts(leaf):
            self._parts[id(leaf)] = parts
            for part in parts:
                self.add(part)
        else:
            self._add_strided(leaf)
        return leaf

    def _add_strided(self, leaf: torch.Tensor) -> None:
        plain = leaf.detach().as_subclass(torch.Tensor)
        if self._device.has(leaf):
            self.tensors.append(plain)
            self._made[id(leaf)] = leaf
            return
        if leaf.device.type != "cpu":
            self.others.append(leaf)
            return
        plain = plain.resolve_conj().resolve_neg()
        self._parts[id(leaf)] = (plain,)
        whole = _is_whole(plain)
        stride = plain.stride() if whole else torch.empty_like(plain, device="meta").stride()
        length = plain.numel() * plain.element_size()
        self.bytes += length
        if not length:
            self.put(plain, self._device.empty(plain.shape, stride, plain.dtype))
        elif whole and self._device.is_pinned(plain):
            self.direct.append(plain)
        else:
            self.staged.append(_Dense(plain, stride, self.length, whole))
            self.length += -(-length // _ALIGNED) * _ALIGNED

    def put(self, source: Any, made: Any) -> None:
        """`made` is what is delivered in place of `source`."""
        self._made[id(source)] = made
        if isinstance(made, torch.Tensor) and not _is_opaque(made):
            self.tensors.append(made)

    def get(self, leaf: Any) -> Any:
        """What is delivered in place of a leaf."""
        if id(leaf) not in self._seen and id(leaf) not in self._made:
            raise UsageError(
                f"a batch returns another {type(leaf).__name__} each time it is read: let the loader return a dict or a list "
                "with its items"
            )
        if id(leaf) in self._made:
            return self._made[id(leaf)]
        parts = self._parts.get(id(leaf))
        if parts is None:
            return leaf  # an array that stays one
        made = [self.get(part) for part in parts]
        if all(new is old for new, old in zip(made, parts, strict=True)) and isinstance(leaf, torch.Tensor):
            return leaf
        again = made[0] if isinstance(leaf, np.ndarray) else _like(leaf, made)
        self._made[id(leaf)] = again
        return again


def of_array(leaf: Any) -> Any:
    """A NumPy array of numbers as a tensor; anything else as it is."""
    if type(leaf) not in (np.ndarray, np.memmap):
        return leaf  # a masked array would lose its mask
    is_odd = any(stride < 0 or (leaf.itemsize and stride % leaf.itemsize) for stride in leaf.strides)
    if is_odd or not leaf.flags.writeable or not leaf.dtype.isnative:
        numbers = leaf.astype(leaf.dtype.newbyteorder("="), order="C", copy=True)
    else:
        numbers = leaf
    try:
        return torch.from_numpy(numbers)
    except TypeError:  # texts, objects, times
        return leaf


def _is_opaque(tensor: torch.Tensor) -> bool:
    """Whether only the tensor itself knows how it is moved: it is nested or quantized, or its class replaces functions of PyTorch."""
    if tensor.is_nested or tensor.is_quantized or tensor.layout not in _LAYOUTS:
        return True
    if _is_tv(tensor):
        return False
    kind = type(tensor)
    return _function(kind) not in _PLAIN or kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__


def _function(kind: type) -> Any:
    """What is called in place of PyTorch's functions for tensors of a class."""
    function = kind.__torch_function__  # type: ignore[attr-defined]
    return getattr(function, "__func__", function)


_PLAIN = (_function(torch.Tensor), _function(torch.nn.Parameter))


def _is_tv(tensor: torch.Tensor) -> bool:
    """Whether this is a tensor of torchvision: an image, boxes, a mask."""
    module = sys.modules.get("torchvision.tv_tensors")
    return module is not None and isinstance(tensor, module.TVTensor)


def _sparse_parts(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The strided tensors of a sparse one; none of a strided one."""
    if tensor.layout == torch.sparse_coo:
        plain = tensor.detach()
        return plain._indices(), plain._values()
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return tensor.crow_indices(), tensor.col_indices(), tensor.detach().values()
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return tensor.ccol_indices(), tensor.row_indices(), tensor.detach().values()
    return ()


def _like(leaf: torch.Tensor, made: list[torch.Tensor]) -> torch.Tensor:
    """A tensor of the class, layout and gradient flag of `leaf` over what was made of its parts."""
    if leaf.layout == torch.sparse_coo:
        again = torch.sparse_coo_tensor(
            made[0], made[1], leaf.shape, check_invariants=False, is_coalesced=leaf.is_coalesced()
        )
    elif leaf.layout in _COMPRESSED:
        again = torch.sparse_compressed_tensor(
            made[0], made[1], made[2], leaf.shape, layout=leaf.layout, check_invariants=False
        )
    elif _is_tv(leaf):
        again = sys.modules["torchvision.tv_tensors"].wrap(made[0], like=leaf)
    elif type(leaf) in (torch.Tensor, torch.nn.Parameter):
        again = made[0]
    else:
        again = made[0].as_subclass(type(leaf))
    return again.requires_grad_(leaf.requires_grad)


def _is_whole(tensor: torch.Tensor) -> bool:
    """Whether the elements fill a piece of memory, each once, in any order of the dimensions."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def _view(slot: torch.Tensor, dense: _Dense) -> torch.Tensor:
    """The place of a tensor in the slot, as a tensor of its shape."""
    source = dense.source
    empty = torch.empty(0, dtype=source.dtype)
    return empty.set_(slot.untyped_storage(), dense.offset // source.element_size(), source.shape, dense.stride)


def _write(slot: torch.Tensor, dense: _Dense) -> None:
    """Copies a tensor into the slot. No lock of the interpreter is held, and no thread of PyTorch is started for what can be
    copied as it lies there."""
    source = dense.source
    if dense.whole:
        ctypes.memmove(slot.data_ptr() + dense.offset, source.data_ptr(), source.numel() * source.element_size())
    else:
        _view(slot, dense).copy_(source)


def _shallow(thing: Any) -> Any:
    with contextlib.suppress(TypeError, copy.Error):
        return copy.copy(thing)
    return thing


def _takes_non_blocking(thing: Any) -> bool:
    if isinstance(thing, torch.Tensor):
        return True
    try:
        parameters = inspect.signature(thing.to).parameters
    except (TypeError, ValueError):
        return False
    return "non_blocking" in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())
