"""docs/frameworks/lerobot.md: batches are those of LeRobot's own data set in a DataLoader, value by value."""

from __future__ import annotations

import pathlib
import runpy

import numpy as np
import pytest
import torch

from conftest import picture
from headings import blocks

pytest.importorskip("lerobot")
from lerobot.datasets.lerobot_dataset import LeRobotDataset  # noqa: E402
from lerobot.datasets.utils import cycle  # noqa: E402

PAGE = "docs/frameworks/lerobot.md"
CAMERA, EPISODES, LENGTH, BATCH = "observation.images.front", 2, 7, 4
WINDOWS = {"action": [0, 0.1, 0.2], CAMERA: [-0.1, 0.0]}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> pathlib.Path:
    """Two episodes of seven frames with one camera."""
    root = tmp_path_factory.mktemp("lerobot") / "set"
    features = {
        CAMERA: {"dtype": "image", "shape": (48, 64, 3), "names": ["height", "width", "channels"]},
        "observation.state": {"dtype": "float32", "shape": (3,), "names": None},
        "action": {"dtype": "float32", "shape": (2,), "names": None},
    }
    dataset = LeRobotDataset.create("a/b", 10, features, root=root, use_videos=False)
    for episode in range(EPISODES):
        for time in range(LENGTH):
            n = episode * LENGTH + time
            pixels = np.asarray(picture(n))[:48, :64]
            state = np.arange(3, dtype=np.float32) + n
            dataset.add_frame(
                {CAMERA: pixels, "observation.state": state, "action": np.array([n, -n], np.float32), "task": f"do {episode}"}
            )
        dataset.save_episode()
    dataset.finalize()
    return root


@pytest.mark.parametrize("windows", [None, WINDOWS])
def test_batches_are_those_of_lerobot(root, tmp_path, windows):
    (tmp_path / "block.py").write_text(blocks(PAGE)[0])
    page = runpy.run_path(str(tmp_path / "block.py"))
    dataset = LeRobotDataset("a/b", root=root, delta_timestamps=windows)
    page["pack_frames"](dataset, tmp_path / "frames")
    words = (dataset[0], dataset.meta.camera_keys, BATCH)
    right = list(torch.utils.data.DataLoader(dataset, batch_size=BATCH))
    ours = list(page["frames"](tmp_path / "frames", *words))
    assert len(ours) == len(right) == 4 and right[0][CAMERA].ndim == (4 if windows is None else 5)
    for batch, expected in zip(ours, right, strict=True):
        assert batch.keys() == expected.keys()
        for name, value in expected.items():
            if isinstance(value, torch.Tensor):
                assert batch[name].dtype == value.dtype and batch[name].shape == value.shape, name
                assert torch.allclose(batch[name].float(), value.float(), atol=1e-6), name
            else:
                assert list(batch[name]) == list(value), name


def test_an_endless_training_sees_each_frame_once_in_an_epoch(root, tmp_path):
    (tmp_path / "block.py").write_text(blocks(PAGE)[0])
    page = runpy.run_path(str(tmp_path / "block.py"))
    dataset = LeRobotDataset("a/b", root=root)
    page["pack_frames"](dataset, tmp_path / "frames")
    kept = np.array([n for n in range(EPISODES * LENGTH) if n % LENGTH < LENGTH - 2])  # drop_n_last_frames=2
    loader = page["frames"](
        tmp_path / "frames", dataset[0], dataset.meta.camera_keys, BATCH, shuffle="full", seed=1, select=kept
    )
    batches = cycle(loader)
    epochs = [[n for _ in range(len(loader)) for n in next(batches)["index"].tolist()] for _ in range(2)]
    assert [sorted(epoch) for epoch in epochs] == [kept.tolist()] * 2 and epochs[0] != epochs[1]
