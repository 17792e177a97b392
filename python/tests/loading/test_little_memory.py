"""A limit of memory (RLIMIT_DATA) is an error of Python, and no end of the process."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from conftest import pack

SCRIPT = """
import resource, sys
import tarflume

shards, more = sys.argv[1], int(sys.argv[2])
used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + more, used + more))
try:
    if sys.argv[3] == "load":
        loader = tarflume.Loader(shards, batch_size=2, image=tarflume.RandomResizedCrop(64), num_threads=4)
        print("rows", sum(len(batch) for batch in loader))
    else:
        print("rows", tarflume.pack.build(sys.argv[3], sys.argv[4], require=["image"])["samples"])
except (tarflume.errors.Error, MemoryError) as error:
    print("error", type(error).__name__, error)
"""


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    rng = np.random.default_rng(3)
    (folder / "pictures").mkdir()
    for n in range(6):
        pixels = rng.integers(0, 256, (300, 400, 3), np.uint8)
        Image.fromarray(pixels).save(folder / "pictures" / f"{n}.jpg", quality=90)
    pack("build", folder / "pictures", "-o", folder / "shards", "--require", "image")
    return folder


def told(folder, more, *words):
    words = [sys.executable, "-c", SCRIPT, folder / "shards", str(more << 20), *words]
    done = subprocess.run(words, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] in ("rows", "error"), done.stdout
    if more == 256:
        assert done.stdout.split() == ["rows", "6"]


@LINUX
@pytest.mark.parametrize("more", [0, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 48, 256])
def test_a_loader_raises(folder, more):
    told(folder, more, "load")


@LINUX
@pytest.mark.parametrize("more", [0, 1, 2, 4, 8, 12, 16, 20, 24, 256])
def test_a_packer_raises(folder, more, tmp_path):
    told(folder, more, folder / "pictures", tmp_path / "out")
