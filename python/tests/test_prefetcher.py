"""`tarflume.torch.Prefetcher`: what it delivers is what the loader yields, in every structure, and errors have their place."""

from __future__ import annotations

import collections
import copy
import dataclasses
import gc
import pickle
import random
import threading
import traceback
import types
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn.utils.rnn import PackedSequence, pack_sequence  # noqa: E402

from patience import until  # noqa: E402
from prefetch_gpu import Gpu, same  # noqa: E402
from tarflume.errors import UsageError  # noqa: E402
from tarflume.torch import Prefetcher, Rows  # noqa: E402
from tarflume.torch.tensors import Columns  # noqa: E402


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    """A played GPU, which prefetchers find as the device of this process. All that its kernels read was right."""
    drawn, lock = random.Random(7), threading.Lock()

    def choose(width: int) -> int:
        with lock:
            return drawn.randrange(width)

    made = Gpu(choose, eager=True)
    monkeypatch.setattr("tarflume.torch.prefetch.prefetcher.Accelerator", lambda device: made)
    monkeypatch.setattr("tarflume.torch.prefetch.prefetcher.chosen", lambda device: (made.device, "played"))
    yield made
    made.drain()
    assert not made.wrong
    assert threading.get_ident() not in made.pageable, "the consumer's thread copied"


def delivered(gpu: Gpu, batch: Any, **words: Any) -> Any:
    """A batch as it is delivered, after the device has done all work."""
    made, = Prefetcher([batch], **words)
    gpu.drain()
    return made


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "tarflume-prefetch"]


# Tensors.


class Own(torch.Tensor):
    """A class of tensors without functions of its own."""


NUMBERS = torch.arange(48, dtype=torch.float32).reshape(2, 3, 8)
TENSORS = {
    **{str(dtype): NUMBERS.to(dtype) for dtype in (
        torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool, torch.float16, torch.bfloat16,
        torch.float32, torch.float64, torch.complex64, torch.complex128, torch.uint16, torch.uint32, torch.uint64,
        torch.float8_e4m3fn, torch.float8_e5m2)},
    "no dimension": torch.tensor(5),
    "no element": torch.empty(3, 0, 2),
    "one element": torch.ones(1, 1, 1).as_strided((1, 1, 1), (7, 5, 3)),
    "transposed": NUMBERS.permute(2, 0, 1),
    "channels_last": torch.arange(96.0).reshape(2, 3, 4, 4).contiguous(memory_format=torch.channels_last),
    "part": NUMBERS[:, 1:, ::2],
    "part of channels_last": torch.arange(96.0).reshape(2, 3, 4, 4).contiguous(memory_format=torch.channels_last)[:, :, ::2],
    "expanded": torch.arange(3.0).reshape(1, 3).expand(4, 3),
    "overlapping": torch.arange(9.0).as_strided((3, 3), (2, 1)),
    "conjugated": torch.complex(NUMBERS, NUMBERS + 1).conj(),
    "negated": torch.complex(NUMBERS, NUMBERS + 1).conj().imag,
    "not a number": torch.tensor([float("nan"), -0.0, float("inf")]),
    "with an offset": torch.arange(10)[3:7],
}  # fmt: skip


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_arrives_as_to_would_make_it(gpu, name, pinned):
    tensor = TENSORS[name]
    if pinned:
        length = tensor.untyped_storage().nbytes()
        if not length:
            pytest.skip("no memory")
        memory = gpu.pinned(length)
        memory.copy_(torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()))
        held = torch.empty(0, dtype=tensor.dtype).set_(memory.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())
        tensor = held.conj() if tensor.is_conj() else torch._neg_view(held) if tensor.is_neg() else held
    made = delivered(gpu, tensor)
    assert gpu.has(made) and type(made) is torch.Tensor
    assert same(made, tensor.resolve_conj().resolve_neg())
    assert made.stride() == torch.empty_like(tensor, device="meta").stride() and not made.is_conj() and not made.is_neg()


def test_gradients_are_asked_for_as_before(gpu):
    leaf = torch.ones(3, requires_grad=True)
    batch = {"leaf": leaf, "made": leaf * 2, "parameter": torch.nn.Parameter(torch.ones(2)), "plain": torch.ones(1)}
    made = delivered(gpu, batch)
    assert [made[name].requires_grad for name in batch] == [True, True, True, False]
    assert all(made[name].is_leaf and type(made[name]) is torch.Tensor for name in batch)
    assert same(made["made"].detach(), batch["made"].detach()) and leaf.grad is None


def test_classes_of_tensors_stay(gpu):
    from torchvision import tv_tensors

    boxes = tv_tensors.BoundingBoxes(torch.ones(2, 4), format="XYXY", canvas_size=(9, 8))
    batch = [tv_tensors.Image(torch.ones(3, 4, 4)), boxes, torch.ones(3).as_subclass(Own)]
    image, placed, own = delivered(gpu, batch)
    assert [type(one) for one in (image, placed, own)] == [tv_tensors.Image, tv_tensors.BoundingBoxes, Own]
    assert placed.canvas_size == (9, 8) and placed.format == boxes.format and gpu.has(placed)


@pytest.mark.parametrize("coalesced", [False, True])
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
def test_sparse_tensors_arrive_whole(gpu, layout, coalesced):
    dense = torch.zeros(4, 6).index_put((torch.tensor([0, 2, 3]), torch.tensor([1, 5, 0])), torch.tensor([1.0, 2.0, 3.0]))
    if layout == "sparse_coo":
        tensor = torch.sparse_coo_tensor(torch.tensor([[0, 0, 2], [1, 1, 5]]), torch.ones(3), (4, 6))
        tensor = tensor.coalesce() if coalesced else tensor
    else:
        block = {"blocksize": (2, 2)} if "bs" in layout else {}
        tensor = dense.to_sparse(layout=getattr(torch, layout), **block)
    made = delivered(gpu, {"x": tensor})["x"]
    assert made.layout == tensor.layout and torch.equal(made.to_dense(), tensor.to_dense())
    values = made._values() if layout == "sparse_coo" else made.values()
    assert gpu.has(values) and gpu.copied_bytes > 0
    if layout == "sparse_coo":
        assert made.is_coalesced() == coalesced and made._nnz() == tensor._nnz()


@pytest.mark.filterwarnings("ignore")
def test_tensors_that_only_know_themselves_are_moved_by_their_own_function(gpu, monkeypatch):
    class Meta(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    meta = torch.ones(2).as_subclass(Meta)
    asked: list[Any] = []

    def moved(thing: Any, **words: Any) -> tuple[Any, list[Any]]:
        asked.append((thing, words))
        return thing.to("cpu", **words), []

    monkeypatch.setattr(gpu, "moved", moved)
    made = delivered(gpu, [nested, meta])
    assert [thing is one for (thing, _), one in zip(asked, (nested, meta), strict=True)] == [True, True]
    assert all(words == {"non_blocking": True} for _, words in asked) and type(made[1]) is Meta


def test_tensors_that_are_there_are_not_copied(gpu):
    first = delivered(gpu, {"x": torch.ones(3)})["x"]
    copied = gpu.copied_bytes
    made, = Prefetcher([{"x": first, "y": [first]}])
    assert made["x"] is first and made["y"][0] is first and gpu.copied_bytes == copied


# Structures.


class Point(NamedTuple):
    x: Any
    y: Any = 0


class Named(Point):
    """A namedtuple with attributes."""


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any
    name: str
    made: Any = dataclasses.field(init=False, default=None)

    def __post_init__(self):
        assert isinstance(self.x, torch.Tensor) and self.x.untyped_storage().data_ptr() == X.untyped_storage().data_ptr()


@dataclasses.dataclass(slots=True)
class Slotted:
    x: Any


class Shared(collections.abc.MutableMapping):
    """A mapping whose shallow copies share its items."""

    def __init__(self, items: Any) -> None:
        self.held = dict(items)

    def __getitem__(self, key: Any) -> Any:
        return self.held[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.held[key] = value

    def __delitem__(self, key: Any) -> None:
        del self.held[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.held)

    def __len__(self) -> int:
        return len(self.held)


X = torch.arange(6.0)
STRUCTURES = {
    "dict": {"b": X, "a": 1, 3: [X]}, "ordered": collections.OrderedDict(b=X, a=X), "default": collections.defaultdict(list, {"x": X}),
    "columns": Columns({"x": X, "key": ["a"]}), "user dict": collections.UserDict(x=X), "proxy": types.MappingProxyType({"x": X}),
    "shared": Shared({"x": X, "y": 2}), "tuple": (X, (X, "a")), "namedtuple": Point(X, None), "derived": Named(1, X),
    "structseq": torch.max(torch.ones(2, 3), 0), "list": [X, [1, [X]]], "rows": Rows([X, X + 1], True),
    "deque": collections.deque([X, 2], maxlen=5), "user list": collections.UserList([X]), "frozen": Frozen(X, "a"),
    "slotted": Slotted(X), "nothing": None, "deep": [{"a": (Point([{"x": X}]),)}],
}  # fmt: skip


def flat(value: Any) -> list[Any]:
    """Classes, keys and leaves, in order."""
    kind = type(value)
    if isinstance(value, collections.abc.Mapping):
        return [kind, *(part for key, inner in value.items() for part in (key, *flat(inner)))]
    if isinstance(value, (tuple, list, collections.deque, collections.UserList)):
        return [kind, *(part for inner in value for part in flat(inner))]
    if dataclasses.is_dataclass(value):
        return [kind, *(part for field in dataclasses.fields(value) for part in flat(getattr(value, field.name)))]
    return [kind, value.tolist() if isinstance(value, torch.Tensor) else value]


def leaves(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    from tarflume.torch.prefetch.structure import mapped

    mapped(value, lambda leaf: found.append(leaf) or leaf, {})
    return found


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_structure_stays_and_the_loader_s_batch_is_not_written_to(gpu, name):
    batch = STRUCTURES[name]
    before = flat(batch)
    made = delivered(gpu, batch)
    assert flat(made) == before and flat(batch) == before
    assert all(gpu.has(leaf) for leaf in leaves(made)) and not any(gpu.has(leaf) for leaf in leaves(batch))
    if name == "default":
        assert made["none"] == []
    if name == "deque":
        assert made.maxlen == 5
    if name == "rows":
        assert made.channels_first is True


def test_a_packed_sequence_has_its_lengths_on_the_host(gpu):
    sequence = pack_sequence([torch.ones(2, 3), torch.ones(4, 3)], enforce_sorted=False)
    made = delivered(gpu, (sequence, 1))[0]
    assert type(made) is PackedSequence and gpu.has(made.data) and gpu.has(made.sorted_indices)
    assert made.batch_sizes is sequence.batch_sizes and same(made.data, sequence.data)


def test_an_encoding_of_transformers_keeps_its_class(gpu):
    from transformers import BatchEncoding

    encoding = BatchEncoding({"input_ids": torch.arange(4), "nested": [torch.ones(2)], "texts": ["a"]})
    made = delivered(gpu, encoding)
    assert type(made) is BatchEncoding and gpu.has(made["input_ids"]) and gpu.has(made["nested"][0])
    assert made["texts"] == ["a"] and not gpu.has(encoding["input_ids"])


class Graph:
    """An object that moves itself, in place, as those of torch_geometric do."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def to(self, device: Any, non_blocking: bool = False) -> Any:
        self.x = device.put(self.x, non_blocking=non_blocking)
        return self


class Pinnable(Graph):
    gpu: Any = None

    def pin_memory(self) -> Pinnable:
        return Pinnable(self.gpu.pinned(self.x.numel()).copy_(self.x))


class Silent(Graph):
    def to(self, device: Any) -> None:  # type: ignore[override]
        self.x = device.put(self.x)


class Length:
    """A quantity, whose `to` takes a unit."""

    def to(self, unit: str) -> Any:
        raise AssertionError("this is no device")


@pytest.mark.parametrize("kind", [Graph, Pinnable, Silent])
def test_an_object_is_moved_by_its_own_function_and_stays_itself(gpu, kind):
    Pinnable.gpu = gpu
    batch = kind(torch.arange(5, dtype=torch.uint8))
    made = delivered(gpu, {"graph": batch, "again": batch})
    assert type(made["graph"]) is kind and made["graph"] is made["again"] and made["graph"] is not batch
    assert gpu.has(made["graph"].x) and not gpu.has(batch.x) and made["graph"].x.tolist() == [0, 1, 2, 3, 4]
    assert bool(gpu.pageable) == (kind is not Pinnable)


def test_other_leaves_are_the_loader_s_own(gpu):
    others = [Length(), "text", b"bytes", 1.5, None, {1, 2}, range(3), np.arange(3), torch.nn.Linear(1, 1), int, object()]
    made = delivered(gpu, {"x": X, "others": others})
    assert made["others"] is others


def test_what_a_batch_has_twice_it_has_twice(gpu):
    inner = [X]
    made = delivered(gpu, {"a": X, "b": X, "c": inner, "d": (inner, X.clone())})
    assert made["a"] is made["b"] is made["c"][0] and made["c"] is made["d"][0]
    assert made["d"][1] is not made["a"] and gpu.copied_bytes == 2 * X.nbytes


ARRAYS = [np.arange(4), np.arange(8)[::-2], np.arange(3, dtype=">i4"), np.float32([[1, 2]]).T, np.broadcast_to(np.ones(1), (3,))]


def test_arrays_become_tensors_if_that_is_asked_for(gpu):
    texts, masked = np.array(["a"]), np.ma.array([1, 2], mask=[True, False])
    batch = {"arrays": ARRAYS, "texts": texts, "masked": masked, "again": ARRAYS[0]}
    made = delivered(gpu, batch, arrays=True)
    assert all(gpu.has(tensor) and tensor.tolist() == array.tolist() for tensor, array in zip(made["arrays"], ARRAYS, strict=True))
    assert made["texts"] is texts and made["masked"] is masked and made["again"] is made["arrays"][0]
    assert delivered(gpu, batch)["arrays"] is ARRAYS


def test_on_the_cpu_batches_are_the_loader_s_own():
    batch = {"x": X, "array": np.arange(3), "graph": Graph(1)}
    assert next(iter(Prefetcher([batch], "cpu"))) is batch
    made = next(iter(Prefetcher([batch], "cpu", arrays=True)))
    assert made["x"] is X and made["array"].tolist() == [0, 1, 2] and made["graph"] is batch["graph"]


# Errors.


def broken(at: int, count: int = 6) -> Iterator[Any]:
    for n in range(count):
        if n == at:
            raise LookupError(f"batch {n}")
        yield torch.tensor(n)


def number(gpu: Gpu, tensor: torch.Tensor) -> int:
    """What is in a tensor when all copies are done."""
    gpu.drain()
    return int(tensor)


def collected(gpu: Gpu, batches: Iterator[Any]) -> list[Any]:
    """Numbers of batches, and errors, until the end."""
    found: list[Any] = []
    while True:
        try:
            found.append(number(gpu, next(batches)))
        except StopIteration:
            return found
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")


@pytest.mark.parametrize("at", [0, 3, 5])
@pytest.mark.parametrize("device", ["cpu", None])
def test_an_error_comes_in_place_of_its_batch_with_its_own_traceback(gpu, request, monkeypatch, at, device):
    if device == "cpu":
        monkeypatch.undo()
    batches = iter(Prefetcher(broken(at), device, depth=3))
    taken = [number(gpu, next(batches)) for _ in range(at)]
    with pytest.raises(LookupError, match=f"batch {at}") as error:
        next(batches)
    assert taken == list(range(at)) and next(batches, "end") == "end" == next(batches, "end")
    assert "broken" in [frame.name for frame in traceback.extract_tb(error.value.__traceback__)]
    assert error.value.__notes__ == [f"batch {at} of this iteration, counted from 0, in the thread of tarflume.torch.Prefetcher"]


class Resilient:
    """An iterator that goes on after errors, as those of a DataLoader with workers do. It counts what it is asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def __iter__(self) -> Resilient:
        return self

    def __next__(self) -> torch.Tensor:
        self.asked += 1
        if self.asked in (2, 3, 5):
            raise ValueError(str(self.asked))
        if self.asked == 7:
            raise StopIteration
        return torch.tensor(self.asked)


def test_a_loader_that_goes_on_after_an_error_does_so(gpu):
    expected = [1, "ValueError: 2", "ValueError: 3", 4, "ValueError: 5", 6]
    assert collected(gpu, Resilient()) == expected
    assert collected(gpu, iter(Prefetcher(Resilient(), depth=4))) == expected


def test_after_an_error_the_loader_is_asked_only_when_the_consumer_asks(gpu):
    loader = Resilient()
    prefetcher = Prefetcher(loader, depth=4)
    batches = iter(prefetcher)
    assert number(gpu, next(batches)) == 1
    with pytest.raises(ValueError, match="2"):
        next(batches)
    assert loader.asked == 2 and not prefetcher._running._channel.has_room()


class Unmovable(Graph):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def to(self, device: Any) -> Any:  # type: ignore[override]
        raise self.error


def test_an_error_of_a_copy_comes_in_place_of_its_batch(gpu):
    batches = [torch.tensor(0), [torch.ones(3), Unmovable(MemoryError("full"))], torch.tensor(2), Unmovable(StopIteration()), torch.tensor(4)]
    assert collected(gpu, iter(Prefetcher(batches, depth=5))) == [
        0, "MemoryError: full", 2, "RuntimeError: StopIteration was raised while a batch was copied", 4]  # fmt: skip


def test_an_error_of_the_device_is_raised_and_ends_the_iteration(gpu, monkeypatch):
    def fails() -> None:
        raise RuntimeError("no such device")

    monkeypatch.setattr(gpu, "enter", fails)
    batches = iter(Prefetcher([X, X]))
    with pytest.raises(RuntimeError, match="no such device"):
        next(batches)
    assert next(batches, "end") == "end"


def test_nothing_refers_to_an_error_that_was_handled(gpu):
    class Held(Exception):
        pass

    def loader() -> Iterator[Any]:
        yield X
        raise Held

    batches = iter(Prefetcher(loader()))
    next(batches)
    gc.disable()
    try:
        try:
            next(batches)
        except Held as error:
            alive = weakref.ref(error)
        del batches
        until("the error is gone", lambda: alive() is None)
    finally:
        gc.enable()


def test_memory_that_cannot_be_pinned_is_a_warning(gpu):
    gpu.pinned_limit = 0
    prefetcher = Prefetcher([torch.full((5,), n) for n in range(4)])
    taken = list(prefetcher)
    gpu.drain()
    assert [tensor.tolist() for tensor in taken] == [[n] * 5 for n in range(4)]
    said = prefetcher.stats()["warning"]
    assert said == "256 bytes could not be pinned, so batches are copied more slowly: CUDA error: out of memory"
    assert len(gpu.pageable) == 4


# Settings.


@pytest.mark.parametrize("depth", [0, -1, 1.5, True, "2"])
def test_a_depth_is_a_number_of_batches(depth):
    with pytest.raises(UsageError, match="give 1 or more"):
        Prefetcher([], depth=depth)


def test_what_is_no_loader_is_refused():
    for thing, said in [(5, "not int"), (Prefetcher([]), "Prefetcher already"), (types.SimpleNamespace(), "not SimpleNamespace")]:
        with pytest.raises(UsageError, match=said):
            Prefetcher(thing)


def test_attributes_are_those_of_the_loader():
    loader = torch.utils.data.DataLoader(torch.arange(10), batch_size=4)
    prefetcher = Prefetcher(loader, "cpu")
    assert len(prefetcher) == 3 and prefetcher.batch_size == 4 and prefetcher.sampler is loader.sampler
    assert prefetcher.dataset is loader.dataset and prefetcher.drop_last is False and prefetcher
    with pytest.raises(AttributeError, match="nothing_such"):
        prefetcher.nothing_such
    assert not Prefetcher([], "cpu") and not hasattr(prefetcher, "state_dict") and not hasattr(prefetcher, "set_epoch")
    with pytest.raises(TypeError):
        len(Prefetcher(iter([]), "cpu"))
    assert repr(prefetcher) == "Prefetcher(DataLoader, device='cpu', depth=2)"
    again = pickle.loads(pickle.dumps(prefetcher))
    assert [batch.tolist() for batch in again] == [batch.tolist() for batch in loader]
    assert copy.copy(prefetcher)._loader is loader


def test_statistics_add_up(gpu):
    prefetcher = Prefetcher([{"x": torch.zeros(1000), "y": torch.zeros(3, dtype=torch.int64)} for _ in range(5)], depth=1)
    for _ in range(2):
        for _ in prefetcher:
            pass
    stats = prefetcher.stats()
    assert stats["batches"] == 10 and stats["bytes"] == 10 * 4024 and stats["device"] == "cuda:0 (played)"
    assert stats["copy_s"] == pytest.approx(0.010) and stats["depth"] == 1 and stats["warning"] is None
    assert stats["staging_bytes"] == 2 * 8192  # a power of two for each of two slots
    assert 0 <= stats["startup_s"] <= stats["waited_s"] <= stats["running_s"] and stats["loader_s"] >= 0
    assert stats["stages"]["consumer"]["items"] == 10
