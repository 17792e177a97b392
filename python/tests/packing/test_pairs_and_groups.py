"""Pairs by pattern, folders as samples and lists of splits from Python: what a loader reads is what Pillow reads."""

from __future__ import annotations

import pathlib

import numpy as np
from PIL import Image

import tarflume
from conftest import picture


def palette(numbers: np.ndarray) -> Image.Image:
    """A picture with a palette, as Pascal VOC has them."""
    image = Image.fromarray(numbers.astype(np.uint8), "P")
    image.putpalette([value for n in range(256) for value in (n, 255 - n, n // 2)])
    return image


def test_masks_beside_their_pictures_are_read_as_pillow_reads_them(tmp_path: pathlib.Path):
    folder = tmp_path / "set" / "train"
    folder.mkdir(parents=True)
    for n in range(4):
        image = picture(n)
        image.save(folder / f"{n}.jpg")
        palette(np.random.default_rng(n).integers(0, 22, (image.height, image.width)) * 12).save(folder / f"{n}_mask.png")
    pair = {"*.jpg": "jpg", "*_mask.png": "mask.png", "*_edge.png": "edge.png?"}
    (tmp_path / "val.txt").write_text("train/3.jpg 1\n")
    lists = {"val": tmp_path / "val.txt", "train": "*"}
    made = tarflume.pack.build(tmp_path / "set", tmp_path / "out", pair=pair, split_list=lists, progress=False)
    assert made["samples"] == 4
    assert sorted(tarflume.Dataset(tmp_path / "out").splits) == ["train", "val"]
    image = tarflume.Image(tarflume.Resize((48, 64)))
    for batch in tarflume.Loader(tmp_path / "out", batch_size=1, image=image, mask=tarflume.Mask("mask.png")):
        key = batch["key"][0]
        stored = np.asarray(Image.open(tmp_path / "set" / f"{key}_mask.png"))
        if stored.shape == (48, 64):
            assert (np.asarray(batch["mask"])[0] == stored).all()
        assert set(np.unique(np.asarray(batch["mask"]))) <= set(np.unique(stored))


def test_the_pictures_of_a_folder_are_one_sample(tmp_path: pathlib.Path):
    for car in ("a", "b"):
        (tmp_path / "cars" / car).mkdir(parents=True)
        for view in (1, 2, 10):
            picture(view).save(tmp_path / "cars" / car / f"view{view}.png")
    tarflume.pack.build(tmp_path / "cars", tmp_path / "out", group="folder,count=3", progress=False)
    for sample in tarflume.Dataset(tmp_path / "out"):
        names = [name for name in sample if name.endswith("png")]
        assert sorted(names) == ["0.png", "1.png", "2.png"]
        for part, view in (("0.png", 1), ("1.png", 2), ("2.png", 10)):
            assert sample[part] == (tmp_path / "cars" / "a" / f"view{view}.png").read_bytes()
