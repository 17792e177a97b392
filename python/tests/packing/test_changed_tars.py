"""Tars that were written again with the same length after their sidecars were made, on a disk and behind a server: an error
with the command that makes the sidecars again, wherever what they state is used."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tarflume
from PIL import Image
from tarflume import errors, pack

import servers
from conftest import PACK

CLASSES = [3, 1, 2, 4]
OTHERS = [5, 6, 7, 8]
# Seconds since 1970, of sidecars: a server states the times of modification.
TIME = 1_700_000_000


@pytest.fixture(autouse=True)
def sidecars(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARFLUME_SIDECARS", str(tmp_path / "sidecars"))


def tar_of(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in parts.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def labeled(classes: list[int]) -> bytes:
    """A tar of samples with a class each, and a text that never changes."""
    parts: dict[str, bytes] = {}
    for n, label in enumerate(classes):
        parts |= {f"s{n}.json": json.dumps({"class": label}).encode(), f"s{n}.txt": b"text"}
    return tar_of(parts)


def bitmap(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height)).save(out, format="BMP")
    return out.getvalue()


def is_newer(tar: pathlib.Path) -> bool:
    return os.stat(tar).st_ctime_ns > os.stat(tar.with_suffix(".index")).st_ctime_ns


def rewrite(tar: pathlib.Path, data: bytes) -> None:
    """Writes the tar again, later than its sidecar by the times of a disk and by those of a server."""
    assert len(data) == tar.stat().st_size
    while True:
        tar.write_bytes(data)
        os.utime(tar, (TIME + 5, TIME + 5))
        if is_newer(tar):
            return


def indexed(folder: pathlib.Path, data: bytes, *options: str) -> pathlib.Path:
    """A folder with a tar, its sidecar and a manifest."""
    folder.mkdir()
    (folder / "a.tar").write_bytes(data)
    done = subprocess.run([PACK, "index", *options, folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    os.utime(folder / "a.tar", (TIME - 5, TIME - 5))
    os.utime(folder / "a.index", (TIME, TIME))
    return folder / "a.tar"


@contextlib.contextmanager
def on_disk(folder: pathlib.Path) -> Iterator[str]:
    yield str(folder)


@contextlib.contextmanager
def by_http(folder: pathlib.Path) -> Iterator[str]:
    with servers.http_files(folder.parent) as url:
        yield f"{url}/{folder.name}"


Place = Callable[[pathlib.Path], contextlib.AbstractContextManager[str]]
places = pytest.mark.parametrize("place", [on_disk, by_http])


def labels(shards: str, **words: Any) -> list[int]:
    loader = tarflume.Loader(shards, label="/class", batch_size=2, shuffle="none", **words)
    return [int(label) for batch in loader for label in batch["label"]]


def refused(use: Callable[[], object], renewal: str) -> None:
    with pytest.raises((errors.DamagedError, errors.StaleError), match=re.escape(renewal)) as told:
        use()
    assert "a.tar" in str(told.value) and told.value.key is not None and told.value.byte is not None, told.value


@places
def test_labels_of_an_earlier_tar_are_an_error(place: Place, tmp_path: pathlib.Path) -> None:
    tar = indexed(tmp_path / "t", labeled(CLASSES), "--columns", "class:u32")
    rewrite(tar, labeled(OTHERS))
    with place(tar.parent) as shards:
        renewal = f'tarflume.pack.index("{shards}", force=True, columns="class=json:/class:u32")`'
        refused(lambda: labels(shards), renewal)
        refused(lambda: labels(shards, verify="all"), renewal)
        refused(lambda: labels(shards, verify="off"), renewal)
        refused(lambda: labels(shards, columns=["txt"]), renewal)
        refused(lambda: tarflume.Dataset(shards).numbers("/class"), renewal)
        refused(lambda: tarflume.Dataset(shards)[0], renewal)
        pa = pytest.importorskip("pyarrow")
        with pytest.raises(Exception, match=re.escape(renewal)):
            pa.table(tarflume.Dataset(shards).table())


@places
def test_the_same_bytes_written_again_are_read_as_before(place: Place, tmp_path: pathlib.Path) -> None:
    tar = indexed(tmp_path / "t", labeled(CLASSES), "--columns", "class:u32")
    rewrite(tar, labeled(CLASSES))
    with place(tar.parent) as shards:
        assert labels(shards) == labels(shards, verify="all") == CLASSES
        assert tarflume.Dataset(shards).numbers("/class").numpy().tolist() == CLASSES
        pa = pytest.importorskip("pyarrow")
        assert pa.table(tarflume.Dataset(shards).table())["class"].to_pylist() == CLASSES


@places
def test_sizes_of_other_pictures_are_an_error(place: Place, tmp_path: pathlib.Path) -> None:
    pa = pytest.importorskip("pyarrow")
    old, new = ({"a.bmp": bitmap(*size)} for size in ((8, 4), (4, 8)))
    assert len(old["a.bmp"]) == len(new["a.bmp"])
    tar = indexed(tmp_path / "t", tar_of(old))
    with place(tar.parent) as shards:
        table = pa.table(tarflume.Dataset(shards).table())
        assert (table["width"].to_pylist(), table["height"].to_pylist()) == ([8], [4])
        rewrite(tar, tar_of(new))
        with pytest.raises(Exception, match=re.escape(f'tarflume.pack.index("{shards}", force=True)`')):
            pa.table(tarflume.Dataset(shards).table())
        rewrite(tar, tar_of(old))
        assert pa.table(tarflume.Dataset(shards).table())["width"].to_pylist() == [8]


def test_the_command_keeps_no_sidecar_of_another_tar(tmp_path: pathlib.Path) -> None:
    tar = indexed(tmp_path / "t", labeled(CLASSES), "--columns", "class:u32")
    rewrite(tar, labeled(OTHERS))
    renewal = f'tarflume.pack.index("{tar.parent}", force=True, columns="class=json:/class:u32")'
    with pytest.raises(errors.Error, match=re.escape(renewal)):
        pack.index(tar.parent)
    report = pack.verify(tar.parent, level="quick")
    assert [problem["kind"] for problem in report["problems"]] == ["stale-index"], report
    assert f"`{renewal}`" in report["problems"][0]["reason"]
    words = ["index", "--force", "--columns", "class=json:/class:u32", str(tar.parent)]
    verified = [PACK, "verify", "--level", "quick", str(tar.parent)]
    told = subprocess.run(verified, check=False, capture_output=True, text=True).stdout
    assert f"`pack {' '.join(words)}`" in told
    subprocess.run([PACK, *words], check=True, capture_output=True)
    assert labels(str(tar.parent)) == OTHERS
    assert pack.verify(tar.parent, level="quick")["problems"] == []


@places
def test_a_tar_that_was_joined_to_another_one_is_an_error(place: Place, tmp_path: pathlib.Path) -> None:
    """Its sidecar is that of a tar with as many zeros behind its end."""
    first, second = labeled(CLASSES), labeled(OTHERS)
    tar = indexed(tmp_path / "t", first + bytes(len(second)))
    with place(tar.parent) as shards:
        assert len(tarflume.Dataset(shards)) == len(CLASSES) and labels(shards) == CLASSES
        rewrite(tar, first + second)
        with tarfile.open(tar, ignore_zeros=True) as both:
            assert len(both.getmembers()) == 2 * (len(CLASSES) + len(OTHERS)), "the oracle reads both tars"
        for use in (
            lambda: labels(shards),
            lambda: tarflume.Dataset(shards)[0],
            lambda: tarflume.Dataset(shards).numbers("/class"),
            lambda: list(tarflume.Loader(shards, columns=["txt"], batch_size=2)),
        ):
            with pytest.raises(errors.DamagedError, match="another tar begins here.*force=True, ignore_zeros=True") as told:
                use()
            assert told.value.byte == len(first), told.value
        done = subprocess.run([PACK, "ls", shards], capture_output=True, text=True, check=False)
        assert done.returncode == 65 and "another tar begins here" in done.stderr, done
