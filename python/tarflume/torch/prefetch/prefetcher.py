"""`Prefetcher`: copies the batches of any loader to the GPU while the step computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import torch

from ... import _core
from ...errors import UsageError
from ..datasets import Dataset
from ..elastic import ElasticLoader
from ..gradients import gradient_state
from ..loader import Loader
from .ahead import PATIENCE_S, Ahead
from .channel import Channel, Item
from .copying import Copier, Passer
from .counts import Counts
from .devices import Accelerator, chosen
from .iteration import Iteration
from .reader import Reader, Unknown

__all__ = ["Prefetcher"]


class Prefetcher:
    """Copies batches of any loader to the GPU on a separate stream, while the step computes.

        loader = torch.utils.data.DataLoader(dataset, batch_size=256, num_workers=8, pin_memory=True)
        for batch in tarflume.torch.Prefetcher(loader):
            loss = model(batch)                       # on the GPU of this rank

    A thread takes batches of the loader, copies what is not pinned to its own pinned memory, and starts the copies on a
    separate stream. The consumer's current stream waits for the copies of a batch, the host does not. Memory of a batch is
    used again when the work is done that this stream has when the batch is dropped.

    An iteration is one of the loader, with the same batches in the same order; an error of the loader is raised in place of
    its batch. One iteration runs at a time, and a second one ends the first. Leaving a loop ends the thread.

    loader: anything that can be iterated over. Its attributes (`dataset`, `sampler`, `batch_size`, `set_epoch`, ...) and its
    length are those of the prefetcher. A loader of tarflume takes `device=` itself, which is better: batches are decoded into
    pinned memory.

    device: "cuda:1", a `torch.device`, or "cuda": PyTorch's current device if PyTorch already uses one, otherwise the only
    visible one, otherwise that of `LOCAL_RANK` (or of Slurm's or MPI's variable), as for `Loader`. By default it is "cuda" if
    PyTorch sees a GPU, and otherwise "cpu", where batches are only read ahead. `stats()["device"]` contains the choice.

    depth: batches that are read and copied before they are requested, at most. They need GPU memory.

    arrays: NumPy arrays of numbers in batches become tensors; otherwise they stay as they are, in host memory.

    states: `state_dict()` is the state of the loader behind the last batch that was delivered. For it the state is copied
    after each batch; `states=False` leaves that out, for loaders whose states are large.

    Mappings, tuples, lists, data classes and `PackedSequence` keep their classes. Objects with `to(device)` are moved by it.
    docs/PREFETCHER.md has all rules.
    """

    def __init__(
        self,
        loader: Iterable[Any],
        device: str | int | torch.device | None = None,
        *,
        depth: int = 2,
        arrays: bool = False,
        states: bool = True,
    ) -> None:
        _check(loader)
        if not isinstance(depth, int) or isinstance(depth, bool) or depth < 1:
            raise UsageError(f"depth={depth!r} is no number of batches: give 1 or more")
        self._loader, self._depth, self._given = loader, depth, (device, arrays, states)
        others = set(self.__dict__)  # of a derived class
        #: The class that was called.
        self._kind = type(self)
        # A prefetcher has the methods of states only if the loader has them: trainers look for them by name.
        has = all(callable(getattr(loader, name, None)) for name in ("state_dict", "load_state_dict"))
        self._states = has and states
        if self._states:
            self.__class__ = _with_states(self._kind)
        self.device, self._why = chosen(device)
        self._counts = Counts()
        self._mover: Copier | Passer
        if self.device.type == "cpu":
            self._mover = Passer(arrays, self._counts)
        else:
            self._mover = Copier(Accelerator(self.device), arrays, self._counts)
        #: The thread, and the number of the iteration that it is for.
        self._running: Ahead | None = None
        self._turn = 0
        #: Whether it is in Accelerate's list of loaders that are iterated over.
        self._is_listed = False
        #: The state behind the last batch that was delivered, if the loader itself is ahead of it.
        self._state: Any = None
        self._own = frozenset(self.__dict__) - others | {"_own", "end_of_dataloader", "remainder"}

    def __iter__(self) -> Iterator[Any]:
        """Begins an iteration of the loader. An iterator that is dropped unused has no effect but that on the loader."""
        if self._is_iterator and self._running is not None:
            self._turn += 1
            self._leave_list()
            return Iteration(self, self._running, self._mover, self._counts, keeps=True)
        self._end()
        begin = partial(self._begin, iter(self._loader))
        return Iteration(self, begin, self._mover, self._counts, keeps=self._is_iterator)

    @property
    def _is_iterator(self) -> bool:
        """Whether the loader is an iterator, which cannot begin again: what is read ahead of it is not dropped."""
        return isinstance(self._loader, Iterator)

    def _begin(self, batches: Iterator[Any]) -> Ahead:
        channel = Channel(self._depth)
        reader = Reader(self._loader, batches, self._mover, channel, self._counts, self._states)
        self._mover.prepare()
        self._state = reader.state()
        self._running = Ahead(reader, channel)
        return self._running

    def _delivered(self, item: Item) -> None:
        """Notes the state, and what Accelerate asks for, of what is delivered now."""
        if item.is_end:
            self._running = self._state = None  # the loader is where the consumer is
        elif item.state is not None:
            self._state = item.state
        if item.last is not None:
            self.end_of_dataloader, self.remainder = item.last

    def _enter_list(self) -> None:
        """Makes this the loader that Accelerate asks for the end of the epoch: the loader itself is ahead of it."""
        if not self._is_listed and (state := gradient_state()) is not None:
            state._add_dataloader(self)
            self._is_listed = True

    def _leave_list(self) -> None:
        if self._is_listed and (state := gradient_state()) is not None:
            state._remove_dataloader(self)
        self._is_listed = False

    def _end(self) -> None:
        """Ends the running iteration. Two threads would disturb each other in the loader: this waits for as long as it
        takes."""
        self._turn += 1
        self._leave_list()
        running, self._running = self._running, None
        if running is not None:
            running.close()

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return bool(self._loader)

    def __getattr__(self, name: str) -> Any:
        """Attributes of the loader."""
        if name.startswith("__") or "_loader" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name in ("state_dict", "load_state_dict"):
            raise AttributeError(f"{type(self._loader).__name__} has no states, or states=False was given")
        if name == "epoch" and isinstance(self._loader, Loader):
            return self._epoch  # the loader's own batches would not be copied
        return getattr(self._loader, name)

    @property
    def loader(self) -> Any:
        """The loader."""
        return self._loader

    def _epoch(self, epoch: int) -> Iterator[Any]:
        """The batches of an epoch of a loader of tarflume."""
        self._loader.set_epoch(epoch)  # type: ignore[attr-defined]
        return iter(self)

    def stats(self) -> dict[str, Any]:
        """What was done since the prefetcher was made, in seconds and bytes, over all iterations. `loader.stats()` has what
        the loader itself has.

        - `device`: which, and why. `depth`. `batches`: delivered. `bytes`: copied to the device.
        - `waited_s`: the consumer waited for batches, `startup_s` of them for the first of each iteration.
        - `loader_s`: the thread waited for the loader. `staging_s`: it wrote to pinned memory, or waited for it.
        - `copy_s`: the time of the copies by the clock of the device. `staging_bytes`: pinned memory.
        - `warning`: None without one. `running_s` and `stages` are for `tarflume.torch.stragglers`.
        """
        return {"device": f"{self.device} ({self._why})", "depth": self._depth} | self._counts.told()

    def close(self) -> None:
        """Ends the thread, and waits for it: the loader may be asked for a batch at the moment. Batches that were delivered
        stay valid. What was read ahead is dropped."""
        self._end()

    def __enter__(self) -> Prefetcher:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        running = self.__dict__.get("_running")
        if running is not None:
            running.close(PATIENCE_S)

    def __repr__(self) -> str:
        return f"Prefetcher({type(self._loader).__name__}, device={str(self.device)!r}, depth={self._depth})"

    def __reduce__(self) -> tuple[Callable[..., Prefetcher], tuple[Any, ...]]:
        """Unpickling makes a prefetcher of the loader's copy, with the attributes of a derived class. Nothing is read ahead
        there, and the device is chosen again."""
        others = {name: value for name, value in self.__dict__.items() if name not in self._own}
        return _again, (self._kind, self._loader, self._depth, self._given, others)


class _Stateful(Prefetcher):
    """Of a loader with states."""

    def state_dict(self) -> Any:
        """The state of the loader behind the last batch that was delivered, not behind those that were read ahead."""
        if self._state is None:
            return self._loader.state_dict()  # type: ignore[attr-defined]
        if isinstance(self._state, Unknown):
            raise self._state.error
        return self._state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Ends the running iteration; the next one is what the loader makes of the state."""
        self._end()
        self._loader.load_state_dict(state_dict)  # type: ignore[attr-defined]
        self._state = None


#: By class, the one that has the methods of states, too.
_WITH_STATES: dict[type[Prefetcher], type[Prefetcher]] = {Prefetcher: _Stateful}


def _with_states(kind: type[Prefetcher]) -> type[Prefetcher]:
    """A class derived from `kind` that also has `state_dict` and `load_state_dict`; if `kind` has its own, they are used."""
    if kind not in _WITH_STATES:
        names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
        _WITH_STATES[kind] = type(kind.__name__, (kind, _Stateful), names)
    return _WITH_STATES[kind]


def _again(kind: type[Prefetcher], loader: Any, depth: int, given: tuple[Any, bool, bool], others: dict[str, Any]) -> Prefetcher:
    device, arrays, states = given
    made = kind.__new__(kind)
    Prefetcher.__init__(made, loader, device, depth=depth, arrays=arrays, states=states)
    made.__dict__.update(others)
    return made


def _check(loader: Any) -> None:
    """
    Raises:
        UsageError: this is no loader whose batches can be copied, or they are on the device already.
    """
    if isinstance(loader, Prefetcher):
        raise UsageError("this loader is a Prefetcher already: for batch in loader: ...")
    if isinstance(loader, (_core.Loader, _core.Epoch)):
        raise UsageError(
            'its batches are no tensors: write loader = tarflume.torch.Loader(..., device="cuda"), and for batch in loader: ...'
        )
    if isinstance(loader, ElasticLoader):
        raise UsageError(
            "an ElasticLoader is asked for batches step by step, and none may be read ahead of the ranks that there will be: "
            'write tarflume.torch.ElasticLoader(..., device="cuda")'
        )
    own = loader if isinstance(loader, (Loader, Dataset)) else getattr(loader, "dataset", None)
    if isinstance(own, (Loader, Dataset)) and (device := own._settings.get("device")) not in (None, "cpu"):
        raise UsageError(
            f"this loader has device={str(device)!r} and copies its batches itself, while the step computes: leave the "
            "Prefetcher out, for batch in loader: ..."
        )
    if not hasattr(type(loader), "__iter__") and not hasattr(type(loader), "__getitem__"):
        raise UsageError(f"Prefetcher takes a loader, which can be iterated over, not {type(loader).__name__}")
