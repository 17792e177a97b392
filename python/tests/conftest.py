"""Small data sets for the tests, made of drawn pictures by the command `pack`."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tarflume

from photographs import Parts
from photographs import pairs as lay

# Under nohup and in some CI the tests begin with SIGINT ignored, and so would every process that they start.
# A handler is not inherited: these begin with the default again.
signal.signal(signal.SIGINT, signal.default_int_handler)

PACK = os.environ.get("TARFLUME_PACK", "pack")
ROOT = pathlib.Path(__file__).resolve().parents[2]
#: Files with few tests that take minutes. They begin first, so that no worker has one of them alone at the end.
LONG = ["test_trainers.py", "test_tutorial.py", "test_gpu_script.py", "test_transform_policies.py", "test_frameworks.py", "test_torch.py", "test_pages.py",
        "test_sft.py", "test_other_ranks.py", "test_proof.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


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
    return cuda(tmp_path_factory, "driver", "nvjpeg")


@pytest.fixture(scope="session")
def cuda_programs(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The same folder with run_kernel, run_ptx, and what runs PTX in the driver."""
    return cuda(tmp_path_factory, "driver", "kernel", "ptx")


def cuda(factory: pytest.TempPathFactory, *parts: str) -> pathlib.Path:
    """Builds parts of fixtures/cuda in a folder that all workers share, and with TARFLUME_CUDA the tests in Rust, too:
    build.sh builds what is not there, one at a time."""
    base = factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cuda"
    out = pathlib.Path(os.environ.get("TARFLUME_CUDA", shared))
    for part in parts:
        done = subprocess.run(["bash", ROOT / "fixtures" / "cuda" / "build.sh", out, part], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return out


def n_of(batch) -> list[int]:
    """Which samples a batch holds, by their keys."""
    return [int(key) for key in batch["key"]]


# Tests that publish what `verify` rejects, each with its reason.
NOT_WHOLE: dict[str, str] = {}


def expect_whole(out: object) -> None:
    """Asserts that no level finds a problem in a data set that was just published."""
    if "://" in str(out):
        return  # test_remote.py verifies those in stores
    manifest = json.loads((pathlib.Path(str(out)) / "dataset.json").read_text())
    check = (manifest.get("options") or manifest).get("check")
    # Without a check, contents were not read.
    for level in ["quick", "full"] if check == "none" else ["quick", "full", "decode"]:
        report = tarflume.pack.verify(str(out), level=level, progress=False)
        if check != "decode" and report["counts"].keys() == {"bad-part"}:
            continue  # only check="decode" looks into such parts
        assert report.whole, f"{out} at {level}: {report}"


@pytest.fixture(autouse=True)
def whole(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Verifies each data set that this process writes in a test, as soon as it is published."""
    if getattr(request.node, "originalname", None) in NOT_WHOLE:
        yield
        return

    def publishing(publish: Callable[..., Any]) -> Callable[..., Any]:
        def published(src: object, out: object, *args: Any, **options: Any) -> Any:
            built = publish(src, out, *args, **options)
            if not options.get("dry_run"):
                expect_whole(out)
            return built

        return published

    close = tarflume.ShardWriter.close

    def closed(writer: tarflume.ShardWriter) -> dict[str, Any]:
        was_open = writer._writer is not None
        manifest = close(writer)
        if was_open:
            expect_whole(writer._out)
        return manifest

    for name in ["build", "append", "reshard"]:
        monkeypatch.setattr(tarflume.pack, name, publishing(getattr(tarflume.pack, name)))
    monkeypatch.setattr(tarflume.ShardWriter, "close", closed)
    yield
