#!/usr/bin/env python3
"""Rows of arrays in random order, an epoch each: HDF5, memmap and a table, beside h5py, numpy and Dask.

    python3 bench/data/arrays.py FOLDER [--rows 100000] [--batch 256] [--append]

FOLDER gets the three files. Each case is a process of its own, in turns; "own" is the largest memory that is not a page
of a mapped file, over the process and its workers. Needs the packages of bench/data/requirements-arrays.txt.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import time
from importlib.metadata import version

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import common  # noqa: E402
import memory  # noqa: E402

SHAPE = (32, 32, 3)
VECTOR = 96


def make(folder: pathlib.Path, rows: int) -> None:
    """The same pictures as HDF5 and as raw numbers, and vectors as a Parquet table."""
    import h5py
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    if (folder / f"made-{rows}").exists():
        return
    dice = np.random.default_rng(1)
    with h5py.File(folder / "x.h5", "w") as file, open(folder / "x.dat", "wb") as raw:
        pictures = file.create_dataset("x", (rows, *SHAPE), "u1")
        file.create_dataset("y", data=np.arange(rows, dtype="i8"))
        for start in range(0, rows, 10_000):
            part = dice.integers(0, 256, (min(10_000, rows - start), *SHAPE), dtype=np.uint8)
            pictures[start : start + len(part)] = part
            raw.write(part.tobytes())
    vectors = pa.FixedSizeListArray.from_arrays(
        pa.array(dice.standard_normal(rows * VECTOR, dtype=np.float32)), VECTOR
    ).cast(pa.list_(pa.float32()))
    table = pa.table({"id": pa.array(np.arange(rows)), "v": vectors})
    pq.write_table(table, folder / "t.parquet", compression="none", use_dictionary=False, row_group_size=20_000)
    (folder / f"made-{rows}").touch()


def ours(arrays: dict[str, object], batch: int, rows: int):
    import tarflume

    loader = tarflume.ArrayLoader(batch_size=batch, shuffle=True, seed=1, **arrays)
    return (len(np.asarray(part["x"])) for part in loader)


def ours_hdf5(folder, batch, rows):
    import tarflume

    x, y = (tarflume.ArrayDataset(folder / "x.h5", name) for name in ("/x", "/y"))
    return ours({"x": x, "y": y}, batch, rows)


def ours_memmap(folder, batch, rows):
    import tarflume

    return ours({"x": tarflume.ArrayDataset(folder / "x.dat", dtype="uint8", shape=SHAPE)}, batch, rows)


def ours_table(folder, batch, rows):
    import tarflume

    return ours({"x": tarflume.ArrayDataset(folder / "t.parquet", "v")}, batch, rows)


def theirs(data, batch, workers):
    import torch.utils.data as tud

    loader = tud.DataLoader(data, batch, shuffle=True, num_workers=workers)
    return (len(part[0] if isinstance(part, list) else part) for part in loader)


class H5:
    """The data set of the guides: the file is opened in each worker."""

    def __init__(self, path, rows):
        self.path, self.rows, self.file = path, rows, None

    def __len__(self):
        return self.rows

    def __getitem__(self, n):
        import h5py

        if self.file is None:
            self.file = h5py.File(self.path, "r")
        return self.file["x"][n], self.file["y"][n]


class Memmap:
    def __init__(self, path, rows):
        self.x = np.memmap(path, np.uint8, "r", shape=(rows, *SHAPE))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, n):
        return np.array(self.x[n])


def h5py_loader(folder, batch, rows):
    return theirs(H5(folder / "x.h5", rows), batch, 2)


def memmap_loader(folder, batch, rows):
    return theirs(Memmap(folder / "x.dat", rows), batch, 2)


def dask_loc(folder, batch, rows):
    """`loc[a:b].compute()` for each batch, in order: a random row would read its whole partition."""
    import dask.dataframe as dd

    frame = dd.read_parquet(folder / "t.parquet", index="id", calculate_divisions=True, split_row_groups=True)
    for start in range(0, rows, batch):
        part = frame.loc[start : min(start + batch, rows) - 1].compute()
        yield len(np.stack(part["v"].to_numpy()))


CASES = {
    "HDF5: tarflume.ArrayLoader": ours_hdf5,
    "HDF5: h5py + DataLoader(num_workers=2)": h5py_loader,
    "memmap: tarflume.ArrayLoader": ours_memmap,
    "memmap: numpy.memmap + DataLoader(num_workers=2)": memmap_loader,
    "table: tarflume.ArrayLoader, shuffled": ours_table,
    "table: Dask loc[a:b].compute(), in order": dask_loc,
}


def child(name: str, folder: pathlib.Path, batch: int, rows: int, limit: float) -> None:
    watch = memory.Peak(__import__("os").getpid(), 0.05)
    start = time.perf_counter()
    first = seen = 0
    for count in CASES[name](folder, batch, rows):
        seen += count
        first = first or time.perf_counter() - start
        if time.perf_counter() - start > limit:
            break
    seconds = time.perf_counter() - start
    _, own = watch.stop()
    print(json.dumps({"rows": seen, "seconds": seconds, "first": first, "own": own}))


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("folder", type=pathlib.Path)
    words.add_argument("--rows", type=int, default=100_000)
    words.add_argument("--batch", type=int, default=256)
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--limit", type=float, default=20, help="seconds after which a case stops")
    words.add_argument("--append", nargs="?", const=common.RESULTS, type=pathlib.Path, help="add the table to a file")
    words.add_argument("--case")
    given = words.parse_args()
    if given.case:
        child(given.case, given.folder, given.batch, given.rows, given.limit)
        return
    make(given.folder, given.rows)
    best: dict[str, dict[str, float]] = {}
    for _ in range(given.rounds):
        for name in CASES:
            command = [sys.executable, __file__, str(given.folder), "--case", name]
            command += ["--rows", str(given.rows), "--batch", str(given.batch), "--limit", str(given.limit)]
            run = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            run["rate"] = run["rows"] / run["seconds"]
            if name not in best or run["rate"] > best[name]["rate"]:
                best[name] = run
    known = [f"NumPy {np.__version__}", *(f"{name} {version(name)}" for name in ("h5py", "torch", "dask", "tarflume"))]
    lines = ["| case | rows/s, best round | first batch s | own MB |", "|---|---:|---:|---:|"]
    lines += [f"| {name} | {r['rate']:,.0f} | {r['first']:.2f} | {r['own']:.0f} |" for name, r in best.items()]
    head = f"## Arrays, {common.now()[:10]}\n\n{common.machine(given.rounds, known)}"
    shape = f"### {given.rows:,} rows of {'x'.join(map(str, SHAPE))} bytes, or {VECTOR} floats; batches of {given.batch}"
    common.publish("\n\n".join([head, shape, "\n".join(lines)]), given.append)


if __name__ == "__main__":
    main()
