"""What goes in and out: every command of docs/IN-OUT.md and of README.md runs, and its output is compared.

A command that packs: its output is verified, an epoch delivers each sample once, and the images or arrays are those
of the source. A command that exports: its output is packed again, or read as a table, and compared in the same way.
"""

from __future__ import annotations

import collections
import csv
import io
import json
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import urllib.request

import numpy as np
import pytest
from PIL import Image

import tarflume
from conftest import PACK, ROOT, pack
from page_inputs import ARRAYS, COUNT, PIXELS, arrays, images, texts
from patience import PATIENCE_S


def commands(page: str) -> list[str]:
    """The commands in the tables and in the consoles of a page, each once."""
    text = (ROOT / page).read_text()
    found = [code for row in re.findall(r"^\|.*", text, re.M) for code in re.findall(r"`(pack [^`]+)`", row)]
    for block in re.findall(r"^```console\n(.*?)^```", text, re.S | re.M):
        lines = [shlex.split(line, comments=True) for line in block.splitlines()]
        found += [shlex.join(words) for words in lines if words[:1] == ["pack"]]
    return list(dict.fromkeys(found))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("inputs")
    for make in (images, arrays, texts):
        make(root)
    return root


def samples(out: pathlib.Path) -> list[dict[str, bytes]]:
    """The samples of a data set that is whole, read by an epoch that delivers each once."""
    pack("verify", out, "--require", "")
    data = tarflume.Dataset(out)
    for extension, count in data.extensions().items():
        if count == len(data):
            with tarflume.Loader(
                data, batch_size=5, shuffle="full", columns={"part": tarflume.Raw(extension)}
            ) as loader:
                read = collections.Counter(part for batch in loader.epoch(0) for part in batch["part"])
                loader.ledger().prove(loader.expected(0))
            assert read == collections.Counter(sample[extension] for sample in data)
    return [dict(sample) for sample in data]


def jpegs(found: list[dict[str, bytes]]) -> list[bytes]:
    return sorted(part for sample in found for name, part in sample.items() if name.endswith("jpg"))


def wanted(inputs: pathlib.Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in (inputs / "images").iterdir())


def check_packed(out: pathlib.Path, line: str, inputs: pathlib.Path) -> None:
    found = samples(out)
    if line.startswith("pack tokens"):
        tokens = sum(json.loads(sample["json"])["tokens"] for sample in found)
        assert tokens == (inputs / "corpus.bin").stat().st_size // 2
        return
    assert len(found) == COUNT
    if "?png=" in line:
        pixels = [np.asarray(Image.open(io.BytesIO(sample["png"]))) for sample in found]
        assert np.array_equal(pixels, PIXELS)
        assert [json.loads(sample["json"]) for sample in found] == [{"label": n} for n in range(COUNT)]
        return
    if re.search(r"npy:|npz:|raw:|hdf5:|zarr:", line):
        rows = [part for sample in found for name, part in sorted(sample.items()) if name.endswith(".raw")]
        assert rows == [row.tobytes() for row in ARRAYS]
        labels = [next(iter(json.loads(sample["json"]).values())) for sample in found]
        assert labels == list(range(COUNT))
        return
    assert jpegs(found) == wanted(inputs)
    if "--require image" not in line:  # each has something beside the picture
        assert all(len(sample) >= 3 for sample in found)


#: How the output of an export is packed again; FILE is a file of it.
AGAIN = {
    "mds": "mds:{out}",
    "litdata": "litdata:{out}",
    "tfrecord": "tfrecord:{out}/*.tfrecord?key=__key__&jpg=jpg&json=*",
    "parquet": "parquet:{out}/*.parquet?jpg=jpg",
    "hf": "parquet:{out}/data/*.parquet?jpg=image.bytes",
    "folder": "{out}",
}


def check_exported(out: pathlib.Path, words: list[str], inputs: pathlib.Path) -> None:
    form = words[words.index("--to") + 1] if "--to" in words else "files"
    if form == "megatron":
        for suffix in (".bin", ".idx"):
            assert out.with_name(out.name + suffix).read_bytes() == (inputs / f"corpus{suffix}").read_bytes()
        return
    if form == "coco":
        found = json.loads(out.read_text())
        wanted_file = json.loads((inputs / "instances.json").read_text())
        assert {name: found[name] for name in ("annotations", "categories")} == {
            name: wanted_file[name] for name in ("annotations", "categories")
        }
        assert [image["file_name"] for image in found["images"]] == [f"{n:03}.jpg" for n in range(COUNT)]
        return
    if form == "csv":
        with out.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["__key__"] for row in rows] == [f"{n:03}" for n in range(COUNT)]
        assert [int(row["class"]) for row in rows] == [n % 3 for n in range(COUNT)]
        return
    again = out.with_name("again")
    pack("build", AGAIN.get(form, "{out}").format(out=out), "-o", again)
    assert jpegs(samples(again)) == wanted(inputs)


def serves(words, work):
    """The command serves the samples until Ctrl-C."""
    with subprocess.Popen([PACK, *words[1:]], cwd=work, stdout=subprocess.PIPE, text=True) as server:
        address = server.stdout.readline().strip()
        with urllib.request.urlopen(f"{address}api/samples", timeout=PATIENCE_S) as answer:
            assert json.load(answer)["total"] == COUNT
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE_S) == 0


LINES = list(dict.fromkeys(commands("docs/IN-OUT.md") + commands("README.md")))


@pytest.mark.parametrize("line", LINES)
def test_a_command_runs_and_its_output_is_that_of_the_source(line, inputs, tmp_path):
    work = tmp_path / "work"
    shutil.copytree(inputs, work)
    words = shlex.split(line)
    target = words[words.index("-o") + 1] if "-o" in words else None
    on_shards = ("verify", "bench", "unpack", "export", "diff", "stats", "view", "dedupe", "cat", "sync", "policy", "sign",
                 "repair")
    resharded = words[1] == "reshard" and words[2] == "shards/"
    exported = words[1] == "index" and "--export" in words
    if words[1] in on_shards or resharded or exported:
        has_objects = "--objects" in words or "coco" in words
        source = [work / "images", "--coco", work / "instances.json"] if has_objects else [work / "photos"]
        for out in ("shards", "new"):
            pack("build", *source, "-o", work / out)
        words_of_tokens = ["--tokenizer", work / "tokenizer.json", "--length", 128]
        pack("tokens", work / "corpus", "-o", work / "tokens", *words_of_tokens)
        for name in ("photos", "mds", "chunks", "records"):  # these commands make them
            shutil.rmtree(work / name)
        for path in work.glob("corpus.*"):
            path.unlink()
    if "--baseline" in words and words[1] == "verify":
        pack("verify", "--write-baseline", work / "known.json", work / "shards")
    if words[1] == "sign":
        pack("sign", "--new-key", work / "release.key", "--no-password")
    if words[1] == "append":  # to a data set of the first half
        half = work / "half"
        shutil.copytree(work / "photos", half)
        for n in range(COUNT // 2, COUNT):
            for path in half.glob(f"{n:03}.*"):
                path.unlink()
        pack("build", half, "-o", work / "shards")
    if words[1] == "view" and not target:
        serves(words, work)
        return
    if words[1] == "bench" and "--seconds" not in words:
        words += ["--seconds", "0.5"]
    done = subprocess.run([PACK, *words[1:]], cwd=work, text=True, capture_output=True, check=False)
    assert done.returncode == 0 or (words[1], done.returncode) == ("dedupe", 1), done.stderr
    if resharded or "lossless/" in words:
        assert samples(work / target) and all("jpg" in sample for sample in samples(work / target))
    elif words[1] in ("build", "append", "reshard", "tokens"):
        check_packed(work / target, line, inputs)
    elif exported:
        assert {"shardindex.json", "README.md"} <= {path.name for path in (work / "shards").iterdir()}
    elif words[1] == "index":
        check_packed(work / words[2], line, inputs)
    elif words[1] in ("export", "unpack"):
        check_exported(work / target, words, inputs)
    else:
        made = [work / name for name in ("copy/dataset.json", "data.json", "page.html", "pack.toml")]
        assert words[1] in on_shards and (done.stdout or any(path.exists() for path in made))


def test_the_tables_name_every_source_and_every_format():
    text = (ROOT / "docs" / "IN-OUT.md").read_text()
    helped = pack("export", "--help")
    formats = re.findall(r"^ +- (\w+): ", helped, re.M)
    forms = set(re.findall(r"--to (\w+)", text))
    assert forms and forms <= set(formats)
    others = {"columns", "text", "exact", "nearest", "strict", "python"}  # words of --json, --numbers and --json-rules
    assert set(formats) - others == forms
    kinds = {"csv", "jsonl", "parquet", "hdf5", "idx", "npy", "npz", "raw", "tar", "zip", "mds", "litdata", "tfrecord"}
    assert kinds <= set(re.findall(r"pack build '?(\w+):", text))
