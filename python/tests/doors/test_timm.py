"""docs/frameworks/timm.md: batches are those of timm's own loader, and its training loop takes ours."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest
import torch

import tarflume
from conftest import pack, picture
from headings import blocks
from launched import launched

timm = pytest.importorskip("timm")
from tarflume.timm import create_loader  # noqa: E402
from timm.data import FastCollateMixup, ImageDataset, Mixup  # noqa: E402
from timm.data import create_loader as theirs  # noqa: E402

PAGE = "docs/frameworks/timm.md"
COUNT, SIZE = 41, (3, 32, 32)
EVAL = {"input_size": SIZE, "use_prefetcher": False, "interpolation": "bicubic", "crop_pct": 0.9, "num_workers": 0,
        "persistent_workers": False}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> pathlib.Path:
    """Lossless pictures whose class is their number, as a folder and as shards."""
    folder = tmp_path_factory.mktemp("timm")
    for n in range(COUNT):
        (folder / "photos" / f"{n:02}").mkdir(parents=True)
        picture(n).save(folder / "photos" / f"{n:02}" / f"{n:02}.png")
    pack("build", folder / "photos", "-o", folder / "shards", "--shards", 3, "--label", "folder")
    return folder


def test_batches_of_an_evaluation_are_those_of_timm(made):
    right = list(theirs(ImageDataset(str(made / "photos")), batch_size=8, **EVAL))
    ours = create_loader(made / "shards", batch_size=8, **EVAL)
    assert len(ours) == len(right) == -(-COUNT // 8)
    for (image, target), (expected, numbers) in zip(ours, right, strict=True):
        assert image.dtype == expected.dtype and image.shape == expected.shape and image.is_contiguous()
        assert torch.equal(target, numbers) and target.dtype == torch.int64
        assert (image - expected).abs().max() < 1e-5


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_pictures_have_the_type_that_was_asked_for(made, dtype):
    loader = create_loader(made / "shards", SIZE, 8, img_dtype=dtype, use_prefetcher=False)
    assert next(iter(loader))[0].dtype == dtype
    if dtype == torch.float16:
        assert next(iter(create_loader(made / "shards", SIZE, 8, fp16=True, device="cpu")))[0].dtype == dtype


def test_mixup_of_timm_takes_the_batches_and_that_of_a_collate_function_is_in_the_loader(made):
    words = {"mixup_alpha": 0.8, "cutmix_alpha": 1.0, "num_classes": COUNT, "label_smoothing": 0.1}
    loader = create_loader(made / "shards", SIZE, 8, is_training=True, use_prefetcher=False)
    mixed, targets = Mixup(**words)(*next(iter(loader)))
    assert mixed.shape == (8, *SIZE) and targets.shape == (8, COUNT)
    inside = create_loader(made / "shards", SIZE, 8, is_training=True, collate_fn=FastCollateMixup(**words), device="cpu")
    batches = list(inside)
    assert len(batches) == COUNT // 8 and all(len(batch) == 2 for batch in batches)
    for image, target in batches:
        assert image.shape == (8, *SIZE) and target.shape == (8, COUNT) and target.dtype == torch.float32
        assert np.allclose(target.sum(1), 1, atol=1e-5)
        assert (target > 0.1 / COUNT + 1e-3).sum() > 8, "some rows have two classes"


def test_arguments_that_change_more_than_a_transform_are_refused(made):
    for words, said in [({"num_aug_repeats": 3}, "no num_aug_repeats="), ({"shufle": 1}, "settings={'shufle': ...}"),
                        ({"collate_fn": len}, "give a timm.data.FastCollateMixup"), ({"img_dtype": torch.int8}, "img_dtype=")]:  # fmt: skip
        with pytest.raises(tarflume.errors.UsageError, match=said):
            create_loader(made / "shards", SIZE, 8, **words)
    assert len(create_loader(made / "shards", SIZE, 8, num_aug_repeats=0, num_workers=4, device="cpu", settings={"num_threads": 1})) == 6


JOB = """
import json, sys
from launched import meet

rank, ranks = meet()
import block
seen = []
block.train(2, seen.append)
with open(f"{rank}.json", "w") as out:
    json.dump(seen, out)
import torch.distributed
torch.distributed.barrier()
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_program_of_the_page_sees_each_sample_once(made, tmp_path, ranks):
    for name in ("shards", "val"):
        (tmp_path / name).symlink_to(made / "shards")
    (tmp_path / "block.py").write_text(blocks(PAGE)[0])
    (tmp_path / "job.py").write_text(JOB)
    launched(pathlib.Path("job.py"), tmp_path, [(ranks, [])], imports=["timm.data", "timm.loss", "tarflume.torch"])
    told = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(ranks)]
    steps = COUNT // (4 * ranks)
    for epoch in range(2):
        rows = sum((sum((batch for kind, batch in rank if kind == epoch), []) for rank in told), [])
        assert len(rows) == len(set(rows)) == steps * 4 * ranks, "training leaves out what fills no batch"
    rows = sum((sum((batch for kind, batch in rank if kind == "val"), []) for rank in told), [])
    assert set(rows) == set(range(COUNT)) and len(rows) - 2 * COUNT < 2 * ranks
