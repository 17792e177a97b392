"""A rank under mpiexec: an epoch of a data set, from a saved state if there is one; writes what it delivered as JSON.

mpiexec -n 3 python mpi_rank.py SHARDS OUT [STATE] [--kill STEP]
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import sys

import tarflume


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--kill"]
    kill = int(words.pop()) if "--kill" in sys.argv else None
    shards, out, state = words[0], pathlib.Path(words[1]), words[2:]
    rank, world_size = tarflume.launcher_rank()
    settings = {"batch_size": 12 // world_size, "shuffle": "full", "seed": 3, "drop_last": "uneven"}
    loader = tarflume.Loader(shards, rank=rank, world_size=world_size, **settings)
    if state:
        loader.load_state_dict(json.loads(pathlib.Path(state[0]).read_text())["state"])
    for step, _ in enumerate(loader.epoch(0), 1):
        if step == kill:
            told = {"rank": rank, "state": loader.state_dict(), "ledger": str(loader.ledger())}
            # The others may be a step behind: all have written before one dies. A file is whole once it has its name.
            (out / f"{rank}.part").write_text(json.dumps(told))
            (out / f"{rank}.part").rename(out / f"killed-{rank}.json")
            while len(list(out.glob("killed-*.json"))) < world_size:
                pass
            if rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()
    told = {"rank": rank, "world_size": world_size, "ledger": str(loader.ledger()), "expected": str(loader.expected(0))}
    (out / f"rank-{rank}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
