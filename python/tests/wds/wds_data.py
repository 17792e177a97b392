"""Tars for the tests of `tarflume.webdataset`, and what makes samples comparable."""

from __future__ import annotations

import gzip
import io
import json
import pathlib
import pickle
import tarfile
from typing import Any

import numpy as np
from conftest import picture
from PIL import Image

SHARDS, EACH = 4, 7


def png(n: int) -> bytes:
    out = io.BytesIO()
    # Small, and of one size, so that they make batches; some gray, some with an alpha channel.
    picture(n).resize((8, 6)).convert(("RGB", "L", "RGBA")[n % 3]).save(out, "PNG")
    return out.getvalue()


def npy(n: int) -> bytes:
    out = io.BytesIO()
    np.save(out, np.arange(n, n + 6, dtype=np.float32).reshape(2, 3))
    return out.getvalue()


def npz(n: int) -> bytes:
    out = io.BytesIO()
    np.savez(out, a=np.arange(n), b=np.ones((2, n)))
    return out.getvalue()


def tar(path: pathlib.Path, members: list[tuple[str, bytes]]) -> pathlib.Path:
    """A tar of these members, packed by gzip if its name ends so; behind it, time stands still."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w", format=tarfile.USTAR_FORMAT) as out:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            out.addfile(member, io.BytesIO(data))
    return path


def members(n: int) -> list[tuple[str, bytes]]:
    """A sample with all kinds of parts that are decoded."""
    return [
        (f"{n:04}.png", png(n)),
        (f"{n:04}.json", json.dumps({"n": n, "names": ["a"] * (n % 3)}).encode()),
        (f"{n:04}.cls", str(n % 10).encode()),
        (f"{n:04}.txt", f"sample {n}, ä".encode()),
        (f"{n:04}.vec.npy", npy(n)),
        (f"{n:04}.npz", npz(n)),
        (f"{n:04}.note.txt.gz", gzip.compress(f"note {n}".encode(), mtime=0)),
        (f"{n:04}.raw", bytes([n, 0, 255])),
    ]


class Data:
    """Folders of tars."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        for shard in range(SHARDS):
            rows = range(shard * EACH, (shard + 1) * EACH)
            inside = [member for n in rows for member in members(n)]
            tar(root / f"plain-{shard:03}.tar", inside)
            tar(root / f"packed-{shard:03}.tar.gz", inside)
        self.odd = str(tar(root / "odd.tar", odd()))
        self.bad_json = str(tar(root / "bad-json.tar", bad_json()))
        self.pickled = str(tar(root / "pickled.tar", [("0.pyd", pickle.dumps({"a": 1})), ("1.pkl", pickle.dumps([2]))]))
        whole = (root / "plain-001.tar").read_bytes()
        (root / "cut.tar").write_bytes(whole[: len(whole) * 2 // 3])
        self.cut = str(root / "cut.tar")
        doubled = [("a.txt", b"1"), ("b.txt", b"2"), ("b.TXT", b"3"), ("b.cls", b"4"), ("c.txt", b"5")]
        self.doubled = str(tar(root / "doubled.tar", doubled))
        self.missing = str(root / "missing.tar")

    @property
    def braces(self) -> str:
        return str(self.root / f"plain-{{000..{SHARDS - 1:03}}}.tar")

    @property
    def packed(self) -> str:
        return str(self.root / f"packed-{{000..{SHARDS - 1:03}}}.tar.gz")

    def plain(self, n: int) -> str:
        return str(self.root / f"plain-{n:03}.tar")


def odd() -> list[tuple[str, bytes]]:
    """Names that are not so plain: folders, dots in them, upper case, metadata, no extension, other letters."""
    return [
        ("train/a/0001.JPG", b"one"),
        ("train/a/0001.Cls", b"1"),
        ("train/a.b/0001.jpg", b"two"),
        ("./0002.SEG.Png", b"three"),
        ("./0002.seg.PNG.txt", b"four"),
        ("__meta__/x.txt", b"not a sample"),
        ("__index__", b"not a sample"),
        ("README", b"no extension"),
        ("train/ä ö/0003.jpg", b"five"),
        ("0004.", b"an empty extension"),
        ("0001.jpg", b"another folder"),
        ("a" * 90 + "/" + "b" * 60 + ".txt", b"long"),
    ]


def bad_json() -> list[tuple[str, bytes]]:
    parts = [b'{"n": 0}', b'{"n": ', b'{"n": 2}', b"", b'{"n": 4}']
    return [(f"{n}.{ext}", data) for n, text in enumerate(parts) for ext, data in (("json", text), ("cls", b"1"))]


def plain(value: Any) -> Any:
    """What can be compared by `==`, types, shapes and the order of dicts included."""
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, Image.Image):
        return "picture", value.mode, value.size, value.tobytes()
    if isinstance(value, dict):
        return "dict", [(name, plain(item)) for name, item in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    return type(value).__name__, value
