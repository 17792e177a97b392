"""What tests prove of a source: its data set is packed, verified, trained on for an epoch and exported, and each time
every byte is compared. The ledger proves that an epoch delivers each sample once."""

from __future__ import annotations

import collections
import hashlib
import io
import json
import os
import pathlib
import random
import signal
import subprocess
import tarfile
import time

import numpy as np
import tarflume
import torch

from conftest import PACK, pack, picture

#: The parts of each key by extension.
Samples = dict[str, dict[str, bytes]]


def jpeg(n: int) -> bytes:
    """The picture `n` as JPEG."""
    out = io.BytesIO()
    picture(n).save(out, "JPEG", quality=90)
    return out.getvalue()


def facts(sample: dict[str, bytes]) -> dict[str, object]:
    return json.loads(sample["json"])


def refused(*words: object) -> str:
    """The message of a command that fails."""
    done = subprocess.run([PACK, *map(str, words)], text=True, capture_output=True, check=False)
    assert done.returncode != 0, done.stdout
    return done.stderr


def digests(folder: pathlib.Path) -> dict[str, str]:
    """All files of a data set with their digests."""
    files = (file for file in folder.iterdir() if file.is_file())
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def members(folder: pathlib.Path) -> Samples:
    """All members of the tars, read by Python's tarfile; a key ends at the first dot of the file name."""
    found: Samples = {}
    for path in sorted(folder.glob("*.tar")):
        with tarfile.open(path) as tar:
            for member in tar:
                parent, _, name = member.name.rpartition("/")
                stem, _, ext = name.partition(".")
                parts = found.setdefault(f"{parent}/{stem}" if parent else stem, {})
                assert ext not in parts, member.name
                parts[ext] = tar.extractfile(member).read()
    return found


def delivered(folder: pathlib.Path) -> Samples:
    """All parts that two ranks of a loader deliver in a shuffled epoch. The sum of their ledgers proves the epoch."""
    found: Samples = {}
    keys: collections.Counter[str] = collections.Counter()
    total = None
    for rank in range(2):
        words = {"batch_size": 7, "shuffle": "full", "seed": 3, "drop_last": "uneven"}
        with tarflume.Loader(folder, rank=rank, world_size=2, **words) as loader:
            for batch in loader.epoch(0):
                keys.update(batch["key"])
                for ext in set(batch) - {"key"}:
                    for key, part in zip(batch["key"], batch[ext], strict=True):
                        data = part if isinstance(part, bytes) else np.asarray(part).tobytes()
                        found.setdefault(key, {})[ext] = data
            total = loader.ledger() if total is None else total.merge(loader.ledger())
            expected = loader.expected(0)
    total.prove(expected)
    assert set(keys.values()) == {1}
    assert total.samples == len(keys) == len(tarflume.Dataset(folder))
    return found


def packed(source: object, out: pathlib.Path, *words: object) -> Samples:
    """Packs, verifies and reads `source` for an epoch; what the loader delivers equals the members of the tars."""
    pack("build", source, "-o", out, *words)
    pack("verify", out, "--level", "decode", "--require", "")
    found = delivered(out)
    assert found == members(out)
    return found


def trained(folder: pathlib.Path, **words: object) -> None:
    """Trains a linear model for an epoch. The batches have an input and a target, which is a class or has several
    numbers for each sample."""
    torch.manual_seed(0)
    words = {"batch_size": 8, "shuffle": "full", "seed": 5} | words
    loader = tarflume.torch.Loader(folder, deliver="tuple", **words)
    model, rows = None, 0
    for images, target in loader:
        x = images.float().flatten(1) / 255
        whole = not target.is_floating_point()
        if model is None:
            model = torch.nn.Linear(x.shape[1], 100 if whole else target.flatten(1).shape[1])
            optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
            before = model.weight.detach().clone()
        guess = model(x)
        loss = torch.nn.functional
        loss = loss.cross_entropy(guess, target) if whole else loss.mse_loss(guess, target.flatten(1))
        assert torch.isfinite(loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rows += len(x)
    assert rows == len(tarflume.Dataset(folder)) and not torch.equal(before, model.weight)
    loader.ledger().prove(loader.expected(0))


def exported(folder: pathlib.Path, out: pathlib.Path, form: str) -> Samples:
    """Exports a data set, and reads it with the library of the format; all parts are bytes."""
    exts = sorted({ext for sample in members(folder).values() for ext in sample})
    same = [word for ext in exts for word in ("--as", f"{ext}=bytes")]
    pack("export", folder, "--to", form, "-o", out, *([] if form == "folder" else same), "--json", "text")
    return READERS[form](out)


def _rows(rows: object) -> Samples:
    """Rows by their keys; without what an export adds."""
    found: Samples = {}
    for row in rows:
        key = row["__key__"]
        key = key if isinstance(key, str) else bytes(key).decode()
        assert key not in found
        found[key] = {name: bytes(part) for name, part in row.items() if not name.startswith("__")}
    return found


def _parquet(out: pathlib.Path) -> Samples:
    import pyarrow.parquet

    return _rows(pyarrow.parquet.read_table(out).to_pylist())


def _mds(out: pathlib.Path) -> Samples:
    import streaming

    streaming.base.util.clean_stale_shared_memory()
    return _rows(streaming.StreamingDataset(local=str(out), shuffle=False, batch_size=1))


def _litdata(out: pathlib.Path) -> Samples:
    import litdata

    return _rows(litdata.StreamingDataset(str(out), shuffle=False))


def _tfrecord(out: pathlib.Path) -> Samples:
    from tfrecord.reader import tfrecord_loader

    return _rows(row for file in sorted(out.iterdir()) for row in tfrecord_loader(str(file), None, None))


def _folder(out: pathlib.Path) -> Samples:
    found: Samples = {}
    for file in sorted(file for file in out.rglob("*") if file.is_file() and file != out / "metadata.jsonl"):
        stem, _, ext = file.name.partition(".")
        found.setdefault(str(file.relative_to(out).with_name(stem)), {})[ext] = file.read_bytes()
    return found


READERS = {"parquet": _parquet, "mds": _mds, "litdata": _litdata, "tfrecord": _tfrecord, "folder": _folder}


def by_two_machines(source: list[object], out: pathlib.Path, whole: pathlib.Path, *words: object) -> None:
    """Two runs of a plan make what one build has made."""
    pack("plan", *source, "-o", out, *words)
    for rank in (1, 0):
        pack("run", out, "--rank", rank, "--of", 2)
    pack("finalize", out)
    assert digests(out) == digests(whole)


def killed(source: str, root: pathlib.Path, kills: int, *words: object) -> None:
    """Kills builds and repeats them; each chain of two ends with the bytes of an undisturbed build.

    A build is killed once it has made some number of files, random with a fixed seed, or has ended: how many of them
    end before that depends on the machine, and nothing here depends on how many."""
    build = [PACK, "build", source, *map(str, words), "--progress", "none"]
    subprocess.run([*build, "-o", root / "whole"], check=True, capture_output=True)
    most = 2 * sum(1 for _ in (root / "whole").iterdir())
    dice = random.Random(1)
    done = 0
    for chain in range((kills + 1) // 2):
        out = root / f"out{chain}"
        for _ in range(2):
            files = dice.randrange(most)
            child = subprocess.Popen([*build, "-o", out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # os.walk passes over folders that are removed meanwhile.
            while child.poll() is None and sum(len(names) for _, _, names in os.walk(out)) < files:
                time.sleep(0.001)
            child.send_signal(signal.SIGKILL)
            code = child.wait()
            assert code in (0, -signal.SIGKILL)
            done += code != 0
        subprocess.run([*build, "-o", out], check=True, capture_output=True)
        assert digests(out) == digests(root / "whole")
    print(f"{done} builds were killed")
