"""Arrays of zarr-python, versions 3 and 2: rows of `ArrayDataset` beside those of zarr-python."""

from __future__ import annotations

import errno
import json
import os
import pickle
import resource
import shutil
from pathlib import Path

import numcodecs
import numpy as np
import pytest
import zarr
from zarr.codecs import numcodecs as of_numcodecs
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

import servers
import tarflume
import tarflume.torch
from array_rows import DTYPES, assert_each_row_once, equal, values

ROWS = 53


V3 = {
    "plain": {"compressors": None},
    "gzip": {"compressors": GzipCodec(level=6)},
    "zstd": {"compressors": ZstdCodec(level=3, checksum=True)},
    "crc": {"compressors": [ZstdCodec(), Crc32cCodec()]},
    "crc before": {"compressors": [Crc32cCodec(), GzipCodec()]},
    "gzip of zstd": {"compressors": [ZstdCodec(), GzipCodec()]},
    "big": {"serializer": BytesCodec(endian="big"), "compressors": None},
    "transposed": {"filters": TransposeCodec(order=(2, 0, 1)), "compressors": GzipCodec()},
    "transposed twice": {"filters": [TransposeCodec(order=(2, 0, 1)), TransposeCodec(order=(0, 2, 1))], "compressors": None},
    "dots": {"chunk_key_encoding": {"name": "default", "separator": "."}},
    "names of v2": {"chunk_key_encoding": {"name": "v2", "separator": "/"}},
    "of numcodecs": {"compressors": [of_numcodecs.Shuffle(elementsize=2), of_numcodecs.LZ4()]},
    "sharded": {"shards": (16, 6, 10), "compressors": ZstdCodec()},
    "sharded rows": {"shards": (8, 9, 5), "compressors": BloscCodec(cname="lz4")},
    "shards of one chunk": {"shards": (8, 3, 5), "compressors": None},
}


@pytest.mark.parametrize("codecs", V3)
def test_rows_are_those_of_zarr_python_whatever_the_codecs(codecs, tmp_path):
    for dtype in ("uint8", "int16", "float64"):
        truth = values(dtype, ROWS, 7, 5)
        zarr.create_array(tmp_path / "x.zarr", name=dtype, data=truth, chunks=(8, 3, 5), **V3[codecs])
        array = tarflume.ArrayDataset(tmp_path / "x.zarr", dtype)
        assert array.block_rows == 8
        equal(array, truth)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_those_of_zarr_python_whatever_the_type(dtype, tmp_path):
    truth = values(dtype, ROWS, 6)
    for name, words in {"x": {"shards": (20, 6)}, "y": {"serializer": BytesCodec(endian="big"), "compressors": BloscCodec()}}.items():
        zarr.create_array(tmp_path / name, data=truth, chunks=(10, 6), **words)
        equal(tarflume.ArrayDataset(tmp_path / name), truth)
    flat = truth[:, 0].copy()
    zarr.create_array(tmp_path / "flat", data=flat, chunks=(9,), zarr_format=2)
    equal(tarflume.ArrayDataset(tmp_path / "flat"), flat)


@pytest.mark.parametrize("shuffle", ["noshuffle", "shuffle", "bitshuffle"])
def test_blosc_is_read_whatever_its_compressor(shuffle, tmp_path):
    dice = np.random.default_rng(6)
    smooth = np.cumsum(dice.integers(-3, 4, (40, 900)), axis=1)
    for cname in ("lz4", "lz4hc", "zlib", "zstd", "blosclz"):
        # Blocks of several sizes; streams that are split, stored, or shorter at the end.
        for dtype, rows, blocksize in (("uint8", 7, 0), ("int16", 40, 0), ("float32", 7, 1000), ("int64", 40, 4096)):
            truth = smooth.astype(dtype)
            truth[30:] = dice.integers(0, 255, (10, 900)).astype(dtype)
            codec = BloscCodec(cname=cname, shuffle=shuffle, blocksize=blocksize, clevel=9 if dtype == "int16" else 5)
            place = tmp_path / f"{cname}-{dtype}"
            zarr.create_array(place, data=truth, chunks=(rows, 900), compressors=codec)
            equal(tarflume.ArrayDataset(place), truth)


FILLS = [("float32", "nan"), ("float64", float("-inf")), ("float16", 1.5), ("int64", -(2**63)), ("uint64", 2**64 - 1), ("bool", True)]


@pytest.mark.parametrize("dtype, fill", FILLS)
@pytest.mark.parametrize("shards", [None, (8, 4)])
def test_chunks_that_were_never_written_have_the_fill_value(dtype, fill, shards, tmp_path):
    fill = np.dtype(dtype).type(fill)
    array = zarr.create_array(tmp_path / "x", shape=(30, 6), dtype=dtype, chunks=(4, 2), shards=shards, fill_value=fill)
    array[5:9, 1:3] = 1
    array[20] = 0
    equal(tarflume.ArrayDataset(tmp_path / "x"), array[:])
    old = zarr.create_array(tmp_path / "old", shape=(30, 6), dtype=dtype, chunks=(4, 2), fill_value=fill, zarr_format=2)
    old[5:9, 1:3] = 1
    equal(tarflume.ArrayDataset(tmp_path / "old"), old[:])


def test_a_fill_value_of_bits_keeps_its_bits(tmp_path):
    zarr.create_array(tmp_path / "x", shape=(8, 2), dtype="float32", chunks=(4, 2), fill_value=0)
    metadata = json.loads((tmp_path / "x/zarr.json").read_text())
    metadata["fill_value"] = "0x7fc00123"
    (tmp_path / "x/zarr.json").write_text(json.dumps(metadata))
    assert np.asarray(tarflume.ArrayDataset(tmp_path / "x")[:]).view("uint32").tolist() == [[0x7FC00123] * 2] * 8


V2 = {
    "plain": {"compressors": None},
    "usual": {},
    "gzip": {"compressors": numcodecs.GZip()},
    "zlib": {"compressors": numcodecs.Zlib()},
    "zstd": {"compressors": numcodecs.Zstd()},
    "lz4": {"compressors": numcodecs.LZ4()},
    "blosc": {"compressors": numcodecs.Blosc(cname="lz4", shuffle=numcodecs.Blosc.SHUFFLE)},
    "columns": {"order": "F", "compressors": numcodecs.Blosc(cname="zstd", shuffle=numcodecs.Blosc.BITSHUFFLE)},
    "folders": {"chunk_key_encoding": {"name": "v2", "separator": "/"}},
    "shuffle": {"filters": [numcodecs.Shuffle(2)], "compressors": numcodecs.Zlib()},
}


@pytest.mark.parametrize("codecs", V2)
def test_rows_of_version_2_are_those_of_zarr_python(codecs, tmp_path):
    for dtype in ("uint8", "<i2", ">f8"):
        truth = values(np.dtype(dtype).name, ROWS, 7, 5).astype(dtype)
        array = zarr.create_array(tmp_path / "x.zarr", name=dtype[1:], shape=truth.shape, dtype=dtype, chunks=(8, 3, 5), zarr_format=2, **V2[codecs])
        array[:] = truth
        equal(tarflume.ArrayDataset(tmp_path / "x.zarr" / dtype[1:]), truth)


def test_chunks_in_folders_without_a_word_in_the_metadata_are_no_fill_values(tmp_path):
    array = zarr.create_array(tmp_path / "x", shape=(8, 2), dtype="i4", chunks=(4, 2), zarr_format=2, chunk_key_encoding={"name": "v2", "separator": "/"})
    array[:] = 5
    path = tmp_path / "x/.zarray"
    metadata = json.loads(path.read_text())
    del metadata["dimension_separator"]
    path.write_text(json.dumps(metadata))
    with pytest.raises(tarflume.Error, match='x/.zarray: its chunks are in folders.*add "dimension_separator": "/"'):
        tarflume.ArrayDataset(tmp_path / "x")


def test_the_filter_delta_adds_up(tmp_path):
    for dtype in ("<i4", ">i2", "|u1", "<f8"):
        truth = np.cumsum(values("int16", ROWS, 6), axis=0).astype(dtype)
        array = zarr.create_array(
            tmp_path / dtype[1:], shape=truth.shape, dtype=dtype, chunks=(8, 3), zarr_format=2, filters=[numcodecs.Delta(dtype)]
        )
        array[:] = truth
        equal(tarflume.ArrayDataset(tmp_path / dtype[1:]), array[:])


def nested(tmp_path: Path) -> np.ndarray:
    """Shards in shards, which are compressed as a whole; zarr-python writes them, too."""
    truth = values("int32", ROWS, 8)
    inner = ShardingCodec(chunk_shape=(4, 2), codecs=[TransposeCodec(order=(1, 0)), BytesCodec(), ZstdCodec()], index_location="start")
    outer = ShardingCodec(chunk_shape=(8, 4), codecs=[inner, Crc32cCodec()])
    for name, words in {
        "nested": {"serializer": outer, "compressors": None},
        "packed": {"serializer": inner, "compressors": [GzipCodec()]},
        "start": {"serializer": inner, "compressors": None},
        "turned": {"serializer": ShardingCodec(chunk_shape=(4, 8)), "filters": TransposeCodec(order=(1, 0)), "compressors": None},
    }.items():
        array = zarr.create_array(tmp_path / name, shape=truth.shape, dtype="int32", chunks=(16, 8), fill_value=7, **words)
        array[:40] = truth[:40]
    truth[40:] = 7
    return truth


@pytest.mark.parametrize("name, rows", {"nested": 8, "packed": 16, "start": 4, "turned": 16}.items())
def test_shards_are_read_by_inner_chunks_if_nothing_is_done_to_the_whole(name, rows, tmp_path):
    truth = nested(tmp_path)
    assert np.array_equal(zarr.open_array(tmp_path / name)[:], truth)
    array = tarflume.ArrayDataset(tmp_path / name)
    assert array.block_rows == rows
    equal(array, truth)


def test_arrays_are_named_as_those_of_hdf5(tmp_path):
    group = zarr.open_group(tmp_path / "x.zarr", mode="w")
    truth = values("int16", ROWS, 3)
    group.create_array("train/image", data=truth, chunks=(10, 3))
    group.create_array("label", data=np.arange(ROWS), chunks=(10,))
    for array in (
        tarflume.ArrayDataset(tmp_path / "x.zarr", "train/image"),
        tarflume.ArrayDataset(tmp_path / "x.zarr", "/train/image"),
        tarflume.ArrayDataset(tmp_path / "x.zarr/train", "image"),
        tarflume.ArrayDataset(tmp_path / "x.zarr/train/image"),
    ):
        equal(array, truth)
        equal(pickle.loads(pickle.dumps(array)), truth)
    (tmp_path / "x.zarr/zarr.json").unlink()
    equal(tarflume.ArrayDataset(tmp_path / "x.zarr", "train/image"), truth)
    group = zarr.open_group(tmp_path / "x.zarr", mode="a")
    for path, name, why in (
        ("x.zarr", None, "it is a group; name an array in it: label"),
        ("x.zarr", "train", "it is a group; name an array in it: train/image"),
        ("x.zarr", "nope", "nope: there is no array of Zarr.*name an array in it: label"),
        ("x.zarr", "../x", "leads out of the folder"),
    ):
        with pytest.raises(tarflume.Error, match=why):
            tarflume.ArrayDataset(tmp_path / path, name)


def test_what_is_not_read_is_named_with_the_next_line(tmp_path):
    zarr.create_array(tmp_path / "bz2", shape=(9, 2), dtype="i4", chunks=(3, 2), zarr_format=2, compressors=numcodecs.BZ2())[:] = 5
    zarr.create_array(tmp_path / "complex", data=np.ones((9, 2), "complex64"), chunks=(3, 2))
    zarr.create_array(tmp_path / "odd", data=np.ones((9, 2)), chunks=(3, 2))
    zarr.create_array(tmp_path / "point", data=np.float32(3))
    for name, change, why in (
        ("bz2", {}, r'''bz2.*codec 'bz2', which is not read.*zarr.from_array\("NEW.zarr", data=zarr.open_array\("'''),
        ("complex", {}, r'''type 'complex64'.*zarr.create_array\("NEW.zarr", data=zarr.open_array\(".*\.view\("float32"\)'''),
        ("point", {}, "a single number and has no rows"),
        ("odd", {"chunk_grid": {"name": "rectilinear", "configuration": {}}}, "chunk grid is 'rectilinear'.*chunks=\"auto\""),
        ("odd", {"storage_transformers": [{"name": "chunk-manifest"}]}, "'storage transformer chunk-manifest'"),
        ("odd", {"novelty": {"x": 1}}, "'novelty', an extension that is not read"),
        ("odd", {"codecs": [{"name": "pcodec"}]}, "the codec 'pcodec'"),
        ("odd", {"shape": [9, 2, 2]}, r"its chunks have the shape \[3, 2\]"),
        ("odd", {"shape": [2**62, 2**62]}, "its arrays have more than 2"),
        ("odd", {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2**40, 1]}}}, "its chunks have .*smaller chunks"),
        ("odd", {"fill_value": "none"}, "the fill value .* is none of the type float64"),
    ):
        path = tmp_path / name / "zarr.json"
        before = path.read_text() if path.exists() else ""
        if change:
            path.write_text(json.dumps({**json.loads(before), **change}))
        with pytest.raises(tarflume.Error, match=why):
            tarflume.ArrayDataset(tmp_path / name)
        if change:
            path.write_text(before)
    again = zarr.from_array(
        tmp_path / "NEW.zarr",
        data=zarr.open_array(tmp_path / "bz2", mode="r"),
        zarr_format=3,
        filters=(),
        serializer="auto",
        compressors="auto",
    )
    equal(tarflume.ArrayDataset(tmp_path / "NEW.zarr"), again[:])
    (tmp_path / "odd/zarr.json").write_text(json.dumps({**json.loads((tmp_path / "odd/zarr.json").read_text()), "more": {"must_understand": False}}))
    assert len(tarflume.ArrayDataset(tmp_path / "odd")) == 9
    with pytest.raises(tarflume.Error, match=r'blocks of 3, which have 48 bytes.*memory_limit="48B"'):
        tarflume.ArrayDataset(tmp_path / "odd", memory_limit="47B")


@pytest.fixture
def limited(tmp_path):
    """Arrays of which 400 bytes of blocks are kept, and what NumPy has."""
    truth = {"x": values("int32", ROWS, 5), "y": np.arange(ROWS, dtype=np.int64)}
    zarr.create_array(tmp_path / "x.zarr", name="x", data=truth["x"], chunks=(4, 3), shards=(12, 6))
    zarr.create_array(tmp_path / "x.zarr", name="y", data=truth["y"], chunks=(12,))
    return {name: tarflume.ArrayDataset(tmp_path / "x.zarr", name, memory_limit="400B") for name in truth}, truth


@pytest.mark.parametrize("divide", ["sample", "shard"])
def test_blocks_are_shuffled_and_every_row_comes_once(divide, limited):
    arrays, truth = limited
    assert_each_row_once(arrays, truth, divide)
    for make in (tarflume.torch.ArrayLoader, tarflume.ArrayLoader):
        with pytest.raises(tarflume.Error, match='blocks of 4 rows|blocks of 4.*shuffle="blocks"'):
            make(x=arrays["x"], batch_size=9, shuffle=True)


def test_a_damaged_chunk_is_an_error_of_its_rows(tmp_path):
    truth = np.random.default_rng(2).integers(0, 2**30, (40, 64), dtype=np.int32)
    for name, words in {"chunks": {}, "shards": {"shards": (40, 64)}}.items():
        codecs = [ZstdCodec(), Crc32cCodec()]
        zarr.create_array(tmp_path / name, data=truth, chunks=(8, 64), compressors=codecs, **words)
        path = tmp_path / name / ("c/2/0" if name == "chunks" else "c/0/0")
        place = path.stat().st_size // 2
        with path.open("r+b") as file:
            file.seek(place)
            file.write(b"\xff" * 16)
        array = tarflume.ArrayDataset(tmp_path / name)
        assert np.array_equal(array[list(range(16))], truth[:16])
        with pytest.raises(tarflume.Error, match=rf"{name}.*rows 16..24: chunk {path.relative_to(tmp_path / name)}, byte \d+: its bytes have the CRC32C"):
            array[20]
        loader = tarflume.torch.ArrayLoader(x=array, batch_size=10, on_bad="skip")
        assert [row for batch in loader for row in batch["row"].tolist()] == [*range(16), *range(24, 40)]
        path.write_bytes(path.read_bytes()[:40])
        with pytest.raises(tarflume.Error, match=rf"chunk {path.relative_to(tmp_path / name)}, byte \d+: "):
            tarflume.ArrayDataset(tmp_path / name)[20]


def test_only_a_file_that_does_not_exist_is_a_chunk_that_was_never_written(tmp_path):
    array = zarr.create_array(tmp_path / "x", shape=(8, 2), dtype="i4", chunks=(4, 2), fill_value=7)
    found = tarflume.ArrayDataset(tmp_path / "x", memory_limit="32B")
    assert np.asarray(found[:]).tolist() == array[:].tolist()
    (tmp_path / "x/c/0").mkdir(parents=True)
    (tmp_path / "x/c/0/0").symlink_to(tmp_path / "gone")
    with pytest.raises(tarflume.Error, match="c/0/0.*it is a link to a file that does not exist"):
        found[0]
    (tmp_path / "x/c/0/0").unlink()
    (tmp_path / "x/c/0/0").symlink_to("0")
    with pytest.raises(tarflume.Error, match=f"c/0/0: cannot open.*{errno.ELOOP}"):
        found[0]
    with pytest.raises(tarflume.Error, match=f"c/0/0: cannot open.*{errno.ELOOP}"):
        list(tarflume.torch.ArrayLoader(x=found, batch_size=4, on_bad="skip"))
    # A process without free descriptors cannot tell whether there is a file.
    fresh = tarflume.ArrayDataset(tmp_path / "x")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        with pytest.raises(tarflume.Error, match=f"c/1/0: cannot open.*{errno.EMFILE}"):
            fresh[4]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    (tmp_path / "x/c/0/0").unlink()
    (tmp_path / "x/c/0/0").mkdir()
    with pytest.raises(tarflume.Error, match="c/0/0"):
        found[0]
    shutil.rmtree(tmp_path / "x")
    with pytest.raises(tarflume.Error, match="the array is gone while it is read"):
        found[0]


class Counting(servers.RangeHandler):
    """Keeps the ranges that were asked for."""

    asked: list[tuple[str, str]] = []
    wbufsize = 1 << 16  # header and bytes of an answer are one packet

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Range", "")))
        super().do_GET()


def test_arrays_at_urls_have_the_rows_of_the_files(limited, tmp_path):
    arrays, truth = limited
    half = zarr.create_array(tmp_path / "x.zarr", name="half", shape=(20, 4), chunks=(4, 4), dtype="i4", fill_value=9)
    half[4:8] = 3
    wide = values("int16", ROWS, 40)
    zarr.create_array(tmp_path / "x.zarr", name="wide", data=wide, chunks=(30, 2))
    zarr.create_array(tmp_path / "x.zarr", name="shards", data=wide, chunks=(30, 2), shards=(60, 10))
    with servers.http_files(tmp_path, Counting) as url:
        for name in ("wide", "shards"):  # 20 pieces of a block, more than are asked for at the same time
            equal(tarflume.ArrayDataset(f"{url}/x.zarr", name), wide)
        for name in arrays:
            equal(tarflume.ArrayDataset(f"{url}/x.zarr", name), truth[name])
        array = tarflume.ArrayDataset(f"{url}/x.zarr/x", memory_limit="400B")
        assert np.array_equal(np.asarray(pickle.loads(pickle.dumps(array))[3:5]), truth["x"][3:5])
        equal(tarflume.ArrayDataset(f"{url}/x.zarr", "half"), half[:])
        # Of a shard, the index and the inner chunks of the rows are asked for, and the index once.
        array = tarflume.ArrayDataset(f"{url}/x.zarr/x", memory_limit="100B")
        Counting.asked.clear()
        for row in (0, 4, 8, 0):
            assert np.array_equal(np.asarray(array[row]), truth["x"][row])
        assert {path for path, _ in Counting.asked} == {"/x.zarr/x/c/0/0"}
        size = (tmp_path / "x.zarr/x/c/0/0").stat().st_size
        index = f"bytes={size - 6 * 16 - 4}-{size - 1}"
        assert [asked for _, asked in Counting.asked].count(index) == 1 and len(Counting.asked) <= 2 + 4 * 2
        with pytest.raises(tarflume.Error, match="x.zarr: it is a group; name an array in it"):
            tarflume.ArrayDataset(f"{url}/x.zarr")
        with pytest.raises(tarflume.Error, match="there is no"):
            tarflume.ArrayDataset(f"{url}/nothing", "x")
        chunk = tmp_path / "x.zarr/x/c/0/0"
        chunk.write_bytes(chunk.read_bytes()[::-1])
        with pytest.raises(tarflume.Error, match="x.zarr/x/c/0/0: the object was replaced"):
            array[4]
        found = tarflume.ArrayDataset(f"{url}/x.zarr", "half", memory_limit="64B")
        shutil.rmtree(tmp_path / "x.zarr/half")
        with pytest.raises(tarflume.Error, match="the array is gone while it is read"):
            found[0]
