"""Files of other libraries, written by these libraries, packed by `pack build KIND:FILE` and compared."""

from __future__ import annotations

import decimal
import io
import json
import pathlib
import subprocess
import tarfile
import zipfile

import litdata.streaming.writer
import numpy as np
import pytest
import streaming
import tfrecord
from PIL import Image

import tarflume
from conftest import PACK, pack
from proof import jpeg, refused

pytestmark = pytest.mark.filterwarnings("ignore")

COUNT = 24


def members(out: pathlib.Path) -> dict[str, bytes]:
    """All members of a data set by name."""
    found: dict[str, bytes] = {}
    for path in sorted(out.glob("*.tar")):
        with tarfile.open(path) as tar:
            for member in tar:
                found[member.name] = tar.extractfile(member).read()
    return found


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8", "int16", "int64", "bool"])
def test_arrays_come_back_with_their_type_and_shape(tmp_path, dtype):
    array = (np.arange(COUNT * 6).reshape(COUNT, 2, 3) % 7).astype(dtype)
    np.save(tmp_path / "x.npy", array)
    np.save(tmp_path / "y.npy", np.arange(COUNT, dtype=np.int32))
    pack("build", f"npy:{tmp_path}/x.npy,{tmp_path}/y.npy", "-o", tmp_path / "out", "--shards", 3)
    columns = json.loads((tmp_path / "out" / "dataset.json").read_text())["columns"]
    assert columns[0] == {"name": "x.raw", "type": dtype, "shape": [2, 3]}
    loader = tarflume.Loader(tmp_path / "out", columns={"x": "x.raw"}, label="/y", batch_size=COUNT)
    batch = next(iter(loader))
    found = np.asarray(batch["x"])
    assert (found.dtype, found.shape) == (np.dtype(dtype), (COUNT, 2, 3))
    assert np.array_equal(found, array) and list(np.asarray(batch["label"])) == list(range(COUNT))


def test_other_arrays_are_refused_with_what_to_save(tmp_path):
    x = np.ones((4, 3))
    for array, text in [
        (x.astype(">f8"), "newbyteorder"),
        (np.asfortranarray(x), "ascontiguousarray"),
        (np.array(["a", "b"]), "its type is"),
        (np.array([1.0, np.nan]), "x.raw=x"),
        (x.astype(complex), "its type is"),
    ]:
        np.save(tmp_path / "x.npy", array)
        assert text in refused("build", f"npy:{tmp_path}/x.npy", "-o", tmp_path / "out")
    np.save(tmp_path / "x.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert "x.npy" in refused("build", f"npy:{tmp_path}/x.npy", "-o", tmp_path / "out")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_rows_equal_those_of_npy(tmp_path, save):
    x, y = np.random.default_rng(1).normal(size=(COUNT, 5)), np.arange(COUNT)
    save(tmp_path / "data.npz", x=x, y=y)
    pack("build", f"npz:{tmp_path}/data.npz", "-o", tmp_path / "out", "--shards", 2)
    found = members(tmp_path / "out")
    assert np.array_equal(np.frombuffer(found["00000007.x.raw"]), x[7])
    assert json.loads(found["00000007.json"]) == {"y": 7}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_zips_are_grouped_like_folders(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as out:
        for n in reversed(range(COUNT)):
            out.writestr(f"c{n % 3}/p{n:02}.json", json.dumps({"n": n}))
            out.writestr(f"c{n % 3}/p{n:02}.JPEG", jpeg(n))
    pack("build", f"zip:{tmp_path}/a.zip", "-o", tmp_path / "out", "--shards", 2)
    found = members(tmp_path / "out")
    assert len(found) == 2 * COUNT and found["c1/p07.jpg"] == jpeg(7)
    damaged = bytearray((tmp_path / "a.zip").read_bytes())
    with zipfile.ZipFile(tmp_path / "a.zip") as whole:
        at = whole.getinfo("c1/p07.JPEG").header_offset + 200
    damaged[at] ^= 0xFF
    (tmp_path / "a.zip").write_bytes(damaged)
    if method == zipfile.ZIP_DEFLATED:
        text = refused("build", f"zip:{tmp_path}/a.zip", "-o", tmp_path / "other")
        assert "c1/p07.JPEG" in text and ("deflated data" in text or "crc32" in text)


@pytest.mark.parametrize("compression", [None, "zstd", "zstd:7"])
def test_mds_of_mosaicml_streaming(tmp_path, compression):
    columns = {
        "image": "jpeg", "raw": "bytes", "label": "int", "weight": "float32", "name": "str", "meta": "json",
        "fixed": "ndarray:float32:2,3", "free": "ndarray", "typed": "ndarray:int16",
    }  # fmt: skip
    rows = []
    with streaming.MDSWriter(
        out=str(tmp_path / "mds"), columns=columns, compression=compression, size_limit=1 << 16
    ) as out:
        for n in range(COUNT):
            path = tmp_path / f"{n}.jpg"
            path.write_bytes(jpeg(n))
            row = {
                "image": Image.open(path), "raw": bytes([n]) * (n + 1), "label": n, "weight": n / 4,
                "name": f"row {n}", "meta": {"boxes": [[n, 1, 2, 3]]},
                "fixed": np.full((2, 3), n, np.float32), "free": np.full((n + 1, 2), n, np.uint8),
                "typed": np.arange(n + 1, dtype=np.int16),
            }  # fmt: skip
            out.write(row)
            rows.append(row)
    pack("build", f"mds:{tmp_path}/mds", "-o", tmp_path / "out", "--shards", 3)
    found = members(tmp_path / "out")
    assert len(found) == 6 * COUNT
    for n, row in enumerate(rows):
        key = f"{n:08}"
        assert found[f"{key}.image.jpg"] == jpeg(n) and found[f"{key}.raw.bin"] == row["raw"]
        values = json.loads(found[f"{key}.json"])
        assert values == {"label": n, "weight": n / 4, "name": f"row {n}", "meta": row["meta"]}
        assert np.array_equal(np.load(io.BytesIO(found[f"{key}.free.npy"])), row["free"])
        assert np.array_equal(np.load(io.BytesIO(found[f"{key}.typed.npy"])), row["typed"])
    loader = tarflume.Loader(tmp_path / "out", columns={"fixed": "fixed.raw"}, batch_size=COUNT)
    assert np.array_equal(np.asarray(next(iter(loader))["fixed"]), np.stack([row["fixed"] for row in rows]))


def test_numbers_of_mds_as_text_keep_their_digits(tmp_path):
    columns = {"id": "str_int", "price": "str_decimal", "share": "str_float", "Name": "ndarray:uint8:2"}
    rows = [
        {"id": 2**53 + 1, "price": decimal.Decimal("1.10"), "share": 0.1, "Name": np.zeros(2, np.uint8)},
        {"id": -7, "price": decimal.Decimal("0.1000000000000000055"), "share": 1e300, "Name": np.ones(2, np.uint8)},
    ]

    def write(name: str, more: list[dict[str, object]]) -> pathlib.Path:
        with streaming.MDSWriter(out=str(tmp_path / name), columns=columns) as out:
            for row in rows + more:
                out.write(row)
        return tmp_path / name

    words = ["build", f"mds:{write('mds', [])}", "-o", tmp_path / "out"]
    done = subprocess.run([PACK, *map(str, words)], text=True, capture_output=True, check=True)
    assert "column 'Name' is packed as name.raw" in done.stderr
    found = members(tmp_path / "out")
    for n, row in enumerate(rows):
        values = json.loads(found[f"{n:08}.json"])
        assert values == {"id": row["id"], "price": str(row["price"]), "share": row["share"]}
    about = json.loads((tmp_path / "out" / "dataset.json").read_text())["columns"]
    kinds = {column["name"]: column["type"] for column in about}
    assert (kinds["/id"], kinds["/price"], kinds["/share"]) == ("int64", "string", "float64")
    wide = write("wide", [{**rows[0], "id": 2**64 + 1}])
    told = refused("build", f"mds:{wide}", "-o", tmp_path / "no")
    assert f"sample 2: column 'id' is {2**64 + 1}, which has more than 64 bits" in told and "id.txt=id" in told
    pack("build", f"mds:{wide}?id.txt=id&json=*", "-o", tmp_path / "text")
    assert members(tmp_path / "text")["00000002.id.txt"] == str(2**64 + 1).encode()


def test_a_pickled_column_of_mds_is_refused(tmp_path):
    with streaming.MDSWriter(out=str(tmp_path / "mds"), columns={"x": "pkl", "y": "int"}) as out:
        out.write({"x": {1, 2}, "y": 3})
    assert "column 'x': it is pickled" in refused("build", f"mds:{tmp_path}/mds", "-o", tmp_path / "out")
    pack("build", f"mds:{tmp_path}/mds?json=y", "-o", tmp_path / "out")
    assert members(tmp_path / "out") == {"00000000.json": b'{"y":3}'}


def litdata_chunks(out: pathlib.Path, patch: pytest.MonkeyPatch, image, **words) -> None:
    """Writes COUNT samples with LitData; `image` makes the picture of each."""
    patch.setenv("RANK", "0")  # the writer's number
    out.mkdir()
    writer = litdata.streaming.writer.BinaryWriter(str(out), chunk_bytes=1 << 14, **words)
    for n in range(COUNT):
        writer[n] = {
            "image": image(n), "raw": bytes([n]) * (n + 1), "label": n, "weight": n / 4, "name": f"row {n}",
            "even": n % 2 == 0,
        }  # fmt: skip
    writer.done()
    writer.merge()


@pytest.fixture
def opened(tmp_path):
    """Pictures as objects of PIL, which LitData stores as the bytes of their files."""

    def image(n: int) -> Image.Image:
        path = tmp_path / f"{n}.jpg"
        path.write_bytes(jpeg(n))
        return Image.open(path)

    return image


@pytest.mark.parametrize("words", [{}, {"compression": "zstd", "compression_level": "chunk"}])
def test_chunks_of_litdata(tmp_path, monkeypatch, opened, words):
    litdata_chunks(tmp_path / "litdata", monkeypatch, opened, **words)
    pack("build", f"litdata:{tmp_path}/litdata", "-o", tmp_path / "out", "--shards", 3)
    found = members(tmp_path / "out")
    for n in range(COUNT):
        key = f"{n:08}"
        assert found[f"{key}.image.jpg"] == jpeg(n) and found[f"{key}.raw.bin"] == bytes([n]) * (n + 1)
        values = json.loads(found[f"{key}.json"])
        assert values == {"label": n, "weight": n / 4, "name": f"row {n}", "even": n % 2 == 0}


def test_chunks_of_litdata_that_are_not_read_are_refused_with_the_remedy(tmp_path, monkeypatch, opened):
    batches = {"compression": "zstd", "compression_level": "batch"}
    litdata_chunks(tmp_path / "batches", monkeypatch, opened, **batches)
    assert "compression_level='chunk'" in refused("build", f"litdata:{tmp_path}/batches", "-o", tmp_path / "out")
    # Without an object of PIL, samples are stored as a table of Arrow.
    for name, words in {"arrow": {}, "zstd": {"compression": "zstd"}}.items():
        litdata_chunks(tmp_path / name, monkeypatch, jpeg, **words)
        text = refused("build", f"litdata:{tmp_path}/{name}", "-o", tmp_path / "out")
        assert "chunk-0-0" in text and "an Arrow table" in text and "ShardWriter" in text


def test_tfrecords_of_the_tfrecord_package(tmp_path):
    for part in range(2):
        out = tfrecord.TFRecordWriter(str(tmp_path / f"{part}.tfrecord"))
        for n in range(part * COUNT, (part + 1) * COUNT):
            out.write({
                "image/encoded": (jpeg(n), "byte"), "image/filename": (f"p{n}.JPEG".encode(), "byte"),
                "label": (n, "int"), "score": (n / 4, "float"), "boxes": ([0.5] * (n % 3), "float"),
                "ids": (list(range(-n, 1)), "int"),
            })  # fmt: skip
        out.close()
    pack("build", f"tfrecord:{tmp_path}/*.tfrecord?key=image/filename&jpg=image/encoded&json=*", "-o", tmp_path / "out")
    found = members(tmp_path / "out")
    assert len(found) == 4 * COUNT
    for n in range(2 * COUNT):
        assert found[f"p{n}.jpg"] == jpeg(n)
        wanted = {"label": n, "score": n / 4, "boxes": [0.5] * (n % 3), "ids": list(range(-n, 1))}
        assert json.loads(found[f"p{n}.json"]) == wanted
