#!/usr/bin/env python3
"""The objects of one batch, pinned and copied to a GPU: as the columns of tarflume.torch.Loader, and as a list of dicts.

    PYTHON bench/detection/pinning.py [--pictures 16] [--objects 7] [--side 640] [--rounds 200] [--append]

PYTHON has tarflume and PyTorch. The batch has boxes, labels, areas, flags of crowds and keypoints; a second one has masks, too.
The rival pins with the function of DataLoader(pin_memory=True), and copies each tensor as the training of torchvision does.
Without a GPU nothing can be pinned: both copy into one tensor that is there before, and the table says so.
"""
import argparse
import pathlib
import sys
import time

import torch
from torch.utils.data._utils.pin_memory import pin_memory

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from tarflume.torch.tensors import Columns, Objects  # noqa: E402

torch.set_num_threads(1)  # as the thread of a DataLoader that pins
OURS, RIVAL = "columns of tarflume.torch", "a list of dicts of tensors"


def columns(x, masks):
    """The objects of a batch, as the loader delivers them: views of one tensor for each column."""
    random = torch.Generator().manual_seed(5)
    counts = torch.randint(0, 2 * x.objects + 1, (x.pictures,), generator=random).tolist()
    n = sum(counts)
    values = {
        "boxes": torch.rand(n, 4, generator=random) * x.side,
        "labels": torch.randint(0, 80, (n,), generator=random),
        "area": torch.rand(n, generator=random),
        "iscrowd": torch.zeros(n, dtype=torch.int64),
        "keypoints": torch.rand(n, 17, 3, generator=random),
    }
    if masks:
        values["masks"] = torch.randint(0, 2, (n, x.side, x.side), dtype=torch.uint8, generator=random)
    return Columns((name, Objects(torch.split(value, counts), value)) for name, value in values.items())


def listed(batch):
    """The same objects as a list of dictionaries. No two tensors share memory."""
    return [{name: tensor.clone() for name, tensor in target.items()} for target in batch.targets()]


class OnGpu:
    """Pins, copies without blocking, and waits once at the end."""

    def ours(self, batch):
        pinned = {name: Objects(rows, rows.values.pin_memory()) for name, rows in batch.items()}
        targets = Columns(pinned).targets("cuda")
        torch.cuda.synchronize()
        return targets

    def rival(self, targets):
        pinned = pin_memory(targets)
        there = [{name: tensor.to("cuda", non_blocking=True) for name, tensor in one.items()} for one in pinned]
        torch.cuda.synchronize()
        return there


class OnHost:
    """Copies each tensor into one that is there before."""

    def __init__(self, batch):
        tensors = sum(map(len, batch.values()))
        self.room = torch.empty(sum(rows.values.nbytes for rows in batch.values()) + 8 * tensors, dtype=torch.uint8)
        self.at = 0

    def _copied(self, tensor):
        at, self.at = self.at, self.at + -(-tensor.nbytes // 8) * 8
        return self.room[at : at + tensor.nbytes].view(tensor.dtype).view(tensor.shape).copy_(tensor)

    def ours(self, batch):
        self.at = 0
        copied = Columns()
        for name, rows in batch.items():
            values = self._copied(rows.values)
            copied[name] = Objects(torch.split(values, [len(row) for row in rows]), values)
        return copied.targets()

    def rival(self, targets):
        self.at = 0
        return [{name: self._copied(tensor) for name, tensor in target.items()} for target in targets]


def measured(x, masks):
    """Seconds of each round, of both, and the number of copies and the bytes of a batch."""
    batch = columns(x, masks)
    targets = listed(batch)
    way = OnGpu() if torch.cuda.is_available() else OnHost(batch)
    # Both write into the same memory.
    one = [{name: tensor.clone() for name, tensor in target.items()} for target in way.ours(batch)]
    same(one, way.rival(targets))
    times = {OURS: [], RIVAL: []}
    for n in range(x.rounds + 10):
        for name, call, given in ((OURS, way.ours, batch), (RIVAL, way.rival, targets)):
            begun = time.perf_counter()
            call(given)
            if n >= 10:
                times[name].append(time.perf_counter() - begun)
    copies = {OURS: len(batch), RIVAL: sum(map(len, targets))}
    return times, copies, sum(rows.values.nbytes for rows in batch.values())


def same(ours, rival):
    for one, other in zip(ours, rival, strict=True):
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=16)
    parser.add_argument("--objects", type=int, default=7, help="objects of a picture, on average")
    parser.add_argument("--side", type=int, default=640, help="pixels of a side of a mask")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--append", nargs="?", const=common.RESULTS, type=pathlib.Path, metavar="FILE",
                        help="add the table to FILE [bench/RESULTS.md]")
    x = parser.parse_args()
    where = "pinned and copied to the GPU" if torch.cuda.is_available() else (
        "copied on the host: this machine has no GPU, so nothing is pinned, and no time of a GPU is here")
    lines = [f"### Objects of a batch of {x.pictures} pictures, {where}", "",
             "| objects | case | copies | MB | ms (fastest-slowest) | times as fast |", "|---|---|---|---|---|---|"]
    for masks in (False, True):
        times, copies, of = measured(x, masks)
        for name, rival in ((OURS, RIVAL), (RIVAL, None)):
            ms = common.spread([1e3 * t for t in times[name]])
            ratio = "" if rival is None else f"{common.middle(times[rival]) / common.middle(times[name]):.1f}"
            what = f"with masks of {x.side} x {x.side}" if masks else "boxes, values, keypoints"
            lines.append(f"| {what} | {name} | {copies[name]} | {of / 1e6:.2f} | {ms} | {ratio} |")
    lines += ["", common.machine(x.rounds, [f"PyTorch {torch.__version__}"]), ""]
    common.publish("\n".join(lines), x.append)


if __name__ == "__main__":
    main()
