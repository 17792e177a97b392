"""Shards of samples that a program makes."""

from __future__ import annotations

import io
import json
import pathlib
import threading

import numpy as np
import pytest
from PIL import Image

import tarflume
from conftest import pack, pairs, picture
from tarflume import errors


def visible(folder: pathlib.Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if not file.name.startswith("."))


def test_samples_of_all_kinds_come_back(tmp_path):
    rgb = np.asarray(picture(3))
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    with tarflume.ShardWriter(tmp_path) as writer:
        writer.write(
            {
                "__key__": "cats/001",
                "__url__": "left out",
                "png": rgb,
                "json": {"class": 3, "name": "Zoë"},
                "cls": np.int64(7),
                "txt": "a cat",
                "npy": array,
                "bin": bytearray(b"\x00\xff"),
            }
        )
        writer.write({"__key__": "cats/002", "png": picture(4), "cls": 8})
        assert writer.samples == 2
    assert writer.manifest["samples"] == 2 and writer.close() == writer.manifest
    assert writer.manifest["extensions"] == {"bin": 1, "cls": 2, "json": 1, "npy": 1, "png": 2, "txt": 1}
    data = tarflume.Dataset(tmp_path)
    first = data.find("cats/001")
    assert sorted(first) == ["__key__", "bin", "cls", "json", "npy", "png", "txt"]
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(first["png"]))), rgb)
    np.testing.assert_array_equal(np.load(io.BytesIO(first["npy"])), array)
    assert json.loads(first["json"]) == {"class": 3, "name": "Zoë"}
    assert (first["cls"], first["txt"], first["bin"]) == (b"7", b"a cat", b"\x00\xff")
    assert tarflume.pack.verify(tmp_path, level="decode").whole


def test_the_tars_and_sidecars_are_those_of_pack_build(tmp_path):
    source = pairs(tmp_path / "pairs", 30)
    pack("build", source, "-o", tmp_path / "packed", "--shard-size", 30000)
    with tarflume.ShardWriter(tmp_path / "written", shard_size=30000) as writer:
        for jpg in sorted(source.glob("*.jpg")):
            parts = {"json": jpg.with_suffix(".json").read_bytes(), "jpg": jpg.read_bytes()}
            writer.write({"__key__": jpg.stem, **parts})
    files = [name for name in visible(tmp_path / "packed") if name != "dataset.json"]
    assert len(files) > 4
    assert visible(tmp_path / "written") == visible(tmp_path / "packed")
    for name in files:
        assert (tmp_path / "written" / name).read_bytes() == (tmp_path / "packed" / name).read_bytes()


def test_shards_are_cut_by_samples_and_appear_at_the_end(tmp_path):
    with tarflume.ShardWriter(tmp_path, max_samples=3, prefix="train") as writer:
        for n in range(8):
            writer.write({"__key__": f"{n}", "txt": f"text {n}"})
            assert visible(tmp_path) == []
    assert [shard["samples"] for shard in writer.manifest["shards"]] == [3, 3, 2]
    assert writer.manifest["shards"][2]["name"] == "train-000002.tar"
    assert len(visible(tmp_path)) == 7 and not (tmp_path / ".pack").exists()


@pytest.mark.parametrize(
    ("sample", "kind"),
    [
        ({"__key__": "a", "txt": "again"}, "repeated-key"),
        ({"__key__": "A", "txt": "x"}, "case-collision"),
        ({"__key__": "b.c", "txt": "x"}, "bad-name"),
        ({"__key__": "../b", "txt": "x"}, "bad-name"),
        ({"__key__": "b c", "txt": "x"}, "bad-name"),
        ({"__key__": "b", "jpg": b"no picture"}, "bad-jpeg"),
        ({"__key__": "b", "json": [1]}, "bad-json"),
        ({"__key__": "b", "txt": ""}, "empty"),
        ({"__key__": "b", "txt": "x", "TXT": "y"}, "repeated-part"),
        ({"__key__": "b"}, "missing-part"),
    ],
)
def test_faulty_samples_are_refused_and_others_go_on(tmp_path, sample, kind):
    with tarflume.ShardWriter(tmp_path) as writer:
        writer.write({"__key__": "a", "txt": "x"})
        with pytest.raises(errors.PackError) as caught:
            writer.write(sample)
        assert caught.value.problems[0]["kind"] == kind and caught.value.key == sample["__key__"]
        writer.write({"__key__": "z", "txt": "x"})
    assert [sample["__key__"] for sample in tarflume.Dataset(tmp_path)] == ["a", "z"]


@pytest.mark.parametrize(
    ("sample", "text"),
    [
        ({"txt": "x"}, "needs its key"),
        ({"__key__": 7, "txt": "x"}, "not 7"),
        ({"__key__": "b", "pyd": {"a": 1}}, "encoders="),
        ({"__key__": "b", "flag": True}, "encoders="),
        ({"__key__": "b", "jpg": np.zeros((4, 4, 3), np.float32)}, "uint8"),
        ({"__key__": "b", "npy": np.array([object()])}, "npy"),
        ({"__key__": "b", "json": {"a": float("nan")}}, "json"),
    ],
)
def test_what_can_not_be_made_bytes_is_a_usage_error(tmp_path, sample, text):
    with tarflume.ShardWriter(tmp_path) as writer:
        with pytest.raises(errors.UsageError, match=text):
            writer.write(sample)
        writer.write({"__key__": "b", "txt": "x"})


def test_encoders_are_used_and_rules_can_be_eased(tmp_path):
    with tarflume.ShardWriter(tmp_path, names={"space": "allow"}, encoders={"rev": lambda t: t[::-1]}) as writer:
        writer.write({"__key__": "a b", "rev": b"abc"})
    assert tarflume.Dataset(tmp_path)[0]["rev"] == b"cba"


def test_an_exception_publishes_nothing_and_says_so(tmp_path):
    with pytest.raises(LookupError) as caught, tarflume.ShardWriter(tmp_path, max_samples=2) as writer:
        for n in range(5):
            writer.write({"__key__": f"{n}", "txt": "x"})
        raise LookupError("no more")
    assert visible(tmp_path) == []
    assert "2 finished shards with 4 samples" in caught.value.__notes__[0]
    with pytest.raises(errors.UsageError, match="closed"):
        writer.close()
    with pytest.raises(errors.UsageError, match="set `fresh` to true"):
        tarflume.ShardWriter(tmp_path)
    with tarflume.ShardWriter(tmp_path, fresh=True) as writer:
        writer.write({"__key__": "0", "txt": "x"})
    assert len(tarflume.Dataset(tmp_path)) == 1
    with pytest.raises(errors.UsageError, match="already"):
        tarflume.ShardWriter(tmp_path, fresh=True)


def test_nothing_written_and_two_writers_are_refused(tmp_path):
    with pytest.raises(errors.UsageError, match="no sample"), tarflume.ShardWriter(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
    writer = tarflume.ShardWriter(tmp_path)
    with pytest.raises(errors.TryAgainError, match="is running"):
        tarflume.ShardWriter(tmp_path)
    assert "no files of it remain" in writer.abandon() and list(tmp_path.iterdir()) == []


def test_a_writer_that_is_forgotten_warns_and_publishes_nothing(tmp_path):
    with pytest.warns(ResourceWarning, match="not published"):
        tarflume.ShardWriter(tmp_path).write({"__key__": "0", "txt": "x"})
    assert visible(tmp_path) == []


def test_threads_share_a_writer(tmp_path):
    with tarflume.ShardWriter(tmp_path, max_samples=50, fsync=False) as writer:

        def work(thread: int) -> None:
            for n in range(100):
                writer.write({"__key__": f"{thread}/{n:03}", "cls": n})

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len({sample["__key__"] for sample in tarflume.Dataset(tmp_path)}) == 400


def test_irregular_jpegs_are_counted_and_no_problem(tmp_path):
    out = io.BytesIO()
    picture(1).save(out, "JPEG")
    whole = out.getvalue()
    stray = whole[:2] + b"\x55\x55" + whole[2:]
    with tarflume.ShardWriter(tmp_path / "set", max_samples=2) as writer:
        writer.write({"__key__": "a", "jpg": whole, "json": {}})
        assert writer.irregular_jpegs == {"count": 0}
        with pytest.raises(errors.PackError):
            writer.write({"__key__": "bad", "jpg": stray, "png": b"no picture"})
        for key in "bcd":
            writer.write({"__key__": key, "jpg": stray, "json": {}})
    found = writer.irregular_jpegs
    assert (found["count"], found["first"]["key"], found["first"]["byte"]) == (3, "b", 2)
    report = tarflume.pack.verify(tmp_path / "set", level="decode")
    assert report.whole and report["irregular_jpegs"]["count"] == 3
    folder = tmp_path / "folder"
    folder.mkdir()
    for key, data in {"a": whole, "b": stray}.items():
        (folder / f"{key}.jpg").write_bytes(data)
        (folder / f"{key}.json").write_text("{}")
    built = tarflume.pack.build(folder, tmp_path / "built", progress=False)
    assert built["irregular_jpegs"]["first"]["key"] == "b" and built["problems"] == []
    assert "1 irregular JPEG" in str(built)
