"""Small data sets for the tests, made of drawn pictures by the command `pack`."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess

import numpy as np
import pytest
from PIL import Image

from photographs import Parts
from photographs import pairs as lay

# Under nohup and in some CI the tests begin with SIGINT ignored, and so would every process that they start.
# A handler is not inherited: these begin with the default again.
signal.signal(signal.SIGINT, signal.default_int_handler)

PACK = os.environ.get("TARFLUME_PACK", "pack")
ROOT = pathlib.Path(__file__).resolve().parents[2]


def picture(n: int) -> Image.Image:
    """A picture of three color gradients; its size and pixels differ for each n."""
    height, width = 48 + n % 7, 64 + n % 5
    y, x = np.mgrid[0:height, 0:width]
    rgb = np.stack([x * 3 + n, y * 4 + 2 * n, (x + y) * 2 + 5 * n], axis=-1) % 256
    return Image.fromarray(rgb.astype(np.uint8))


def pairs(folder: pathlib.Path, count: int) -> pathlib.Path:
    """A folder of JPEG/JSON pairs: key "0007" has class 7 % 10."""
    folder.mkdir(parents=True, exist_ok=True)
    for n in range(count):
        picture(n).save(folder / f"{n:04}.jpg", quality=90)
        (folder / f"{n:04}.json").write_text(json.dumps({"class": n % 10, "n": n, "name": f"picture {n}"}))
    return folder


def pack(*words: object) -> str:
    done = subprocess.run([PACK, *map(str, words)], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """100 samples in 4 shards."""
    root = tmp_path_factory.mktemp("data")
    out = root / "shards"
    pack("build", pairs(root / "pairs", 100), "-o", out, "--shards", 4)
    return out


@pytest.fixture(scope="session")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, Parts]:
    """Photographs in 3 shards, and what was packed."""
    root = tmp_path_factory.mktemp("photographs")
    parts = lay(root / "pairs")
    pack("build", root / "pairs", "-o", root / "shards", "--shards", 3)
    return root / "shards", parts


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with the CUDA driver that fixtures/cuda plays: for LD_LIBRARY_PATH."""
    out = tmp_path_factory.mktemp("cuda")
    for what in ("driver", "nvjpeg"):
        subprocess.run(["bash", ROOT / "fixtures" / "cuda" / "build.sh", out, what], check=True, capture_output=True)
    return out


def n_of(batch) -> list[int]:
    """Which samples a batch holds, by their keys."""
    return [int(key) for key in batch["key"]]
