"""Readers of others over packed folders: Ray, DALI on the CPU, Energon, wids. Every part of every photograph.

`make clients` installs them, which takes gigabytes, and runs this. With TARFLUME_TEST_PHOTOS=FOLDER it is the JPEGs
of that folder instead of those of fixtures/photos.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys
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


def test_wids_reads_samples_by_number(photographs, tmp_path):
    import wids

    folder, parts = photographs
    shards = json.loads((folder / "dataset.json").read_text())["shards"]
    listed = [{"url": str(folder / shard["name"]), "nsamples": shard["samples"]} for shard in shards]
    found = wids.ShardListDataset(listed, cache_dir=str(tmp_path), keep=True, transformations=[])
    assert len(found) == len(parts)
    rows = [found[n] for n in reversed(range(len(found)))]
    check(({name.removeprefix("."): getattr(of, "read", lambda of=of: of)() for name, of in row.items()}
           for row in rows), parts)  # fmt: skip
