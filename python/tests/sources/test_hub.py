"""Tables of the Hub: pictures beside Parquet, lists under a chosen name, folders of `save_to_disk`; and tars in a tar."""

from __future__ import annotations

import json
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import pack
from proof import facts, jpeg, members, packed, refused

COUNT = 5
JPEGS = [jpeg(n) for n in range(COUNT)]
NULL = pa.struct([("bytes", pa.null()), ("path", pa.string())])
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def tars(source, out, *words):
    """As `packed`, for samples of different parts."""
    pack("build", source, "-o", out, *words)
    return members(out)


def pictures(folder):
    (folder / "images").mkdir()
    for n, data in enumerate(JPEGS):
        (folder / "images" / f"{n}.jpg").write_bytes(data)
    return [f"images/{n}.jpg" for n in range(COUNT)]


@pytest.mark.parametrize("kind", ["null", "image", "text"])
def test_files_that_a_column_of_parquet_names_are_packed(kind, tmp_path):
    paths = pictures(tmp_path)
    rows = paths if kind == "text" else [{"bytes": None, "path": path} for path in paths]
    types = {"null": NULL, "image": IMAGE, "text": pa.string()}
    table = pa.table({"image": pa.array(rows, types[kind]), "label": list(range(COUNT))})
    pq.write_table(table, tmp_path / "t.parquet")
    source = f"parquet:{tmp_path / 't.parquet'}"
    found = packed(source + "?jpg=@image", tmp_path / "out")
    for n in range(COUNT):
        assert found[f"{n:08}"] == {"jpg": JPEGS[n], "json": f'{{"label":{n}}}'.encode()}
    if kind != "text":
        assert "jpg=@image" in refused("build", source, "-o", tmp_path / "no")
        keyed = packed(source + "?jpg=@image&key=image", tmp_path / "keyed") if kind == "image" else {"images/3": None}
        assert "images/3" in keyed
    assert "has no paths" in refused("build", source + "?jpg=@label", "-o", tmp_path / "no")


def test_a_row_of_parquet_need_not_name_a_file(tmp_path):
    paths = [*pictures(tmp_path)[:2], None, "", "../x.jpg"]
    source = f"parquet:{tmp_path / 't.parquet'}"
    pq.write_table(pa.table({"file": paths[:4], "label": [0, 1, 2, 3]}), tmp_path / "t.parquet")
    found = tars(source + "?jpg=@file?", tmp_path / "out")
    assert [set(sample) for _, sample in sorted(found.items())] == [{"jpg", "json"}] * 2 + [{"json"}] * 2
    pq.write_table(pa.table({"file": paths, "label": list(range(5))}), tmp_path / "t.parquet")
    text = refused("build", source + "?jpg=@file?", "-o", tmp_path / "no")
    assert "missing-part" in text and "no path under the folder" in text


def test_a_list_of_pictures_has_the_chosen_name(tmp_path):
    rows = [[{"bytes": one, "path": None} for one in JPEGS[:n]] for n in range(3)]
    pq.write_table(pa.table({"images": pa.array(rows, pa.list_(IMAGE)), "n": [0, 1, 2]}), tmp_path / "t.parquet")
    source = f"parquet:{tmp_path / 't.parquet'}"
    for option in ("jpg", "image"):
        found = tars(source + f"?{option}=images[]&json=n", tmp_path / option)
        assert found["00000002"] == {"0.jpg": JPEGS[0], "1.jpg": JPEGS[1], "json": b'{"n":2}'}


def saved(tmp_path, **options):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["cat", "dog"]),
            "vector": datasets.Sequence(datasets.Value("float32")),
            "grid": datasets.Array2D((2, 3), "int64"),
            "boxes": datasets.Sequence(datasets.Sequence(datasets.Value("float32"))),
            "text": datasets.Value("string"),
        }
    )
    rows = {
        "image": [{"bytes": data, "path": f"{n}.jpg"} for n, data in enumerate(JPEGS)],
        "label": [n % 2 for n in range(COUNT)],
        "vector": np.arange(COUNT * 4, dtype=np.float32).reshape(COUNT, 4).tolist(),
        "grid": np.arange(COUNT * 6).reshape(COUNT, 2, 3).tolist(),
        "boxes": [[[1.0, 2.0, 3.0, 4.5]] * n for n in range(COUNT)],
        "text": [f"t{n}" for n in range(COUNT)],
    }
    data = datasets.Dataset.from_dict(rows, features=features)
    return datasets, data


def check(found, first=0):
    for n, (_, sample) in enumerate(sorted(found.items()), first):
        n %= COUNT
        assert sample["jpg"] == JPEGS[n]
        assert sample["vector.raw"] == (np.arange(4, dtype=np.float32) + n * 4).tobytes()
        assert sample["grid.raw"] == (np.arange(6, dtype=np.int64) + n * 6).tobytes()
        assert facts(sample) == {"label": n % 2, "text": f"t{n}", "boxes": [[1, 2, 3, 4.5]] * n}


def test_a_folder_of_save_to_disk_is_packed(tmp_path):
    datasets, data = saved(tmp_path)
    data.save_to_disk(tmp_path / "one")
    data.save_to_disk(tmp_path / "two", num_shards=2)
    for name in ("one", "two"):
        found = packed(f"arrow:{tmp_path / name}", tmp_path / f"{name}.out")
        assert len(found) == COUNT
        check(found)
    about = json.loads((tmp_path / "two.out" / "dataset.json").read_text())
    assert about["classes"]["names"] == ["cat", "dog"]
    described = {column["name"]: column for column in about["columns"]}
    assert described["grid.raw"] == {"name": "grid.raw", "type": "int64", "shape": [2, 3]}
    found = packed(f"arrow:{tmp_path / 'one'}?key=image&jpg=image&json=label", tmp_path / "named")
    assert found["3"] == {"jpg": JPEGS[3], "json": b'{"label":1}'}
    datasets.DatasetDict({"train": data, "test": data.select([0, 1])}).save_to_disk(tmp_path / "dict")
    check(tars(f"arrow:{tmp_path / 'dict'}", tmp_path / "splits", "--split-by", "source"))
    about = json.loads((tmp_path / "splits" / "dataset.json").read_text())
    assert {shard["split"]: shard["samples"] for shard in about["shards"]} == {"train": COUNT, "test": 2}


def test_a_saved_selection_and_compressed_batches_are_refused_or_whole(tmp_path):
    _, data = saved(tmp_path)
    data.select([3, 1]).save_to_disk(tmp_path / "some")
    found = packed(f"arrow:{tmp_path / 'some'}", tmp_path / "out")
    assert [facts(sample)["text"] for _, sample in sorted(found.items())] == ["t3", "t1"]
    feather = pytest.importorskip("pyarrow.feather")
    table = pa.table({"a": [1, 2], "b": pa.array([b"x", b"yy"], pa.binary())})
    feather.write_feather(table, tmp_path / "plain.arrow", compression="uncompressed")
    found = packed(f"arrow:{tmp_path / 'plain.arrow'}", tmp_path / "plain")
    assert found["00000001"] == {"b": b"yy", "json": b'{"a":2}'}
    feather.write_feather(table, tmp_path / "lz4.arrow", compression="lz4")
    text = refused("build", f"arrow:{tmp_path / 'lz4.arrow'}", "-o", tmp_path / "no")
    assert "compressed" in text and "uncompressed" in text


def test_tars_that_python_puts_into_a_tar_are_folders(tmp_path):
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        folder = tmp_path / str(form)
        folder.mkdir()
        for name in ("n01", "n02"):
            with tarfile.open(folder / f"{name}.tar", "w", format=form) as inner:
                for n in range(2):
                    (folder / "x").write_bytes(JPEGS[n])
                    inner.add(folder / "x", f"{name}_{n}_{'long' * 40}.JPEG" if form else f"{name}_{n}.JPEG")
        with tarfile.open(folder / "all.tar", "w", format=form) as outer:
            for name in ("n01", "n02"):
                outer.add(folder / f"{name}.tar", f"{name}.tar")
        words = ("--label", "folder", "--names", "long=replace")
        found = packed(f"tar:{folder / 'all.tar'}", folder / "out", *words)
        assert len(found) == 4 and {key.split("/")[0] for key in found} == {"n01", "n02"}
        assert sorted(facts(sample)["class"] for sample in found.values()) == [0, 0, 1, 1]
