"""Masks of bits are those of bytes, as `numpy.packbits` packs them."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import tarflume
import tarflume.torch
from tarflume import transforms as T

import annotated

PICTURES: dict[str, Any] = {
    **{f"wide_{side}": T.Compose([T.RandomResizedCrop([24, side]), T.RandomHorizontalFlip(0.5)]) for side in (1, 7, 8, 9, 64, 65)},
    "sizes": T.Compose([T.RandomHorizontalFlip(0.5), T.Resize(50, max_size=90)]),
    "stored": tarflume.OriginalSize(1 << 16),
    "placed": tarflume.RandomResizedCrop(45, flip=0.5),
    "turned": T.Compose([T.RandomRotation((-60, 60)), T.Resize([31, 29])]),
}


@pytest.fixture(scope="module", params=[1, 6])
def shards(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    out = tmp_path_factory.mktemp("bits") / "shards"
    annotated.write(out, 14, request.param)
    return out


def made(out: pathlib.Path, name: str, module: Any = tarflume, **more: Any) -> Any:
    """Batches of masks of bytes and of bits of the same objects."""
    columns = {
        "boxes": tarflume.Boxes("/boxes", format="xywh", min_size=0.0, min_area=0.0),
        "masks": tarflume.Masks("/segmentation"),
        "bits": tarflume.Masks("/segmentation", bits=True),
    }
    settings: dict[str, Any] = {"batch_size": 5, "shuffle": "full", "seed": 2, **more}
    return module.Loader(out, image=tarflume.Image(PICTURES[name]), columns=columns, **settings)


@pytest.mark.parametrize("name", PICTURES)
def test_bits_are_those_of_numpy(name: str, shards: pathlib.Path) -> None:
    objects = 0
    for batch in made(shards, name):
        for row, bits in zip(batch["masks"], batch["bits"], strict=True):
            masks = np.asarray(row)
            assert bits.shape == (*masks.shape[:2], -(-masks.shape[2] // 8)) and bits.dtype == "uint8"
            assert np.array_equal(bits, np.packbits(masks, axis=-1))
            assert np.array_equal(np.unpackbits(np.asarray(bits), axis=-1, count=masks.shape[2]), masks)
            objects += len(masks)
        assert [target["bits"].shape for target in batch.targets()] == [row.shape for row in batch["bits"]]
        padded, seen = batch["bits"].padded()
        assert np.asarray(padded).shape[:2] == np.asarray(seen).shape
    assert objects > 10


@pytest.mark.parametrize("name", PICTURES)
def test_tensors_are_unpacked(name: str, shards: pathlib.Path) -> None:
    for batch in made(shards, name, tarflume.torch):
        widths = [row.shape[2] for row in batch["masks"]]
        width: Any = widths[0] if len(set(widths)) == 1 else widths
        for column in (batch["bits"], pickle.loads(pickle.dumps(batch["bits"])), batch["bits"].to("cpu")):
            unpacked = column.unpacked(width)
            assert isinstance(unpacked, tarflume.torch.Objects)
            assert all(torch.equal(one, other) for one, other in zip(unpacked, batch["masks"], strict=True))
            assert torch.equal(unpacked.values, batch["masks"].values)
        for target in batch.targets("cpu", unpack={"bits": width}):
            assert torch.equal(target["bits"], target["masks"])


def test_what_cannot_be_unpacked_is_named(shards: pathlib.Path) -> None:
    batch = next(iter(made(shards, "wide_65", tarflume.torch)))
    for column, width in [("bits", 64), ("bits", 73), ("masks", 65), ("boxes", 65), ("bits", 0), ("bits", -8)]:
        with pytest.raises(tarflume.errors.UsageError, match=rf"unpacked\({width}\) takes bits of pictures"):
            batch[column].unpacked(width)
    with pytest.raises(tarflume.errors.UsageError, match="one for each of 5 pictures, not 2"):
        batch["bits"].unpacked([65, 65])
    with pytest.raises(tarflume.errors.UsageError, match="'mask', and the columns of objects are: boxes, masks, bits"):
        batch.targets(unpack={"mask": 65})
    assert "bits=True" in repr(tarflume.Masks("/s", bits=True))


@pytest.mark.parametrize("name", ["wide_7", "wide_64", "wide_65"])
@pytest.mark.parametrize("boxes", [True, False])
def test_bits_of_mosaics_are_those_of_bytes(name: str, boxes: bool, shards: pathlib.Path) -> None:
    """Without boxes, the masks say which objects a mosaic shows."""
    def loader(bits: bool) -> tarflume.Loader:
        given = {"boxes": tarflume.Boxes("/boxes", format="xywh")} if boxes else {}
        masks = tarflume.Masks("/segmentation", bits=bits, labels="/category_index")
        image = tarflume.Image(PICTURES[name])
        return tarflume.Loader(shards, image=image, masks=masks, mosaic=tarflume.Mosaic(), batch_size=7, **given)

    objects = 0
    for whole, packed in zip(loader(False), loader(True), strict=True):
        for row, bits in zip(whole["masks"], packed["masks"], strict=True):
            assert np.array_equal(np.packbits(np.asarray(row), axis=-1), bits)
            objects += len(np.asarray(row))
        assert np.array_equal(whole["labels"].values, packed["labels"].values)
    assert objects > 20
