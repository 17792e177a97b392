#!/usr/bin/env python3
"""An epoch of 7,646,857 real samples on one node and on four, one of which is killed.

    .venv-python/bin/python bench/scale/nodes.py [--samples 7646857] [--ranks 24] [--threads 16] [--append]

The samples are JPEGs of 24 x 24 pixels in 765 shards with sidecars. Each rank is a process with a loader of 16 threads;
it shuffles exactly, decodes each picture and keeps nothing. A node is 24 such processes. Its folder has hard links to the
shards and copies of the sidecars, so nodes share no mapped sidecar. In the middle of the epoch all processes of one node
are killed. The others are stopped, as torchrun does, and the ranks of three nodes continue with the last checkpoint that
all ranks have. The ledgers of before and after must be those of one epoch.

Memory is the sum of PSS over the processes of a node. Times are those of all processes on the cores of one machine.
"""

from __future__ import annotations

import functools
import io
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
import memory  # noqa: E402

import tarflume  # noqa: E402

GLOBAL_BATCH, SHARD = 9_216, 10_000  # a multiple of 24, 72 and 96


def make(folder: pathlib.Path, samples: int) -> pathlib.Path:
    """The shards, kept for the next run."""
    from PIL import Image

    shards = folder / f"shards-{samples}"
    if (shards / "dataset.json").exists():
        return shards
    files = []
    for number in range(64):
        file = io.BytesIO()
        picture = Image.frombytes("L", (16, 16), random.Random(number).randbytes(256)).resize((24, 24))
        picture.save(file, "JPEG", quality=60, optimize=True)
        files.append(file.getvalue())
    shutil.rmtree(shards, ignore_errors=True)
    with tarflume.ShardWriter(shards, max_samples=SHARD, entry_points=False, check="none", fsync=False) as writer:
        for number in range(samples):
            writer.write({"__key__": f"{number:08}", "jpg": files[number % len(files)]})
    return shards


def place(shards: pathlib.Path, node: pathlib.Path) -> pathlib.Path:
    """The folder of a node: the same tars, sidecars of its own."""
    shutil.rmtree(node, ignore_errors=True)
    node.mkdir(parents=True)
    for path in shards.iterdir():
        if path.suffix == ".tar":
            os.link(path, node / path.name)
        elif path.is_file():
            shutil.copy(path, node / path.name)
    return node


class Job:
    """The ranks of `nodes` folders, each a process."""

    def __init__(self, nodes: list[pathlib.Path], ranks: int, threads: int, every: int, folder: pathlib.Path) -> None:
        self.nodes, self.ranks, self.world, self.folder = nodes, ranks, len(nodes) * ranks, folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "steps").write_bytes(bytes(8 * self.world))
        self.processes = []
        self.begun = time.monotonic()
        for rank in range(self.world):
            words = [sys.executable, HERE / "rank.py", nodes[rank // ranks], folder, rank, self.world, GLOBAL_BATCH, threads]
            out = (folder / f"out-{rank}").open("wb")
            self.processes.append(subprocess.Popen([str(word) for word in [*words, every]], stdout=out))

    def of_node(self, node: int) -> list[subprocess.Popen[bytes]]:
        return self.processes[node * self.ranks : (node + 1) * self.ranks]

    def pss(self) -> list[float]:
        """MB of each node."""
        return [memory.of([one.pid for one in self.of_node(node)])[0] for node in range(len(self.nodes))]

    def saved(self) -> int:
        """The last step whose checkpoint all ranks have."""
        counts: dict[int, int] = {}
        for path in self.folder.glob("*-*.json"):
            step, _, rank = path.stem.partition("-")
            counts[int(step)] = counts.get(int(step), 0) + (rank != "state")
        return max((step for step, count in counts.items() if count == self.world), default=0)

    def wait_for(self, step: int) -> None:
        while self.saved() < step:
            self.check()
            time.sleep(0.1)

    def check(self) -> None:
        bad = [rank for rank, one in enumerate(self.processes) if one.poll() not in (None, 0)]
        assert not bad, f"ranks {bad} have failed"

    def kill(self, processes: list[subprocess.Popen[bytes]]) -> int:
        alive = [one for one in processes if one.poll() is None]
        for one in alive:
            one.send_signal(signal.SIGKILL)
        for one in alive:
            one.wait()
        return len(alive)

    def finish(self) -> float:
        while any(one.poll() is None for one in self.processes):
            self.check()
            time.sleep(0.05)
        self.check()
        return time.monotonic() - self.begun

    def said(self, key: str) -> list[object]:
        lines = [json.loads(line) for rank in range(self.world) for line in (self.folder / f"out-{rank}").open()]
        return [line[key] for line in lines if key in line]

    def ledgers(self, step: int) -> list[tarflume.Ledger]:
        return [tarflume.Ledger(json.loads((self.folder / f"{step}-{rank}.json").read_text())) for rank in range(self.world)]


def merged(ledgers: list[tarflume.Ledger]) -> tarflume.Ledger:
    return functools.reduce(tarflume.Ledger.merge, ledgers)


def row(name: str, job: Job, pss: list[float], rest: str) -> str:
    first, opened = job.said("first_batch_s"), job.said("open_s")
    return (
        f"| {name} | {job.world} | {max(pss):,.0f} | {statistics.median(pss) / job.ranks:.1f} | "
        f"{statistics.median(opened):.2f} ({max(opened):.2f}) | {statistics.median(first):.2f} ({max(first):.2f}) | {rest} |"
    )


def one_node(x, shards: pathlib.Path, work: pathlib.Path, every: int) -> str:
    job = Job([place(shards, work / "node-0")], x.ranks, x.threads, every, work / "job-1")
    job.wait_for(every)
    pss = job.pss()
    took = job.finish()
    ledger, expected = merged([tarflume.Ledger(text) for text in job.said("ledger")]), tarflume.Ledger(job.said("expected")[0])
    ledger.prove(expected)
    return row("one node", job, pss, f"{took:.0f} s, {ledger.samples:,} samples, each once")


def four_nodes(x, shards: pathlib.Path, work: pathlib.Path, every: int, middle: int) -> list[str]:
    nodes = [place(shards, work / f"node-{number}") for number in range(x.nodes)]
    job = Job(nodes, x.ranks, x.threads, every, work / "job-2")
    job.wait_for(every)
    pss = job.pss()
    job.wait_for(middle)
    killed = job.kill(job.of_node(x.nodes - 1))
    stopped = job.kill(job.processes)
    step = job.saved()
    assert json.loads((job.folder / f"{step}-state.json").read_text())["epoch"] == 0, "the epoch had ended"
    before = job.ledgers(step)
    rows = [row(f"{x.nodes} nodes", job, pss, f"killed: {killed} processes of one node, then {stopped} stopped; "
                f"checkpoint of step {step}, {merged(before).samples:,} samples")]  # fmt: skip
    again = work / "job-3"
    again.mkdir()
    shutil.copy(job.folder / f"{step}-state.json", again / "state.json")
    rest = Job(nodes[:-1], x.ranks, x.threads, every, again)
    rest.wait_for(every)
    pss = rest.pss()
    took = rest.finish()
    after = [tarflume.Ledger(text) for text in rest.said("ledger")]
    whole, expected = merged(before + after), tarflume.Ledger(rest.said("expected")[0])
    whole.prove(expected)
    rows.append(row(f"the {x.nodes - 1} that are left", rest, pss,
                    f"{took:.0f} s, {merged(after).samples:,} samples; with those before {whole.samples:,}, each once"))  # fmt: skip
    return rows


def main() -> None:
    parser = common.options(__doc__)
    parser.add_argument("--samples", type=int, default=7_646_857)
    parser.add_argument("--ranks", type=int, default=24, help="processes of a node")
    parser.add_argument("--threads", type=int, default=16, help="threads of each")
    parser.add_argument("--nodes", type=int, default=4)
    x = parser.parse_args()
    common.hide(x.work, "WORK")
    work = x.work.resolve() / "nodes"
    work.mkdir(parents=True, exist_ok=True)
    shards = make(work, x.samples)
    for old in [*work.glob("job-*"), *work.glob("node-*")]:
        shutil.rmtree(old)
    steps = x.samples // GLOBAL_BATCH
    every = max(1, steps // 16)
    rows = [one_node(x, shards, work, every), *four_nodes(x, shards, work, every, every * 7)]
    index = sum(path.stat().st_size for path in shards.iterdir() if path.suffix != ".tar" and path.is_file()) / 1e6
    tars = sum(path.stat().st_size for path in shards.glob("*.tar")) / 1e9
    head = [
        "| case | ranks | PSS of a node, MB | a process, MB | open, s (slowest) | first batch, s (slowest) | outcome |",
        "|---|---|---|---|---|---|---|",
    ]
    about = f"{x.samples:,} samples in {len(list(shards.glob('*.tar')))} shards, {tars:.1f} GB, sidecars {index:,.0f} MB; {x.threads} threads a rank; checkpoints every {every} steps of {GLOBAL_BATCH:,} samples"
    common.publish("\n\n".join([f"## Nodes, {common.now()[:10]}", common.machine(1, [about]), "\n".join([*head, *rows])]), x.append)


if __name__ == "__main__":
    main()
