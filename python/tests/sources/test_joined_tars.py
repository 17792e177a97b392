"""Tars that were joined: an error with the option in every function that reads tars, and all samples with it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pathlib
import tarfile
from typing import Any

import pytest
import tarflume
import tarflume.webdataset as wds
from tarflume import errors, pack
from tarflume.webdataset import tariterators

PACKED = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def tar_of(*keys: str) -> bytes:
    """A tar with the padding of `tarfile`."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for key in keys:
            for ext, data in (("txt", key.encode()), ("cls", b"7")):
                info = tarfile.TarInfo(f"{key}.{ext}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


@pytest.fixture
def joined(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with a joined tar, plain and compressed member by member."""
    parts = tar_of("a", "b"), tar_of("c")
    for end, packed in PACKED.items():
        (tmp_path / f"all.tar{end}").write_bytes(b"".join(packed(part) for part in parts))
    with tarfile.open(tmp_path / "all.tar", ignore_zeros=True) as tar:
        assert len(tar.getmembers()) == 6, "the oracle reads both tars"
    return tmp_path


def keys_of(shards: pathlib.Path) -> list[str]:
    data = tarflume.Dataset(shards)
    return sorted(data.key(n) for n in range(len(data)))


def keys(samples: Any) -> list[str]:
    return [sample["__key__"] for sample in samples]


@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_stream_stops_with_an_error_and_reads_on_with_the_option(joined: pathlib.Path, end: str) -> None:
    path = str(joined / f"all.tar{end}")
    samples = iter(wds.WebDataset(path, shardshuffle=False))
    assert keys([next(samples), next(samples)]) == ["a", "b"]
    with pytest.raises(errors.DamagedError, match="another tar begins here.*ignore_zeros") as told:
        next(samples)
    assert told.value.byte == len(tar_of("a", "b"))
    assert keys(wds.WebDataset(path, shardshuffle=False, ignore_zeros=True)) == ["a", "b", "c"]
    assert keys(wds.tariterators.tarfile_samples([path], ignore_zeros=True)) == ["a", "b", "c"]


@pytest.mark.parametrize("end", PACKED)
def test_the_single_steps_read_all_members_of_compressed_tars(joined: pathlib.Path, end: str) -> None:
    def files(**words: Any) -> list[str]:
        with open(joined / f"all.tar{end}", "rb") as file:
            return [found["fname"] for found in tariterators.tar_file_iterator(file, **words)]

    with pytest.raises(errors.DamagedError, match="ignore_zeros=True") as told:
        files()
    assert told.value.byte == len(tar_of("a", "b"))
    assert files(ignore_zeros=True) == ["a.txt", "a.cls", "b.txt", "b.cls", "c.txt", "c.cls"]
    shards = [{"url": "all", "stream": open(joined / f"all.tar{end}", "rb")}]
    expanded = tariterators.tar_file_expander(shards, ignore_zeros=True)
    assert keys(tariterators.group_by_keys(expanded)) == ["a", "b", "c"]


def test_the_option_passes_over_no_damage(joined: pathlib.Path) -> None:
    tar = bytearray((joined / "all.tar").read_bytes())
    second = len(tar_of("a", "b"))
    cut = bytes(tar[: second + 512 * 2 + 100])
    tar[second + 3] ^= 1  # the checksum of the header no longer fits
    for data, error in ((bytes(tar), "bad checksum"), (cut, "without its end marker")):
        with pytest.raises(errors.Error, match=error):
            list(tariterators.tar_file_iterator(io.BytesIO(data), ignore_zeros=True))
        (joined / "damaged.tar").write_bytes(data)
        with pytest.raises(errors.Error):
            keys(wds.WebDataset(str(joined / "damaged.tar"), shardshuffle=False, ignore_zeros=True))


def test_zeros_behind_a_tar_are_padding(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "padded.tar"
    for data in (tar_of("a") + bytes(99_999), gzip.compress(tar_of("a")) + bytes(512)):
        path.write_bytes(data)
        assert keys(wds.WebDataset(str(path), shardshuffle=False)) == ["a"]
        with open(path, "rb") as file:
            assert len(list(tariterators.tar_file_iterator(file))) == 2


def test_each_function_of_pack_has_the_option(joined: pathlib.Path) -> None:
    tar = joined / "all.tar"
    second = "another tar begins here"
    for call in (
        lambda **words: pack.reshard(tar, joined / "resharded", **words),
        lambda **words: pack.build(f"tar:{tar}", joined / "built", require="", **words),
        lambda **words: pack.export(tar, joined / "exported", to="folder", **words),
        lambda **words: pack.index(tar, **words),
    ):
        with pytest.raises(errors.PackError, match=second):
            call()
        call(ignore_zeros=True)
    (joined / "source").mkdir()
    with pytest.raises(errors.UsageError, match="ignore_zeros=True is for tars"):
        pack.build(joined / "source", joined / "folder", ignore_zeros=True)
    assert pack.verify(tar, require="").whole
    (joined / "all.index").unlink()
    kinds = {problem["kind"] for problem in pack.verify(tar, require="")["problems"]}
    assert kinds == {"gap", "missing-index"}
    kinds = {problem["kind"] for problem in pack.verify(tar, require="", ignore_zeros=True)["problems"]}
    assert kinds == {"missing-index"}
    pack.index(tar, ignore_zeros=True)
    for data in (tar, joined / "resharded", joined / "built"):
        assert keys_of(data) == ["a", "b", "c"]


def test_keys_end_at_the_last_dot_on_request(tmp_path: pathlib.Path) -> None:
    tar = tmp_path / "dated.tar"
    tar.write_bytes(tar_of("22.05", "22.06"))
    warnings = pack.index(tar)["tars"][0]["warnings"]
    assert any("number after the first dot" in warning for warning in warnings)
    assert len(pack.verify(tar, require="")["notes"]) == 1
    built = pack.reshard(tar, tmp_path / "out", key_by="last-dot")
    assert built["samples"] == 2
    assert keys_of(tmp_path / "out") == ["22_05", "22_06"]
    with pytest.raises(errors.UsageError, match="last-dot"):
        pack.reshard(tar, tmp_path / "other", key_by="middle")


def test_names_are_cleaned_in_an_exported_folder(tmp_path: pathlib.Path) -> None:
    tar = tmp_path / "absolute.tar"
    tar.write_bytes(tar_of("/data//a"))
    with pytest.raises(errors.PackError, match="path=replace"):
        pack.export(tar, tmp_path / "refused", to="folder")
    pack.export(tar, tmp_path / "out", to="folder", names="path=replace")
    assert (tmp_path / "out/data/a.txt").read_bytes() == b"/data//a"
    with pytest.raises(errors.UsageError, match="path=replace"):
        pack.export(tar, tmp_path / "other", to="folder", names="replace")
