"""The block of docs/frameworks/checkpoints.md for torchft, in one replica group.

    torchft_job.py NAME RUN KILL     in a folder with `block.py` and `shards/`

Appends each step to `NAME-RUN.jsonl` before it is decided, and whether it was committed. With a KILL that
is not 0, the process dies in the middle of that step.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import block
import tarflume.torch
import torch
from torchft import Manager

name, run, kill = sys.argv[1], sys.argv[2], int(sys.argv[3])
torch.set_num_threads(1)
told = open(f"{name}-{run}.jsonl", "w", buffering=1)  # noqa: SIM115
managers: list[Manager] = []
MORE = 20
END = 10**6


class Told(tarflume.torch.ElasticLoader):
    """Tells what it delivers. When a group that came back has committed some steps, all end at the same later step."""

    count = committed = 0

    def batch(self):
        self.count += 1
        before = self.state_dict()
        taken = super().batch()
        if self.count == kill:
            os.kill(os.getpid(), signal.SIGKILL)
        step = {"from": [before["epoch"], before["position"]], "place": self._now, "rows": taken["label"].tolist()}
        print(json.dumps(step), file=told)
        return taken

    def commit(self, done=True):
        super().commit(done)
        after = self.state_dict()
        print(json.dumps({"done": done, "to": [after["epoch"], after["position"]]}), file=told)
        self.committed += done
        if self.committed == MORE and run == "1":
            with open("end.new", "w") as end:
                end.write(str(managers[0].current_step() + MORE))
            os.rename("end.new", "end")

    @property
    def current_epoch(self):
        ended = os.path.exists("end") and managers[0].current_step() >= int(open("end").read())
        return END if ended else super().current_epoch


tarflume.torch.ElasticLoader = Told
made = Manager.__init__


def local(self, **words):
    managers.append(self)
    made(self, hostname="localhost", **words)


Manager.__init__ = local
block.job(name, END)
