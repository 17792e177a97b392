"""JSON that only Python reads, and numbers that types do not hold: the rules and options of the package."""

from __future__ import annotations

import json
import math
import pathlib

import pytest
import tarflume
from conftest import picture
from tarflume.webdataset import TarWriter


def packed(root: pathlib.Path, text: str, **options: object) -> pathlib.Path:
    """A data set of one sample with this JSON."""
    (root / "src").mkdir()
    (root / "src" / "a.json").write_text(text)
    (root / "src" / "a.txt").write_text("a")
    tarflume.pack.build(root / "src", root / "out", require="json", progress=False, **options)
    return root / "out"


def row(folder: pathlib.Path, column: tarflume.Json) -> object:
    loader = tarflume.Loader(folder, batch_size=1, columns={"x": column})
    return next(iter(loader))["x"][0]


def test_rules_of_python_give_its_values(tmp_path):
    text = json.dumps({"nan": math.nan, "least": -math.inf, "caption": "cut \ud83d", "n": 3})
    with pytest.raises(tarflume.errors.PackError, match="NaN"):
        packed(tmp_path, text)
    out = tmp_path / "python"
    tarflume.pack.build(
        tmp_path / "src", out, require="json", json_rules="python", columns={"nan": "f64"}, progress=False
    )
    assert tarflume.pack.verify(out, level="decode", progress=False).whole
    assert not tarflume.pack.verify(out, level="decode", json_rules="strict", progress=False).whole
    assert math.isnan(row(out, tarflume.Json("/nan", dtype="float64", rules="python")))
    assert row(out, tarflume.Json("/least", dtype="float32", rules="python")) == -math.inf
    assert row(out, tarflume.Json("/caption", text=True, rules="python")) == "cut \ufffd"
    for pointer in ["/nan", "/n"]:
        with pytest.raises(tarflume.errors.Error, match='rules="python"'):
            row(out, tarflume.Json(pointer, dtype="float64"))
    with pytest.raises(tarflume.errors.UsageError, match="strict"):
        tarflume.Json("/n", rules="lax")


def test_numbers_keep_their_value_or_are_refused(tmp_path):
    out = packed(tmp_path, '{"id": 18446744073709551616, "n": 16777217}')
    with pytest.raises(tarflume.errors.PackError, match='numbers="text".*json="text"'):
        tarflume.pack.export(out, tmp_path / "a.csv", to="csv", progress=False)
    tarflume.pack.export(out, tmp_path / "b.csv", to="csv", numbers="text", progress=False)
    assert "18446744073709551616" in (tmp_path / "b.csv").read_text()
    assert row(out, tarflume.Json("/n", dtype="float64")) == 16777217.0
    with pytest.raises(tarflume.errors.Error, match="would be rounded in float32"):
        row(out, tarflume.Json("/n", dtype="float32"))


def test_empty_files_are_kept_by_extension(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.json").write_text("{}")
    (tmp_path / "src" / "a.txt").write_text("")
    with pytest.raises(tarflume.errors.PackError, match='keep_empty="txt"'):
        tarflume.pack.build(tmp_path / "src", tmp_path / "no", require="json", progress=False)
    for name, given in {"list": ["txt"], "text": "txt"}.items():
        built = tarflume.pack.build(tmp_path / "src", tmp_path / name, require="json", keep_empty=given, progress=False)
        assert built["samples"] == 1
        assert row(tmp_path / name, tarflume.Text("txt")) == ""


def test_a_writer_takes_what_its_rules_accept_and_records_them(tmp_path):
    value = {"nan": math.nan, "caption": "cut \ud83d", "name": "Zoë"}
    with tarflume.ShardWriter(tmp_path / "strict", columns={"nan": "f64"}) as writer:
        for part in [{"nan": math.nan}, {"caption": "cut \ud83d"}]:
            with pytest.raises(tarflume.errors.UsageError, match='json_rules="python"'):
                writer.write({"__key__": "a", "json": part})
        with pytest.raises(tarflume.errors.PackError, match='json_rules="python"') as caught:
            writer.write({"__key__": "a", "json": '{"nan": NaN}'})
        assert caught.value.problems[0]["kind"] == "bad-json"
        loop: list[object] = []
        loop.append(loop)
        with pytest.raises(tarflume.errors.UsageError, match="Circular reference detected$"):
            writer.write({"__key__": "a", "json": {"a": loop}})
        writer.write({"__key__": "b", "json": {"nan": 1}})
    assert "json_rules" not in writer.manifest
    with tarflume.ShardWriter(tmp_path / "python", json_rules="python", columns={"nan": "f64"}) as writer:
        writer.write({"__key__": "a", "json": value})
        writer.write({"__key__": "b", "json": json.dumps(value)})
    assert writer.manifest["json_rules"] == "python"
    for level in ["quick", "full", "decode"]:
        assert tarflume.pack.verify(tmp_path / "python", level=level, progress=False).whole
    assert not tarflume.pack.verify(tmp_path / "python", level="decode", json_rules="strict", progress=False).whole
    for sample in tarflume.Dataset(tmp_path / "python"):
        assert json.loads(sample["json"])["name"] == "Zoë" and math.isnan(json.loads(sample["json"])["nan"])
    tarflume.pack.reshard(tmp_path / "python", tmp_path / "again", progress=False)
    # Later builds follow the rules.
    (tmp_path / "more").mkdir()
    picture(1).save(tmp_path / "more" / "c.jpg")
    (tmp_path / "more" / "c.json").write_text(json.dumps(value))
    assert tarflume.pack.append(tmp_path / "more", tmp_path / "python", progress=False)["samples"] == 3
    with pytest.raises(tarflume.errors.PackError, match="NaN"):
        tarflume.pack.append(tmp_path / "more", tmp_path / "strict", progress=False)
    with pytest.raises(tarflume.errors.UsageError, match="json_rules"):
        tarflume.ShardWriter(tmp_path / "lax", json_rules="lax")


def test_an_index_records_the_rules_by_which_it_has_read(tmp_path):
    (tmp_path / "t").mkdir()
    with TarWriter(tmp_path / "t" / "a.tar") as writer:
        writer.write({"__key__": "a", "json": {"nan": math.nan}})
    tarflume.pack.index(tmp_path / "t", json_rules="python", columns={"nan": "f64"}, progress=False)
    for level in ["quick", "full", "decode"]:
        assert tarflume.pack.verify(tmp_path / "t", level=level, progress=False).whole
    # Rules that accept more are recorded later, too.
    (tmp_path / "t" / "a.index").unlink()
    (tmp_path / "t" / "dataset.json").unlink()
    tarflume.pack.index(tmp_path / "t", progress=False)
    assert not tarflume.pack.verify(tmp_path / "t", level="decode", progress=False).whole
    tarflume.pack.index(tmp_path / "t", json_rules="python", progress=False)
    assert tarflume.pack.verify(tmp_path / "t", level="decode", progress=False).whole
