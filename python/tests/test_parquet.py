"""Parquet of pyarrow, polars, DuckDB and Hugging Face -> shards: packed, verified, read for an epoch, compared."""

from __future__ import annotations

import json
import subprocess

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import PACK, pack
from proof import Samples, by_two_machines, facts, jpeg, killed, packed, refused

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
