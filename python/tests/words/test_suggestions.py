"""Errors that show the line to write: for batches that are used as arrays, and for keywords that do not exist."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import tarflume
import tarflume.grain
import tarflume.torch as ours
from tarflume import errors

WORDS = {"image": tarflume.Resize((8, 8)), "label": "/class", "batch_size": 10}


@pytest.fixture
def batch(shards):
    return next(iter(tarflume.Loader(shards, columns={"json": "json"}, **WORDS)))


def test_a_column_computes_as_its_array_does(batch):
    """Each expression gives the same with the column as with the array."""
    label, array = batch["label"], np.asarray(batch["label"]).copy()
    for expression in [
        "c / 255", "c + 1", "c - 1", "c * 2", "c // 2", "c % 3", "c ** 2", "c @ c", "divmod(c, 2)", "c & 1", "c | 1",
        "c ^ 1", "c << 1", "c >> 1", "255 / (c + 1)", "1 + c", "1 - c", "2 * c", "7 // (c + 1)", "7 % (c + 1)", "2 ** c",
        "divmod(7, c + 1)", "1 & c", "1 | c", "1 ^ c", "1 << c", "1 >> c", "-c", "+c", "abs(c)", "~c", "c == 1", "c < 2",
        "np.ones(10, int) @ c", "c.mean()", "c.astype('float32')", "c.sum(axis=0)", "c[1:3]",
        "pow(c, 2)", "c.T",
    ]:  # fmt: skip
        made, wanted = eval(expression, {"c": label, "np": np}), eval(expression, {"c": array, "np": np})
        assert type(made) is type(wanted), expression
        assert np.array_equal(np.asarray(made), np.asarray(wanted)), expression
    with pytest.raises(TypeError):
        label ** "a"  # noqa: B018


def test_a_column_that_is_used_as_a_tensor_shows_how_to_get_one(batch):
    for name in ("float", "to", "cuda", "permute", "long", "unsqueeze"):
        with pytest.raises(AttributeError) as caught:
            getattr(batch["image"], name)
        assert f"'Column' object has no attribute '{name}'; a tensor has: torch.from_dlpack(column).{name}" in str(caught.value)
    column = batch["label"]
    assert torch.from_dlpack(column).float().tolist() == [float(n) for n in column.tolist()]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'$"):
        column.nothing  # noqa: B018


def test_rows_of_different_lengths_are_no_array_of_numbers(batch):
    rows = batch["json"]
    assert rows[2:4] == rows.tolist()[2:4] and rows[::-1] == rows.tolist()[::-1] and rows[5:2] == []
    array = np.asarray(rows)
    assert array.shape == (10,) and array.dtype == object and array.tolist() == rows.tolist()
    with pytest.raises(AttributeError, match=r"different lengths: take each, \[row for row in column\], or"):
        rows.mean()
    with pytest.raises(TypeError, match="the number of a row, or a slice"):
        rows[0, 0]
    with pytest.raises(IndexError):
        rows[10]


def test_a_batch_has_as_many_samples_as_its_length_says(batch):
    assert len(batch) == batch.rows == 10 and len(batch.keys()) == 4
    assert copy.copy(batch["label"]).tolist() == batch["label"].tolist()
    for wrong, line in [(0, 'batch["image"][0]'), (slice(None, 2), 'batch["image"][:2]'), (slice(1, 3), '["image"][1:3]')]:
        with pytest.raises(TypeError) as caught:
            batch[wrong]
        assert line in str(caught.value)
    for name, line in [("image", 'batch["image"]'), ("shape", 'columns are batch["image"], batch["label"]'), ("to", 'device="cuda"')]:
        with pytest.raises(AttributeError) as caught:
            getattr(batch, name)
        assert line in str(caught.value)
    with pytest.raises(KeyError, match="there are image, label, json, key"):
        batch["images"]


def test_every_loader_has_epoch_and_set_epoch(shards):
    words = {"shuffle": True, "seed": 1, **WORDS}
    loader, tensors = tarflume.Loader(shards, **words), ours.Loader(shards, **words)
    keys = [batch["key"] for batch in loader.epoch(5)]
    loader.set_epoch(5)
    assert loader.current_epoch == 5
    again = pickle.loads(pickle.dumps(loader))
    for one in (loader, again):
        assert [batch["key"] for batch in one] == keys
        assert next(iter(one)).epoch == 6, "a set epoch counts once"
    assert [batch["key"] for batch in tensors.epoch(5)] == keys
    assert next(iter(tensors)) and tensors.current_epoch == 6
    state = {**loader.state_dict(), "epoch": 2, "position": 0}
    loader.set_epoch(9)
    loader.load_state_dict(state)
    assert loader.current_epoch == 2
    for wrong in (-1, "one"):
        with pytest.raises(errors.UsageError, match="counted from 0"):
            loader.set_epoch(wrong)
    loader.close()
    with pytest.raises(errors.UsageError, match="closed"):
        loader.set_epoch(1)


def test_batches_in_a_data_loader_of_batches_show_the_line_to_write(shards):
    data = ours.Dataset(shards, **WORDS)
    for size in (1, 4):
        with pytest.raises(errors.UsageError, match=r"write DataLoader\(dataset, batch_size=None\)"):
            next(iter(DataLoader(data, batch_size=size)))
    with pytest.raises(errors.UsageError, match=r"write DataLoader\(dataset, batch_size=None\)"):
        next(iter(DataLoader(data)))
    assert len(next(iter(DataLoader(data, batch_size=None)))["key"]) == 10


CALLS = [
    ("pack.build('a', 'b', lable='folder')", "tarflume.pack.build takes no lable=; did you mean label=?"),
    ("pack.build('a', 'b', num_workers=3)", "did you mean jobs=?"),
    ("pack.build('a', 'b', output='c')", "tarflume.pack.build takes no output=; did you mean out=?"),
    ("pack.append('a', 'b', exlude='x')", "did you mean exclude=?"),
    ("pack.verify('a', levl='full')", "did you mean level=?"),
    ("pack.index('a', entry_point=True)", "did you mean entry_points=?"),
    ("pack.tokens('a', 'b', tokeniser='t', length=3)", "did you mean tokenizer=?"),
    ("pack.reshard('a', 'b', max_samples=3)", "did you mean shard_samples=?"),
    ("pack.build('a', 'b', maxcount=3)", "tarflume.pack.build takes no maxcount=; did you mean shard_samples=?"),
    ("pack.export('a', 'b', too='csv')", "tarflume.pack.export takes no too=; did you mean to=?"),
    ("pack.build('a', 'b', zzz=1)", "help(tarflume.pack.build) lists all"),
    ("ShardWriter('a', maxcount=3)", "tarflume.ShardWriter takes no maxcount=; did you mean max_samples=?"),
    ("ShardWriter('a', maxsize=3)", "did you mean shard_size=?"),
    ("torch.MapDataset(shards, image=1)", "MapDataset takes no image=; a sample has the bytes of each part: transform=function"),
    ("torch.MapDataset(shards, batch_size=1)", "it belongs to the DataLoader"),
    ("torch.MapDataset(shards, transfrom=len)", "did you mean transform=?"),
    ("grain.Source(shards, split='val')", 'tarflume.Dataset(shards, split="train")'),
    ("Loader(shards, image=224)", "image=tarflume.RandomResizedCrop(224) in training, image=tarflume.ResizeCenterCrop(256, 224)"),
    ("Loader(shards, image=True)", "such as image=tarflume.RandomResizedCrop(224)"),
    ("ArrayLoader(batch_size=2, device='cuda')", "ArrayLoader takes no device=; the batches are in host memory"),
    ("ArrayLoader(batch_size=2, shufle=True)", "did you mean shuffle=?"),
    ("ArrayLoader(batch_size=2, image=[1, 2])", "image= takes a tarflume.ArrayDataset, not list"),
    ("Dataset(shards, image=1)", "tarflume.Dataset takes no image=; tarflume.Loader takes it"),
    ("Dataset(shards, spilt='a')", "tarflume.Dataset takes no spilt=; did you mean split=?"),
    ("RandomResizedCrop(8, flp=0.5)", "tarflume.RandomResizedCrop takes no flp=; did you mean flip=?"),
    ("Image(RandomResizedCrop(8), dtpye='float32')", "tarflume.Image takes no dtpye=; did you mean dtype=?"),
    ("Json('/a', lables=['a'])", "tarflume.Json takes no lables=; did you mean labels=?"),
    ("Apply(len, 'jpg', shap=1)", "tarflume.Apply takes no shap=; did you mean shape=?"),
    ("ArrayDataset('x.npy', dtyp='int8')", "tarflume.ArrayDataset takes no dtyp=; did you mean dtype=?"),
]


@pytest.mark.parametrize(("call", "text"), CALLS, ids=[call for call, _ in CALLS])
def test_an_unknown_keyword_is_answered_with_the_one_that_was_meant(shards, tmp_path, monkeypatch, call, text):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.UsageError) as caught:
        eval(f"tarflume.{call}", {"tarflume": tarflume, "shards": shards, "RandomResizedCrop": tarflume.RandomResizedCrop})
    assert text in str(caught.value)
    assert list(tmp_path.iterdir()) == [], "nothing was made"
