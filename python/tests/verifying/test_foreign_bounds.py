"""Each bound of a policy is silent on sound sets of other tools, without sidecars, and finds a planted case in each."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import webdataset
from PIL import Image

from conftest import picture
from tarflume import pack

#: Foreign sets have neither manifest nor sidecars, and nothing but the bounds is the subject here.
RULES = '[rules]\nmissing-index = "off"\nmissing-shard = "off"\nmissing-part = "off"\n'
SOUND = """
[parts]
image = "100%"
json = "100%"
[fields."/label"]
type = "integer"
min = 0
max = 1
required = "100%"
[fields."/source"]
enum = ["web", "camera"]
[classes]
field = "/label"
min-share = "40%"
max-share = "60%"
min-count = 3
required = ["0", "1"]
[pictures]
min-width = 32
max-height = 100
max-bytes = "1MiB"
[shards]
max-samples = 4
samples-deviation = "10%"
[total]
samples = 8
shards = 2
"""
COUNT = 8


def encoded(image, form="JPEG"):
    out = io.BytesIO()
    image.save(out, form)
    return out.getvalue()


def samples(first=0):
    """Eight samples of two labels and two sources."""
    return [{"jpg": encoded(picture(first + n)), "json": {"label": n % 2, "source": "web" if n < 4 else "camera"}}
            for n in range(COUNT)]


def write(folder, name, keys, found, per_shard=4):
    """Tars by webdataset's writer."""
    folder.mkdir(parents=True, exist_ok=True)
    with webdataset.ShardWriter(str(folder / name), maxcount=per_shard, verbose=0) as sink:
        for n, sample in enumerate(found):
            sink.write({"__key__": keys.format(n), **sample})


def of_webdataset(folder, found):
    write(folder, "set-%06d.tar", "{:04}", [{**sample, "txt": "a caption"} for sample in found])


def of_img2dataset(folder, found):
    write(folder, "%05d.tar", "00000{:04}", [{**sample, "txt": "a caption"} for sample in found])
    for tar in sorted(folder.glob("*.tar")):
        (folder / f"{tar.stem}_stats.json").write_text(json.dumps({"count": 4, "successes": 4}))
        pq.write_table(pa.table({"key": ["x"]}), folder / f"{tar.stem}.parquet")


def of_the_hub(folder, found):
    write(folder, "train-%05d.tar", "train{}", found)
    (folder / "README.md").write_text("---\ntask: x\n---\n")


def of_energon(folder, found):
    write(folder, "shard_%d.tar", "{:03}", found)
    meta = folder / ".nv-meta"
    meta.mkdir()
    counts = {tar.name: 4 for tar in sorted(folder.glob("*.tar"))}
    (meta / ".info.json").write_text(json.dumps({"energon_version": "7", "shard_counts": counts}))
    (meta / "split.yaml").write_text("split_parts:\n  train: [shard_0.tar, shard_1.tar]\n")


LAYOUTS = {"webdataset": of_webdataset, "img2dataset": of_img2dataset, "hub": of_the_hub, "energon": of_energon}


def no_json(found):
    del found[3]["json"]


def no_picture(found):
    del found[3]["jpg"]


def label_above(found):
    found[3]["json"]["label"] = 2


def label_of_another_type(found):
    found[3]["json"]["label"] = "1"


def no_label(found):
    del found[3]["json"]["label"]


def another_word(found):
    found[3]["json"]["source"] = "phone"


def one_class(found):
    for sample in found:
        sample["json"]["label"] = 1


def narrow(found):
    found[3]["jpg"] = encoded(Image.new("RGB", (16, 48), (200, 20, 90)))


def high(found):
    found[3]["jpg"] = encoded(Image.linear_gradient("L").resize((64, 120)))


def fewer(found):
    del found[5:]


def more(found):
    found.append({**found[0], "jpg": encoded(picture(40))})


PLANTED = [
    (no_json, {"policy-part", "policy-field"}), (no_picture, {"policy-part"}), (label_above, {"policy-field"}),
    (label_of_another_type, {"policy-field"}), (no_label, {"policy-field"}), (another_word, {"policy-field"}),
    (one_class, {"policy-class"}), (narrow, {"policy-picture"}), (high, {"policy-picture"}),
    (fewer, {"policy-total"}), (more, {"policy-total"}),
]


def found_in(tmp_path, policy, *folders):
    """The kinds of problems of the policy, and the report."""
    (tmp_path / "pack.toml").write_text(RULES + policy)
    report = pack.verify(list(folders), policy=tmp_path / "pack.toml", progress=False)
    assert not report.get("unchecked"), str(report)
    return {kind for kind in report["counts"]}, report


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_bounds_are_silent_on_a_sound_set(tmp_path, layout):
    LAYOUTS[layout](tmp_path / "set", samples())
    kinds, report = found_in(tmp_path, SOUND, tmp_path / "set")
    assert kinds == set() and not report.get("warnings"), str(report)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("plant", "kinds"), PLANTED, ids=[plant.__name__ for plant, _ in PLANTED])
def test_a_planted_case_is_found(tmp_path, layout, plant, kinds):
    found = samples()
    plant(found)
    LAYOUTS[layout](tmp_path / "set", found)
    seen, report = found_in(tmp_path, SOUND, tmp_path / "set")
    assert kinds <= seen, str(report)
    assert all(kind.startswith("policy-") for kind in seen), str(report)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_uneven_shards_are_found(tmp_path, layout):
    LAYOUTS[layout](tmp_path / "set", samples())
    # Before the others by its name: the last shard may have fewer samples.
    write(tmp_path / "set", "!first-%d.tar", "first{}", samples(20)[:1])
    kinds, report = found_in(tmp_path, '[shards]\nsamples-deviation = "10%"\n', tmp_path / "set")
    assert kinds == {"policy-shards"}, str(report)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_picture_of_another_set_is_found(tmp_path, layout):
    policy = ('[sets.train]\npath = "train"\n[sets.val]\npath = "val"\n'
              '[[duplicates]]\nacross = ["train", "val"]\nkind = "exact"\n')
    train, val = tmp_path / "train", tmp_path / "val"
    LAYOUTS[layout](train, samples())
    LAYOUTS[layout](val, samples(20))
    (tmp_path / "pack.toml").write_text(RULES + policy)
    report = pack.verify([train, val], policy=tmp_path / "pack.toml", progress=False)
    (unchecked,) = report["unchecked"]
    assert "no sidecar" in unchecked and "tarflume.pack.index" in unchecked, "pictures are found by their sidecars"
    for folder in (train, val):
        pack.index(folder, progress=False)
    kinds, report = found_in(tmp_path, policy, train, val)
    assert kinds == set(), str(report)
    leaking = samples(40)
    leaking[5]["jpg"] = samples()[2]["jpg"]
    LAYOUTS[layout](tmp_path / "other", leaking)
    pack.index(tmp_path / "other", progress=False)
    kinds, report = found_in(tmp_path, policy.replace('"val"\n[[', '"other"\n[['), train, tmp_path / "other")
    assert kinds == {"policy-duplicate"}, str(report)
    (problem,) = report.problems
    assert "duplicates: the picture has the bytes of" in problem["reason"], problem
