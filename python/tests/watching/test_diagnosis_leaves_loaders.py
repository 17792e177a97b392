"""A diagnosis of a DataLoader: its batches are those of the loader, which is afterwards as it was."""

from __future__ import annotations

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import (  # noqa: E402
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Subset,
)

import tarflume  # noqa: E402
from given_clock import injected  # noqa: E402
from test_diagnosis_of_workers import FORK, Data, Nothing  # noqa: E402


class Drawing(Dataset):
    """Every kind of random numbers, and a lazily opened file."""

    def __init__(self):
        self.transform, self.opened = self.change, None

    def change(self, sample):
        return sample + random.random() + np.random.random() + torch.rand(())

    def __len__(self):
        return 40

    def __getitem__(self, index):
        self.opened = self.opened or object()
        return self.transform(torch.full((2,), float(index)))


class ByMany(Drawing):
    def __getitems__(self, indices):
        return [self[index] * 2 for index in indices]


class Stream(IterableDataset):
    """Counts in itself where it is, as data sets with a state do."""

    def __init__(self, batches=False):
        self.at, self.batches, self.transform = 0, batches, lambda value: value + 0.5

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        assert info is None or isinstance(info.dataset, Stream)
        step, first = (1, 0) if info is None else (info.num_workers, info.id)
        while self.at < 60:
            self.at += 1
            if self.at % step == first:
                value = self.transform(self.at)
                yield torch.full((3,), value) if self.batches else {"n": value, "name": str(self.at)}
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def pairs(samples):
    return len(samples), samples


def seeded(worker):
    torch.utils.data.get_worker_info().dataset.opened = worker


def loaders():
    from torchdata.stateful_dataloader import StatefulDataLoader

    drawing, generator = Drawing(), torch.Generator().manual_seed(3)
    yield "map", DataLoader(drawing, 4, shuffle=True)
    yield "workers", DataLoader(drawing, 4, shuffle=True, num_workers=2, multiprocessing_context=FORK)
    yield "generator", DataLoader(drawing, 4, shuffle=True, generator=generator)
    yield "many", DataLoader(ByMany(), 4, shuffle=True, num_workers=1, multiprocessing_context=FORK)
    yield "collate", DataLoader(drawing, 5, collate_fn=pairs, drop_last=True)
    yield "samples", DataLoader(drawing, batch_size=None, shuffle=True)
    yield "batch sampler", DataLoader(drawing, batch_sampler=BatchSampler(RandomSampler(drawing), 3, False))
    yield "subset", DataLoader(ConcatDataset([Subset(drawing, range(20)), drawing]), 4, shuffle=True)
    yield "list", DataLoader([torch.tensor(n) for n in range(40)], 4, shuffle=True)
    yield "stream", DataLoader(Stream(), 4)
    yield "stream in workers", DataLoader(Stream(), 4, num_workers=2, multiprocessing_context=FORK)
    yield "stream of batches", DataLoader(Stream(True), batch_size=None)
    yield "stateful", StatefulDataLoader(drawing, 4, shuffle=True)
    yield "stateful stream", StatefulDataLoader(Stream(), 4)
    words = {"num_workers": 2, "multiprocessing_context": FORK}
    yield "stateful in workers", StatefulDataLoader(Stream(), 4, snapshot_every_n_steps=1, **words)
    yield "persistent", DataLoader(drawing, 4, shuffle=True, persistent_workers=True, worker_init_fn=seeded, **words)


def same(one, other):
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.mark.parametrize(("name", "loader"), list(loaders()), ids=lambda value: value if isinstance(value, str) else "")
def test_batches_are_equal_and_the_loader_is_as_before(name, loader):
    torch.manual_seed(1)
    random.seed(1)
    np.random.seed(1)
    fields, data = dict(vars(loader)), dict(getattr(loader.dataset, "__dict__", {}))
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    seen = []
    found = tarflume.diagnose(loader, 5, step=seen.append, warmup=1)
    assert found["steps"] == 5 and len(seen) == 6
    assert vars(loader) == fields and getattr(loader.dataset, "__dict__", {}) == data
    assert torch.equal(states[0], torch.get_rng_state())
    assert states[1:] == (random.getstate(), np.random.get_state()[1].tolist())
    has_transform = hasattr(loader.dataset, "transform") or name == "subset"
    assert (found["stages"]["transform"] is not None) == has_transform and found["stages"]["read"] is not None
    again = []
    for batch in loader:
        again.append(batch)
        if len(again) == 6:
            break
    assert all(map(same, seen, again))


def test_transforms_below_other_data_sets_are_put_back():
    inner = Data(transform=torch.nn.Identity())
    joined = ConcatDataset([Subset(inner, range(20)), Data(transform=Nothing())])
    before = inner.transform, joined.datasets[1].transform
    tarflume.diagnose(DataLoader(joined, 4), 3, warmup=1)
    assert inner.transform is before[0] and joined.datasets[1].transform is before[1]


def test_a_saved_position_of_a_stateful_loader_stays():
    from torchdata.stateful_dataloader import StatefulDataLoader

    made = StatefulDataLoader(Data(), 4)
    walked = iter(made)
    expected = [next(walked) for _ in range(5)][-1]
    made = StatefulDataLoader(Data(), 4)
    walked = iter(made)
    for _ in range(4):
        next(walked)
    state = made.state_dict()
    other = StatefulDataLoader(Data(), 4)
    other.load_state_dict(state)
    seen = []
    tarflume.diagnose(other, 2, step=seen.append, warmup=1)
    assert same(seen[0], expected) and same(next(iter(other)), expected)


def test_an_epoch_that_runs_goes_on():
    """Persistent workers of the loader are its own."""
    loader = DataLoader(Data(), 4, num_workers=1, persistent_workers=True, multiprocessing_context=FORK)
    walked = iter(loader)
    first = next(walked)
    tarflume.diagnose(loader, 3, warmup=1)
    assert loader._iterator is walked and same(first, torch.arange(4.0)[:, None].expand(4, 3))
    assert same(next(walked), torch.arange(4.0, 8.0)[:, None].expand(4, 3))


def test_spawned_workers_send_what_they_measured():
    loader = DataLoader(Data(transform=torch.nn.Identity()), 4, num_workers=1, multiprocessing_context="spawn")
    found = tarflume.diagnose(loader, 3, warmup=1)
    assert all(found["stages"][name]["mean_s"] > 0 for name in ("read", "transform", "collate"))


def test_pinned_batches_are_unpacked(monkeypatch):
    """The thread that pins finds tensors where they are."""
    from tarflume.diagnosis.recording import Carried, Record

    pinned = []
    module = __import__("torch.utils.data._utils.pin_memory", fromlist=["pin_memory"])
    monkeypatch.setattr(module, "pin_memory", lambda batch, device=None: pinned.append(batch) or [batch])
    carried = Carried("batch", Record(1, 0, 0.0, 0.0, {}, ()))
    assert carried.pin_memory() is carried and (carried.batch, pinned) == (["batch"], ["batch"])


def test_an_error_of_the_data_set_is_its_own():
    class Broken(Data):
        def __getitem__(self, index):
            raise KeyError("no such sample")

    data = Broken()
    with pytest.raises(KeyError, match="no such sample"):
        tarflume.diagnose(DataLoader(data, 4), 3)
    assert vars(data) == vars(Broken(data.read))


def test_data_sets_of_others_are_looked_into():
    """torchvision keeps transforms in two places, Hugging Face in its format; Accelerate wraps the loader."""
    from accelerate import Accelerator
    from datasets import Dataset as Table
    from torchvision.datasets import FakeData

    vision = FakeData(12, (3, 4, 4), transform=lambda picture: torch.zeros(3), target_transform=lambda label: label)
    table = Table.from_dict({"n": list(range(24))}).with_transform(lambda rows: {"n": [torch.tensor(n) for n in rows["n"]]})
    prepared = Accelerator(cpu=True).prepare(DataLoader(Data(transform=Nothing()), 4, shuffle=True))
    for loader in (DataLoader(vision, 2), DataLoader(table, 2), prepared):
        found = tarflume.diagnose(loader, 3, warmup=1)
        assert found["stages"]["transform"]["mean_s"] > 0, loader
    assert not hasattr(vision.transform, "_tarflume_inner") and callable(table._format_kwargs["transform"])
    assert len([*prepared]) == 16 and prepared.gradient_state.active_dataloader is None


@pytest.fixture(scope="module")
def tar(tmp_path_factory):
    """Forty samples, of webdataset's own writer."""
    import webdataset

    path = tmp_path_factory.mktemp("wds") / "a.tar"
    with webdataset.TarWriter(str(path)) as writer:
        for n in range(40):
            writer.write({"__key__": f"{n:03}", "cls": n})
    return str(path)


@pytest.mark.parametrize("module", ["webdataset", "tarflume.webdataset"])
def test_pipelines_of_webdataset_are_looked_into(monkeypatch, tar, module):
    """Alone, in a DataLoader, and in a WebLoader whose samples are batched again."""
    wds = __import__(module, fromlist=["WebDataset"])
    clock = injected(monkeypatch)

    def slow(sample):
        clock.burns(0.01)
        return {"n": int(sample["cls"]), "key": sample["__key__"]}

    def made(kind):
        data = wds.WebDataset(tar, shardshuffle=False).map(slow)
        if kind == "alone":
            return data.batched(4)
        if kind == "DataLoader":
            return DataLoader(data.batched(4), batch_size=None)
        return wds.WebLoader(data, batch_size=2, num_workers=0).unbatched().batched(4)

    for kind in ("alone", "DataLoader", "WebLoader"):
        loader, seen = made(kind), []
        found = tarflume.diagnose(loader, 5, step=seen.append, warmup=1)
        assert len(seen) == 6 and all(map(same, seen, made(kind))), kind
        stages = found["stages"]
        assert found["cause"] == "transform" and "does not help" in found["verdict"]
        assert stages["transform"]["mean_s"] == pytest.approx(0.04) and stages["read"]["mean_s"] == pytest.approx(0)
        assert (stages["collate"] is None) == (kind == "alone")
        pipeline = (loader.dataset if kind == "DataLoader" else loader).pipeline
        steps = pipeline[0].dataset.pipeline if kind == "WebLoader" else pipeline
        assert any(each is slow for step in steps for each in getattr(step, "args", ()))
        assert sum(1 for _ in loader) == 10


def keys(batches):
    return [list(batch["key"]) if "key" in batch else list(batch["__key__"]) for batch in batches]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["batches", "samples", "numbered", "stateful"])
def test_our_data_sets_deliver_the_same_in_a_data_loader(shards, kind, workers):
    """They look at the calls by which they are reached, and count epochs: a diagnosis is none."""
    import tarflume.torch as ours
    from torchdata.stateful_dataloader import StatefulDataLoader

    settings = {"shuffle": "full", "seed": 3, "label": "/n"}
    words = {"num_workers": workers, "multiprocessing_context": FORK if workers else None}

    def made():
        if kind == "numbered":
            return DataLoader(ours.MapDataset(shards, parts=["json"]), 10, **words)
        if kind == "samples":
            return DataLoader(ours.Dataset(shards, **settings), 10, **words)
        loader = StatefulDataLoader if kind == "stateful" else DataLoader
        return loader(ours.Dataset(shards, batch_size=10, **settings), batch_size=None, **words)

    expected = made()
    epochs, length = [keys(expected) for _ in range(2)], len(expected)
    loader, seen = made(), []
    found = tarflume.diagnose(loader, 5, step=seen.append, warmup=1)
    assert keys(seen) == epochs[0][:6] and found["stages"]["read"]["mean_s"] > 0
    assert len(loader) == length and [keys(loader) for _ in range(2)] == epochs


def test_our_data_set_in_a_data_loader_computes_in_threads(shards):
    """Threads of Rust decode while the worker's thread waits: that is not sleeping for a disk."""
    import tarflume.torch as ours

    data = ours.Dataset(shards, batch_size=5, image=tarflume.Resize((16, 24)))
    found = tarflume.diagnose(DataLoader(data, batch_size=None), 4, warmup=1)
    assert found["stages"]["read"]["mean_s"] > 0 and found["rows"] == 5
