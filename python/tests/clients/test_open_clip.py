"""open_clip's training data, from PyPI, with one import line changed: its shards are read by `tarflume.webdataset`."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

from conftest import pack, picture
from patience import PATIENCE_S

CHANGED = {"import webdataset as wds\n": "import tarflume.webdataset.instead as wds\n"}

PROGRAM = """
import argparse, json, pathlib, sys
import numpy as np

def run(source, shards, workers, resampled):
    sys.modules["data"] = data = type(sys)("data")
    exec(compile(source, "data.py", "exec"), data.__dict__)
    words = dict(train_data=shards, val_data=shards, train_num_samples=80, val_num_samples=80, seed=3,
                 dataset_resampled=resampled, train_data_upsampling_factors=None, workers=workers, world_size=1,
                 batch_size=8)
    args = argparse.Namespace(**words)
    seen = []
    for is_train in (True, False):
        image = lambda image: int(np.asarray(image).astype(int).sum())
        info = data.get_wds_dataset(args, image, is_train, epoch=1, tokenizer=lambda text: [text])
        for epoch in (1, 2) if is_train else (1,):
            info.set_epoch(epoch)
            seen.append([[list(map(int, images)), list(texts)] for images, texts in info.dataloader])
    return seen

shards, workers, resampled = sys.argv[2], int(sys.argv[3]), sys.argv[4] == "resampled"
print(json.dumps(run(pathlib.Path(sys.argv[1]).read_text(), shards, workers, resampled)))
assert "tarflume.webdataset" in sys.modules and sys.modules["webdataset"].__name__ == "tarflume.webdataset"
"""


def changed() -> str:
    """open_clip's own file with one line changed."""
    found = importlib.util.find_spec("open_clip_train")
    assert found is not None and found.submodule_search_locations
    text = (pathlib.Path(found.submodule_search_locations[0]) / "data.py").read_text()
    for old, new in CHANGED.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """80 pictures with captions in 4 shards, as img2dataset makes them."""
    root = tmp_path_factory.mktemp("captions")
    (root / "pairs").mkdir()
    for n in range(80):
        picture(n).save(root / "pairs" / f"{n:09}.jpg")
        (root / "pairs" / f"{n:09}.txt").write_text(f"caption {n}")
    pack("build", root / "pairs", "-o", root / "shards", "--shards", 4, "--require", "image,txt")
    return root / "shards"


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("how", ["once", "resampled"])
def test_open_clips_pipeline_runs_with_one_import_line_changed(shards, tmp_path, workers, how):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "data.py").write_text(changed())
    names = str(shards / "shard-{000000..000003}.tar")
    command = [sys.executable, tmp_path / "program.py", tmp_path / "data.py", names, str(workers), how]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    assert "Handling webdataset error" not in done.stderr
    first, second, evaluated = json.loads(done.stdout)
    # The sum of a decoded picture's pixels says which picture came with which caption.
    sums = {caption: total for totals, captions in evaluated for total, caption in zip(totals, captions, strict=True)}
    assert sorted(sums) == sorted(f"caption {n}" for n in range(80)) and len(set(sums.values())) > 70
    for epoch in (first, second):
        assert [len(captions) for _, captions in epoch] == [8] * 10
        for totals, captions in epoch:
            assert [sums[caption] for caption in captions] == totals
    if how == "once":
        for epoch in (first, second):
            captions = [caption for _, captions in epoch for caption in captions]
            assert len(set(captions)) > 80 * 0.7  # each worker repeats a few of its own to fill its last batch
        assert first != second
