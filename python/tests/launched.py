"""Starts the ranks of a script that meet at a file: no launcher, no port that another program may take.

    launched("job.py", 2, folder, "words")     in a test
    meet()                                     in the script, before it does anything with ranks
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import uuid

from patience import PATIENCE_S

QUIET = {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "",
         "TOKENIZERS_PARALLELISM": "false", "WANDB_MODE": "disabled"}  # fmt: skip


def launched(script: pathlib.Path, ranks: int, folder: pathlib.Path, *words: object) -> None:
    """Runs `script` in `folder`, whose modules it may import, once for each rank, and shows the errors of the first that fails."""
    store = folder / f"store-{uuid.uuid4().hex}"
    path = os.pathsep.join([str(folder), str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    jobs = []
    for rank in range(ranks):
        own = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks, "STORE": store, "PYTHONPATH": path}
        env = os.environ | QUIET | {name: str(value) for name, value in own.items()}
        command = [sys.executable, str(script), *map(str, words)]
        jobs.append(subprocess.Popen(command, cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    told = [job.communicate(timeout=PATIENCE_S)[0] for job in jobs]
    for rank, (job, text) in enumerate(zip(jobs, told, strict=True)):
        assert job.returncode == 0, f"rank {rank}:\n{text[-6000:]}"


def meet() -> tuple[int, int]:
    """Makes the process group of the ranks; returns rank and world size."""
    import torch.distributed

    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{os.environ['STORE']}", rank=rank, world_size=ranks)
    return rank, ranks
