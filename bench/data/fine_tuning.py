#!/usr/bin/env python3
"""Conversations to rows with masks, and to padded batches: `pack tokens` and tarflume.torch.Loader, beside datasets with
transformers' collator, trl's packing, and torchtitan's loader.

    python3 bench/data/fine_tuning.py [--rows 40000] [--rounds 3] [--append] [--venv DIR]

The conversations are made here: words of a Zipf distribution in messages of log-normal length, one to four turns each; the
tokenizer is a BPE of 16,384 ids trained on a part of them, with the special tokens and the training template of Qwen 2.5
(`fixtures/chat`). Rivals render with apply_chat_template and its mask of assistant tokens in
`datasets.map(num_proc=2, cache_file_name=...)`, and load with DataLoader(num_workers=2) and DataCollatorForSeq2Seq. After
the rounds ids and labels of all rows are compared. torchtitan takes conversations of one turn alone: both sides get the first
turn of each, in blocks that torchtitan packs while it loads. The environment needs datasets, transformers, trl, torchtitan,
torch, numpy and the package tarflume: --venv DIR.
"""
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import Case  # noqa: E402
from tokens import Folder, one_by_one, zipf  # noqa: E402

RIVAL = HERE / "fine_tuning_cases.py"
TEMPLATES = common.ROOT / "fixtures" / "chat" / "templates"
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
LENGTH, BATCH = 2048, 16
TRAIN = """
import itertools, json, sys
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers
made = Tokenizer(models.BPE())
made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
trainer = trainers.BpeTrainer(vocab_size=16_384, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
with open(sys.argv[1]) as lines:
    chats = [json.loads(line)["messages"] for line in itertools.islice(lines, 3_000)]
made.train_from_iterator([message["content"] for chat in chats for message in chat], trainer)
made.add_special_tokens([AddedToken(own, special=True, normalized=False) for own in sys.argv[3:]])
made.save(sys.argv[2])
"""


def make_chats(path, count):
    """So many conversations; the same bytes for the same number."""
    if path.exists():
        return
    dice = random.Random(23)
    words, weights = zipf(dice)
    part = path.with_suffix(".part")
    with part.open("w") as f:
        for _ in range(count):
            messages = []
            for _ in range(1 + int(dice.expovariate(1.2)) % 4):
                for role, middle in (("user", 30), ("assistant", 120)):
                    length = max(2, int(math.exp(dice.gauss(math.log(middle), 0.9))))
                    messages.append({"role": role, "content": " ".join(dice.choices(words, weights=weights, k=length))})
            f.write(json.dumps({"messages": messages}) + "\n")
    part.rename(path)


class Bench(Folder):
    def __init__(self, x):
        self.work = (x.work / "fine-tuning").resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.python = x.venv.resolve() / "bin" / "python"
        self.pack = common.pack_binary(x.pack)
        self.chats, self.model, self.rows = self.work / f"chats-{x.rows}.jsonl", self.work / "model", x.rows
        make_chats(self.chats, x.rows)
        self.model.mkdir(exist_ok=True)
        names = {"eos_token": SPECIAL[1], "pad_token": SPECIAL[2]}
        # torchtitan does not know the blocks {% generation %} of the training template.
        self.plain = self.work / "model-plain"
        self.plain.mkdir(exist_ok=True)
        for folder, template in ((self.model, "qwen-2.5-training.jinja"), (self.plain, "qwen-2.5.jinja")):
            shutil.copy(TEMPLATES / template, folder / "chat_template.jinja")
            (folder / "tokenizer_config.json").write_text(json.dumps(names))
        if not (self.model / "tokenizer.json").exists():
            words = [self.python, "-c", TRAIN, self.chats, self.model / "tokenizer.json", *SPECIAL]
            subprocess.run([str(word) for word in words], check=True)
        shutil.copy(self.model / "tokenizer.json", self.plain)
        self.turns = self.work / f"turns-{x.rows}.jsonl"
        with self.chats.open() as chats, self.turns.open("w") as turns:
            for line in chats:
                turns.write(json.dumps({"messages": json.loads(line)["messages"][:2]}) + "\n")

    def ours(self, out, *more, chats=None):
        return [self.pack, "tokens", chats or self.chats, "-o", self.work / out, "--tokenizer", self.model / "tokenizer.json", "--messages",
                "messages", "--mask-prompt", "--max-length", LENGTH, "--cache", self.work / "cache", "--jobs", 2, "--quiet", *more]

    def rival(self, what, *more):
        return [self.python, RIVAL, what, self.chats, self.model, self.work / "hf", *more]

    def preparing(self):
        first, again, packed = "datasets.map, apply_chat_template", "datasets, the same again", "datasets from its cache, trl's packing by best fit"
        size = round(self.chats.stat().st_size / 1e6)
        blocks = self.ours("blocks", "--length", LENGTH)
        return [
            Case("pack tokens --messages", self.ours("ours"), (first,), self.clear("ours", "blocks", "cache"), self.made("ours"),
                 mbytes=size),
            Case("pack tokens, the same again", self.ours("ours"), (again,), mbytes=size),
            Case("pack tokens from its cache, blocks by best fit", blocks, (packed,), self.clear("blocks"), self.made("blocks"),
                 mbytes=size),
            Case(first, self.rival("map"), before=self.clear("hf"), mbytes=size, tree=False),
            Case(again, self.rival("map"), mbytes=size),
            Case(packed, self.rival("packed"), mbytes=size),
        ]

    def delivering(self):
        ours = [self.python, RIVAL, "ours", self.work / "ours", LENGTH, BATCH]
        return [
            Case("tarflume.torch.Loader, full shuffle, pad=\"longest\"", ours, ("DataLoader, 2 workers, DataCollatorForSeq2Seq",),
                 tree=True),
            Case("DataLoader, 2 workers, DataCollatorForSeq2Seq", self.rival("load", BATCH), tree=True),
        ]


    def packing(self):
        ours = [self.python, RIVAL, "blocks", self.work / "turns", LENGTH, BATCH]
        titan = "torchtitan's ChatDataLoader, one worker"
        return [
            Case("tarflume.torch.Loader, full shuffle, blocks of pack tokens", ours, (titan,), tree=True),
            Case(titan, [self.python, RIVAL, "titan", self.turns, self.plain, self.work / "hf", BATCH], tree=True),
        ]


def told(bench, *words):
    done = subprocess.run([str(word) for word in words], text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout.strip()


def main():
    ap = common.options(__doc__)
    ap.add_argument("--rows", type=int, default=40_000, help="conversations [40000]")
    ap.add_argument("--venv", type=pathlib.Path, required=True, help="an environment with the packages")
    x = ap.parse_args()
    bench = Bench(x)
    log = x.work / "log.jsonl"
    title = f"{bench.rows:,} conversations to rows of at most {LENGTH} ids"
    preparing, delivering = bench.preparing(), bench.delivering()
    one_by_one(title, preparing, x.rounds, log)
    found = told(bench, *bench.rival("same", bench.work / "ours", LENGTH))
    common.rounds("batches", delivering, x.rounds, log)
    packing = bench.packing()
    shutil.rmtree(bench.work / "turns", ignore_errors=True)
    subprocess.run([str(word) for word in bench.ours("turns", "--length", LENGTH, chats=bench.turns)], check=True)
    common.rounds("packing", packing, x.rounds, log)
    rate = ("rows/s", lambda c: common.spread((float(r["vals"]["rows_per_s"]) for r in c.runs), lambda v: f"{v:,.0f}"))
    filled = ("filled share", lambda c: common.spread(float(r["vals"]["filled"]) for r in c.runs))
    memory = ("PSS of all processes, MB", lambda c: f"{c.watched.get('pss_mb', 0):,.0f}")
    first = ("first batch, s", lambda c: common.spread(float(r["vals"]["first_s"]) for r in c.runs))
    whole = ("epoch, s", lambda c: common.spread(float(r["vals"]["epoch_s"]) for r in c.runs))
    blocks = ("blocks", lambda c: f"{int(c.runs[-1]['vals']['rows']):,}")
    parts = [
        f"## Fine-tuning, {common.now()[:10]}\n\n" + common.machine(x.rounds, [told(bench, bench.python, RIVAL, "versions")]),
        common.table(title, preparing),
        f"Ids and labels of all {int(found.split('=')[1]):,} rows are the same on both sides. Blocks of trl are filled to "
        f"{float(preparing[-1].runs[-1]['vals']['filled']):.4f}.",
        common.columns_table(f"an epoch in batches of {BATCH} rows, ids, labels and mask as int64", delivering,
                             [rate, filled, first, memory]),
        common.columns_table(f"{bench.rows:,} conversations of one turn, in batches of {BATCH} blocks of {LENGTH} ids", packing,
                             [whole, blocks, first, memory]),
    ]
    common.publish("\n\n".join(parts), x.append)


if __name__ == "__main__":
    main()
