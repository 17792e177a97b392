"""`pack export` read back by MosaicML Streaming, LitData and tfrecord: every part of every photograph."""

from __future__ import annotations

import io
import json
import pathlib

import numpy as np
import pytest
from PIL import Image

from conftest import pack
from photographs import Parts

pytestmark = pytest.mark.filterwarnings("ignore")


def fields(parts: Parts, key: str) -> dict[str, object]:
    return json.loads(parts[key]["json"])


def pixels(jpeg: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(jpeg)) as image:
        return np.asarray(image)


@pytest.mark.parametrize("size", ["64MiB", "1MB"])
def test_streaming_reads_mds_as_bytes(photographs, tmp_path, size):
    import streaming

    folder, parts = photographs
    words = ("--as", "jpg=bytes", "--shard-size", size, "--jobs", 2)
    pack("export", folder, "--to", "mds", "-o", tmp_path / "out", *words)
    streaming.base.util.clean_stale_shared_memory()
    found = streaming.StreamingDataset(local=str(tmp_path / "out"), shuffle=False, batch_size=1)
    assert len(found) == len(parts)
    assert (len(found.shards) > 1) == (size == "1MB")
    rows = [found[n] for n in range(len(found))]
    assert {row["__key__"] for row in rows} == set(parts)
    for row in rows:
        assert row["jpg"] == parts[row["__key__"]]["jpg"]
        assert row["json"] == fields(parts, row["__key__"])


def test_streaming_decodes_jpegs(photographs, tmp_path):
    import streaming

    folder, parts = photographs
    pack("export", folder, "--to", "mds", "-o", tmp_path / "out")
    streaming.base.util.clean_stale_shared_memory()
    found = streaming.StreamingDataset(local=str(tmp_path / "out"), shuffle=False, batch_size=1)
    for n in range(len(found)):
        row = found[n]
        assert (np.asarray(row["jpg"]) == pixels(parts[row["__key__"]]["jpg"])).all()
    # The bytes of a sample end with those of its JPEG and JSON.
    sample = found.shards[0].get_sample_data(0)
    assert any(sample.endswith(of["jpg"] + of["json"]) for of in parts.values())


@pytest.mark.parametrize("size", ["64MB", "1MB"])
def test_litdata_reads_chunks_as_bytes(photographs, tmp_path, monkeypatch, size):
    import litdata

    monkeypatch.setenv("DATA_OPTIMIZER_CACHE_FOLDER", str(tmp_path / "cache"))
    monkeypatch.setenv("DATA_OPTIMIZER_DATA_CACHE_FOLDER", str(tmp_path / "data"))
    folder, parts = photographs
    words = ("--as", "jpg=bytes", "--shard-size", size, "--jobs", 2)
    pack("export", folder, "--to", "litdata", "-o", tmp_path / "out", *words)
    assert (len(list((tmp_path / "out").glob("*.bin"))) > 1) == (size == "1MB")
    found = litdata.StreamingDataset(str(tmp_path / "out"), shuffle=False)
    assert len(found) == len(parts)
    rows = [found[n] for n in range(len(found))]
    assert {row["__key__"] for row in rows} == set(parts)
    for row in rows:
        assert row["jpg"] == parts[row["__key__"]]["jpg"]
        assert row["json"] == parts[row["__key__"]]["json"].decode()


def test_litdata_decodes_jpegs(photographs, tmp_path):
    import litdata

    folder, parts = photographs
    pack("export", folder, "--to", "litdata", "-o", tmp_path / "out")
    found = litdata.StreamingDataset(str(tmp_path / "out"), shuffle=False)
    for n in range(len(found)):
        row = found[n]
        image, want = np.asarray(row["jpg"]), pixels(parts[row["__key__"]]["jpg"])
        # RGB with the channels first; pictures that the camera turned are turned back.
        assert image.shape[0] == 3
        assert sorted(image.shape[1:]) == sorted(want.shape[:2])


def test_tfrecord_reads_examples(photographs, tmp_path):
    from tfrecord.reader import tfrecord_loader

    folder, parts = photographs
    pack("export", folder, "--to", "tfrecord", "-o", tmp_path / "out", "--shard-size", "1MB")
    files = sorted(pathlib.Path(tmp_path / "out").iterdir())
    assert len(files) > 1
    seen = set()
    for file in files:
        for row in tfrecord_loader(str(file), None, None):
            key = bytes(row["__key__"]).decode()
            seen.add(key)
            assert bytes(row["jpg"]) == parts[key]["jpg"]
            want = fields(parts, key)
            assert (row["class"].tolist(), row["n"].tolist()) == ([want["class"]], [want["n"]])
            assert bytes(row["name"]).decode() == want["name"]
    assert seen == set(parts)


def test_tensorflow_types_of_fields(tmp_path):
    from tfrecord.reader import tfrecord_loader

    source = tmp_path / "source"
    source.mkdir()
    values = [{"i": -5, "f": 0.5, "b": True, "l": [1, 2, 3], "s": "x"}, {"i": 2**62, "f": 3, "l": []}]
    for n, fields_ in enumerate(values):
        (source / f"{n}.json").write_text(json.dumps(fields_))
    pack("build", source, "-o", tmp_path / "shards", "--require", "")
    pack("export", tmp_path / "shards", "--to", "tfrecord", "-o", tmp_path / "out")
    (file,) = (tmp_path / "out").iterdir()
    one, two = tfrecord_loader(str(file), None, None)
    assert (one["i"].tolist(), one["b"].tolist(), one["l"].tolist()) == ([-5], [1], [1, 2, 3])
    assert (one["f"].dtype, one["f"].tolist(), bytes(one["s"])) == (np.float32, [0.5], b"x")
    assert (two["i"].tolist(), two["f"].tolist(), two["l"].tolist()) == ([2**62], [3.0], [])
    assert set(two) == {"__key__", "i", "f", "l"}
