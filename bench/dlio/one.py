"""Runs DLIO once and prints what its outputs say, as KEY=VALUE: `one.py OUT RANKS WORDS`.

| key | meaning |
|---|---|
| au | accelerator utilization, %: DLIO's mean over epochs and ranks |
| verdict | success or fail: whether AU reaches `metric.au` |
| samples_s | DLIO's samples/s, all ranks together |
| first_batch_s | from the moment before DLIO makes its loader to the first batch in the training loop |
| step3_s | from the start of the process to the end of step 3 |
| samples | samples in the ledgers of all ranks, if the loader is tarflume; the ledgers are compared with the expected one |
"""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys
from datetime import datetime
from typing import Any

from data import HERE

STAMP = r"(\d{4}-\d\d-\d\dT[\d:.]+)"


def main() -> None:
    out, ranks, words = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    shutil.rmtree(out, ignore_errors=True)
    here = [f"hydra.run.dir={out}", "hydra.output_subdir=null", f"++workload.output.folder={out}"]
    mpiexec = [str(pathlib.Path(sys.executable).parent / "mpiexec"), "-n", str(ranks)] if ranks > 1 else []
    started = datetime.now()
    done = subprocess.run(
        [*mpiexec, sys.executable, str(HERE / "launch.py"), *words, *here],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    if done.returncode or not (out / "summary.json").exists():
        sys.exit(done.stdout[-3000:] + f"\nDLIO ended with {done.returncode}")
    for key, value in facts(out, started).items():
        print(f"{key}={value}")


def facts(out: pathlib.Path, started: datetime) -> dict[str, Any]:
    """What the outputs of a run say."""
    metric = json.loads((out / "summary.json").read_text())["metric"]
    log = (out / "dlio.log").read_text()
    output = json.loads((out / "0_output.json").read_text())
    computed = output["1"]["compute"]["block1"][0]
    made, first = at(log, f"{STAMP} Max steps per epoch"), at(log, f"{STAMP} Rank 0 step 1 processed")
    found = {
        "au": metric["train_au_mean_percentage"],
        "verdict": metric["train_au_meet_expectation"],
        "samples_s": metric["train_throughput_mean_samples_per_second"],
        "first_batch_s": (first - made).total_seconds() - computed,
        "step3_s": (at(log, f"{STAMP} Rank 0 step 3 processed") - started).total_seconds(),
    }
    return found | ledgers(out)


def at(log: str, pattern: str) -> datetime:
    """The time of the first line with this pattern."""
    found = re.search(pattern, log)
    if found is None:
        sys.exit(f"DLIO's log lacks {pattern}")
    return datetime.fromisoformat(found[1])


def ledgers(out: pathlib.Path) -> dict[str, Any]:
    """The number of delivered samples, if whole epochs were delivered: each expected sample once."""
    notes = [json.loads(path.read_text()) for path in sorted(out.glob("*_tarflume.json"))]
    if not notes:
        return {}
    import tarflume

    whole = tarflume.Ledger(notes[0]["ledger"])
    for note in notes[1:]:
        whole = whole.merge(tarflume.Ledger(note["ledger"]))
    proved = whole == tarflume.Ledger(notes[0]["expected"])
    skipped = sum(note["jpeg_blocks_skipped"] for note in notes)
    return {"samples": whole.samples, "proved": proved, "jpeg_blocks_skipped": skipped}


if __name__ == "__main__":
    main()
