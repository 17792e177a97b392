"""Lightning, Accelerate, Hugging Face datasets, Grain and JAX take what we give, each the real one."""

from __future__ import annotations

import gc
import json
import pathlib
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest
import torch

import forked
import tarflume
import tarflume.grain
import tarflume.huggingface
import tarflume.torch as ours
from conftest import n_of
from patience import PATIENCE_S

WORDS = {"image": tarflume.Resize((8, 8)), "label": "/class", "shuffle": "full", "seed": 3}


def loader(shards, **settings):
    return ours.Loader(shards, **({"batch_size": 10} | WORDS | settings))


def epochs(shards, numbers) -> list[list[int]]:
    core = tarflume.Loader(shards, batch_size=10, **WORDS)
    return [n_of(batch) for epoch in numbers for batch in core.epoch(epoch)]


def network() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(8 * 8 * 3, 10))


def loss_of(model: torch.nn.Module, batch: dict) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(model(batch["image"].float() / 255), batch["label"])


def test_lightning_trains_and_resumes_in_the_middle_of_an_epoch(shards, tmp_path):
    from lightning import pytorch as lightning

    class Tiny(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model, self.seen = network(), []

        def training_step(self, batch):
            self.seen.append(n_of(batch))
            if len(self.seen) == 13:
                self.trainer.save_checkpoint(tmp_path / "middle.ckpt")
            return loss_of(self.model, batch)

        def on_validation_epoch_start(self):
            self.validated = []

        def validation_step(self, batch):
            self.validated.append(n_of(batch))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    def fit(**words):
        model = Tiny()
        quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
        trainer = lightning.Trainer(accelerator="cpu", max_epochs=3, enable_model_summary=False, **quiet)
        trainer.fit(model, loader(shards), loader(shards, shuffle="none"), **words)
        assert trainer.num_training_batches == 10 and trainer.current_epoch == 3
        assert sorted(sum(model.validated, [])) == list(range(100))
        return model.seen

    right = epochs(shards, range(3))
    assert fit() == right
    # The checkpoint was taken inside the 13th step: its batch was handed out.
    assert fit(ckpt_path=tmp_path / "middle.ckpt", weights_only=False) == right[13:]


def test_lightning_starts_ranks_itself_and_each_sample_comes_once(shards, tmp_path):
    script = pathlib.Path(__file__).parents[1] / "ranks.py"
    command = [sys.executable, script, "lightning", shards, tmp_path]
    done = forked.run([*map(str, command)], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    seen = [json.loads((tmp_path / f"lightning-{rank}-done.json").read_text()) for rank in range(2)]
    assert [len(batches) for batches in seen] == [10, 10]
    assert sorted(map(int, sum(seen[0] + seen[1], []))) == list(range(100))


def test_accelerate_leaves_a_loader_as_it_is_and_deals_a_data_set_out_itself(shards):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    inner = torch.utils.data.DataLoader(ours.Dataset(shards, batch_size=10, **WORDS), batch_size=None)
    made = accelerator.prepare(model, optimizer, loader(shards), inner)
    model, optimizer, batches, dealt = made
    before = [parameter.clone() for parameter in model.parameters()]
    for of in (batches, dealt):
        seen = []
        for batch in of:
            seen.append(n_of(batch))
            optimizer.zero_grad()
            accelerator.backward(loss_of(model, batch))
            optimizer.step()
        assert seen == epochs(shards, [0])
    assert all((old != new).any() for old, new in zip(before, model.parameters(), strict=True))


def test_accelerate_on_two_ranks_gives_each_sample_once(shards, tmp_path):
    script = pathlib.Path(__file__).parents[1] / "ranks.py"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script]
    done = forked.run(
        [*map(str, command), "accelerate", str(shards), str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE_S,
        check=False
    )
    assert done.returncode == 0, done.stderr
    ranks = [json.loads((tmp_path / f"accelerate-{rank}-done.json").read_text()) for rank in range(2)]
    for name in ("loader", "data set"):
        assert len(ranks[0][name]) == len(ranks[1][name]), name
        assert sorted(map(int, sum(ranks[0][name] + ranks[1][name], []))) == list(range(100)), name


def test_accelerate_deals_a_data_set_out_in_every_way_and_each_sample_comes_once(shards, tmp_path):
    script = pathlib.Path(__file__).parents[1] / "ranks.py"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script, "dealt"]
    done = forked.run(
        [*map(str, command), str(shards), str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    ranks = [json.loads((tmp_path / f"dealt-{rank}-done.json").read_text()) for rank in range(2)]
    core = tarflume.Loader(shards, batch_size=100, shuffle="full", seed=6)
    orders = [[n for batch in core.epoch(epoch) for n in n_of(batch)] for epoch in range(2)]
    ways = [name for name in ranks[0] if name[-1].isdigit()]
    assert len(ways) == 6
    for name in ways:
        step = 6 if "True" in name else 12  # samples of all ranks
        steps = -(-100 // step)
        for epoch, order in enumerate(orders):
            assert [len(rank[name][epoch]) for rank in ranks] == [steps, steps], name
            for n, batches in enumerate(zip(*(rank[name][epoch] for rank in ranks), strict=True)):
                rows = order[n * step : (n + 1) * step]
                assert sum(batches, [])[: len(rows)] == rows, f"{name}, step {n} of epoch {epoch}"
        for rank in ranks:
            assert rank[name][2] == rank[name][1][3:], f"{name}, resumed"
            if name != "False True 3":  # where Accelerate divides the length of any iterable data set twice
                assert rank[name][3] == [steps, 100], name
    for rank in ranks:
        assert "tarflume.torch.Loader(shards" in rank["given"][0] and "world_size=2" in rank["given"][0]
        assert [sorted(found) for found in rank["counted"][:2]] == [list(range(100))] * 2
        assert len(set(rank["counted"][2])) == len(rank["counted"][2]) == 98
    assert "skip_first_batches" in ranks[0]["ahead"][0] and 'on_bad="substitute"' in ranks[0]["skip"][0]


def test_ranks_that_take_a_data_set_made_before_have_epochs_of_their_own(shards, tmp_path):
    script = pathlib.Path(__file__).parents[1] / "ranks.py"
    command = [sys.executable, script, "started", shards, tmp_path]
    done = forked.run([*map(str, command)], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    for method in ("spawn", "fork"):
        ranks = [json.loads((tmp_path / f"{method}-{rank}-done.json").read_text()) for rank in range(2)]
        for workers in ("0", "2"):
            for epoch in range(3):
                both = [sorted(map(int, rank[workers][epoch])) for rank in ranks]
                assert sorted(sum(both, [])) == list(range(100)), f"{method}, {workers} workers, epoch {epoch}"


def test_accelerate_accumulates_up_to_the_end_of_each_epoch_of_a_loader(shards):
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState, GradientState

    AcceleratorState._reset_state(True)
    GradientState._reset_state()
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = network()
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1))
    batches, steps = loader(shards, batch_size=9), []
    for _ in range(2):  # 12 batches
        batches_, taken = iter(batches), 0
        for batch in batches_:
            with accelerator.accumulate(model):
                accelerator.backward(loss_of(model, batch))
                taken += accelerator.sync_gradients
                optimizer.step()
                optimizer.zero_grad()
        steps.append(taken)
    odd = loader(shards, batch_size=15)  # 7 batches
    for _ in range(2):
        taken = 0
        for batch in odd:
            with accelerator.accumulate(model):
                accelerator.backward(loss_of(model, batch))
                taken += accelerator.sync_gradients
        steps.append(taken)
    assert steps == [6, 6, 4, 4]
    assert not accelerator.gradient_state.in_dataloader
    for _ in odd:  # an iteration that is left early leaves Accelerate's list, too
        assert accelerator.gradient_state.active_dataloader is odd and not accelerator.gradient_state.end_of_dataloader
        break
    del _
    assert not accelerator.gradient_state.in_dataloader


def test_accelerate_skips_the_first_batches_of_a_loader_without_reading_them(shards):
    from accelerate import skip_first_batches

    right = epochs(shards, [2])
    mine = loader(shards)
    with pytest.raises(tarflume.errors.UsageError, match="set_epoch"):
        list(skip_first_batches(mine, 3))
    mine.set_epoch(2)
    assert [n_of(batch) for batch in skip_first_batches(mine, 3)] == right[3:]
    assert mine.ledger().samples == 70 and mine.current_epoch == 3
    assert [n_of(batch) for batch in mine] == epochs(shards, [3])
    assert [n_of(batch) for batch in skip_first_batches(mine, 9)] == epochs(shards, [4])[9:]


def test_a_loader_that_is_dropped_ends_without_the_collector(shards):
    mine = loader(shards)
    steps = mine.batch_sampler
    assert steps._batches is mine.dataset and len(steps) == len(mine)
    next(iter(mine))
    dropped = weakref.ref(mine)
    gc.disable()
    try:
        del mine, steps
        assert dropped() is None
    finally:
        gc.enable()


def test_lightning_sets_the_epoch_of_loaders_that_are_made_for_it(shards, tmp_path):
    """After a checkpoint at the end of an epoch, and with a new loader for each epoch; an `ArrayLoader`, too."""
    from lightning import pytorch as lightning

    class Tiny(lightning.LightningModule):
        def __init__(self, made, keep=None):
            super().__init__()
            self.model, self.seen, self.made, self.keep = network(), [], made, keep

        def train_dataloader(self):
            return self.made(self)

        def training_step(self, batch):
            self.seen.append(n_of(batch) if "key" in batch else batch["row"].numpy().tolist())
            return sum(parameter.sum() for parameter in self.model.parameters())

        def on_train_epoch_end(self):
            if self.keep is not None and self.current_epoch == 0:
                self.trainer.save_checkpoint(self.keep)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    def fit(made, keep=None, ckpt_path=None, **words):
        quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
        trainer = lightning.Trainer(accelerator="cpu", max_epochs=3, enable_model_summary=False, **quiet, **words)
        model = Tiny(made, keep)
        trainer.fit(model, ckpt_path=ckpt_path, weights_only=False)
        return model.seen

    right = epochs(shards, range(3))
    end = tmp_path / "end.ckpt"
    assert fit(lambda _: loader(shards), keep=end) == right
    assert fit(lambda _: loader(shards), ckpt_path=end) == right[10:]
    assert fit(lambda _: loader(shards), reload_dataloaders_every_n_epochs=1) == right
    np.save(tmp_path / "x.npy", np.arange(40, dtype=np.float32).reshape(20, 2))

    def arrays(_=None):
        array = tarflume.ArrayDataset(str(tmp_path / "x.npy"))
        return tarflume.ArrayLoader(x=array, batch_size=5, shuffle=True, seed=1)

    rows = [batch["row"].numpy().tolist() for epoch in range(3) for batch in arrays().epoch(epoch)]
    assert fit(arrays, keep=end) == rows
    assert fit(arrays, ckpt_path=end) == rows[4:]


def test_fabric_takes_a_data_set_in_a_data_loader_and_refuses_a_loader(shards):
    from lightning.fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=1)
    data = ours.Dataset(shards, batch_size=10, **WORDS)
    batches = fabric.setup_dataloaders(torch.utils.data.DataLoader(data, batch_size=None, num_workers=2))
    for epoch in (0, 2):
        data.set_epoch(epoch)
        assert [n_of(batch) for batch in batches] == epochs(shards, [epoch]) and len(batches) == 10
    with pytest.raises(TypeError, match="Only PyTorch DataLoader"):
        fabric.setup_dataloaders(loader(shards))


def test_an_array_loader_goes_on_from_its_state(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(40, dtype=np.float32).reshape(20, 2))

    def made(**words):
        return tarflume.ArrayLoader(
            x=tarflume.ArrayDataset(str(tmp_path / "x.npy")), **({"batch_size": 5, "shuffle": True} | words)
        )

    def rows(batches):
        return [batch["row"].numpy().tolist() for batch in batches]

    whole = made()
    iter(whole)  # asks for nothing, changes nothing
    right = [rows(whole) for _ in range(3)]
    assert right == [rows(made().epoch(epoch)) for epoch in range(3)]
    first = made()
    batches = iter(first)
    taken = rows([next(batches), next(batches)])
    second = made()
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    second.set_epoch(0)
    assert taken + rows(second) == right[0] and rows(second) == right[1]
    assert second.state_dict()["epoch"] == 2 and second.state_dict()["batch"] == 0
    with pytest.raises(tarflume.errors.UsageError, match="batch_size=5"):
        made(batch_size=4).load_state_dict(first.state_dict())
    with pytest.raises(tarflume.errors.UsageError, match="epoch -1"):
        second.set_epoch(-1)


def test_a_view_for_hugging_face_gives_each_sample_once_also_dealt(shards):
    from datasets.distributed import split_dataset_by_node

    view = tarflume.huggingface.dataset(shards, image=WORDS["image"], label="/class")
    assert view.num_shards == 4
    rows = list(view)
    assert [row["key"] for row in rows] == [f"{n:04}" for n in range(100)]
    assert rows[13]["image"].shape == (8, 8, 3) and rows[13]["label"] == 3
    nodes = [split_dataset_by_node(view, rank=rank, world_size=2) for rank in range(2)]
    keys = [[row["key"] for row in node] for node in nodes]
    assert [len(of) for of in keys] == [50, 50] and len(set(keys[0] + keys[1])) == 100
    shuffled = [row["key"] for row in view.shuffle(seed=1, buffer_size=30)]
    assert shuffled != sorted(shuffled) and len(set(shuffled)) == len(shuffled) == 100
    batches = torch.utils.data.DataLoader(view.with_format("torch"), batch_size=8, num_workers=2)
    assert sorted(key for batch in batches for key in batch["key"]) == sorted(shuffled)


def test_a_view_for_hugging_face_of_plain_parts_goes_on_from_a_state(shards):
    view = tarflume.huggingface.dataset(shards)
    rows = iter(view)
    for _ in range(37):
        row = next(rows)
    assert json.loads(row["json"])["n"] == 36 and row["jpg"][:2] == b"\xff\xd8"
    state = view.state_dict()
    again = tarflume.huggingface.dataset(shards)
    again.load_state_dict(state)
    assert [row["key"] for row in again] == [f"{n:04}" for n in range(37, 100)]
    with pytest.raises(tarflume.errors.UsageError, match="IterableDataset"):
        tarflume.huggingface.dataset(shards, shuffle="full")
    with pytest.raises(tarflume.errors.UsageError, match="no sample has a part"):
        tarflume.huggingface.dataset(shards, label="txt")


@pytest.mark.parametrize("workers", [0, 1])
def test_grain_takes_each_sample_once(shards, workers):
    import grain
    from absl import flags

    flags.FLAGS.mark_as_parsed()  # which absl.app.run does in programs; Grain's worker processes ask for it
    source = tarflume.grain.Source(shards, parts=["json"], transform=_number)
    assert isinstance(source, grain.sources.RandomAccessDataSource)
    assert len(source) == 100 and source[7] == 7 and pickle.loads(pickle.dumps(source))[9] == 9
    assert repr(source) == "tarflume.grain.Source(100 samples in 4 shards, parts=['json'])"
    sampler = grain.samplers.IndexSampler(len(source), shuffle=True, seed=1, num_epochs=1)
    batch = [grain.transforms.Batch(10)]
    seen = list(grain.DataLoader(data_source=source, sampler=sampler, worker_count=workers, operations=batch))
    numbers = [int(n) for batch in seen for n in batch]
    assert sorted(numbers) == list(range(100)) and numbers != sorted(numbers)
    dealt = grain.MapDataset.source(source).shuffle(seed=2)
    assert sorted(dealt) == list(range(100))


def _number(sample):
    return json.loads(sample["json"])["n"]


def test_jax_takes_a_column_without_a_copy(shards):
    import jax.numpy

    batch = next(iter(tarflume.Loader(shards, batch_size=10, **WORDS)))
    image = jax.dlpack.from_dlpack(batch["image"])
    assert image.unsafe_buffer_pointer() == batch["image"].__array_interface__["data"][0]
    assert image.shape == (10, 8, 8, 3)
    before, there = batch["image"].numpy().copy(), image
    del batch, image
    assert (jax.numpy.asarray(there) == before).all()


@pytest.mark.parametrize("name", ["torch", "datasets"])
def test_a_missing_package_is_named_with_how_to_get_it(shards, name):
    code = """
import sys
name, shards = sys.argv[1:]
sys.modules[name] = None
import tarflume
try:
    import tarflume.grain, tarflume.huggingface
    tarflume.grain.Source(shards)[3]
    tarflume.huggingface.dataset(shards) if name == "datasets" else __import__("tarflume.torch")
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code, name, str(shards)], capture_output=True, text=True, check=True)
    assert f"pip install {name}" in done.stdout
