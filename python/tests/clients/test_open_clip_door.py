"""docs/frameworks/open-clip.md: open_clip's own training and evaluation see each pair once, with open_clip's pixels."""

from __future__ import annotations

import json
import pathlib

import pytest

from conftest import pack, picture
from headings import blocks
from launched import launched

open_clip = pytest.importorskip("open_clip")
from open_clip.transform import image_transform  # noqa: E402

PAGE = "docs/frameworks/open-clip.md"
JOB = pathlib.Path(__file__).with_name("open_clip_job.py")
COUNT, BATCH = 41, 4


@pytest.fixture(scope="module")
def shards(tmp_path_factory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("captions")
    (root / "pairs").mkdir()
    for n in range(COUNT):
        picture(n).save(root / "pairs" / f"{n:03}.png")
        (root / "pairs" / f"{n:03}.txt").write_text(f"a picture of number {n}")
    pack("build", root / "pairs", "-o", root / "shards", "--shards", 2, "--require", "image,txt")
    return root / "shards"


@pytest.mark.parametrize("ranks", [1, 2])
def test_open_clip_sees_each_pair_once(shards, tmp_path, ranks):
    (tmp_path / "shards").symlink_to(shards)
    (tmp_path / "block.py").write_text(blocks(PAGE)[0])
    imports = ["open_clip", "open_clip_train.data", "open_clip_train.train", "tarflume.torch"]
    launched(JOB, tmp_path, [(ranks, [0]), (ranks, [1])], imports=imports)
    told = [json.loads((tmp_path / f"0-{rank}.json").read_text()) for rank in range(ranks)]
    again = [json.loads((tmp_path / f"1-{rank}.json").read_text()) for rank in range(ranks)]
    tokenizer, preprocess = open_clip.get_tokenizer("ViT-B-32"), image_transform(32, is_train=False)
    ids = {tuple(tokenizer(f"a picture of number {n}")[0].tolist()): n for n in range(COUNT)}
    sums = [float(preprocess(picture(n)).double().sum()) for n in range(COUNT)]
    steps = COUNT // (BATCH * ranks)
    assert [rank["sizes"] for rank in told] == [[steps, steps * BATCH * ranks, COUNT]] * ranks
    epochs = []
    for epoch in range(3):
        found = []
        for images, texts in (batch for rank in told for batch in rank["seen"][epoch]):
            numbers = [ids[tuple(text)] for text in texts]
            assert images == pytest.approx([sums[n] for n in numbers], abs=2e-2)
            found += numbers
        epochs.append(found)
    assert all(len(set(found)) == len(found) == steps * BATCH * ranks for found in epochs[:2]) and epochs[0] != epochs[1]
    assert sorted(epochs[2]) == list(range(COUNT)), "the first rank evaluates alone"
    assert [rank["seen"][0] for rank in again] == [rank["seen"][1] for rank in told], "a job that begins at the second epoch"
