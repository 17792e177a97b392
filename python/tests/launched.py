"""Starts the ranks of a script, which meet at a file: no launcher, and no port that another program may take.

    launched("job.py", folder, [(2, ["save"]), (3, ["load"])], imports=["torch"])     in a test: two ranks, then three
    meet()                                     in the script, before it does anything with ranks

One process imports what the ranks need, and forks them: importing takes longer than what most scripts do.
"""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import runpy
import signal
import subprocess
import sys
import traceback
from collections.abc import Sequence

import forked
from patience import PATIENCE_S

QUIET = {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "",
         "TOKENIZERS_PARALLELISM": "false", "WANDB_MODE": "disabled"}  # fmt: skip
Stage = tuple[int, Sequence[object]]


def launched(script: pathlib.Path, folder: pathlib.Path, stages: Sequence[Stage], imports: Sequence[str] = ("torch",)) -> None:
    """Runs `script` in `folder`, whose modules it may import: for each stage, as many ranks with these words."""
    path = os.pathsep.join([str(folder), str(script.parent), str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    given = {"script": str(script), "imports": list(imports), "stages": [[ranks, [*map(str, words)]] for ranks, words in stages]}
    done = forked.run(
        [sys.executable, __file__, json.dumps(given)], cwd=folder, env=os.environ | QUIET | {"PYTHONPATH": path}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:]


def meet() -> tuple[int, int]:
    """Makes the process group of the ranks; returns rank and world size."""
    import torch.distributed

    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{os.environ['STORE']}", rank=rank, world_size=ranks)
    return rank, ranks


def stage(script: str, number: int, ranks: int, words: list[str]) -> None:
    """Runs the ranks of a stage. If one fails, the others would wait for it, and are ended."""
    store = os.path.abspath(f"store-{number}")
    running = {begun(script, rank, ranks, store, words) for rank in range(ranks)}
    failed = False
    while running:
        ended, status = os.wait()
        running.discard(ended)
        if status and not failed:
            failed = True
            for other in running:
                os.kill(other, signal.SIGKILL)
    if failed:
        sys.exit(f"a rank of stage {number} failed")


def begun(script: str, rank: int, ranks: int, store: str, words: list[str]) -> int:
    child = os.fork()
    if child:
        return child
    own = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks, "STORE": store}
    os.environ.update({name: str(value) for name, value in own.items()})
    sys.argv = [script, *words]
    try:
        runpy.run_path(script, run_name="__main__")
    except BaseException:
        print(f"rank {rank} of {ranks}, {words}:")
        traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)


def main() -> None:
    given = json.loads(sys.argv[1])
    for name in given["imports"]:
        importlib.import_module(name)
    for number, (ranks, words) in enumerate(given["stages"]):
        stage(given["script"], number, ranks, words)


if __name__ == "__main__":
    main()
