#!/usr/bin/env python3
"""The ids of `pack tokens` beside those of the Python package of tokenizers: each id of real texts, for each tokenizer.

    PYTHON bench/data/token_ids.py --tokenizers DIR --texts DIR [DIR ...] [--mb 100] [--append FILE]

PYTHON has tokenizers and numpy. Texts are the files of the folders, zips and wheels that are UTF-8, each once; a wheel with
translations has many scripts. `pack export --to megatron` gives back whole documents, which are compared one by one. The
table has the processor time of both, `pack tokens` with one thread and all it does beside.
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import time
import zipfile

import numpy as np
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402

ENDINGS = {"", ".c", ".cfg", ".css", ".csv", ".h", ".html", ".js", ".json", ".md", ".po", ".py", ".pyi", ".rs", ".rst", ".toml",
           ".tsv", ".txt", ".xml"}
MOST = 3_000_000


def files(roots):
    """Yields the bytes of files."""
    for root in roots:
        if root.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(root) as archive:
                for name in sorted(archive.namelist()):
                    if pathlib.Path(name).suffix in ENDINGS:
                        yield archive.read(name)
            continue
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                path = pathlib.Path(folder) / name
                if path.suffix in ENDINGS and path.is_file() and not path.is_symlink():
                    yield path.read_bytes()


def texts(roots, megabytes):
    """Returns texts of about so many MB, each once; every root gives as much as the others, if it has that much."""
    seen, found = set(), []
    for root in roots:
        size = 0
        for data in files([root]):
            if size > megabytes * 1e6 / len(roots):
                break
            if not 0 < len(data) <= MOST or b"\0" in data or data in seen:
                continue
            try:
                found.append(data.decode())
            except UnicodeDecodeError:
                continue
            seen.add(data)
            size += len(data)
    return found


def processor_time(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def ours(pack, tokenizer, corpus, work):
    """Returns the ids of documents, the path, and the processor time."""
    for name in ("out", "ids.bin", "ids.idx"):
        common.remove(work / name)
    before = processor_time(resource.RUSAGE_CHILDREN)
    words = [pack, "tokens", corpus, "-o", work / "out", "--tokenizer", tokenizer, "--length", 8192, "--jobs", 1, "--no-fsync",
             "--dtype", "uint32", "--format", "json"]
    told = subprocess.run([str(word) for word in words], check=True, text=True, capture_output=True).stdout
    took = processor_time(resource.RUSAGE_CHILDREN) - before
    report = json.loads(told.strip().splitlines()[-1])
    words = [pack, "export", work / "out", "--to", "megatron", "-o", work / "ids"]
    subprocess.run([str(word) for word in words], check=True, capture_output=True)
    index = (work / "ids.idx").read_bytes()
    count = int.from_bytes(index[18:26], "little")
    lengths = np.frombuffer(index, "<i4", count, 34)
    ids = np.fromfile(work / "ids.bin", "<i4")
    return np.split(ids, np.cumsum(lengths)[:-1]), report["tokenizer"], took


def theirs(tokenizer, documents):
    """Returns the ids of documents and the processor time."""
    made = Tokenizer.from_file(str(tokenizer))
    made.no_truncation()
    made.no_padding()
    ids, before = [], time.process_time()
    for at in range(0, len(documents), 64):
        for encoding in made.encode_batch_fast(documents[at:at + 64], add_special_tokens=False):
            ids.append(np.array(encoding.ids, dtype="<i4"))
    return ids, time.process_time() - before


def main():
    ap = common.options(__doc__)
    ap.add_argument("--tokenizers", type=pathlib.Path, required=True, help="a folder of tokenizer.json files of any name")
    ap.add_argument("--texts", type=pathlib.Path, nargs="+", required=True, help="folders, zips and wheels")
    ap.add_argument("--mb", type=int, default=100, help="MB of text [100]")
    x = ap.parse_args()
    work = (x.work / "token-ids").resolve()
    work.mkdir(parents=True, exist_ok=True)
    pack = common.pack_binary(x.pack)
    documents = texts(x.texts, x.mb)
    size = sum(len(text.encode()) for text in documents) / 1e6
    corpus = work / "texts.jsonl"
    with corpus.open("w") as f:
        f.writelines(json.dumps({"text": text}) + "\n" for text in documents)
    rows = ["| tokenizer | path | ids | documents that differ | `pack tokens`, CPU s | tokenizers, CPU s |", "|---" * 6 + "|"]
    for tokenizer in sorted(x.tokenizers.glob("*.json")):
        found, path, took = ours(pack, tokenizer, corpus, work)
        expected, needed = theirs(tokenizer, documents)
        expected = [ids for ids in expected if len(ids)]
        differing = sum(not np.array_equal(a, b) for a, b in zip(found, expected)) + abs(len(found) - len(expected))
        total = sum(map(len, expected))
        rows.append(f"| {tokenizer.stem} | {path} | {total:,} | {differing} | {took:.1f} | {needed:.1f} |")
        print(rows[-1], flush=True)
    text = "\n\n".join([
        f"## Ids of tokenizers, {common.now()[:10]}\n\n" + common.machine(1, [f"{len(documents):,} documents, {size:.0f} MB"]),
        "\n".join(rows),
    ])
    common.publish(text, x.append)


if __name__ == "__main__":
    main()
