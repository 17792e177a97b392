#!/usr/bin/env python3
"""How full packs of tokens are: tarflume, a greedy knapsack over a buffer (the example of Megatron Energon), trl's best fit.

    PYTHON bench/packs/filled.py [--samples 50000] [--tokens 4096] [--append]

PYTHON has tarflume, trl and datasets. The lengths are made: log-normal, 16 to the tokens of a pack. Every packing has a window or
buffer of so many samples; trl packs chunks of 1,000 rows of its Arrow tables. A figure is the share of the room of all packs that has tokens. Nothing is timed.
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

PACKAGES = ["tarflume", "trl", "datasets"]


def ours(x, lengths, epoch):
    import tarflume
    shards = x.work / f"packs-{len(lengths)}-{x.tokens}"
    if not (shards / "dataset.json").exists():
        common.remove(shards)
        lines = x.work / "packs.jsonl"
        lines.write_text("".join(f'{{"key": "{n:08}", "tokens": {length}}}\n' for n, length in enumerate(lengths)))
        subprocess.run([x.pack, "build", f"jsonl:{lines}?key=key", "-o", shards, "--columns", "tokens:u32", "--quiet"], check=True)
    pack = tarflume.Pack(x.tokens, "/tokens", window=x.window)
    with tarflume.Loader(shards, pack=pack, shuffle="full", seed=5, batch_size=8,
                         columns={"tokens": tarflume.Json("/tokens")}) as loader:
        packs = []
        for batch in loader.epoch(epoch):
            ordinals, of, padding = (np.asarray(v) for v in (batch.ordinals, batch.pack_of_row, batch.padding))
            packs += [ordinals[(of == n) & ~padding].tolist() for n in range(batch.packs)]
    return [pack for pack in packs if pack]


def knapsack(x, lengths, epoch):
    """greedy_knapsack of Megatron-LM's examples/multimodal, which Energon's guide of packing names: buffer after buffer."""
    order = np.random.default_rng(epoch).permutation(len(lengths))
    packs = []
    for begin in range(0, len(order), x.window):
        left = sorted(order[begin:begin + x.window].tolist(), key=lambda n: lengths[n])
        while left:
            pack, room = [], x.tokens
            at = len(left)
            while at:
                at = next((i for i in range(at - 1, -1, -1) if lengths[left[i]] <= room), -1)
                if at < 0:
                    break
                room -= lengths[left[at]]
                pack.append(left.pop(at))
            packs.append(pack)
    return packs


def best_fit(x, lengths, epoch):
    from datasets import Dataset
    from trl import pack_dataset
    order = np.random.default_rng(epoch).permutation(len(lengths)).tolist()
    rows = Dataset.from_dict({"input_ids": [[n] * lengths[n] for n in order]})
    packed = pack_dataset(rows, seq_length=x.tokens, strategy="bfd")
    return [list(dict.fromkeys(row)) for row in packed["input_ids"]]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--samples", type=int, default=50_000)
    ap.add_argument("--tokens", type=int, default=4096)
    ap.add_argument("--window", type=int, default=4096)
    ap.add_argument("--work", type=pathlib.Path, default=pathlib.Path("target/bench"))
    ap.add_argument("--pack", default="pack")
    ap.add_argument("--append", nargs="?", const=HERE.parent / "RESULTS.md", type=pathlib.Path)
    x = ap.parse_args()
    x.work.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    lengths = np.clip(np.exp(random.normal(6.0, 1.0, x.samples)), 16, x.tokens).astype(int).tolist()
    makers = {f"tarflume, window {x.window:,}": ours, f"greedy knapsack, buffer {x.window:,}": knapsack, "trl, bfd": best_fit}
    rows = []
    for name, make in makers.items():
        packs = make(x, lengths, 1)
        tokens = sum(lengths[n] for pack in packs for n in pack)
        over = sum(sum(lengths[n] for n in pack) > x.tokens for pack in packs)
        whole = sorted(n for pack in packs for n in pack) == list(range(len(lengths)))
        same = "yes" if make(x, lengths, 1) == packs else "no"
        filled = tokens / (len(packs) * x.tokens)
        rows.append(f"| {name} | {filled:.2%} | {len(packs):,} | {over} | {'yes' if whole else 'no'} | {same} |")
    total = sum(lengths)
    head = [f"## How full packs are, {common.now()[:10]}", "",
            f"- {common.now()}, `python3 bench/packs/filled.py --samples {x.samples} --tokens {x.tokens} --window {x.window}`",
            "- " + "; ".join(f"{name} {metadata.version(name)}" for name in PACKAGES),
            f"- {x.samples:,} made lengths of 16 to {x.tokens:,} tokens, {total:,} together: {-(-total // x.tokens):,} packs at least", "",
            "| packs | filled | packs | over the budget | each sample once | the same when repeated |",
            "|---|---|---|---|---|---|"]
    common.publish("\n".join([*head, *rows]) + "\n", x.append)


if __name__ == "__main__":
    main()
