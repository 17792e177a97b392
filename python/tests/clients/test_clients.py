"""Readers of others over packed folders: Ray, DALI on the CPU, Energon, wids, SPDL. Every part of every photograph.

`make clients` installs them, which takes gigabytes, and runs this. With TARFLUME_TEST_PHOTOS=FOLDER it is the JPEGs
of that folder instead of those of fixtures/photos.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator

import pytest

from conftest import pack
from photographs import Parts

pytestmark = pytest.mark.filterwarnings("ignore")


def check(rows: Iterable[dict[str, object]], parts: Parts) -> None:
    """`rows` are all samples, each once, and each part is what was packed."""
    seen = {}
    for row in rows:
        assert row["__key__"] not in seen
        seen[row["__key__"]] = {ext: row[ext] for ext in ("jpg", "json")}
    assert seen == parts


@pytest.fixture(scope="module")
def ray() -> Iterator[object]:
    import ray
    import ray.data

    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    ray.init(num_cpus=1, object_store_memory=200 << 20, **quiet)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


def test_ray_reads_a_list_of_shards(ray, photographs):
    folder, parts = photographs
    shards = sorted(map(str, folder.glob("*.tar")))
    check(ray.data.read_webdataset(shards, decoder=None).take_all(), parts)


def test_ray_reads_a_folder_where_it_is_told_which_files_are_shards(ray, photographs):
    folder, parts = photographs
    check(ray.data.read_webdataset(str(folder), decoder=None, file_extensions=["tar"]).take_all(), parts)


def test_dali_reads_the_shards_on_the_cpu(photographs):
    from nvidia import dali

    folder, parts = photographs
    shards = sorted(map(str, folder.glob("*.tar")))

    @dali.pipeline_def(batch_size=4, num_threads=1, device_id=None)
    def pipeline():
        jpg, text = dali.fn.readers.webdataset(
            paths=shards, ext=["jpg", "json"], missing_component_behavior="error", name="reader"
        )
        return jpg, text

    made = pipeline()
    made.build()
    assert made.epoch_size("reader") == len(parts)
    rows = []
    while len(rows) < len(parts):
        columns = [[bytes(column.at(n)) for n in range(len(column))] for column in made.run()]
        rows += list(zip(*columns, strict=True))
    # DALI gives no keys: each number of the JSON is one photograph's.
    keys = {json.loads(of["json"])["n"]: key for key, of in parts.items()}
    rows = [{"__key__": keys[json.loads(text)["n"]], "jpg": jpg, "json": text} for jpg, text in rows[: len(parts)]]
    check(rows, parts)


@pytest.mark.parametrize("prepare", ["energon prepare", "pack index --export energon"])
def test_energon_reads_a_packed_folder(photographs, tmp_path, prepare):
    from megatron import energon

    folder, parts = photographs
    shutil.copytree(folder, tmp_path / "shards")
    if prepare == "energon prepare":
        tool = pathlib.Path(sys.executable).with_name("energon")
        words = ["--non-interactive", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset"]
        subprocess.run([tool, "prepare", tmp_path / "shards", *words], capture_output=True, check=True)
    else:
        pack("index", "-q", "--export", "energon", tmp_path / "shards")

    @energon.stateless
    def cook(sample):
        return sample

    class Encoder(energon.DefaultTaskEncoder):
        cookers = [energon.Cooker(cook)]
        decoder = None

        def encode_batch(self, batch):
            return batch

    found = energon.get_train_dataset(
        tmp_path / "shards", worker_config=energon.WorkerConfig(rank=0, world_size=1, num_workers=0),
        batch_size=None, shuffle_buffer_size=None, max_samples_per_sequence=None, repeat=False,
        task_encoder=Encoder(),
    )
    check((dict(row) for row in energon.get_loader(found)), parts)


def wids_rows(found) -> Iterator[dict[str, object]]:
    """The samples of wids from the last to the first; wids names parts by their extension with the dot."""
    for n in reversed(range(len(found))):
        row = found[n].items()
        yield {name.removeprefix("."): getattr(of, "read", lambda of=of: of)() for name, of in row}


def test_wids_reads_samples_by_number(photographs, tmp_path):
    import wids

    folder, parts = photographs
    shards = json.loads((folder / "dataset.json").read_text())["shards"]
    listed = [{"url": str(folder / shard["name"]), "nsamples": shard["samples"]} for shard in shards]
    found = wids.ShardListDataset(listed, cache_dir=str(tmp_path), keep=True, transformations=[])
    assert len(found) == len(parts)
    check(wids_rows(found), parts)


def test_wids_reads_by_the_list_of_pack_index(photographs, tmp_path):
    import wids
    from wids.wids import IndexedTarSamples

    folder, parts = photographs
    shutil.copytree(folder, tmp_path / "shards")
    pack("index", "-q", "--export", "wids", tmp_path / "shards")
    listed = tmp_path / "shards" / "shardindex.json"
    found = wids.ShardListDataset(str(listed), cache_dir=str(tmp_path / "cache"), keep=True, transformations=[])
    assert len(found) == len(parts)
    check(wids_rows(found), parts)
    # ShardListDataset compares no digests. IndexedTarSamples compares those that it gets.
    for shard in json.loads(listed.read_text())["shardlist"]:
        path = tmp_path / "shards" / shard["url"]
        IndexedTarSamples(path=path, md5sum=shard["md5sum"], expected_size=shard["nsamples"]).close()


def test_hfutils_reads_files_by_our_index(photographs, tmp_path):
    from hfutils import index

    folder, parts = photographs
    shutil.copytree(folder, tmp_path / "shards")
    pack("index", "-q", "--export", "hfutils", tmp_path / "shards")
    seen = {}
    for tar in sorted((tmp_path / "shards").glob("*.tar")):
        for name in index.tar_list_files(str(tar)):
            # Compares the length and the SHA-256 of the index with what it reads.
            index.tar_file_download(str(tar), name, str(tmp_path / "file"), force_download=True)
            assert name not in seen
            seen[name] = (tmp_path / "file").read_bytes()
    assert seen == {f"{key}.{ext}": data for key, of in parts.items() for ext, data in of.items()}


def spdl_rows(shards: Iterable[pathlib.Path]) -> Iterator[dict[str, object]]:
    """The samples that SPDL reads; it gives files, of which two in a row are a sample."""
    import spdl.io

    for shard in shards:
        with shard.open("rb") as file:
            files = list(spdl.io.iter_tarfile(file))
        for (image, jpg), (text, fields) in zip(files[::2], files[1::2], strict=True):
            key = image.removesuffix(".jpg")
            assert (image, text) == (f"{key}.jpg", f"{key}.json")
            yield {"__key__": key, "jpg": jpg, "json": fields}


def test_spdl_reads_a_packed_folder(photographs):
    folder, parts = photographs
    check(spdl_rows(sorted(folder.glob("*.tar"))), parts)


@pytest.mark.parametrize("source", ["file", "bytes"])
def test_spdl_reads_members_in_order_whatever_their_names(tmp_path, source):
    """Names over 100 bytes are divided at a slash; a pax header has those without one, and those not in ASCII."""
    import spdl.io

    keys = ["0/short", f"1/{'d' * 60}/{'e' * 60}/divided", f"2/{'f' * 180}", "3/Käse"]
    packed = {}
    for key in keys:
        for ext, data in {"bin": key.encode() * 999, "json": b"{}", "txt": b"1"}.items():
            packed[f"{key}.{ext}"] = data
            (tmp_path / "files" / f"{key}.{ext}").parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "files" / f"{key}.{ext}").write_bytes(data)
    words = ["--require", "bin,json,txt", "--names", "nonascii=allow,long=allow"]
    pack("build", tmp_path / "files", "-o", tmp_path / "shards", "--shard-samples", 3, *words)
    shards = sorted((tmp_path / "shards").glob("*.tar"))
    assert [shard.read_bytes().count(b"PaxHeaders/") for shard in shards] == [3, 3]
    seen = []
    for shard in shards:
        with shard.open("rb") as file:
            files = spdl.io.iter_tarfile(file if source == "file" else file.read())
            files = [(name, bytes(data)) for name, data in files]
        with tarfile.open(shard) as tar:
            assert [name for name, _ in files] == tar.getnames()
        seen += files
    assert len(seen) == len(packed) and dict(seen) == packed


@pytest.fixture(scope="module")
def reshuffled(photographs, tmp_path_factory) -> list[pathlib.Path]:
    """The photographs in another order and in smaller shards."""
    out = tmp_path_factory.mktemp("reshuffled") / "shards"
    pack("reshard", photographs[0], "-o", out, "--shuffle", 7, "--shard-samples", 4)
    return sorted(out.glob("*.tar"))


def webdataset_rows(shards: Iterable[pathlib.Path]) -> Iterable[dict[str, object]]:
    import webdataset

    return webdataset.WebDataset([str(shard) for shard in shards], shardshuffle=False)


def ray_rows(shards: Iterable[pathlib.Path]) -> Iterable[dict[str, object]]:
    import ray.data

    return ray.data.read_webdataset([str(shard) for shard in shards], decoder=None).take_all()


@pytest.mark.parametrize("rows", [webdataset_rows, ray_rows, spdl_rows])
@pytest.mark.usefixtures("ray")
def test_readers_read_the_shards_of_a_shuffling_reshard(photographs, reshuffled, rows):
    parts = photographs[1]
    assert len(reshuffled) == -(-len(parts) // 4)
    found = list(rows(reshuffled))
    check(found, parts)
    keys = [row["__key__"] for row in found]
    assert keys != sorted(keys)
