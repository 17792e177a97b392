"""Lists of problems in the words of Python: reasons name keywords and calls of `tarflume.pack`, and no options of the command."""

from __future__ import annotations

import inspect
import json
import pathlib
import re
import shutil
import tarfile

from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

import tarflume
from tarflume import errors, pack

FUNCTIONS = (pack.build, pack.append, pack.reshard, pack.verify, pack.index, pack.tokens, pack.export)
#: The keywords of each, by its name.
PARAMETERS = {function.__name__: set(inspect.signature(function).parameters) for function in FUNCTIONS}

#: A keyword with its value: a number, a text in quotes, True, False or a dict.
KEYWORD = re.compile(r"\b([a-z_]+)=(?=[\"\d{]|True|False)")
#: A call that a reason advises.
CALL = re.compile(r"tarflume\.pack\.([a-z]+)(?:\((.*?)\)`)?")


def texts(found: Any) -> Iterator[str]:
    """All texts of a report or a list, but for paths and keys, which are the user's."""
    if isinstance(found, dict):
        for name, value in found.items():
            if name not in ("path", "key"):
                yield from texts(value)
    elif isinstance(found, list):
        for value in found:
            yield from texts(value)
    elif isinstance(found, str):
        yield found


def check(found: Any) -> str:
    """Checks all texts; returns them as one."""
    told = "\n".join(texts(found))
    assert "--" not in told, told
    # "to pack what it points to" is no command.
    assert not re.search(r"`pack |\bpack (build|append|reshard|index|verify|tokens|export)\b", told), told
    unknown = set(KEYWORD.findall(told)) - set().union(*PARAMETERS.values())
    assert not unknown, f"{unknown}: {told}"
    for name, arguments in CALL.findall(told):
        missing = set(KEYWORD.findall(arguments)) - PARAMETERS[name]
        assert not missing, f"{name} has no {missing}: {told}"
    return told


def raised(error: errors.PackError) -> str:
    """Checks the text of an exception and its list, which has the same words."""
    check(str(error))
    assert error.problems
    return check(error.problems)


def sample(folder: pathlib.Path, name: str, kind: str = "JPEG", part: str = "jpg") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (16, 16)).save(folder / f"{name}.{part}", kind)
    (folder / f"{name}.json").write_text(json.dumps({"label": 1}))


@pytest.fixture
def flawed(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with problems of names, of files and of contents, and a good sample."""
    folder = tmp_path / "flawed"
    for name in ("good", "space in it", "a.b", "Case", "case"):
        sample(folder, name)
    sample(folder, "other", "PNG")
    sample(folder, "several")
    Image.new("RGB", (16, 16)).save(folder / "several.png")
    Image.new("RGB", (16, 16)).save(folder / "lonely.jpg")
    sample(folder, "empty")
    (folder / "empty.json").write_bytes(b"")
    (folder / "link.jpg").symlink_to(folder / "good.jpg")
    return folder


def test_problems_of_packing_name_keywords(flawed, tmp_path):
    with pytest.raises(errors.PackError) as caught:
        pack.build(flawed, tmp_path / "refused")
    told = raised(caught.value)
    for words in ('keep_empty="json"', 'names="dot=replace"', "require"):
        assert words in told, told
    assert check(pack.build(flawed, tmp_path / "planned", dry_run=True)["problems"])
    built = pack.build(flawed, tmp_path / "skipped", on_problem="skip", names="dot=replace,case=replace")
    told = check(built["problems"])
    assert "tarflume.pack.build(ext_by_content=True)" in told and 'keep_empty="json"' in told, told
    # The command writes its own words to the disk.
    stored = (tmp_path / "skipped" / "problems.jsonl").read_text()
    assert "--keep-empty json" in stored and "`pack build --ext-by-content`" in stored


def test_problems_of_a_writer_name_keywords(tmp_path):
    with tarflume.ShardWriter(tmp_path / "written") as writer:
        writer.write({"__key__": "0", "txt": b"x"})
        for key, part in (("a.b", {"txt": b"x"}), ("1", {"jpg": b"\x89PNG\r\n\x1a\n" + bytes(20)}), ("2", {"txt": b""})):
            with pytest.raises(errors.PackError) as caught:
                writer.write({"__key__": key, **part})
            raised(caught.value)


def test_reports_of_a_verification_name_keywords(shards, tmp_path):
    copy = shutil.copytree(shards, tmp_path / "copy")
    first, second, third, last = sorted(copy.glob("*.tar"))
    pack.index(copy, headers=True, force=True)
    report = pack.verify(copy)
    told = check(dict(report))
    assert "require_checksums" in told and "tarflume.pack.index(DIR, force=True)" in told, told
    assert check(str(report)).count("tarflume.pack.index") == told.count("tarflume.pack.index")
    strict = pack.verify(copy, require_checksums=True)
    assert "no-checksum" in strict["counts"] and check(dict(strict)) and check(str(strict))

    # A tar that the manifest does not list, joined tars, one that is cut, a sidecar that is gone, and nothing.
    shutil.copy(first, copy / "zz.tar")
    first.write_bytes(first.read_bytes() + second.read_bytes())
    third.write_bytes(third.read_bytes()[:-3000])
    last.with_suffix(".index").unlink()
    (tmp_path / "nothing").mkdir()
    report = pack.verify([copy, tmp_path / "nothing"], require=["jpg", "png"])
    told = check(dict(report))
    assert report["unchecked"] and len(report["counts"]) >= 4, report
    assert "tarflume.pack.index(" in told and "ignore_zeros=True" in told, told
    assert check(str(report))


def test_failures_of_indexing_name_keywords(shards, tmp_path):
    first, second = sorted(shards.glob("*.tar"))[:2]
    (tmp_path / "joined").mkdir()
    joined = tmp_path / "joined" / "joined.tar"
    joined.write_bytes(first.read_bytes() + second.read_bytes())
    cut = tmp_path / "joined" / "cut.tar"
    with tarfile.open(cut, "w") as tar:
        tar.add(first, "0.bin")
    cut.write_bytes(cut.read_bytes()[:-10240].rstrip(b"\0").ljust(512 * 200, b"\0"))
    with pytest.raises(errors.PackError) as caught:
        pack.index(tmp_path / "joined")
    assert "ignore_zeros=True" in raised(caught.value)
    joined.with_suffix(".index").unlink(missing_ok=True)
    done = pack.index(joined, ignore_zeros=True)
    told = check([tar["warnings"] for tar in done["tars"]])
    assert "tarflume.pack.reshard(ignore_zeros=True)" in told, told


def test_bad_samples_of_a_loader_name_calls(shards, tmp_path):
    copy = shutil.copytree(shards, tmp_path / "copy")
    tar = sorted(copy.glob("*.tar"))[0]
    data = bytearray(tar.read_bytes())
    at = data.index(b'"class"')
    data[at + 1 : at + 6] = b"clasp"
    tar.write_bytes(data)
    with tarflume.Loader(copy, batch_size=4, columns={"json": tarflume.Raw("json")}, on_bad="skip", bad_budget=9) as loader:
        for _ in loader.epoch(0):
            pass
        found = loader.bad_samples()
    assert len(found) == 1 and "`tarflume.pack.verify` tells which" in check(found), found
