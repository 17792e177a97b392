#!/usr/bin/env python3
"""Padding and repeatability of batches by length: tarflume, Hugging Face's group_by_length, lhotse's dynamic buckets.

    PYTHON bench/buckets/lengths.py [--samples 50000] [--tokens 16384] [--append]

PYTHON has tarflume, torch, transformers and lhotse. The lengths are made: log-normal, 16 to 1,024 tokens. All batches have at
most so many tokens with padding; group_by_length has batches of so many rows as fit at the longest length. A figure is the
share of padding in all tokens of an epoch. Nothing is timed.
"""
import argparse
import importlib.metadata as metadata
import pathlib
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402

BOUNDS = [32, 64, 96, 128, 192, 256, 384, 512, 768, 1024]
PACKAGES = ["tarflume", "transformers", "lhotse"]


def padding(batches, lengths):
    """The share of padding, and the samples that are delivered."""
    tokens = sum(len(batch) * max(lengths[n] for n in batch) for batch in batches)
    own = sum(lengths[n] for batch in batches for n in batch)
    return 1 - own / tokens, sum(map(len, batches))


def ours(x, lengths, epoch):
    import tarflume
    shards = x.work / f"lengths-{len(lengths)}"
    if not (shards / "dataset.json").exists():
        common.remove(shards)
        lines = x.work / "lengths.jsonl"
        lines.write_text("".join(f'{{"key": "{n:08}", "tokens": {length}}}\n' for n, length in enumerate(lengths)))
        subprocess.run([x.pack, "build", f"jsonl:{lines}?key=key", "-o", shards, "--columns", "tokens:u32", "--quiet"], check=True)
    bucket = tarflume.Buckets.length("/tokens", BOUNDS)
    with tarflume.Loader(shards, bucket=bucket, max_tokens=x.tokens, shuffle="full", seed=5,
                         columns={"tokens": tarflume.Json("/tokens", dtype="int64")}) as loader:
        return [batch.ordinals.tolist() for batch in loader.epoch(epoch)]


def hugging_face(x, lengths, seed):
    import torch
    from transformers.trainer_pt_utils import LengthGroupedSampler
    rows = x.tokens // BOUNDS[-1]
    generator = torch.Generator().manual_seed(seed)
    order = list(LengthGroupedSampler(rows, lengths=list(lengths), generator=generator))
    return [order[at:at + rows] for at in range(0, len(order), rows)]


def lhotse_buckets(x, lengths, seed):
    from lhotse import CutSet, MonoCut
    from lhotse.dataset import DynamicBucketingSampler
    cuts = CutSet.from_cuts(MonoCut(id=str(n), start=0, duration=float(length), channel=0) for n, length in enumerate(lengths))
    sampler = DynamicBucketingSampler(cuts, max_duration=float(x.tokens), num_buckets=len(BOUNDS), shuffle=True, seed=seed,
                                      quadratic_duration=None, world_size=1, rank=0)
    return [[int(cut.id) for cut in batch] for batch in sampler]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--samples", type=int, default=50_000)
    ap.add_argument("--tokens", type=int, default=16_384)
    ap.add_argument("--work", type=pathlib.Path, default=pathlib.Path("target/bench"))
    ap.add_argument("--pack", default="pack")
    ap.add_argument("--append", nargs="?", const=HERE.parent / "RESULTS.md", type=pathlib.Path)
    x = ap.parse_args()
    x.work.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    lengths = np.clip(np.exp(random.normal(4.8, 0.9, x.samples)), 16, 1024).astype(int).tolist()
    makers = {"tarflume, ten buckets": ours, "transformers, group_by_length": hugging_face,
              "lhotse, DynamicBucketingSampler": lhotse_buckets}
    rows = []
    for name, make in makers.items():
        batches = make(x, lengths, 1)
        share, delivered = padding(batches, lengths)
        over = sum(len(batch) * max(lengths[n] for n in batch) > x.tokens for batch in batches)
        same = "yes" if make(x, lengths, 1) == batches else "no"
        rows.append(f"| {name} | {share:.1%} | {len(batches):,} | {over} | {delivered:,} | {same} |")
    plain = [list(range(at, at + 16)) for at in range(0, x.samples - 15, 16)]
    rows.append(f"| batches of 16 in the order of the data | {padding(plain, lengths)[0]:.1%} | {len(plain):,} | | | |")
    head = [f"## Batches by length, {common.now()[:10]}", "",
            f"- {common.now()}, `python3 bench/buckets/lengths.py --samples {x.samples} --tokens {x.tokens}`",
            "- " + "; ".join(f"{name} {metadata.version(name)}" for name in PACKAGES),
            f"- {x.samples:,} made lengths of 16 to 1,024 tokens, at most {x.tokens:,} tokens in a batch with padding", "",
            f"| batches | padding | batches | over the budget | samples of {x.samples:,} | the same when repeated |",
            "|---|---|---|---|---|---|"]
    common.publish("\n".join([*head, *rows]) + "\n", x.append)


if __name__ == "__main__":
    main()
