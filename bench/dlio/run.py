"""DLIO's own PyTorch loader and tarflume's beside it: accelerator use (AU), samples/s, memory, start.

    python bench/dlio/run.py [--rounds 5] [--workloads retinanet,unet3d] [--lists 100000,500000] [--pack target/release/pack]

Run it with the Python of an environment that has tarflume, torch and DLIO (python/tests/clusters/requirements.txt).
DLIO generates the data, computes AU and judges it; this script starts it, and reads its summary and its log. Memory is
the largest sum of PSS over the process tree. Open rules, not submitted to MLCommons: no result of MLPerf.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from workloads import RETINANET, UNET3D, Workload

HERE = pathlib.Path(__file__).resolve().parent
BASE = [
    "workload=default", "++workload.framework=pytorch", "++workload.workflow.profiling=False",
    "++workload.workflow.evaluation=False", "++workload.workflow.checkpoint=False",
]  # fmt: skip
WORKLOADS = {workload.name: workload for workload in (RETINANET, UNET3D)}


def dlio(options: list[str], work: pathlib.Path, shards: pathlib.Path | None = None) -> dict[str, float]:
    """Runs DLIO; returns what it measured, and the memory of its processes."""
    out = pathlib.Path(tempfile.mkdtemp(prefix="out-", dir=work))
    words = [*BASE, *options, f"hydra.run.dir={out}", f"++workload.output.folder={out}", "hydra.output_subdir=null"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | ({"TARFLUME_SHARDS": str(shards)} if shards else {})
    log = (out / "said").open("wb")
    process = subprocess.Popen(
        [sys.executable, HERE / "launch.py", *words], stdout=log, stderr=log, env=environment, cwd=work, start_new_session=True
    )
    peak = 0
    while process.poll() is None:
        peak = max(peak, tree_pss(process.pid))
        time.sleep(0.2)
    said = (out / "said").read_text(errors="replace")
    assert process.returncode == 0, said[-3000:]
    found: dict[str, float] = {"pss_gb": peak / 1e9}
    if (out / "summary.json").exists():
        metric = json.loads((out / "summary.json").read_text())["metric"]
        found |= {"au": metric["train_au_mean_percentage"], "samples_s": metric["train_throughput_mean_samples_per_second"]}
    found |= starts(out)
    shutil.rmtree(out)
    return found


def starts(out: pathlib.Path) -> dict[str, float]:
    """Seconds from the start of the first epoch to its first batch and to the third, by DLIO's own records."""
    path = out / "per_epoch_stats.json"
    loaded = sorted(out.glob("*_output.json"))
    if not path.exists() or not loaded:
        return {}
    epoch = json.loads(loaded[0].read_text()).get("1", {})
    load = epoch.get("load", {}).get("block1") or []
    process = epoch.get("proc", {}).get("block1") or []
    if len(process) < 3 or not load:
        return {}
    return {"first_batch_s": load[0], "third_step_s": sum(process[:3])}


def tree_pss(pid: int) -> int:
    total = 0
    for process in [pid, *children(pid)]:
        try:
            text = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text()
            total += int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1]) * 1024  # type: ignore[index]
        except (OSError, TypeError):
            continue
    return total


def children(pid: int) -> list[int]:
    try:
        tasks = list(pathlib.Path(f"/proc/{pid}/task").iterdir())
        found = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []
    return found + [below for child in found for below in children(child)]


def ours(shards: pathlib.Path, folder: pathlib.Path, format: str) -> list[str]:
    code = f"import sys; sys.path.insert(0, {str(HERE)!r}); import launch; launch.stand_in(); "
    code += "from tarflume.dlio import options; print('\\n'.join(options(*sys.argv[1:])))"
    done = subprocess.run(
        [sys.executable, "-c", code, shards, folder, format], check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


def side_by_side(workload: Workload, words: argparse.Namespace, work: pathlib.Path) -> dict[str, list[dict[str, float]]]:
    loose, shards = work / workload.name, work / f"{workload.name}-shards"
    if not shards.exists():
        for part in ("train", "valid"):
            (loose / part).mkdir(parents=True)
        dlio([*workload.data(loose), "++workload.workflow.generate_data=True", "++workload.workflow.train=False"], work)
        require = {"jpeg": "jpg"}.get(workload.format, workload.format)
        subprocess.run([words.pack, "build", loose / "train", "-o", shards, "--require", require, "--quiet"], check=True)
    training = workload.training(words.epochs, words.threads) + ["++workload.workflow.generate_data=False", "++workload.workflow.train=True"]
    cases = {
        "DLIO's PyTorch loader": (workload.data(loose) + training, None),
        "tarflume": (ours(shards, work / f"{workload.name}-link", workload.format) + training
                     + workload.record(), shards),
    }  # fmt: skip
    found: dict[str, list[dict[str, float]]] = {case: [] for case in cases}
    for number in range(words.rounds):
        for case, (options, place) in cases.items():
            found[case].append(dlio(options, work, place))
            print(f"{workload.name}, round {number}, {case}: {found[case][-1]}", file=sys.stderr, flush=True)
    return found


def table(workload: Workload, found: dict[str, list[dict[str, float]]], words: argparse.Namespace) -> None:
    print(f"\n**{workload.name}** ({workload.scale}; batch {workload.batch}, step {workload.step_s:.5f} s, AU >= {workload.au:.0%}), "
          f"{words.epochs} epochs, {words.threads} threads, medians of {words.rounds} rounds, range in brackets\n")  # fmt: skip
    print("| loader | AU | samples/s | first batch, s | third step, s | memory, GB | DLIO's verdict |\n|---|---|---|---|---|---|---|")
    for case, rounds in found.items():
        def middle(name: str, rounds: list[dict[str, float]] = rounds) -> float:
            return statistics.median(one.get(name, float("nan")) for one in rounds)

        aus = [one["au"] for one in rounds]
        verdict = "success" if middle("au") >= workload.au * 100 else "fail"
        print(f"| {case} | {middle('au'):.1f} % [{min(aus):.1f}..{max(aus):.1f}] | {middle('samples_s'):.1f} | "
              f"{middle('first_batch_s'):.2f} | {middle('third_step_s'):.2f} | {middle('pss_gb'):.2f} | {verdict} |")  # fmt: skip


def lists(count: int, words: argparse.Namespace, work: pathlib.Path) -> None:
    """The memory of a list of `count` files: hard links to a few small JPEGs, and the same samples in shards."""
    few = 40
    base, loose, shards = work / "few", work / f"list-{count}", work / f"list-{count}-shards"
    for folder in (base, loose):
        for part in ("train", "valid"):
            (folder / part).mkdir(parents=True, exist_ok=True)
    small = Workload("list", "jpeg", 20_000, 24, 0.0, 0.85, few, "")
    if not any((base / "train").iterdir()):
        dlio([*small.data(base), "++workload.workflow.generate_data=True", "++workload.workflow.train=False"], work)
    files = sorted((base / "train").iterdir())
    for number in range(count):
        os.link(files[number % few], loose / "train" / f"img_{number:08}.jpeg")
    subprocess.run([words.pack, "build", loose / "train", "-o", shards, "--require", "jpg", "--check", "none", "--quiet", "--no-fsync"], check=True)
    training = [*small.training(1, words.threads), "++workload.workflow.generate_data=False", "++workload.workflow.train=True",
                "++workload.train.total_training_steps=6"]  # fmt: skip
    stock = dlio(small.data(loose, count) + training, work)
    linked = ours(shards, work / f"list-{count}-link", "jpeg") + training + small.record()
    own = dlio(linked, work, shards)
    for case, found in (("DLIO's PyTorch loader", stock), ("tarflume", own)):
        print(f"| {count:,} | {case} | {found['pss_gb']:.2f} | {found.get('first_batch_s', float('nan')):.2f} | {found.get('third_step_s', float('nan')):.2f} |", flush=True)
    shutil.rmtree(loose)
    shutil.rmtree(shards)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--workloads", default="retinanet,unet3d")
    parser.add_argument("--faster", default="1", help="divide the time of a step by each of these numbers: 1,1.5,2")
    parser.add_argument("--lists", default="")
    parser.add_argument("--pack", default="target/release/pack")
    parser.add_argument("--work", type=pathlib.Path)
    words = parser.parse_args()
    words.pack = str(pathlib.Path(words.pack).resolve())
    work = pathlib.Path(tempfile.mkdtemp(prefix="dlio-", dir=words.work))
    try:
        for name in filter(None, words.workloads.split(",")):
            for factor in map(float, words.faster.split(",")):
                workload = dataclasses.replace(WORKLOADS[name], step_s=WORKLOADS[name].step_s / factor)
                table(workload, side_by_side(workload, words, work), words)
        if words.lists:
            print("\n| files | loader | memory, GB | first batch, s | third step, s |\n|---|---|---|---|---|")
        for count in filter(None, words.lists.split(",")):
            lists(int(count), words, work)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
