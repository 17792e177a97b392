"""Index files of `pack index --export` beside those of the readers' own tools, for tars of many programs.

Where a tool is wrong, the test states both values: DALI's `wds2idx` places GNU long names 1,024 bytes early.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys

import pytest

from conftest import ROOT, pack

GOLDEN = sorted((ROOT / "fixtures" / "golden").glob("*.tar"))
WDS2IDX = pathlib.Path(sys.executable).with_name("wds2idx")


def copied(tar: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    folder.mkdir(exist_ok=True)
    return pathlib.Path(shutil.copy(tar, folder / tar.name))


def exported(folder: pathlib.Path, *formats: str) -> None:
    pack("index", "-q", "--export", ",".join(formats), folder)


@pytest.mark.parametrize("tar", GOLDEN, ids=lambda tar: tar.stem)
def test_hfutils_makes_the_same_bytes(tar, tmp_path):
    from hfutils.index import tar_create_index

    ours, theirs = copied(tar, tmp_path / "ours"), copied(tar, tmp_path / "theirs")
    exported(ours.parent, "hfutils")
    tar_create_index(str(theirs), silent=True)
    assert ours.with_suffix(".json").read_bytes() == theirs.with_suffix(".json").read_bytes()


@pytest.mark.parametrize("tar", GOLDEN, ids=lambda tar: tar.stem)
def test_energon_makes_the_same_files(tar, tmp_path):
    ours, theirs = copied(tar, tmp_path / "ours"), copied(tar, tmp_path / "theirs")
    exported(ours.parent, "energon")
    tool = pathlib.Path(sys.executable).with_name("energon")
    words = ["--non-interactive", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset"]
    subprocess.run([tool, "prepare", theirs.parent, *words], check=True, capture_output=True)
    assert ours.with_suffix(".tar.idx").read_bytes() == theirs.with_suffix(".tar.idx").read_bytes()
    info = ".nv-meta/.info.json"
    assert (ours.parent / info).read_bytes() == (theirs.parent / info).read_bytes()

    def rows(folder: pathlib.Path) -> list[object]:
        database = sqlite3.connect(folder / ".nv-meta" / "index.sqlite")
        tables = [database.execute(f"SELECT * FROM {table}").fetchall() for table in ("samples", "sample_parts")]
        schema = database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()
        plain = [(*row[:3], " ".join((row[3] or "").split()).replace("( ", "(").replace(" )", ")")) for row in schema]
        return [tables, plain]

    assert rows(ours.parent) == rows(theirs.parent)


def test_wids_makes_the_same_shard_list(tmp_path):
    pytest.importorskip("wids")
    tars = [copied(tar, tmp_path / "ours") for tar in GOLDEN if tar.stem in ("python-ustar", "gnutar-ustar", "gnutar-v7")]
    exported(tmp_path / "ours", "wids")
    out = tmp_path / "theirs.json"
    words = ["create", "--name", "ours", "--output", out, *tars]
    subprocess.run([sys.executable, "-m", "wids.wids_index", *words], check=True, capture_output=True)
    theirs = json.loads(out.read_text())
    for shard in theirs["shardlist"]:
        shard["url"] = pathlib.Path(shard["url"]).name
    assert (tmp_path / "ours" / "shardindex.json").read_text() == json.dumps(theirs, indent=2)


@pytest.mark.parametrize("tar", GOLDEN, ids=lambda tar: tar.stem)
def test_wds2idx_makes_the_same_bytes_where_it_is_right(tar, tmp_path):
    ours = copied(tar, tmp_path / "ours")
    exported(ours.parent, "dali")
    found = ours.with_suffix(".idx").read_text()
    theirs = tmp_path / "theirs.idx"
    done = subprocess.run([sys.executable, WDS2IDX, tar, theirs], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    long_names = any(len(word) > 100 for word in found.split())
    if tar.stem in ("gnutar-gnu", "gnutar-oldgnu", "python-gnu") and long_names:
        pairs = [(a.split(), b.split()) for a, b in zip(found.splitlines(), theirs.read_text().splitlines(), strict=True)]
        early = [int(a[n]) - int(b[n]) for a, b in pairs[1:] for n in range(1, len(a), 4)]
        assert set(early) == {0, 1024}, "the offsets of GNU long names have changed: compare them"
        return
    assert found == theirs.read_text()


@pytest.mark.parametrize("tar", GOLDEN, ids=lambda tar: tar.stem)
def test_dali_reads_every_part_with_our_index(tar, tmp_path):
    import tarfile

    from nvidia import dali

    ours = copied(tar, tmp_path / "ours")
    exported(ours.parent, "dali")

    @dali.pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        jpg, text = dali.fn.readers.webdataset(
            paths=[str(ours)], index_paths=[str(ours.with_suffix(".idx"))], ext=["jpg", "json"], name="reader",
            missing_component_behavior="error",
        )  # fmt: skip
        return jpg, text

    made = pipeline()
    made.build()
    with tarfile.open(tar) as members:
        files = {member.name: members.extractfile(member).read() for member in members if member.isfile()}
    keys = [name.removesuffix(".jpg") for name in files if name.endswith(".jpg")]
    assert made.epoch_size("reader") == len(keys)
    seen = []
    for _ in keys:
        jpg, text = (bytes(column.at(0)) for column in made.run())
        seen.append((jpg, text))
    assert sorted(seen) == sorted((files[f"{key}.jpg"], files[f"{key}.json"]) for key in keys)
