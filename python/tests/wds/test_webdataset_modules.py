"""webdataset's modules in `tarflume.webdataset`: mixes, drawn shards, folders, tenbin, gopen, tar iterators, utils."""

from __future__ import annotations

import functools
import http.server
import io
import itertools
import os
import pathlib
import random
import subprocess
import sys
import tarfile
import threading

import numpy as np
import pytest
import tarflume.webdataset as ours
import webdataset as theirs
import webdataset.tenbin
from tarflume import errors
from tarflume.webdataset import tariterators, tenbin, utils
from tarflume.webdataset.allowing import VARIABLE
from wds_data import Data

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return Data(tmp_path_factory.mktemp("wds"))


@pytest.fixture(scope="module")
def tars(data: Data) -> list[str]:
    return ours.expand_urls(data.braces)


@pytest.mark.parametrize("longest", [False, True])
@pytest.mark.parametrize("probs", [None, [1, 2, 5]])
def test_mixes_draw_what_webdataset_draws(longest, probs):
    def mixed(wds):
        random.seed(7)
        lists = [list(range(100 * n, 100 * n + 20 + n)) for n in range(3)]
        robin = list(wds.RoundRobin(lists, longest=longest))
        return robin, list(wds.RandomMix(lists, probs=probs, longest=longest))

    assert mixed(ours) == mixed(theirs)
    if longest:
        assert sorted(mixed(ours)[1]) == sorted(itertools.chain(range(20), range(100, 121), range(200, 222)))
    with pytest.raises(errors.UsageError, match="a weight for each"):
        ours.RandomMix([[1], [2]], probs=[1])


def test_shards_are_drawn_as_webdataset_draws_them(monkeypatch):
    urls = [f"{n}.tar" for n in range(50)]
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")

    def drawn(wds):
        made = wds.ResampledShards(urls, nshards=30, seed=5, deterministic=True)
        return [[shard["url"] for shard in made] for _ in range(2)]

    first, second = drawn(ours)
    assert [first, second] == drawn(theirs) and first != second
    free = ours.ResampledShards(urls, nshards=30)
    assert [shard["url"] for shard in free] != [shard["url"] for shard in free]
    assert set(ours.resampled(20)(iter("abc"))) <= set("abc")
    assert utils.make_seed(3, 4, 5) == theirs.utils.make_seed(3, 4, 5)
    assert utils.pytorch_worker_seed() == theirs.utils.pytorch_worker_seed() == 1000


@pytest.mark.parametrize(("mode", "left"), [("unlink", []), ("keep", ["._done_"] * 3), ("resample", [""] * 3)])
def test_shards_of_a_folder_are_taken_as_they_come(data, tars, tmp_path, mode, left):
    for n, tar in enumerate(tars[:3]):
        (tmp_path / f"{n}.tar").write_bytes(pathlib.Path(tar).read_bytes())
        os.utime(tmp_path / f"{n}.tar", (n, n))
    (tmp_path / "gone.tar._99999999_").write_bytes(b"")  # a process that is no more had it
    shards = ours.DirectoryShardList(f"{tmp_path}/", mode=mode, select="oldest", poll=None)
    keys = []
    for shard in itertools.islice(shards, 3):
        assert shard["url"].endswith(f"._{os.getpid()}_")
        keys.append([sample["__key__"] for sample in ours.tarfile_to_samples()([shard])])
    assert len(keys) == 3 and all(keys)
    if mode != "resample":
        assert len(set(sum(keys, []))) == sum(map(len, keys)), "each shard is read once"
    names = sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("gone"))
    taken = [name for name in names if name.endswith(f"._{os.getpid()}_")]
    assert len(taken) <= 1  # the last was not given back: nobody asked for another
    assert [name.partition(".tar")[2] for name in names if name not in taken] == left[: 3 - len(taken)]
    assert not (tmp_path / "gone.tar._99999999_").exists()
    with pytest.raises(FileNotFoundError):
        ours.DirectoryShardList(tmp_path / "none")


ARRAYS = [
    np.arange(24, dtype=kind).reshape(shape)
    for kind in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u8")
    for shape in ((24,), (2, 3, 4), (4, 6))
] + [np.zeros((0, 3), "f4"), np.array(3.5)]


def test_tenbin_is_webdatasets():
    encoded = tenbin.encode_buffer(ARRAYS, infos=["a"] * len(ARRAYS))
    assert encoded == bytes(theirs.tenbin.encode_buffer(ARRAYS, infos=["a"] * len(ARRAYS)))
    for decode, count in ((tenbin.decode_buffer, len(ARRAYS)), (theirs.tenbin.decode_buffer, len(ARRAYS) - 1)):
        # webdataset writes an array without dimensions, but can't read it.
        for made, array in zip(decode(tenbin.encode_buffer(ARRAYS[:count])), ARRAYS[:count], strict=True):
            assert (made.dtype, made.shape) == (array.dtype, array.shape) and (made == array).all()
    assert tenbin.decode_buffer(encoded, infos=True)[1] == ["a"] * len(ARRAYS)


def test_tenbin_believes_no_length(tmp_path):
    whole = tenbin.encode_buffer([np.arange(6.0).reshape(2, 3)])
    for place in range(0, len(whole), 8):
        for word in (b"\xff" * 8, b"\x7f" * 8, (1 << 40).to_bytes(8, "little"), b"\0" * 8):
            lying = whole[:place] + word + whole[place + 8 :]
            try:
                for array in tenbin.decode_buffer(lying):
                    assert array.nbytes <= 64
            except errors.DecodeError as error:
                assert str(error)
    for end in (5, 20, 70, 100):
        with pytest.raises(errors.DecodeError):
            tenbin.decode_buffer(whole[:end])
    tenbin.save(tmp_path / "a.ten", *ARRAYS)
    assert len(tenbin.load(tmp_path / "a.ten")) == len(ARRAYS)
    with pytest.raises(errors.UsageError, match="ends in .ten"):
        tenbin.load(tmp_path / "a.bin")


def test_tenbin_parts_go_through_tars(tmp_path):
    with ours.TarWriter(str(tmp_path / "a.tar")) as sink:
        sink.write({"__key__": "a", "ten": ARRAYS[:2]})
    for wds in (ours, theirs):
        (sample,) = wds.WebDataset(str(tmp_path / "a.tar"), shardshuffle=False).decode()
        assert [array.shape for array in sample["ten"]] == [(24,), (2, 3, 4)]


def test_gopen_opens_files_and_commands_only_where_that_is_allowed(tmp_path, monkeypatch):
    with ours.gopen(str(tmp_path / "a"), "wb") as sink:
        sink.write(b"abc")
    for url in (str(tmp_path / "a"), f"file:{tmp_path}/a"):
        with ours.gopen(url) as stream:
            assert stream.read() == b"abc"
    for url in ("pipe:cat /dev/null", "http://localhost/a", "https://localhost/a"):
        with pytest.raises(ours.RefusedError, match=VARIABLE):
            ours.gopen(url)
    with pytest.raises(ours.RefusedError, match="pipe:aws s3 cp"):
        ours.gopen("s3://bucket/a", allow=("pipe",))
    with ours.gopen(f"pipe:cat {tmp_path}/a", allow=("pipe",)) as stream:
        assert stream.read() == b"abc"
    monkeypatch.setenv(VARIABLE, "pipe")
    with ours.gopen(f"pipe:cat > {tmp_path}/b", "wb") as sink:
        sink.write(b"abc")
    assert (tmp_path / "b").read_bytes() == b"abc"
    with pytest.raises(errors.ReadError, match="exit code 3"), ours.gopen("pipe:echo a; exit 3") as stream:
        stream.read()
    with ours.gopen("pipe:yes") as stream:  # left early: the command is stopped, and that is no error
        assert stream.read(4) == b"y\ny\n"
    assert stream.process.poll() is not None
    monkeypatch.setitem(ours.gopen_schemes, "mem", lambda url, mode, bufsize: io.BytesIO(url.encode()))
    assert ours.gopen("mem:x").read() == b"mem:x"
    monkeypatch.setenv(VARIABLE, "everything")
    with pytest.raises(errors.UsageError, match="everything"):
        ours.gopen("pipe:true")


@pytest.fixture
def server(tars):
    """The folder of the tars, over HTTP."""
    folder = str(pathlib.Path(tars[0]).parent)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as serving:
        thread = threading.Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()


def test_gopen_reads_urls_by_curl_where_commands_are_allowed(tars, server, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    url = f"{server}/{pathlib.Path(tars[0]).name}"
    with ours.gopen(url, allow=("pipe",)) as stream:
        assert stream.read() == pathlib.Path(tars[0]).read_bytes()
    here = list(ours.WebDataset(tars[0], shardshuffle=False).to_tuple("__key__"))
    there = list(ours.WebDataset(f"pipe:curl -sSf {url}", shardshuffle=False, allow=("pipe",)).to_tuple("__key__"))
    assert there == here
    with pytest.raises(ours.RefusedError, match="curl"):
        ours.gopen(url)
    with pytest.raises(OSError, match="exit code 22"), ours.gopen(f"{server}/none.tar", allow=("pipe",)) as stream:
        stream.read()


def test_the_steps_between_shards_and_samples_are_webdatasets(tars):
    def samples(module, opener, words):
        files = module.tar_file_expander(opener([{"url": url} for url in tars[:2]]), **words)
        return list(module.group_by_keys(files))

    mine = samples(tariterators, tariterators.url_opener, {})
    assert mine == samples(theirs.tariterators, theirs.tariterators.url_opener, {}) and mine
    assert mine == samples(tariterators, tariterators.url_opener, {"eof_value": {}})
    # One key in two shards is two samples, also without anything between them.
    twice = list(tariterators.tar_file_expander(tariterators.url_opener([{"url": tars[0]}])))[:1]
    other = [file | {"__url__": "other"} for file in twice]
    assert len(list(tariterators.group_by_keys(twice + other))) == 2
    for name in ("a/b.c.jpg", "a.jpg", "a", "a.b/c", "x/.hidden"):
        assert tariterators.base_plus_ext(name) == theirs.tariterators.base_plus_ext(name) or name == "x/.hidden"
    for sample in (None, {}, {"a": 1}, {"a": 1, "__bad__": True}):
        assert bool(tariterators.valid_sample(sample)) == bool(theirs.tariterators.valid_sample(sample))


def test_a_tar_that_ends_between_two_files_is_an_error(tars, tmp_path):
    """webdataset takes such an end for the end of the tar."""
    whole = pathlib.Path(tars[0]).read_bytes()
    with tarfile.open(tars[0]) as tar:
        second = tar.getmembers()[2].offset
    (tmp_path / "cut.tar").write_bytes(whole[:second])
    shards = [{"url": str(tmp_path / "cut.tar")}]
    files = tariterators.tar_file_expander(tariterators.url_opener(shards))
    with pytest.raises(tarfile.ReadError, match="without its end marker"):
        list(files)
    seen = []
    files = tariterators.tar_file_expander(tariterators.url_opener(shards), handler=lambda exn: seen.append(exn) or True)
    assert len(list(files)) == 2 and isinstance(seen[0], errors.TruncatedError)
    missing = tariterators.url_opener([{"url": "/none.tar"}], handler=lambda exn: seen.append(exn) or True)
    assert list(missing) == [] and isinstance(seen[1], FileNotFoundError)


def test_private_names_that_open_clip_uses_are_there(tars):
    shuffled = list(ours.filters._shuffle(iter(range(50)), 10, 5, random.Random(3)))
    assert shuffled == list(theirs.filters._shuffle(iter(range(50)), 10, 5, random.Random(3)))
    assert ours.filters.getfirst({"png": 1}, "jpg;png") == 1
    assert list(ours.MockDataset((1, 2), 3)) == [(1, 2)] * 3
    for words in ({"nepochs": 7}, {"nbatches": 10}):
        assert len(list(utils.repeatedly(range(3), **words))) == len(list(theirs.utils.repeatedly(range(3), **words)))
    assert list(utils.repeatedly([], nbatches=3)) == []


def test_the_package_takes_webdatasets_place_unless_it_is_too_late():
    code = """
import tarflume.webdataset.instead as wds
import webdataset, webdataset.filters, tarflume.webdataset
from webdataset import autodecode, compat, writer
from webdataset.gopen import gopen
assert wds is webdataset is tarflume.webdataset and gopen is wds.gopen
assert webdataset.filters is tarflume.webdataset.filters and writer.TarWriter is wds.TarWriter
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    late = "import webdataset\ntry:\n    import tarflume.webdataset.instead\nexcept ValueError as e:\n    print(e)"
    done = subprocess.run([sys.executable, "-c", late], check=True, capture_output=True, text=True)
    assert "before tarflume.webdataset.instead" in done.stdout
