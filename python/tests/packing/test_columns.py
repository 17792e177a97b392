"""Typed columns of sidecars: labels, weights and tables without JSON."""

from __future__ import annotations

import json

import pytest

import tarflume
from conftest import pack

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

COLUMNS = {"class": "u32", "split": "str", "ok": "bool", "score": "f64", "width": "u16", "cap": "txt:str"}


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """The same 50 samples with and without typed columns."""
    root = tmp_path_factory.mktemp("columns")
    (root / "pairs").mkdir()
    for n in range(50):
        row = {"class": n % 7, "split": "val" if n % 5 == 0 else "train", "ok": n % 2 == 0, "width": n}
        row |= {} if n % 3 == 0 else {"score": n / 3}
        (root / "pairs" / f"{n:02}.json").write_text(json.dumps(row))
        (root / "pairs" / f"{n:02}.txt").write_text("é" * (n % 4 + 1))
    pack("build", root / "pairs", "-o", root / "plain", "--shards", 3, "--require", "json")
    tarflume.pack.build(root / "pairs", root / "typed", shards=3, require="json", columns=COLUMNS)
    return root


def test_a_table_has_the_typed_columns(sets):
    table = pa.table(tarflume.Dataset(sets / "typed").table())
    table.validate(full=True)
    assert table.column_names[8:] == ["json_bytes", "txt_bytes", "class", "split", "ok", "score", "json_width", "cap"]
    types = {name: str(table.schema.field(name).type) for name in table.column_names[10:]}
    assert types == {"class": "uint32", "split": "large_string", "ok": "bool", "score": "double",
                     "json_width": "uint16", "cap": "large_string"}  # fmt: skip
    for n, row in enumerate(table.to_pylist()):
        assert (row["class"], row["split"], row["ok"]) == (n % 7, "val" if n % 5 == 0 else "train", n % 2 == 0)
        assert (row["score"], row["json_width"], row["cap"]) == (None if n % 3 == 0 else n / 3, n, "é" * (n % 4 + 1))


def test_a_query_of_typed_columns_is_an_epoch(sets):
    samples = tarflume.Dataset(sets / "typed").table()
    chosen = duckdb.sql("select ordinal from samples where split = 'train' and class < 3 and ok")
    loader = tarflume.Loader(sets / "typed", select=chosen, batch_size=5, shuffle="full", seed=1, label="/width")
    found = sorted(n for batch in loader.epoch(0) for n in batch["label"].tolist())
    assert found == [n for n in range(50) if n % 5 and n % 7 < 3 and n % 2 == 0]


def test_orders_and_rows_do_not_depend_on_typed_columns(sets):
    def rows(name, **words):
        loader = tarflume.Loader(sets / name, batch_size=8, shuffle="full", seed=3, label="/class", **words)
        return [batch["label"].tolist() for batch in loader.epoch(2)]

    assert rows("typed") == rows("plain")
    assert rows("typed", weights="/class") == rows("plain", weights="/class")


def test_index_and_reshard_take_columns(sets, tmp_path):
    tarflume.pack.reshard(sets / "plain", tmp_path / "one", columns={"class": "u8"})
    assert pa.table(tarflume.Dataset(tmp_path / "one").table())["class"].to_pylist() == [n % 7 for n in range(50)]
    tarflume.pack.index(tmp_path / "one", columns="width:u8")
    assert "json_width" in tarflume.Dataset(tmp_path / "one").table().column_names
    with pytest.raises(tarflume.errors.UsageError, match="NAME:TYPE"):
        tarflume.pack.build(sets / "pairs", tmp_path / "no", columns="class")
    with pytest.raises(tarflume.errors.UsageError, match="headers"):
        tarflume.pack.index(tmp_path / "one", columns="width:u8", headers=True)


def test_a_shard_writer_takes_columns(tmp_path):
    with tarflume.ShardWriter(tmp_path / "made", max_samples=4, columns={"class": "u8", "cap": "txt:str"}) as writer:
        for n in range(10):
            writer.write({"__key__": f"{n:02}", "json": {"class": n}, "txt": "é" * n or "none"})
        with pytest.raises(tarflume.errors.PackError, match="column 'class': 300 is outside") as raised:
            writer.write({"__key__": "bad", "json": {"class": 300}})
        assert raised.value.key == "bad"
    table = pa.table(tarflume.Dataset(tmp_path / "made").table())
    assert table["class"].to_pylist() == list(range(10))
    assert table["cap"].to_pylist() == ["é" * n or "none" for n in range(10)]
    tarflume.pack.verify(tmp_path / "made")
    with pytest.raises(tarflume.errors.UsageError, match="NAME:TYPE"):
        tarflume.ShardWriter(tmp_path / "no", columns="class")
