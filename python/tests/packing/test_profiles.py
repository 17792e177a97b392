"""`pack verify --profile` names what webdataset and Hugging Face datasets really do differently, and nothing else."""

from __future__ import annotations

import io
import json
import pathlib
import subprocess
import tarfile

import pytest

from conftest import PACK

# Names in a tar, and the samples that somebody means by them: key to parts.
CASES = {
    "ordinary": (["000.jpg", "000.json", "001.jpg", "001.json"], {"000": ["jpg", "json"], "001": ["jpg", "json"]}),
    "second dot": (["000.jpg", "000.seg.png"], {"000": ["jpg", "seg.png"]}),
    "number after a dot": (["img.001.jpg", "img.002.jpg"], {"img.001": ["jpg"], "img.002": ["jpg"]}),
    "upper case": (["000.JPG", "000.json"], {"000": ["jpg", "json"]}),
    "final dot": (["a.", "a.json"], {"a": ["json"], "a.": []}),
    "no extension": (["a.jpg", "noext", "a.json"], {"a": ["jpg", "json"], "noext": []}),
    "hidden": (["a.jpg", ".hid.jpg", "a.json"], {"a": ["jpg", "json"], ".hid": ["jpg"]}),
    "hidden in a folder": (["d/a.jpg", "d/.hid.jpg", "d/a.json"], {"d/a": ["jpg", "json"], "d/.hid": ["jpg"]}),
    "reserved stem": (["__meta__.json", "a.json"], {"__meta__": ["json"], "a": ["json"]}),
    "reserved folder": (["__meta__/a.json", "b.json"], {"__meta__/a": ["json"], "b": ["json"]}),
    "blank": (["a b.jpg"], {"a b": ["jpg"]}),
    "twice": (["a.jpg", "a.jpg"], {"a": ["jpg", "jpg"]}),
    "twice but for case": (["a.jpg", "a.JPG"], {"a": ["jpg", "jpg"]}),
    "in pieces": (["a.jpg", "b.jpg", "a.json", "b.json"], {"a": ["jpg", "json"], "b": ["jpg", "json"]}),
    "folders": (["x/a.jpg", "y/a.jpg"], {"x/a": ["jpg"], "y/a": ["jpg"]}),
    "other parts": (["a.jpg", "b.jpg", "b.txt"], {"a": ["jpg"], "b": ["jpg", "txt"]}),
}


def read_by_webdataset(tar: pathlib.Path) -> list[dict[str, object]]:
    webdataset = pytest.importorskip("webdataset")
    return list(webdataset.WebDataset(str(tar), shardshuffle=False))


def read_by_hf(tar: pathlib.Path) -> list[dict[str, object]]:
    datasets = pytest.importorskip("datasets")
    made = datasets.load_dataset("webdataset", data_files=str(tar), split="train", streaming=True)
    rows = made.decode(False) if hasattr(made, "decode") else made
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


READERS = {"webdataset": read_by_webdataset, "hf": read_by_hf}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("case", CASES)
def test_a_profile_reports_what_the_reader_does_differently(case, reader, tmp_path):
    names, meant = CASES[case]
    tar = tmp_path / "a.tar"
    tar.write_bytes(tar_of(names))
    assert_told_if_different(reader, tar, meant)


@pytest.mark.parametrize("reader", READERS)
def test_a_profile_reports_files_behind_the_first_end_marker(reader, tmp_path):
    tar = tmp_path / "a.tar"
    tar.write_bytes(tar_of(["a.json"]) + tar_of(["b.json"]))
    told = assert_told_if_different(reader, tar, {"a": ["json"], "b": ["json"]})
    assert len(told) == 1 and "b.json: it is behind an end marker" in told[0], told


def tar_of(names: list[str]) -> bytes:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as out:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 2
            out.addfile(member, io.BytesIO(b"{}"))
    return tar.getvalue()


def assert_told_if_different(reader: str, tar: pathlib.Path, meant: dict[str, list[str]]) -> list[str]:
    """Compares what the profile reports with what the reader delivers, and returns the report."""
    command = [PACK, "verify", "--level", "quick", "--profile", reader, "--format", "json", str(tar)]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    told = [problem["reason"] for problem in report["problems"] if problem["kind"] == "misread"]
    try:
        rows = READERS[reader](tar)
        found = [(row["__key__"], sorted(name for name in row if not name.startswith("__"))) for row in rows]
    except ValueError as error:
        found = [("error", [str(error)])]
    wanted = [(key, sorted(parts)) for key, parts in meant.items()]
    assert bool(told) == (sorted(found) != sorted(wanted)), (told, found)
    return told
