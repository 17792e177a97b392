"""`pack.verify` is silent on sound sets of other tools, whose parts their own libraries write, and finds each planted fault."""

from __future__ import annotations

import io
import json
import pickle
import wave

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import webdataset
from webdataset import tenbin

from conftest import picture
from tarflume import pack


def npz(**arrays):
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def npy(array, **options):
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()


def wav(frames):
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"\1\2" * frames)
    return out.getvalue()


def avif():
    out = io.BytesIO()
    picture(3).save(out, "AVIF")
    return out.getvalue()


PARTS = {
    "npy": npy(np.arange(12, dtype="f4").reshape(3, 4)),
    "f.npy": npy(np.asfortranarray(np.ones((3, 4)))),
    "o.npy": npy(np.array([{"a": 1}], dtype=object), allow_pickle=True),
    "r.npy": npy(np.zeros(3, dtype=[("a", "<f4"), ("b", "<i2")])),
    "npz": npz(x=np.arange(1000), y=np.zeros((2, 0))),
    "pyd": pickle.dumps({"a": [1, 2.5, None, b"x" * 70_000], "b": {1, (2, "ž")}}),
    "ten": bytes(tenbin.encode_buffer([np.arange(6, dtype="f4").reshape(2, 3), np.arange(3, dtype="u1")])),
    "cls": b"3",
    "txt": "žluť".encode(),
    "jsonl": b'{"a": 1}\n{"a": 2}\n',
    "wav": wav(100),
}
"""Sound parts by extension."""
UNREAD = {"o.npy", "r.npy"}
"""Those of variants that no check knows."""
CUT = sorted(PARTS.keys() - UNREAD - {"cls", "txt"})


def silent(report, **not_checked):
    assert report.whole, str(report)
    assert not report.get("warnings"), str(report)
    found = {ext: about["not_checked"] for ext, about in report["checked"].items() if "not_checked" in about}
    assert found == not_checked, str(report)


def shard(path, parts):
    with webdataset.TarWriter(str(path)) as sink:
        sink.write({"__key__": "000000", **parts})


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_every_protocol_pass_and_each_cut_is_found(tmp_path, protocol):
    value = {"n": [1, -70_000, 2**70, 1.5, None, True], "t": ("a", b"b", bytearray(b"c")), "s": {1}, "d": {}, "l": []}
    whole = pickle.dumps(value, protocol)
    shard(tmp_path / "a.tar", {"pyd": whole})
    assert pack.verify(tmp_path / "a.tar", level="decode", progress=False)["counts"] == {"missing-index": 1}
    for length in range(1, len(whole)):
        with pytest.raises(Exception):  # noqa: B017, PT011 - pickle raises many
            pickle.loads(whole[:length])
    shard(tmp_path / "b.tar", {"pyd": whole[:-1]})
    assert pack.verify(tmp_path / "b.tar", level="decode", progress=False)["counts"]["bad-part"] == 1


def test_what_the_shard_writer_of_webdataset_writes_is_whole(tmp_path):
    with webdataset.ShardWriter(str(tmp_path / "set-%06d.tar"), maxcount=4, verbose=0) as sink:
        for n in range(10):
            sink.write({"__key__": f"{n:04}", "jpg": picture(n), "json": {"id": n}, "cls": n, "pyd": {"n": n},
                        "npy": np.arange(n), "npz": {"x": np.arange(n)}, "txt": f"text {n}", "ten": np.ones((2, n + 1))})
    pack.index(tmp_path, progress=False)
    report = pack.verify(tmp_path, level="decode", progress=False)
    silent(report)
    assert report["checked"]["npz"] == {"checksums": 10, "checked": 10}
    assert report["finished"]


def test_parts_of_their_own_libraries_are_sound(tmp_path):
    shard(tmp_path / "a.tar", PARTS)
    pack.index(tmp_path, progress=False)
    silent(pack.verify(tmp_path, level="decode", progress=False), **{ext: 1 for ext in UNREAD})


@pytest.mark.parametrize("ext", CUT)
def test_a_cut_part_is_found(tmp_path, ext):
    cut = 64 if ext == "ten" else 1  # tensors are padded
    shard(tmp_path / "a.tar", PARTS | {ext: PARTS[ext][:-cut]})
    pack.index(tmp_path, progress=False)
    assert pack.verify(tmp_path, progress=False).whole
    report = pack.verify(tmp_path, level="decode", progress=False)
    if ext == "jsonl":
        assert report.whole  # the last line break is gone
        return
    (problem,) = report["problems"]
    assert problem["kind"] == "bad-part" and problem["key"] == "000000"


def test_an_avif_of_pillow_is_sound_and_its_cut_is_found(tmp_path):
    whole = avif()
    for name, data in (("a", whole), ("b", whole[:-1])):
        (tmp_path / name).mkdir()
        shard(tmp_path / name / "a.tar", {"avif": data})
        pack.index(tmp_path / name, progress=False)
    silent(pack.verify(tmp_path / "a", level="decode", progress=False))
    assert pack.verify(tmp_path / "b", level="decode", progress=False)["counts"] == {"bad-part": 1}


def test_the_layout_of_img2dataset_is_whole(tmp_path):
    for number in range(2):
        with webdataset.TarWriter(str(tmp_path / f"{number:05}.tar")) as sink:
            for n in range(4):
                key = f"{number:05}{n:04}"
                sink.write({"__key__": key, "jpg": picture(n), "txt": f"caption {n}",
                            "json": {"key": key, "caption": f"caption {n}", "url": "http://x", "status": "success",
                                     "error_message": None, "width": 32, "height": 32, "sha256": "0" * 64}})
        (tmp_path / f"{number:05}_stats.json").write_text(json.dumps({"count": 4, "successes": 4}))
        pq.write_table(pa.table({"key": [f"{number:05}{n:04}" for n in range(4)]}), tmp_path / f"{number:05}.parquet")
    pack.index(tmp_path, progress=False)
    silent(pack.verify(tmp_path, level="decode", progress=False))


def test_the_layout_of_the_hub_is_whole(tmp_path):
    for split in ("train", "test"):
        (tmp_path / "data" / split).mkdir(parents=True)
        with webdataset.ShardWriter(str(tmp_path / "data" / split / f"{split}-%05d.tar"), maxcount=3, verbose=0) as sink:
            for n in range(6):
                sink.write({"__key__": f"{split}{n}", "png": picture(n), "cls": n % 2})
    (tmp_path / "README.md").write_text("---\ntask: x\n---\n")
    folders = [tmp_path / "data" / split for split in ("train", "test")]
    for folder in folders:
        pack.index(folder, progress=False)
    silent(pack.verify(folders, level="decode", progress=False))


def test_the_folder_of_energon_is_whole(tmp_path):
    (tmp_path / "set" / ".nv-meta").mkdir(parents=True)
    with webdataset.ShardWriter(str(tmp_path / "set" / "shard_%d.tar"), maxcount=3, verbose=0) as sink:
        for n in range(6):
            sink.write({"__key__": f"{n:03}", "jpg": picture(n), "json": {"n": n}})
    counts = {f"shard_{n}.tar": 3 for n in range(2)}
    (tmp_path / "set" / ".nv-meta" / ".info.json").write_text(json.dumps({"energon_version": "7", "shard_counts": counts}))
    (tmp_path / "set" / ".nv-meta" / "split.yaml").write_text("split_parts:\n  train: [shard_0.tar, shard_1.tar]\n")
    (tmp_path / "set" / ".nv-meta" / "dataset.yaml").write_text("sample_type:\n  __class__: CrudeWebdataset\n")
    pack.index(tmp_path / "set", progress=False)
    silent(pack.verify(tmp_path / "set", level="decode", progress=False))


def test_a_field_whose_values_should_differ(tmp_path):
    with webdataset.TarWriter(str(tmp_path / "a.tar")) as sink:
        for n in range(4):
            sink.write({"__key__": str(n), "json": {"id": n // 2}})
    pack.index(tmp_path, progress=False)
    silent(pack.verify(tmp_path, level="decode", progress=False))
    report = pack.verify(tmp_path, unique="/id", progress=False)
    assert report["counts"] == {"repeated-value": 2}
    with pytest.raises(Exception, match="unique='json:id'"):
        pack.verify(tmp_path, unique=["json:id"], progress=False)
