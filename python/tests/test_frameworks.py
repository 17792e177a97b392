"""Lightning, Accelerate, Hugging Face datasets, Grain and JAX take what we give, each the real one."""

from __future__ import annotations

import json
import pathlib
import pickle
import subprocess
import sys

import pytest
import torch

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
    script = pathlib.Path(__file__).with_name("ranks.py")
    command = [sys.executable, script, "lightning", shards, tmp_path]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    seen = [json.loads((tmp_path / f"lightning-{rank}-done.json").read_text()) for rank in range(2)]
    assert [len(batches) for batches in seen] == [10, 10]
    assert sorted(map(int, sum(seen[0] + seen[1], []))) == list(range(100))


def test_accelerate_leaves_a_loader_as_it_is_and_deals_a_data_set_out_itself(shards):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    inner = torch.utils.data.DataLoader(ours.Dataset(shards, batch_size=10, rank=0, world_size=1, **WORDS), batch_size=None)
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
    script = pathlib.Path(__file__).with_name("ranks.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script]
    done = subprocess.run(
        [*map(str, command), "accelerate", str(shards), str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE_S,
        check=False
    )
    assert done.returncode == 0, done.stderr
    ranks = [json.loads((tmp_path / f"accelerate-{rank}-done.json").read_text()) for rank in range(2)]
    for name in ("loader", "data set"):
        assert len(ranks[0][name]) == len(ranks[1][name]), name
        assert sorted(map(int, sum(ranks[0][name] + ranks[1][name], []))) == list(range(100)), name


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
