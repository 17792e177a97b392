"""Messages of `tarflume.pack` are Python: keywords with quoted values, and no flags of the command."""

from __future__ import annotations

import json
import re

import pytest
from PIL import Image

import tarflume
from tarflume import errors

CALLS = [
    ("build(flat, out)", 'require="image"'),
    ("build(flat, out, label='folder')", "or exclude it"),
    ("build(pairs, out, label='folder')", "exclude it"),
    ("build(pairs, out, require='png')", "or give require"),
    ("build(dots, out)", 'give names="dot=replace" or "dot=allow"'),
    ("build(case, out)", 'give names="case=replace" or "case=allow"'),
    ("build(bad, out)", 'keep_empty="jpg"'),
    ("build(bad, out)", 'leave them out with on_problem="skip" or "quarantine"'),
    ("build(pairs, out, shards=100)", "shards=100, but there are only 3 samples"),
    ("build(pairs, out, shard_size='zz')", 'shard_size="zz": invalid size'),
    ("build(pairs, out, split='train')", 'split="train": \'train\' is no share; give split="train=0.9,val=0.1"'),
    ("build(pairs, out, split={'a': 0.5, 'b': 0.5}, shards=3)", "shards counts the shards"),
    ("build(pairs, out, split={'a': 0.5, 'b': 0.5}, split_by='/x')", "give split or split_by, not both"),
    ("build(pairs, out, stratify='/label')", 'stratify needs shares: give split="train=0.9,val=0.1"'),
    ("build(pairs, out, classes='nope.txt')", "classes numbers the classes of label, coco, voc and annotations"),
    ("build(pairs, out, ext_map='jpg')", 'give ext_map="jpeg=jpg,jfif=jpg"'),
    ("build(pairs, out, pair={'a': 'jpg'})", 'give pair={"images": "jpg", "masks": "png"}'),
    ("build(pairs, out, prefix='a/b')", 'prefix="a/b": letters'),
    ("build(one, out, label='folder')", 'classes="FILE"'),
    ("build(pairs, out, join=table)", 'join="FILE:key=COLUMN" names the column'),
    ("build(one, out, label='folder=5')", 'label="folder=5" needs'),
    ("build(pairs, out, label='x')", "give folder, folder=N, path, path=N, source"),
    ("reshard(shards, out, keys='nope')", 'keys="nope": nope: cannot read'),
    ("reshard(shards, out, where='json:/x >')", "where"),
    ("reshard(shards, out, parts=['png'])", "none of its parts is kept (parts, drop)"),
]


@pytest.fixture
def places(tmp_path, shards):
    def images(folder, *names):
        for name in names:
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (16, 16)).save(tmp_path / folder / f"{name}.jpg")

    images("flat", "0", "1")
    images("pairs", "0", "1", "2")
    images("dots", "a.b")
    images("case", "A", "a")
    images("one", "cat/0", "cat/1")
    for folder, name in [("pairs", "0"), ("pairs", "1"), ("pairs", "2"), ("dots", "a.b"), ("case", "A"), ("case", "a")]:
        (tmp_path / folder / f"{name}.json").write_text(json.dumps({"label": 1}))
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "1.jpg").touch()
    (tmp_path / "bad" / "1.json").write_text("{}")
    (tmp_path / "table.csv").write_text("file,label\nx.jpg,1\n")
    made = {name: str(tmp_path / name) for name in ("flat", "pairs", "dots", "case", "one", "bad", "out")}
    return {**made, "table": str(tmp_path / "table.csv"), "shards": str(shards)}


def test_messages_of_packing_are_python(places):
    for call, text in CALLS:
        with pytest.raises(errors.Error) as caught:
            eval(f"pack.{call}", {"pack": tarflume.pack, **places})
        told = str(caught.value)
        assert text in told, f"{call}: {told}"
        assert not re.search(r"(^|[ (])--[a-z]", told), f"{call}: {told}"
        # Outside quotes a keyword has a number, a quoted text, a dict, or True as its value.
        plain = re.sub(r'"[^"]*"|\'[^\']*\'', '""', told)
        forms = re.sub(r"\b(folder=N|path=N|on=[a-z|]+)", "", plain)  # parts of a value
        wrong = re.findall(r"\b[a-z_]+=(?!\"\"|\d|True|\{)\S*", forms)
        assert wrong == [], f"{call}: {told}"
