"""Samples as tables: out to other libraries, and back as the samples of an epoch."""

from __future__ import annotations

import gc
import json
import pickle

import numpy as np
import pytest

import tarflume
from conftest import n_of, pack, picture
from tarflume import errors

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")
duckdb = pytest.importorskip("duckdb")


def loader(shards, **settings):
    return tarflume.Loader(shards, **({"batch_size": 8, "label": "/n"} | settings))


def numbers(ours, epoch=0):
    return [n for batch in ours.epoch(epoch) for n in batch["label"].tolist()]


def test_a_table_has_what_the_sidecars_know(shards):
    data = tarflume.Dataset(shards)
    table = pa.table(data.table())
    assert table.column_names == data.table().column_names == [
        "ordinal", "key", "shard", "row", "offset", "bytes", "width", "height", "jpg_bytes", "json_bytes"]  # fmt: skip
    rows = table.to_pylist()
    assert len(rows) == len(data.table()) == 100 and [row["ordinal"] for row in rows] == list(range(100))
    for n, row in enumerate(rows):
        sample = data[n]
        assert (row["key"], row["jpg_bytes"], row["json_bytes"]) == (f"{n:04}", len(sample["jpg"]), len(sample["json"]))
        assert row["bytes"] == len(sample["jpg"]) + len(sample["json"])
        assert (row["width"], row["height"]) == picture(n).size
    starts = np.cumsum([0] + [len(tarflume.Dataset(shard)) for shard in data.shards])
    assert all(row["ordinal"] == starts[row["shard"]] + row["row"] for row in rows)
    tar = data.shards[rows[50]["shard"]].read_bytes()
    assert tar[rows[50]["offset"]:].startswith(b"0050.")
    assert table.schema == pa.schema(data.table()) == pa.table(data).schema
    table.validate(full=True)


def test_every_library_takes_the_table_more_than_once(shards):
    samples = tarflume.Dataset(shards).table()
    assert pl.DataFrame(samples).equals(pl.DataFrame(samples)) and pl.DataFrame(samples)["width"].dtype == pl.Int32
    assert duckdb.sql("select count(*), max(ordinal) from samples").fetchall() == [(100, 99)]
    assert duckdb.sql("select sum(jpg_bytes) from samples where width >= 66").fetchall()[0][0] == sum(
        row["jpg_bytes"] for row in pa.table(samples).to_pylist() if row["width"] >= 66)  # fmt: skip
    assert len(pd.DataFrame.from_arrow(samples)) == 100


def test_missing_parts_and_keys_of_other_bytes_are_null(tmp_path):
    import io
    import tarfile

    words = {"format": tarfile.USTAR_FORMAT, "encoding": "utf-8", "errors": "surrogateescape"}
    with tarfile.open(tmp_path / "a.tar", "w", **words) as tar:
        for name in ["a.txt", "a.cls", "b\udcff.txt", "c.cls"]:
            info = tarfile.TarInfo(name)
            info.size = 3
            tar.addfile(info, io.BytesIO(b"123"))
    pack("index", tmp_path)
    rows = pa.table(tarflume.Dataset(tmp_path).table()).to_pylist()
    assert [row["key"] for row in rows] == ["a", None, "c"]
    assert [(row["cls_bytes"], row["txt_bytes"], row["width"]) for row in rows] == [(3, 3, None), (None, 3, None), (3, None, None)]
    data = tarflume.Dataset(tmp_path)
    assert data["b\udcff"]["txt"] == b"123" and "b\udcff" in data
    assert data.select(["b\udcff"]).ordinals.tolist() == [1]


def test_streams_end_early_and_outlive_their_data_set(shards):
    reader = pa.RecordBatchReader.from_stream(tarflume.Dataset(shards).table())
    gc.collect()
    assert reader.read_next_batch().num_rows == 100
    with pytest.raises(StopIteration):
        reader.read_next_batch()
    for _ in range(50):  # neither taken nor read
        tarflume.Dataset(shards).table().__arrow_c_stream__()
        tarflume.Dataset(shards).table().__arrow_c_schema__()
    gc.collect()


def test_a_damaged_sidecar_is_an_error_of_the_stream(shards, tmp_path):
    import shutil

    shutil.copytree(shards, tmp_path / "copy")
    sidecar = sorted((tmp_path / "copy").glob("*.index"))[2]
    data = bytearray(sidecar.read_bytes())
    data[-40:] = bytes(b ^ 255 for b in data[-40:])
    table = tarflume.Dataset(tmp_path / "copy").table()
    sidecar.write_bytes(data)
    with pytest.raises(Exception, match=sidecar.stem):
        pa.table(table)


TABLES = {
    "polars": lambda rows: pl.DataFrame(rows),
    "polars filtered": lambda rows: pl.DataFrame(rows).filter(pl.col("ordinal") >= 0),
    "pyarrow": lambda rows: pa.Table.from_pylist(rows),
    "pyarrow reader": lambda rows: pa.RecordBatchReader.from_batches(
        (table := pa.Table.from_pylist(rows)).schema, table.to_batches(max_chunksize=7)),
    "pyarrow slice": lambda rows: pa.Table.from_pylist([{"other": 0.0, "key": "no", "ordinal": 1000}, *rows]).slice(1),
    "pandas": lambda rows: pd.DataFrame(rows),
    "duckdb": lambda rows: duckdb.from_arrow(pa.Table.from_pylist(rows)),
}  # fmt: skip


@pytest.mark.parametrize("columns", [["key"], ["ordinal"], ["other", "ordinal", "key"]])
@pytest.mark.parametrize("library", TABLES)
def test_a_table_of_any_library_selects_by_key_or_ordinal(shards, library, columns):
    rows = [{"other": 0.5, "key": f"{n:04}", "ordinal": n} for n in range(0, 100, 3)]
    table = TABLES[library](rows)
    if library.startswith("polars"):
        table = table.select(columns)
    elif library == "duckdb":
        table = table.project(", ".join(columns))
    elif library == "pandas":
        table = table[columns]
    elif library != "pyarrow reader":
        table = table.select(columns)
    with loader(shards, select=table) as ours:
        assert numbers(ours) == list(range(0, 100, 3))
        assert len(ours.selection) == ours.samples == 34 and ours.selection.ordinals.tolist() == list(range(0, 100, 3))
        ours.ledger().prove(ours.expected(0))
        again = pickle.loads(pickle.dumps(ours))
        assert numbers(again) == list(range(0, 100, 3))


KEYS = [f"{n:04}" for n in (5, 90, 17)]
LISTS = {
    "list of keys": KEYS,
    "tuple": tuple(KEYS),
    "set": set(KEYS),
    "bytes": [key.encode() for key in KEYS],
    "ordinals": [90, 5, 17, 5],
    "generator": (n for n in (5, 17, 90)),
    "numpy": np.array([5, 17, 90], np.int16),
    "numpy of text": np.array(KEYS),
    "booleans": np.isin(np.arange(100), [5, 17, 90]),
    "polars series": pl.Series(KEYS),
    "polars categories": pl.DataFrame({"key": pl.Series(KEYS, dtype=pl.Categorical)}),
    "pandas series": pd.Series([5, 17, 90]),
    "pandas categories": pd.DataFrame({"key": pd.Categorical(KEYS)}),
    "pyarrow array": pa.array([5, 17, 90], pa.uint8()),
    "long keys in views": pa.table({"key": pa.array(KEYS, pa.string_view())}),
    "dictionary": pa.table({"key": pa.array(KEYS).dictionary_encode()}),
    "large strings": pa.table({"key": pa.array(KEYS, pa.large_string())}),
    "binary": pa.table({"key": pa.array([key.encode() for key in KEYS])}),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_lists_arrays_and_every_type_of_text_select(shards, name):
    data = tarflume.Dataset(shards)
    selection = data.select(LISTS[name])
    assert selection.ordinals.tolist() == [5, 17, 90] and repr(selection) == "Selection(3 of 100 samples)"
    assert 17 in selection and 18 not in selection
    assert pickle.loads(pickle.dumps(selection)) == selection
    assert numbers(loader(data, select=selection)) == [5, 17, 90]


def test_dask_selects_after_its_computation(shards):
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(pd.DataFrame({"key": [f"{n:04}" for n in range(0, 100, 20)], "size": range(5)}), npartitions=2)
    with pytest.raises(errors.UsageError, match=r"compute\(\)"):
        loader(shards, select=frame)
    assert numbers(loader(shards, select=frame[frame["size"] > 2].compute())) == [60, 80]


def test_long_keys_come_through_views_with_buffers(tmp_path):
    keys = ["long-enough-to-be-outside-of-the-view-" + str(n) for n in range(40)] + ["", "short"][1:]
    pairs = tmp_path / "pairs"
    pairs.mkdir()
    for key in keys:
        (pairs / f"{key}.txt").write_text(key)
    pack("build", pairs, "-o", tmp_path / "shards", "--require", "txt")
    data = tarflume.Dataset(tmp_path / "shards")
    chosen = sorted(keys)[1::3]
    views = pa.chunked_array([pa.array(chosen[:4], pa.string_view()), pa.array(chosen[4:], pa.string_view())])
    for table in (pa.table({"key": views}), pl.DataFrame({"key": chosen}), pl.DataFrame({"key": ["x", *chosen]})[1:]):
        assert data.select(table).ordinals.tolist() == list(range(1, 41, 3))


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"key": ["0001", "nobody", "0002", "none"]}, "2 of the selected keys are not in the data set, the first is 'nobody'"),
        ({"ordinal": [3, 100]}, "ordinal 100 can't be selected: the data set has 100 samples"),
        ({"ordinal": [3, -1]}, "row 1 has ordinal -1"),
        ({"ordinal": [3, None]}, "row 1 of the table has no value there"),
        ({"ordinal": [0.5]}, "not whole numbers"),
        ({"key": [3]}, "not texts"),
        ({"name": ["a"], "size": [3]}, "no column `ordinal` or `key`; it has name, size"),
    ],
)
def test_tables_that_select_nothing_sensible_are_errors(shards, table, text):
    with pytest.raises(errors.UsageError) as caught:
        loader(shards, select=pa.table(table))
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (["0001", 2.5], "not a list with 2.5"),
        ("0001", "one key is a list, too"),
        (3, "a list of keys or ordinals, not 3"),
        (np.zeros((2, 2), int), "one dimension"),
        (np.zeros(3, bool), "3 booleans for a data set of 100 samples"),
        ([True, False], "not a list with True"),
        ([], "none is selected"),
    ],
)
def test_wrong_selections_are_errors(shards, given, text):
    with pytest.raises(errors.UsageError, match=text.replace("(", r"\(")):
        loader(shards, select=given)


def test_a_foreign_stream_that_fails_is_an_error_with_its_text(shards):
    def batches():
        yield pa.record_batch({"key": ["0001"]})
        raise RuntimeError("the query was cancelled")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"key": pa.string()}), batches())
    with pytest.raises(errors.UsageError, match="the query was cancelled"):
        loader(shards, select=reader)


def test_a_query_becomes_an_epoch_that_resumes_exactly(shards):
    samples = tarflume.Dataset(shards).table()
    query = "select key from samples where width >= 66 and ordinal % 2 = 0"
    words = {"shuffle": "full", "seed": 3}
    with loader(shards, select=duckdb.sql(query), **words) as ours:
        right = numbers(ours, 2)
        assert sorted(right) == [row[0] for row in duckdb.sql(query.replace("key", "ordinal")).fetchall()]
        expected = ours.expected(2)
    first = loader(shards, select=duckdb.sql(query), **words)
    epoch = first.epoch(2)
    got = next(epoch)["label"].tolist() + next(epoch)["label"].tolist()
    state = json.loads(json.dumps(first.state_dict()))
    epoch.close()
    ledger = first.ledger()
    for rank in range(2):
        with loader(shards, select=duckdb.sql(query), batch_size=3, rank=rank, world_size=2, drop_last="uneven", **words) as ours:
            ours.load_state_dict(state)
            got += numbers(ours, 2)
            ledger = ledger.merge(ours.ledger())
    assert sorted(got) == sorted(right)
    ledger.prove(expected)
    for other in ({"select": [1, 2, 3]}, {"select": None}, {"select": right[:-1]}):
        with pytest.raises(errors.StaleError, match="other samples selected"):
            loader(shards, **(words | other)).load_state_dict(state)
    with loader(shards, select=right, **words) as ours:  # the same samples, given otherwise
        ours.load_state_dict(state)


def test_selections_meet_exclude_lists_ranges_and_mixtures(shards, tmp_path):
    (tmp_path / "list").write_text("0004\n0010\n")
    words = {"select": range(2, 12), "exclude": tmp_path / "list", "skip": 1, "take": 5}
    assert numbers(loader(shards, **words)) == [3, 5, 6, 7, 8]
    with loader([(shards, 1), (shards, 1)], select=[1, 2, 101, 103]) as mixed:
        assert sorted(o for batch in mixed.epoch(0) for o in batch.ordinals.tolist()) == [1, 2, 101, 103]


def test_torch_loaders_and_data_sets_select_from_a_table_that_is_readable_once(shards):
    torch = pytest.importorskip("torch")

    def once():
        return pa.RecordBatchReader.from_batches(pa.schema({"ordinal": pa.int64()}), [pa.record_batch({"ordinal": [4, 9, 50]})])

    with tarflume.torch.Loader(shards, batch_size=2, label="/n", select=once()) as ours:
        for _ in range(2):
            assert [n for batch in ours for n in batch["label"].tolist()] == [4, 9, 50]
    data = tarflume.torch.Dataset(shards, batch_size=2, label="/n", select=once())
    for _ in range(2):
        got = torch.utils.data.DataLoader(data, batch_size=None, num_workers=2)
        assert sorted(n for batch in got for n in batch["label"].tolist()) == [4, 9, 50]


def test_a_batch_is_lent_as_a_record_batch_without_a_copy(shards):
    columns = {"n": tarflume.Json("/n", dtype="float32"), "jpeg": "jpg", "name": tarflume.Json("/name", text=True),
               "flag": tarflume.Json("/class", dtype="uint16"), "half": tarflume.Json("/n", dtype="float16")}  # fmt: skip
    ours = tarflume.Loader(shards, batch_size=6, image=tarflume.Resize((4, 5)), label="/class", columns=columns)
    epoch = ours.epoch(0)
    batch = next(epoch)
    lent = batch.arrow()
    table = pa.record_batch(lent)
    table.validate(full=True)
    assert table.schema == pa.schema(lent) and lent.column_names == table.schema.names and len(lent) == 6
    sides, kind = [], table.schema.field("image").type
    while pa.types.is_fixed_size_list(kind):
        sides, kind = [*sides, kind.list_size], kind.value_type
    assert (sides, kind) == ([4, 5, 3], pa.uint8())
    pixels = table["image"].flatten().flatten().flatten().to_numpy(zero_copy_only=True).reshape(6, 4, 5, 3)
    assert pixels.ctypes.data == np.asarray(batch["image"]).ctypes.data
    right = np.asarray(batch["image"]).copy()
    assert table["label"].to_numpy(zero_copy_only=True).ctypes.data == np.asarray(batch["label"]).ctypes.data
    assert table["n"].to_pylist() == [0, 1, 2, 3, 4, 5] and table["half"].type == pa.float16()
    assert table["jpeg"].to_pylist() == batch["jpeg"].tolist() and table["name"].to_pylist() == batch["name"].tolist()
    assert table["key"].to_pylist() == batch["key"] and table["ordinal"].to_pylist() == list(range(6))
    del batch, lent
    for later in epoch:  # the lent memory is not used again
        assert later.rows
    np.testing.assert_array_equal(pixels, right)


def test_polars_and_duckdb_take_a_batch(shards):
    ours = tarflume.Loader(shards, batch_size=6, image=tarflume.Resize((4, 5)), label="/class")
    batch = next(iter(ours))
    frame = pl.DataFrame(batch.arrow())
    assert frame["label"].to_list() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(frame["image"].to_numpy(), np.asarray(batch["image"]))
    lent = batch.arrow()
    assert duckdb.sql("select sum(label) from lent").fetchall() == [(15,)]


def test_rows_of_different_lengths_and_booleans_as_lists(shards):
    columns = {"pictures": tarflume.Image(tarflume.OriginalSize(10_000)),
               "bits": tarflume.Apply(lambda n: np.array([n % 2, n % 3], bool), tarflume.Json("/n"), dtype="bool", shape=(2,))}  # fmt: skip
    batch = next(iter(tarflume.Loader(shards, batch_size=5, columns=columns)))
    table = pa.record_batch(batch.arrow())
    table.validate(full=True)
    assert table["bits"].to_pylist() == [[bool(n % 2), bool(n % 3)] for n in range(5)]
    for row, (values, shape) in enumerate(zip(table["pictures"], table["pictures_shape"], strict=True)):
        pixels = np.array(values.as_py(), np.uint8).reshape(shape.as_py())
        np.testing.assert_array_equal(pixels, np.asarray(batch["pictures"][row]))
    odd = tarflume.Image(tarflume.Resize(4), dtype="bfloat16")
    with pytest.raises(errors.UsageError, match='dtype="float16"'):
        next(iter(tarflume.Loader(shards, batch_size=5, image=odd))).arrow()
