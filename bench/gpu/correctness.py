"""Part `correctness`: each batch's rows have the checksum on the device that they have on the host, whoever takes them
and however slowly.

The host's sums come from the seed that the samples were made from, by their keys, so that no memory of the loader's
can be wrong in both places; and once more from `batch.host`. On the device nothing is waited for: the sums of all
batches stay there and are compared at the end, so that a fast consumer is as fast as it can be. A slow one has its
stream do nothing for a while before it looks (the slot must wait on the device), or sleeps (it must wait on the host).
"""
import random
import time

import numpy as np
import torch

import tarflume
from checksum import Checksum
from data import contents

SLOW_DEVICE_US = (0, 200)
SLOW_HOST_US = (0, 2_000)


class Check:
    def __init__(self, x):
        self.x, self.place, sizes = x, x.place, x.sizes
        self.rows, self.length = sizes["rows_batch"], sizes["row_bytes"]
        self.sums = Checksum(self.length, self.place.device)
        held = np.stack(list(contents(sizes["rows"], self.length)))
        self.right = self.sums.host(held)

    def loader(self, batches, seed):
        need = batches * self.rows
        return tarflume.Loader(
            self.x.data["rows"], batch_size=self.rows, shuffle="full", seed=seed, device=self.place.name, device_slots=3,
            repeat=-(-need // self.x.sizes["rows"]), columns={"bin": tarflume.Raw("bin", shape=(self.length,))})

    def run(self, delivery, consumer, batches, seed, spoilt=None):
        """Batches that differ from what the seed gives, and from `batch.host`. `spoilt` is one to damage on purpose."""
        drawn = random.Random(seed)
        there = torch.empty((batches, self.rows), dtype=torch.int64, device=self.place.device)
        asked = np.empty((batches, self.rows), np.int64)
        hosts = np.empty((batches, self.rows), np.int64)
        count, loader = 0, self.loader(batches, seed)
        for count, batch in zip(range(batches), loader.epoch(0), strict=False):
            asked[count] = [int(key) for key in batch["key"]]
            hosts[count] = self.sums.host(np.asarray(batch.host["bin"]))
            column = self.place.columns(batch, delivery == "torch")["bin"]
            if delivery == "torch":
                batch.release()  # the copy is PyTorch's; the slot may be written as soon as it is made
            if consumer == "slow device":
                self.place.linger(drawn.randint(*SLOW_DEVICE_US))
            elif consumer == "slow host":
                time.sleep(drawn.randint(*SLOW_HOST_US) / 1e6)
            if spoilt == count:
                column = column.clone()
                column[0, 0] += 1
            there[count] = self.sums.there(column)
            del column
            batch.release()
        loader.close()
        self.place.wait()
        got, right = there.cpu().numpy(), self.right[asked]
        return count + 1, int((got != right).any(axis=1).sum()), int((got != hosts).any(axis=1).sum())


def part(x, say):
    check = Check(x)
    one = min(x.sizes["checks"].values())
    checked, wrong, _ = check.run("torch", "fast", min(one, 64), 99, spoilt=5)
    say("control: one byte of one batch is changed on the device", batches=checked, wrong=wrong, right=wrong == 1)
    for seed, ((delivery, consumer), batches) in enumerate(x.sizes["checks"].items()):
        begun = time.perf_counter()
        with x.place.stream():
            checked, wrong, host = check.run(delivery, consumer, batches, seed)
        say(f'deliver="{delivery}", {consumer} consumer, 3 slots', batches=checked, wrong=wrong, differ_from_host=host,
            s=time.perf_counter() - begun, right=checked == batches and not wrong and not host)
