"""webdataset's caches, its switch `enforce_security`, its rules for URLs, and its errors about missing fields."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import tarfile

import pytest
import tarflume.webdataset as ours
import webdataset as theirs
import webdataset.cache
from tarflume import errors
from tarflume.webdataset import cache, decoding, tariterators
from tarflume.webdataset.allowing import VARIABLE

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def shard(tmp_path):
    path = tmp_path / "shard.tar"
    with ours.TarWriter(str(path)) as out:
        for n in range(12):
            out.write({"__key__": f"{11 - n:02}", "txt": f"text {n}"})
    return str(path)


@pytest.fixture
def far(shard, monkeypatch):
    """A server of one shard at far:, and the URLs that were read from it."""
    read = []

    def opened(url, mode, bufsize):
        read.append(url)
        return open(shard, mode) if url.endswith(".tar") else io.BytesIO(b"<html>no such object</html>")

    monkeypatch.setitem(ours.gopen_schemes, "far", opened)
    return read


@pytest.mark.parametrize("url", ["http://a/b/c.tar", "http://a", "http://a/", "c.tar", "file:///x/c.tar", "s3://b/c/d.tar",
                                 "far://a/b c.tar", "x" * 300])  # fmt: skip
@pytest.mark.parametrize("ndir", [0, 1, 9])
def test_a_copy_has_the_name_that_webdataset_gives_it(url, ndir):
    assert cache.url_to_cache_name(url, ndir) == webdataset.cache.url_to_cache_name(url, ndir)


def keys(cached, url):
    return [sample["__key__"] for sample in tariterators.group_by_keys(tariterators.tar_file_expander(cached([url])))]


def test_a_copy_is_made_once_and_belongs_to_one_url(far, shard, tmp_path):
    named = lambda url: url.rpartition("/")[2]  # noqa: E731
    cached = cache.FileCache(tmp_path / "copies", url_to_name=named)
    whole = [f"{11 - n:02}" for n in range(12)]
    assert keys(cached, {"url": "far://a/x.tar"}) == keys(cached, "far://a/x.tar") == whole
    assert far == ["far://a/x.tar"]
    with pytest.raises(errors.UsageError, match=r"x\.tar is the copy of far://a/x\.tar: give url_to_name"):
        list(cached(["far://b/x.tar"]))  # webdataset takes the other shard
    with pytest.raises(errors.FormatError, match="far://a/page: the server's answer is no tar"):
        list(cached(["far://a/page"]))
    assert sorted(os.listdir(tmp_path / "copies")) == ["x.tar", "x.tar.url"]
    (tmp_path / "copies/y.tar").write_bytes(open(shard, "rb").read())  # a copy of webdataset
    assert keys(cached, "far://a/y.tar") == whole and far[1:] == ["far://a/page"]
    assert keys(cached, shard) == whole  # without a copy
    for name in ("../up.tar", "/root.tar", ""):
        with pytest.raises(errors.UsageError, match="no name of a copy"):
            cache.FileCache(tmp_path / "copies", url_to_name=lambda url, name=name: name).get_file("far://a/x.tar")
    seen = []
    skipping = cache.FileCache(tmp_path / "copies", url_to_name=named, handler=lambda exn: seen.append(exn) or True)
    assert [shard["url"] for shard in skipping(["far://b/x.tar", "far://a/x.tar"])] == ["far://a/x.tar"]
    assert len(seen) == 1


def test_shards_are_opened_without_a_copy(far, shard):
    local, other = cache.StreamingOpen()([shard, {"url": "far://a/x.tar"}])
    assert local["local_path"] == shard and "local_path" not in other
    assert local["stream"].read() == other["stream"].read()


def test_the_oldest_copies_are_removed(tmp_path):
    for n in range(10):
        for name in (f"{n}.tar", f"{n}.tar.url"):
            (tmp_path / name).write_bytes(b"x" * 1000)
    age = {str(tmp_path / f"{n}.tar"): (n * 7) % 10 for n in range(10)}
    cleaner = cache.LRUCleanup(tmp_path, cache_size=3500, keyfn=age.__getitem__, interval=None)
    cleaner.cleanup()
    left = sorted(name for name in os.listdir(tmp_path) if name.endswith(".tar"))
    assert left == sorted(f"{n}.tar" for n in range(10) if (n * 7) % 10 >= 7)
    assert all(name.removesuffix(".url") in left for name in os.listdir(tmp_path))
    cleaner.cache_size, cleaner.interval = 0, 1e9
    cleaner.cleanup()  # too early
    assert len(os.listdir(tmp_path)) == 6


def cached_in(wds, folder, url, **words):
    return wds.DataPipeline(wds.SimpleShardList([url]), wds.tarfile_to_samples(), wds.LMDBCached(str(folder), **words))


def test_a_database_keeps_the_samples_of_a_pass(shard, tmp_path, monkeypatch):
    lmdb = pytest.importorskip("lmdb")
    with pytest.raises(ours.RefusedError, match=r'allow=\("pickle",\)'):
        cached_in(ours, tmp_path / "a", shard)
    words = {"allow": ("pickle",), "map_size": 1 << 20, "chunksize": 5}
    plain = list(ours.WebDataset(shard, shardshuffle=False))
    half = iter(cached_in(ours, tmp_path / "a", shard, **words))
    assert next(half) == plain[0]
    half.close()  # a pass that was left keeps nothing
    assert list(cached_in(ours, tmp_path / "a", shard, **words)) == plain
    empty = str(tmp_path / "empty.tar")
    tarfile.open(empty, "w").close()
    assert list(cached_in(ours, tmp_path / "a", empty, **words)) == plain  # in the order of the shard
    assert list(ours.WebDataset(empty, shardshuffle=False, empty_check=False).lmdb_cached(tmp_path / "a", **words)) == plain
    monkeypatch.setenv("WORKER", "1")
    monkeypatch.setenv("NUM_WORKERS", "2")
    assert list(cached_in(ours, tmp_path / "a", empty, **words)) == []  # another share
    monkeypatch.delenv("WORKER")
    with pytest.raises(errors.UsageError, match=r"map_size=\d+ has no room"):
        list(cached_in(ours, tmp_path / "b", shard, **words | {"map_size": 1 << 14}))
    list(cached_in(theirs, tmp_path / "theirs", shard, map_size=1 << 20))
    kept = list(cached_in(ours, tmp_path / "theirs", empty, **words))
    assert [sample["txt"] for sample in kept] == [sample["txt"] for sample in reversed(plain)]  # by key, as they wrote it
    assert lmdb.version() >= (0, 9)


def test_what_security_forbids_stays_forbidden_where_it_is_allowed(shard, monkeypatch):
    monkeypatch.setenv(VARIABLE, "pickle,pipe")
    everything = ("pickle", "pipe")
    data = pickle.dumps({"a": 1})
    unpickled = ours.Decoder([], allow=everything)
    calls = [
        lambda: decoding.unpickle_loads(data, allow=everything) == {"a": 1},
        lambda: decoding.decoders["pkl"](data) == {"a": 1},
        lambda: unpickled({"__key__": "x", "pyd": data})["pyd"] == {"a": 1},
        lambda: next(iter(ours.xdecode(allow=everything)([{"pyd": data}])))["pyd"] == {"a": 1},
        lambda: ours.gopen(f"pipe:cat {shard}", allow=everything).read(512)[257:262] == b"ustar",
        lambda: ours.gopen(shard).read(512)[257:262] == b"ustar",
        lambda: ours.gopen(f"file:{shard}").read(512)[257:262] == b"ustar",
        lambda: len(list(ours.WebDataset(shard, shardshuffle=False))) == 12,
        lambda: len(list(ours.WebDataset(f"pipe:cat {shard}", shardshuffle=False, allow=everything))) == 12,
    ]
    assert ours.utils.enforce_security is False
    for n, call in enumerate(calls):
        assert call(), n
    monkeypatch.setattr(ours.utils, "enforce_security", True)
    for call in calls:
        with pytest.raises(ours.RefusedError, match="enforce_security is set"):
            call()
    with pytest.raises(ValueError, match="enforce_security is set"):  # as in webdataset
        decoding.torch_loads(b"")


def test_rules_of_the_environment_change_urls(shard, monkeypatch):
    rules = f"s3://none/=s4://;s3://bucket/(.*)[.]tgz={shard};s3://=s5://"
    monkeypatch.setenv("GOPEN_REWRITE", rules)
    rewrite = ours.gopen.__globals__["rewrite_url"]
    for url in ("s3://bucket/a.tgz", "s3://none/a.tar", "s3://other/a.tar", "gs://a"):
        assert rewrite(url) == webdataset.gopen.__globals__["rewrite_url"](url)
    sample = next(iter(ours.WebDataset("s3://bucket/a.tgz", shardshuffle=False)))
    assert sample["__url__"] == "s3://bucket/a.tgz" and sample["txt"] == b"text 0"
    monkeypatch.setenv("GOPEN_REWRITE", "s3://none")
    with pytest.raises(errors.UsageError, match="the rule 's3://none' has no '='"):
        rewrite("s3://none")
    monkeypatch.setattr(ours.utils, "enforce_security", True)
    with pytest.raises(ours.RefusedError, match="GOPEN_REWRITE"):
        rewrite("s3://none")


@pytest.mark.parametrize("stage", [
    lambda wds: wds.to_tuple("foo", "bar"),
    lambda wds: wds.to_tuple("txt;jpg", "bar"),
    lambda wds: wds.rename(x="foo"),
    lambda wds: wds.rename_keys(("x", "*.foo")),
    lambda wds: wds.extract_keys("*.foo"),
])  # fmt: skip
def test_a_missing_field_is_webdatasets_error_and_ours(shard, stage):
    for wds, kinds in ((theirs, (ValueError,)), (ours, (ValueError, errors.MissingPartError))):
        with pytest.raises(Exception) as caught:
            list(wds.DataPipeline(wds.SimpleShardList([shard]), wds.tarfile_to_samples(), stage(wds)))
        assert all(isinstance(caught.value, kind) for kind in kinds), caught.value


def test_modules_have_the_names_that_programs_import():
    program = """
import tarflume.webdataset.instead as wds
from webdataset.autodecode import cbor_loads, decoders, msgpack_loads, npy_loads, npz_loads, tenbin_loads, torch_loads, \\
    unpickle_loads
from webdataset.cache import FileCache, LRUCleanup, StreamingOpen, check_tar_format, islocal, url_to_cache_name
from webdataset.filters import LMDBCached
from webdataset.gopen import gopen, rewrite_url
from webdataset import utils
assert wds.LMDBCached is LMDBCached and wds.LRUCleanup is LRUCleanup and wds.torch_loads is torch_loads
assert wds.utils is utils and utils.enforce_security is True
"""
    env = os.environ | {"WDS_SECURE": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=env, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
