"""Parquet of pyarrow, polars, DuckDB and Hugging Face -> shards: packed, verified, read for an epoch, compared."""

from __future__ import annotations

import base64
import json
import subprocess

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

from conftest import PACK, pack
from proof import Samples, by_two_machines, facts, jpeg, killed, members, packed, refused

ROWS = 300
JPEGS = [jpeg(n) for n in range(ROWS)]
VECTORS = np.random.default_rng(1).standard_normal((ROWS, 16)).astype(np.float32)


def columns() -> dict[str, pa.Array]:
    return {
        "id": pa.array([f"k{n:05}" for n in range(ROWS)]),
        "image": pa.array(
            [{"bytes": jpeg, "path": f"{n:04}.jpg"} for n, jpeg in enumerate(JPEGS)],
            pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
        ),
        "label": pa.array([n % 10 for n in range(ROWS)], pa.int64()),
        "score": pa.array([None if n % 7 == 0 else n / 10 for n in range(ROWS)], pa.float32()),
        "small": pa.array([n % 200 for n in range(ROWS)], pa.uint8()),
        "vector": pa.array(VECTORS.tolist(), pa.list_(pa.float32())),
        "boxes": pa.array([[[n, 1, 2, 3]] * (n % 3) for n in range(ROWS)], pa.list_(pa.list_(pa.int32()))),
        "when": pa.array([n * 1_000_000 for n in range(ROWS)], pa.timestamp("us")),
    }


WRITERS = {
    "default": {},
    "one group": {"row_group_size": 10**6},
    "small groups": {"row_group_size": 37},
    "plain": {"compression": "none", "use_dictionary": False, "row_group_size": 90},
    "plain with dictionary": {"compression": "none", "row_group_size": 90},
    "pages of version 2": {"data_page_version": "2.0", "compression": "zstd", "data_page_size": 20_000},
    "plain pages of version 2": {"data_page_version": "2.0", "compression": "none", "data_page_size": 20_000},
    "gzip": {"compression": "gzip", "row_group_size": 100},
    "lz4": {"compression": "lz4", "row_group_size": 100},
    "page index": {"write_page_index": True, "data_page_size": 10_000, "write_batch_size": 16},
}


def check_rows(found: Samples, key: str = "{n:08}") -> None:
    assert len(found) == ROWS
    for n in range(ROWS):
        sample = found[key.format(n=n)]
        assert sample["jpg"] == JPEGS[n]
        assert sample["vector.raw"] == VECTORS[n].tobytes()
        row = facts(sample)
        assert row == {
            "boxes": [[n, 1, 2, 3]] * (n % 3),
            "id": f"k{n:05}",
            "label": n % 10,
            "score": None if n % 7 == 0 else n / 10,
            "small": n % 200,
            "when": f"1970-01-01T00:{n // 60:02}:{n % 60:02}",
        }
        assert list(row) == sorted(row)


@pytest.mark.parametrize("writer", WRITERS)
def test_rows_of_pyarrow_are_packed_whatever_the_pages(writer, tmp_path):
    pq.write_table(pa.table(columns()), tmp_path / "t.parquet", **WRITERS[writer])
    check_rows(packed(f"parquet:{tmp_path / 't.parquet'}", tmp_path / "out", "--shards", 3))
    about = json.loads((tmp_path / "out" / "dataset.json").read_text())
    described = {column["name"]: column for column in about["columns"]}
    assert described["vector.raw"] == {"name": "vector.raw", "type": "float32", "shape": [16]}
    assert described["/score"]["type"] == "float32" and described["/label"]["type"] == "int64"
    assert described["/boxes"]["type"] == "list"


def test_a_shuffled_build_has_the_same_samples(tmp_path):
    pq.write_table(pa.table(columns()), tmp_path / "t.parquet", row_group_size=37, data_page_size=5_000)
    check_rows(packed(f"parquet:{tmp_path / 't.parquet'}", tmp_path / "out", "--shuffle", 3, "--shards", 4))


def test_several_files_are_one_table_and_keys_come_from_a_column(tmp_path):
    table = pa.table(columns())
    for n in range(3):
        pq.write_table(table.slice(n * 100, 100), tmp_path / f"part-{n}.parquet")
    source = f"parquet:{tmp_path}/part-*.parquet"
    check_rows(packed(source, tmp_path / "a"))
    check_rows(packed(source + "?key=id", tmp_path / "b"), "k{n:05}")
    check_rows(packed(source + "?key=image", tmp_path / "c"), "{n:04}")


def test_options_choose_columns(tmp_path):
    pq.write_table(pa.table(columns()), tmp_path / "t.parquet")
    found = packed(f"parquet:{tmp_path / 't.parquet'}?key=id&jpg=image.bytes&json=label", tmp_path / "out")
    sample = found["k00007"]
    assert set(sample) == {"jpg", "json"} and sample["json"] == b'{"label":7}'


def test_a_table_of_polars_is_packed(tmp_path):
    frame = polars.from_arrow(pa.table(columns()).drop(["image"])).with_columns(jpg=polars.Series(JPEGS))
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=100)
    check_rows(packed(f"parquet:{tmp_path / 't.parquet'}", tmp_path / "out"))


def test_a_table_of_duckdb_is_packed(tmp_path):
    written = pa.table(columns())
    assert written.num_rows == ROWS  # DuckDB finds the table by the name of the variable
    duckdb.sql(f"copy (select * from written) to '{tmp_path / 't.parquet'}' (format parquet, row_group_size 2048)")
    check_rows(packed(f"parquet:{tmp_path / 't.parquet'}", tmp_path / "out"))


def test_images_and_classes_of_hugging_face_are_noticed(tmp_path):
    import datasets

    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])}
    )
    rows = {"image": [{"bytes": jpeg, "path": None} for jpeg in JPEGS], "label": [n % 2 for n in range(ROWS)]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet(str(tmp_path / "t.parquet"))
    found = packed(f"parquet:{tmp_path / 't.parquet'}", tmp_path / "out")
    assert [found[f"{n:08}"]["jpg"] for n in range(ROWS)] == JPEGS
    assert facts(found["00000003"]) == {"label": 1}
    about = json.loads((tmp_path / "out" / "dataset.json").read_text())
    assert about["classes"] == {"pointer": "/label", "names": ["cat", "dog"]}


def test_what_is_not_read_is_refused_by_name(tmp_path):
    file = tmp_path / "t.parquet"
    times = pa.table({"when": pa.array([1], pa.timestamp("ns"))})
    pq.write_table(times, file, use_deprecated_int96_timestamps=True)
    assert "'when' has the type INT96" in refused("build", f"parquet:{file}", "-o", tmp_path / "out")
    pq.write_table(pa.table(columns()), file)
    text = refused("build", f"parquet:{file}?key=nope", "-o", tmp_path / "out")
    assert "there is no column 'nope'; the columns are id, image" in text
    assert "'label' is no part" in refused("build", f"parquet:{file}?x=label", "-o", tmp_path / "out")
    data = file.read_bytes()
    file.write_bytes(data[:-1000])
    assert "does not end with PAR1" in refused("build", f"parquet:{file}", "-o", tmp_path / "out")
    file.write_bytes(data[:-4] + b"PARE")
    assert "encrypted" in refused("build", f"parquet:{file}", "-o", tmp_path / "out")
    damaged = bytearray(data)
    damaged[2000:60_000] = np.random.default_rng(2).bytes(58_000)
    file.write_bytes(damaged)
    assert str(file) in refused("build", f"parquet:{file}", "-o", tmp_path / "out")


def test_a_file_that_changes_after_the_plan_is_refused(tmp_path):
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns()), file)
    pack("plan", f"parquet:{file}", "-o", tmp_path / "out", "--shards", 3)
    pq.write_table(pa.table(columns()).slice(1), file)
    done = subprocess.run([PACK, "run", tmp_path / "out"], text=True, capture_output=True, check=False)
    assert done.returncode != 0 and "was changed after it was planned" in done.stderr


def test_two_machines_make_what_one_build_makes(tmp_path):
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns()), file, row_group_size=50)
    pack("build", f"parquet:{file}", "-o", tmp_path / "whole", "--shard-samples", 20)
    by_two_machines([f"parquet:{file}"], tmp_path / "out", tmp_path / "whole", "--shard-samples", 20)


def test_builds_that_are_killed_make_the_same_bytes(tmp_path):
    file = tmp_path / "t.parquet"
    many = pa.concat_tables([pa.table(columns())] * 4)
    pq.write_table(many, file, row_group_size=500)
    killed(f"parquet:{file}", tmp_path, 8, "--shard-samples", 25, "--jobs", 2, "--no-fsync")


IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def write(file, table: dict[str, pa.Array], **how) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(table), file, **how)
    return f"parquet:{file}"


def tars(source: str, out, *words: object) -> Samples:
    """Packs and verifies `source`, whose samples have different parts."""
    pack("build", source, "-o", out, *words)
    pack("verify", out, "--level", "decode", "--require", "")
    return members(out)


LISTS = {
    "images": pa.list_(IMAGE),
    "large list": pa.large_list(IMAGE),
    "bytes": pa.list_(pa.binary()),
    "required": pa.list_(pa.field("element", pa.binary(), nullable=False)),
}


@pytest.mark.parametrize("writer", ["default", "plain", "small groups", "pages of version 2", "plain pages of version 2"])
@pytest.mark.parametrize("kind", LISTS)
def test_the_values_of_a_list_of_bytes_are_numbered_parts(kind, writer, tmp_path):
    counts = [n % 4 for n in range(ROWS)]
    pictures = [[JPEGS[(n + i) % ROWS] for i in range(count)] for n, count in enumerate(counts)]
    pictures[5] = [b"no picture"]
    rows = [[{"bytes": one, "path": "x.jpg"} for one in row] for row in pictures] if "image" in kind or "large" in kind else pictures
    rows[7] = None
    pictures[7] = []
    table = {"images": pa.array(rows, LISTS[kind]), "text": pa.array([str(n) for n in range(ROWS)])}
    source = write(tmp_path / "t.parquet", table, **WRITERS[writer])
    for out, more in [("out", []), ("shuffled", ["--shuffle", 3, "--shards", 2])]:
        found = tars(source, tmp_path / out, *more)
        for n in range(ROWS):
            wanted = {f"images.{i}.jpg" if n != 5 else "images.0": one for i, one in enumerate(pictures[n])}
            assert found[f"{n:08}"] == {**wanted, "json": f'{{"text":"{n}"}}'.encode()}
    named = tars(source + "?frame=images", tmp_path / "named")
    assert set(named["00000003"]) == {"frame.0.jpg", "frame.1.jpg", "frame.2.jpg", "json"}


@pytest.mark.parametrize("value", [None, {"bytes": None, "path": "x.jpg"}], ids=["null", "path"])
def test_a_list_with_a_value_without_bytes_is_an_error(value, tmp_path):
    rows = [[{"bytes": JPEGS[0], "path": None}], [{"bytes": JPEGS[1], "path": None}, value]]
    source = write(tmp_path / "t.parquet", {"images": pa.array(rows, pa.list_(IMAGE))})
    text = refused("build", source, "-o", tmp_path / "out")
    assert "row 1: the list in column 'images' has a value without bytes" in text and "drop=images" in text


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[("a", JPEGS[0])], []], pa.map_(pa.string(), pa.binary())),
        pa.array([[[JPEGS[0]]], []], pa.list_(pa.list_(pa.binary()))),
    ],
    ids=["map", "list of lists"],
)
def test_bytes_that_are_no_part_are_an_error_unless_they_are_left_out(column, tmp_path):
    source = write(tmp_path / "t.parquet", {"images": column, "text": pa.array(["a", "b"])})
    text = refused("build", source, "-o", tmp_path / "out")
    assert "bytes in a map or in lists of lists that would not be packed" in text and "drop=images" in text
    assert "would not be packed" in refused("build", source + "?json=text", "-o", tmp_path / "out")
    found = packed(source + "?drop=images", tmp_path / "out")
    assert found["00000001"] == {"json": b'{"text":"b"}'}


def test_a_column_of_bytes_that_no_option_names_is_an_error(tmp_path):
    binary = pa.array(JPEGS[:2], pa.binary())
    source = write(tmp_path / "t.parquet", {"a": binary, "b": binary, "n": pa.array([1, 2])})
    text = refused("build", source + "?jpg=a", "-o", tmp_path / "out")
    assert "'b' has bytes that would not be packed" in text and "b=b" in text and "drop=b" in text
    assert set(packed(source + "?jpg=a&drop=b", tmp_path / "dropped")["00000000"]) == {"jpg", "json"}
    assert set(packed(source + "?jpg=a&b.jpg=b", tmp_path / "both")["00000000"]) == {"jpg", "b.jpg", "json"}
    assert set(packed(source + "?jpg=a&json=n", tmp_path / "chosen")["00000000"]) == {"jpg", "json"}
    assert "become the part" in refused("build", source + "?jpg=a&jpg=b", "-o", tmp_path / "no")


def test_pictures_by_path_are_an_error_with_the_row(tmp_path):
    rows = [{"bytes": JPEGS[0], "path": "0.jpg"}, {"bytes": None, "path": "photos/1.jpg"}, None]
    source = write(tmp_path / "t.parquet", {"image": pa.array(rows, IMAGE), "text": pa.array(["a", "b", "c"])})
    text = refused("build", source, "-o", tmp_path / "out")
    assert "row 1: column 'image' names the file 'photos/1.jpg' and has no bytes of it" in text
    assert "drop=image" in text and "json=*,image.path" in text
    found = tars(source + "?json=*,image.path", tmp_path / "paths")
    assert facts(found["00000001"]) == {"image": {"path": "photos/1.jpg"}, "text": "b"}
    assert found["00000000"]["jpg"] == JPEGS[0]
    assert set(packed(source + "?drop=image", tmp_path / "dropped")["00000000"]) == {"json"}


def test_folders_of_partitions_are_columns(tmp_path):
    table = pa.table({"text": ["a", "b", "c"], "label": [0, 1, 1], "site": ["x", "x/y", None]})
    pq.write_to_dataset(table, tmp_path / "set", partition_cols=["label", "site"])
    oracle = {row["text"]: row for row in pq.read_table(tmp_path / "set").to_pylist()}
    source = f"parquet:{tmp_path}/set/*/*/*.parquet"
    found = [facts(sample) for sample in packed(source, tmp_path / "out").values()]
    assert {row["text"]: {**row, "label": str(row["label"])} for row in found} == {
        text: {**row, "label": str(row["label"])} for text, row in oracle.items()
    }
    assert {type(row["label"]) for row in found} == {int}
    about = json.loads((tmp_path / "out" / "dataset.json").read_text())
    described = {column["name"]: column for column in about["columns"]}
    assert described["/label"] == {"name": "/label", "type": "int64"}
    assert described["/site"] == {"name": "/site", "type": "string", "nullable": True}
    alone = packed(source + "?json=text,label", tmp_path / "chosen")
    assert all(set(facts(sample)) == {"text", "label"} for sample in alone.values())
    assert all(set(facts(sample)) == {"text", "site"} for sample in packed(source + "?drop=label", tmp_path / "d").values())


@pytest.mark.parametrize("how", [{"compression": "none", "use_dictionary": False}, {"compression": "snappy"}])
def test_checksums_of_pages_are_compared(how, tmp_path):
    file = tmp_path / "t.parquet"
    source = write(file, {"x": pa.array(range(1500))}, write_page_checksum=True, **how)
    assert len(packed(source, tmp_path / "whole")) == 1500
    data = bytearray(file.read_bytes())
    data[600] ^= 4
    file.write_bytes(data)
    text = refused("build", source, "-o", tmp_path / "out")
    assert "CRC checksum mismatch; the file is damaged" in text and str(file) in text


def test_splits_in_the_names_of_files_are_said_and_kept(tmp_path):
    for name in ["train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001"]:
        write(tmp_path / "data" / f"{name}.parquet", {"label": pa.array([1, 2])})
    source = f"parquet:{tmp_path}/data/*.parquet"
    said = subprocess.run([PACK, "build", source, "-o", tmp_path / "one"], capture_output=True, text=True, check=True)
    assert "state splits (test 1, train 2)" in said.stderr and "--split-by source" in said.stderr
    pack("build", source, "-o", tmp_path / "out", "--split-by", "source")
    shards = json.loads((tmp_path / "out" / "dataset.json").read_text())["shards"]
    assert [(shard["split"], shard["samples"]) for shard in shards] == [("test", 2), ("train", 4)]
def test_names_that_change_are_told_and_names_that_meet_are_refused(tmp_path):
    lists = pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32()))
    names = {"Img": "img.raw", "é": "é.raw", "a b": "a b.raw", "g/x": "g_x.raw"}
    pq.write_table(pa.table(dict.fromkeys(names, lists)), tmp_path / "t.parquet")
    words = ["build", f"parquet:{tmp_path / 't.parquet'}", "-o", tmp_path / "out"]
    done = subprocess.run([PACK, *map(str, words)], text=True, capture_output=True, check=True)
    assert "column 'Img' is packed as img.raw" in done.stderr and "'g/x' is packed as g_x.raw" in done.stderr
    assert "'é' is" not in done.stderr
    pack("verify", tmp_path / "out", "--level", "decode")
    for sample, row in zip(members(tmp_path / "out").values(), lists.to_pylist(), strict=True):
        assert sample == dict.fromkeys(names.values(), np.array(row, np.float32).tobytes())
    pq.write_table(pa.table({"Photo": [jpeg(0)], "x": [1]}), tmp_path / "t.parquet")
    words[-1] = tmp_path / "photo"
    done = subprocess.run([PACK, *map(str, words)], text=True, capture_output=True, check=True)
    assert "column 'Photo' is packed as photo, unless it is an image" in done.stderr
    assert set(members(tmp_path / "photo")["00000000"]) == {"jpg", "json"}
    pq.write_table(pa.table({"Img": lists, "img": lists}), tmp_path / "t.parquet")
    told = refused("build", f"parquet:{tmp_path / 't.parquet'}", "-o", tmp_path / "no")
    assert "become the part 'img.raw'" in told and "Img.list.element" in told
    pq.write_table(pa.table({"Img": [b"a"], "img": [b"b"]}), tmp_path / "t.parquet")
    assert "'Img' and 'img' become" in refused("build", f"parquet:{tmp_path / 't.parquet'}", "-o", tmp_path / "no")
    pq.write_table(pa.table({"json": [b"a"], "x": [1]}), tmp_path / "t.parquet")
    told = refused("build", f"parquet:{tmp_path / 't.parquet'}", "-o", tmp_path / "no")
    assert "'json' and the fields of the JSON become" in told or "the fields of the JSON and 'json' become" in told


def test_maps_are_objects_whatever_the_number_of_their_entries(tmp_path):
    maps = {
        "even": pa.array([[(1, 2), (2, 3)], [(3, 4), (5, 6)]], pa.map_(pa.int32(), pa.int32())),
        "names": pa.array([[("a", 0.5)], [("b", 1.5)]], pa.map_(pa.string(), pa.float64())),
        "odd": pa.array([[(1, 2)], []], pa.map_(pa.int64(), pa.int64())),
        "lists": pa.array([[[("k", 1)]], [[("l", 2)]]], pa.list_(pa.map_(pa.string(), pa.int64()))),
    }
    pq.write_table(pa.table(maps), tmp_path / "t.parquet")
    found = packed(f"parquet:{tmp_path / 't.parquet'}", tmp_path / "out")
    assert [facts(sample) for sample in found.values()] == [
        {"even": {"1": 2, "2": 3}, "names": {"a": 0.5}, "odd": {"1": 2}, "lists": [{"k": 1}]},
        {"even": {"3": 4, "5": 6}, "names": {"b": 1.5}, "odd": {}, "lists": [{"l": 2}]},
    ]
    assert all(set(sample) == {"json"} for sample in found.values())


def test_a_key_that_a_map_has_twice_is_a_problem_of_its_row(tmp_path):
    maps = pa.array([[("a", 1)], [("a", 2), ("a", 3)]], pa.map_(pa.string(), pa.int32()))
    pq.write_table(pa.table({"m": maps}), tmp_path / "t.parquet")
    words = ["build", f"parquet:{tmp_path / 't.parquet'}", "-o", tmp_path / "out"]
    told = refused(*words)
    assert "row 1" in told and "column 'm': the key 'a' occurs twice" in told
    assert list(packed(words[1], tmp_path / "out", "--on-problem", "skip", "--fresh")) == ["00000000"]


def test_a_null_in_the_only_column_of_bytes_is_no_sample(tmp_path):
    pq.write_table(pa.table({"b": [b"abc", None, b"def"]}), tmp_path / "t.parquet")
    words = ["build", f"parquet:{tmp_path / 't.parquet'}", "-o", tmp_path / "out"]
    told = refused(*words)
    assert "row 1" in told and "it makes no part of a sample" in told
    assert list(packed(words[1], tmp_path / "out", "--on-problem", "skip", "--fresh")) == ["00000000", "00000002"]
    assert json.loads((tmp_path / "out" / "dataset.json").read_text())["samples"] == 2
    pq.write_table(pa.table({"b": [b"abc", None, b"def"], "x": [1, 2, 3]}), tmp_path / "t.parquet")
    words[-1] = tmp_path / "told"
    done = subprocess.run([PACK, *map(str, words)], text=True, capture_output=True, check=True)
    assert "column 'b' has no value in 1 row, the first is row 1 of" in done.stderr
    assert list(members(tmp_path / "told")) == ["00000000", "00000001", "00000002"]


class Keys(pe.KmsClient):
    """Keys that wrap themselves."""

    def __init__(self, config: object) -> None:
        pe.KmsClient.__init__(self)

    def wrap_key(self, key: bytes, name: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, key: bytes, name: str) -> bytes:
        return base64.b64decode(key)


@pytest.mark.parametrize("plain_footer", [False, True])
def test_an_encrypted_file_is_said_to_be_encrypted(plain_footer, tmp_path):
    table = pa.table({"a": [1, 2, 3], "b": [b"x", b"y", b"z"]})
    config = pe.EncryptionConfiguration(footer_key="f", column_keys={"c": ["a", "b"]}, plaintext_footer=plain_footer)
    keys = pe.CryptoFactory(Keys).file_encryption_properties(pe.KmsConnectionConfig(), config)
    path = tmp_path / "t.parquet"
    with pq.ParquetWriter(path, table.schema, encryption_properties=keys) as out:
        out.write_table(table)
    told = refused("build", f"parquet:{path}", "-o", tmp_path / "out")
    assert "the file is encrypted, and keys are not taken" in told and "decryption_properties" in told


def test_a_file_without_rows_or_columns_is_said_to_have_none(tmp_path):
    path = tmp_path / "t.parquet"
    for table in (pa.table({"b": pa.array([], pa.binary())}), pa.table({})):
        pq.write_table(table, path)
        assert "t.parquet has no rows" in refused("build", f"parquet:{path}", "-o", tmp_path / "out")


def test_a_compression_or_type_that_is_not_read_is_one_error(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": range(1000)}), path, compression="brotli")
    told = refused("build", f"parquet:{path}", "-o", tmp_path / "out")
    assert "column 'x' is compressed by BROTLI, which is not read" in told and "compression='zstd'" in told
    interval = duckdb.sql("SELECT range AS n, INTERVAL 1 MONTH AS step FROM range(1000)")
    interval.write_parquet(str(path))
    told = refused("build", f"parquet:{path}", "-o", tmp_path / "out")
    assert told.count("\n") == 1 and "column 'step': its type" in told and "?json=" in told
