"""Existing shards in other shards, and compressed shards."""

from __future__ import annotations

import gzip
import io
import json
import random
import shutil
import subprocess
import tarfile

import numpy
import pytest

import tarflume
from conftest import PACK, picture


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """40 pairs with captions, in plain and in compressed shards."""
    root = tmp_path_factory.mktemp("reshard")
    (root / "photos").mkdir()
    for n in range(40):
        picture(n).save(root / "photos" / f"{n:04}.jpg")
        (root / "photos" / f"{n:04}.json").write_text(json.dumps({"class": n % 4, "words": "a cat on a mat " * n}))
    tarflume.pack.build(root / "photos", root / "plain", shards=3)
    tarflume.pack.build(root / "photos", root / "zstd", shards=3, compress="zstd")
    return root


def parts(path):
    with tarfile.open(path) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}


def test_every_loader_reads_compressed_shards(sets):
    def rows(name, **options):
        columns = {"image": tarflume.Image(tarflume.Resize(32)), "class": tarflume.Json("/class")}
        loader = tarflume.Loader(sets / name, columns=columns, batch_size=7, **options)
        return [(batch["class"].tolist(), numpy.asarray(batch["image"]).tobytes()) for batch in loader]

    for options in ({}, {"shuffle": "full", "seed": 3}, {"shuffle": "blocks", "seed": 3}):
        found = rows("zstd", **options)
        assert found == rows("plain", **options) and len(found) == 6
    plain, packed = tarflume.Dataset(sets / "plain"), tarflume.Dataset(sets / "zstd")
    order = list(range(40))
    random.Random(1).shuffle(order)
    for n in order:
        assert packed[n]["json"] == plain[n]["json"]
        assert packed[n]["jpg"] == plain[n]["jpg"]


def test_a_compressed_writer_gives_the_shards_of_a_build(sets, tmp_path):
    with tarflume.ShardWriter(tmp_path / "written", max_samples=14, compress="zstd") as writer:
        for n in range(40):
            base = sets / "photos" / f"{n:04}"
            writer.write({"__key__": f"{n:04}", "jpg": base.with_suffix(".jpg").read_bytes(),
                          "json": base.with_suffix(".json").read_bytes()})
    tarflume.pack.build(sets / "photos", tmp_path / "built", shard_samples=14, compress="zstd")
    for shard in sorted((tmp_path / "built").glob("shard-*")):
        assert (tmp_path / "written" / shard.name).read_bytes() == shard.read_bytes()


def test_zstd_and_webdataset_read_compressed_shards(sets):
    if shutil.which("zstd") is None:
        pytest.fail("the program zstd is missing; install Debian's package zstd")
    import webdataset

    shards = sorted((sets / "zstd").glob("*.tar.zst"))
    assert len(shards) == 3
    for shard in shards:
        subprocess.run(["zstd", "-t", "-q", shard], check=True)
        tar = subprocess.run(["zstd", "-dc", shard], check=True, capture_output=True).stdout
        assert tar == (sets / "plain" / shard.with_suffix("").name).read_bytes()
    urls = [f"pipe:zstd -dc {shard}" for shard in shards]
    found = {sample["__key__"]: sample["json"] for sample in webdataset.WebDataset(urls, shardshuffle=False)}
    assert found == {f"{n:04}": (sets / "photos" / f"{n:04}.json").read_bytes() for n in range(40)}


def test_reshard_selects_and_renames(sets, tmp_path):
    built = tarflume.pack.reshard([sets / "plain", sets / "zstd"], tmp_path / "both", key_prefix=["a/", "b/"],
                                  where=["json:/class in (1, 3)", "size:jpg > 0"], rename={"json": "meta.json"}, shards=2)
    assert built["samples"] == 40
    names = [name for shard in sorted((tmp_path / "both").glob("*.tar")) for name in parts(shard)]
    assert names[:2] == ["a/0001.jpg", "a/0001.meta.json"]
    assert len(names) == 80
    with pytest.raises(tarflume.errors.UsageError, match="json:/class"):
        tarflume.pack.reshard(sets / "plain", tmp_path / "bad", where="class == 1")
    with pytest.raises(tarflume.errors.UsageError, match="zstd:LEVEL"):
        tarflume.pack.reshard(sets / "plain", tmp_path / "bad", compress="gzip")


def test_reshard_converts_compressed_tars(sets, tmp_path):
    (tmp_path / "gz").mkdir()
    for shard in (sets / "plain").glob("*.tar"):
        (tmp_path / "gz" / f"{shard.name}.gz").write_bytes(gzip.compress(shard.read_bytes()))
    tarflume.pack.reshard(tmp_path / "gz", tmp_path / "out", shards=3)
    for shard in (sets / "plain").glob("*.tar"):
        assert (tmp_path / "out" / shard.name).read_bytes() == shard.read_bytes()


def test_the_command_reads_a_compressed_part(sets):
    done = subprocess.run([PACK, "cat", sets / "zstd", "0007.jpg"], capture_output=True, check=True)
    from PIL import Image

    assert Image.open(io.BytesIO(done.stdout)).size == picture(7).size
