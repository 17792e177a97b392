"""Errors in plain words: what was given, and what to give instead. No words of Rust, no counts of KiB, no private names."""

from __future__ import annotations

import errno
import importlib
import io
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

import tarflume
import tarflume.webdataset as wds
from conftest import pack
from tarflume import errors

#: What only people who write Rust know, and numbers that nobody can read.
RUST = re.compile(
    r"OverflowError|enum |Split|::|\bu(8|16|32|64)\b|\b[IUF](8|16|32|64)\b|usize|Option|Some\(|\.memory|\d{5,}(KiB|MiB|B)\b"
    r"|\{ |int too (big|large)|can't convert negative|'[a-zA-Z]+' object cannot be|Sides|Box<"
)


def loader(shards, **words):
    return tarflume.Loader(shards, **({"batch_size": 8, "image": tarflume.Resize(16)} | words))


WRONG = {
    "an epoch below 0": (lambda s: loader(s).epoch(-1), "epoch -1: epochs are counted from 0"),
    "an epoch in words": (lambda s: loader(s).epoch("two"), "epoch 'two': epochs are counted from 0"),
    "a ledger of an epoch below 0": (lambda s: loader(s).expected(-3), "epoch -3: epochs"),
    "a size below 0": (lambda s: tarflume.Resize(-1), "a size is a number of pixels for a square, or (height, width), not -1"),
    "three sides": (lambda s: tarflume.RandomResizedCrop((1, 2, 3)), "not (1, 2, 3)"),
    "a size in words": (lambda s: tarflume.CenterCrop("224"), "not '224'"),
    "a side below 0": (lambda s: tarflume.ResizeCenterCrop(-256, 224), "a whole number, 0 or more, is needed, not -256"),
    "pixels that are no number": (lambda s: tarflume.OriginalSize(1.5), "is needed, not 1.5"),
    "a shorter side that is too large": (lambda s: tarflume.Resize(shorter=1 << 40), "a smaller number is needed, not 1099511627776"),
    "a shape below 0": (lambda s: tarflume.Raw("jpg", shape=[-2]), "is needed, not -2"),
    "a batch below 0": (lambda s: loader(s, batch_size=-8), "batch_size= takes a whole number, 0 or more, not -8"),
    "a rank that does not exist": (lambda s: loader(s, rank=2, world_size=2), "rank 2 of 2 does not exist"),
    "threads below 0": (lambda s: loader(s, num_threads=-1), "num_threads= takes"),
    "no thread": (lambda s: loader(s, num_threads=0), "leave num_threads= out"),
    "too little memory": (lambda s: loader(s, memory_limit="1MiB", batch_size=64), "give memory_limit= at least"),
    "a batch of gigabytes": (
        lambda s: loader(s, batch_size=90, image=tarflume.Resize(20_000)), "give memory_limit= at least"),
    "a class that does not fit": (
        lambda s: list(loader(s, label=tarflume.Json("/n", dtype="bool"))), "is outside the range of bool"),
    "a limit below 0": (lambda s: tarflume.pack.build(s, "x", limit=-1), "is needed, not -1"),
    "samples below 0": (lambda s: tarflume.ShardWriter("x", max_samples=-1), "is needed, not -1"),
    "a path to diagnose": (lambda s: tarflume.diagnose("shards/"), "diagnose(tarflume.Loader('shards/'"),
    "nothing to diagnose": (lambda s: tarflume.diagnose(3), "not int"),
    "tarflume.torch": (lambda s: importlib.import_module("tarflume.torch").Loader(s, batch_size=8).set_epoch(-1), "epoch -1"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_answered_in_plain_words(shards, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    work, text = WRONG[name]
    with pytest.raises(tarflume.Error) as caught:
        work(shards)
    assert text in str(caught.value)
    assert not RUST.search(str(caught.value)), caught.value
    # What can't be asked for is a ValueError; what does not fit and what a sample holds are not.
    assert isinstance(caught.value, (ValueError, errors.LimitError, errors.DecodeError))


def test_sizes_in_errors_are_short_and_can_be_typed(shards):
    with pytest.raises(errors.LimitError) as caught:
        loader(shards, batch_size=90, image=tarflume.Resize(20_000))
    sizes = re.findall(r"\d[\d.]*(?:B|KiB|MiB|GiB|TiB)\b", str(caught.value))
    assert len(sizes) == 3 and all(len(size) <= 8 for size in sizes), caught.value
    asked = re.search(r"at least (\S+?),", str(caught.value))
    assert asked is not None and asked[1].endswith("GiB")


def test_objects_are_written_as_they_are_made(shards):
    for made in (tarflume.Resize((3, 4)), tarflume.OriginalSize(5), tarflume.RandomResizedCrop(7, flip=0.5)):
        assert not RUST.search(repr(made)) and repr(eval(repr(made))) == repr(made)
    text = "Loader(100 samples an epoch, rank 1 of 2; batches of 8, shuffle none, columns image)"
    assert repr(loader(shards, rank=1, world_size=2)) == text


def cut(shards, folder) -> pathlib.Path:
    """A shard without its last bytes, and its sidecar."""
    shutil.copytree(shards, folder)
    tar = sorted(folder.glob("*.tar"))[0]
    tar.write_bytes(tar.read_bytes()[:-3000])
    return tar


def test_a_missing_file_is_a_file_not_found_error(shards, tmp_path):
    missing = tmp_path / "none" / "shards"
    for work in (lambda: tarflume.Loader(missing, batch_size=1), lambda: tarflume.Dataset(f"{missing}/x.tar"),
                 lambda: list(wds.WebDataset(f"{missing}/x.tar", shardshuffle=False)),
                 lambda: tarflume.pack.build(missing, tmp_path / "out"), lambda: tarflume.pack.verify(missing),
                 lambda: tarflume.pack.index(missing)):  # fmt: skip
        with pytest.raises(FileNotFoundError) as caught:
            work()
        error = caught.value
        assert isinstance(error, errors.MissingFileError) and error.errno == errno.ENOENT
        assert str(missing) in str(error) and str(error.filename).startswith(str(missing))
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.errno, again.filename) == (
            type(error), str(error), error.errno, error.filename)  # fmt: skip
    shutil.copytree(shards, tmp_path / "copy")
    gone = sorted((tmp_path / "copy").glob("*.tar"))[1]
    gone.unlink()
    with pytest.raises(FileNotFoundError) as caught:
        list(tarflume.Loader(tmp_path / "copy", batch_size=1))
    assert caught.value.filename == str(gone)


def test_what_may_not_be_read_is_a_permission_error():
    error = errors.PermissionDeniedError("x: cannot open", path="x", errno=errno.EACCES)
    assert isinstance(error, (PermissionError)) and isinstance(error, errors.ReadError)
    assert (error.errno, error.strerror, error.filename, str(error)) == (13, "Permission denied", "x", "x: cannot open")


def test_an_error_of_the_machine_has_its_number(shards):
    """Too few open files, in a process whose limit is low."""
    code = """if True:
        import resource, sys
        import tarflume
        held = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        try:
            while True:
                held.append(open("/dev/null"))
        except OSError:
            pass
        try:
            tarflume.Dataset(sys.argv[1])
        except tarflume.errors.ReadError as error:
            print(error.errno, error.strerror)
    """
    done = subprocess.run([sys.executable, "-c", code, str(shards)], capture_output=True, text=True, check=False)
    assert done.stdout == f"{errno.EMFILE} Too many open files\n", done.stderr


def test_a_missing_part_is_a_key_error(shards, tmp_path):
    pairs = tmp_path / "pairs"
    pairs.mkdir()
    for n in range(4):
        (pairs / f"{n}.txt").write_text(str(n))
        if n != 2:
            (pairs / f"{n}.cls").write_text(str(n))
    pack("build", pairs, "-o", tmp_path / "shards", "--require", "txt")
    with pytest.raises(KeyError, match="2") as caught:
        list(tarflume.Loader(tmp_path / "shards", batch_size=4, label="cls"))
    assert isinstance(caught.value, errors.MissingPartError) and caught.value.key == "2"
    assert not str(caught.value).startswith(("'", '"'))  # KeyError would show the text's repr
    tars = sorted(map(str, (tmp_path / "shards").glob("*.tar")))
    for stage in ("to_tuple", "rename"):
        data = wds.WebDataset(tars, shardshuffle=False)
        data = data.to_tuple("jpg") if stage == "to_tuple" else data.rename(image="jpg")
        for kind in (KeyError, ValueError):  # webdataset's is a ValueError
            with pytest.raises(kind, match="jpg"):
                list(data)


def test_a_cut_tar_is_tarfiles_read_error(shards, tmp_path):
    tar = cut(shards, tmp_path / "cut")
    for work in (lambda: list(tarflume.Loader(tar.parent, batch_size=1)), lambda: tarflume.Dataset(tar)[0]):
        with pytest.raises(tarfile.ReadError) as caught:
            work()
        assert isinstance(caught.value, errors.StaleError) and str(tar.with_suffix("")) in str(caught.value)
    for work in (lambda: list(wds.WebDataset(str(tar), shardshuffle=False)),
                 lambda: list(wds.tariterators.tar_file_expander(wds.tariterators.url_opener([{"url": str(tar)}])))):  # fmt: skip
        with pytest.raises(tarfile.ReadError) as caught:
            work()
        assert isinstance(caught.value, errors.TruncatedError) and str(tar) in str(caught.value)
    with pytest.raises(tarfile.ReadError):
        list(wds.tariterators.tar_file_iterator(io.BytesIO(b"no tar" * 200)))


PUBLIC = ["", ".errors", ".grain", ".huggingface", ".metrics", ".pack", ".timm", ".torch", ".transforms", ".webdataset"]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_module_offers_its_public_names_alone(name):
    module = importlib.import_module(f"tarflume{name}")
    offered = set(dir(module))
    modules = {"dlio", "grain", "huggingface", "metrics", "timm", "torch", "transforms", "webdataset"} if name == "" else set()
    assert set(module.__all__) <= offered <= set(module.__all__) | modules
    assert not [word for word in offered if word.startswith("_") and word != "__version__"]
    assert offered.isdisjoint({"os", "sys", "signal", "Any", "annotations", "TYPE_CHECKING"})
    assert all(hasattr(module, word) for word in offered)
