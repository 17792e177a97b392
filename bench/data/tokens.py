#!/usr/bin/env python3
"""Text to packed tokens and to batches: `pack tokens` and tarflume.Loader, beside Hugging Face datasets and DataLoader.

    python3 bench/data/tokens.py [--mb 100] [--rounds 3] [--append] [--venv DIR] [--preparing]
        [--corpus FILE.jsonl --tokenizer FILE.json]

The corpus is made here: words of a Zipf distribution in documents of log-normal length, as JSONL; the tokenizer is a BPE
of 16,384 ids trained on a part of it. Both sides read the same tokenizer.json and add an end to each document. Rivals
are `datasets.map(tokenize, num_proc=2, cache_file_name=...)`, a second map that joins and cuts documents (as the
examples of transformers do), and torch's DataLoader. After the rounds the ids of all documents are compared. `--corpus`
and `--tokenizer` are other texts and another tokenizer, which has the token <end>; `--preparing` leaves the loaders out. The environment needs datasets, tokenizers, torch, numpy and the
package tarflume: --venv DIR, or it is made in --work.
"""
import json
import math
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import Case, CaseError  # noqa: E402

PIP = ["datasets==5.2.0", "tokenizers==0.23.2", "torch", "numpy"]
LENGTH, OTHER, BATCH = 2048, 1024, 8
RIVAL = HERE / "tokens_cases.py"


def zipf(dice):
    """Words, and their weights in a Zipf distribution."""
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    words = ["".join(dice.choices(letters, weights=range(26, 0, -1), k=2 + int(dice.expovariate(0.25)))) for _ in range(40_000)]
    return words, [1 / (rank + 2) for rank in range(len(words))]


def make_corpus(path, megabytes):
    """JSONL of about so many MB of text; the same bytes for the same size."""
    if path.exists():
        return
    dice = random.Random(17)
    words, weights = zipf(dice)
    whole, text = megabytes * 1_000_000, 0
    part = path.with_suffix(".part")
    with part.open("w") as f:
        while text < whole:
            count = max(3, int(math.exp(dice.gauss(math.log(250), 1.1))))
            document = " ".join(dice.choices(words, weights=weights, k=count))
            text += len(document)
            f.write(json.dumps({"text": document}) + "\n")
    part.rename(path)


def make_venv(work, given):
    if given:
        return given.resolve() / "bin" / "python"
    python = work / "venv-tokens" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(python.parents[1])], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PIP, str(common.ROOT / "python")], check=True)
    return python


class Folder:
    """Where the data sets of the cases are: `work`."""

    def clear(self, *names):
        return lambda: [common.remove(self.work / name) for name in names]

    def made(self, out):
        def check(run):
            if not (self.work / out / "dataset.json").exists():
                raise CaseError("no data set was published")
        return check


class Bench(Folder):
    def __init__(self, x):
        self.work = (x.work / "tokens").resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.python = make_venv(x.work.resolve(), x.venv)
        self.pack = common.pack_binary(x.pack)
        self.corpus, self.tokenizer = x.corpus or self.work / f"text-{x.mb}.jsonl", x.tokenizer or self.work / "tokenizer.json"
        self.mb = x.mb
        if x.corpus:
            self.mb = round(sum(len(json.loads(line)["text"].encode()) for line in x.corpus.open()) / 1e6)
        else:
            make_corpus(self.corpus, x.mb)
        if not self.tokenizer.exists():
            subprocess.run([str(self.python), str(RIVAL), "train", str(self.corpus), str(self.tokenizer)], check=True)

    def ours(self, out, length):
        return [self.pack, "tokens", self.corpus, "-o", self.work / out, "--tokenizer", self.tokenizer, "--length", length,
                "--eos", "<end>", "--cache", self.work / "cache", "--jobs", 2, "--quiet"]

    def rival(self, what, length):
        return [self.python, RIVAL, what, self.corpus, self.tokenizer, self.work / "hf", length, BATCH]

    def preparing(self):
        first = "datasets.map, then join and cut"
        again = "datasets, the same again"
        other = "datasets, another length"
        return [
            Case("pack tokens", self.ours("ours", LENGTH), (first,), self.clear("ours", "other", "cache"),
                 self.made("ours"), mbytes=self.mb),
            Case("pack tokens, the same again", self.ours("ours", LENGTH), (again,), mbytes=self.mb),
            Case("pack tokens, another length", self.ours("other", OTHER), (other,), self.clear("other"),
                 self.made("other"), mbytes=self.mb),
            Case(first, self.rival("map", LENGTH), before=self.clear("hf"), mbytes=self.mb, tree=False),
            Case(again, self.rival("map", LENGTH), mbytes=self.mb),
            Case(other, self.rival("map", OTHER), before=lambda: [common.remove(f) for f in (self.work / "hf").glob(
                f"blocks-{OTHER}*")], mbytes=self.mb),
        ]

    def delivering(self):
        columns = [self.python, RIVAL, "ours", self.work / "ours", LENGTH, BATCH]
        return [
            Case("tarflume.Loader, full shuffle, ids and labels", columns, ("DataLoader, 2 workers, shuffle",), tree=True),
            Case("DataLoader, 2 workers, shuffle", self.rival("load", LENGTH), tree=True),
        ]


def compare(bench):
    """Returns what the comparison of all ids says."""
    prefix = bench.work / "exported"
    for ending in (".bin", ".idx"):
        common.remove(prefix.with_suffix(ending))
    subprocess.run([str(w) for w in (bench.pack, "export", bench.work / "ours", "--to", "megatron", "-o", prefix)], check=True,
                   stdout=subprocess.DEVNULL)
    words = [bench.python, RIVAL, "same", bench.corpus, bench.tokenizer, bench.work / "hf", prefix]
    told = subprocess.run([str(w) for w in words], text=True, capture_output=True)
    if told.returncode:
        raise SystemExit(told.stderr)
    found = dict(line.split("=") for line in told.stdout.split())
    return f"The {int(found['ids']):,} ids of all documents are the same on both sides."


def one_by_one(title, cases, rounds, log):
    """The cases of a round depend on each other: always in this order."""
    for number in range(rounds):
        for case in cases:
            if not case.error and (got := common.once(title, case, f"round {number + 1}", log)):
                case.runs.append(got)


def main():
    ap = common.options(__doc__)
    ap.add_argument("--mb", type=int, default=100, help="MB of text [100]")
    ap.add_argument("--corpus", type=pathlib.Path, help="other texts: JSON lines with the field text")
    ap.add_argument("--tokenizer", type=pathlib.Path, help="another tokenizer.json, with the token <end>")
    ap.add_argument("--preparing", action="store_true", help="leave the loaders out")
    ap.add_argument("--venv", type=pathlib.Path, help="an environment with the packages")
    x = ap.parse_args()
    bench = Bench(x)
    log = x.work / "log.jsonl"
    title = f"{bench.mb} MB of text to blocks of {LENGTH} ids (another length: {OTHER})"
    preparing, delivering = bench.preparing(), bench.delivering()
    one_by_one(title, preparing, x.rounds, log)
    ids = compare(bench)
    if not x.preparing:
        common.rounds("tokens delivered", delivering, x.rounds, log)
    rate = ("tokens/s", lambda c: common.spread((float(r["vals"]["tokens_per_s"]) for r in c.runs), lambda v: f"{v:,.0f}"))
    memory = ("PSS of all processes, MB", lambda c: f"{c.watched.get('pss_mb', 0):,.0f}")
    first = ("first batch, s", lambda c: common.spread(float(r["vals"]["first_s"]) for r in c.runs))
    versions = subprocess.run([str(bench.python), str(RIVAL), "versions"], text=True, capture_output=True, check=True).stdout
    parts = [
        f"## Text and tokens, {common.now()[:10]}\n\n" + common.machine(x.rounds, [versions.strip()]),
        common.table(title, preparing),
        ids,
    ]
    if not x.preparing:
        parts.append(common.columns_table(f"an epoch in batches of {BATCH} x {LENGTH} as int64", delivering,
                                          [rate, first, memory]))
    common.publish("\n\n".join(parts), x.append)


if __name__ == "__main__":
    main()
