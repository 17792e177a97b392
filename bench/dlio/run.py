#!/usr/bin/env python3
"""DLIO, the benchmark of MLPerf Storage, with its own loader for PyTorch and with tarflume, in interleaved rounds.

    PYTHON bench/dlio/run.py [--rounds 5] [--workloads retinanet,unet3d,files] [--ranks 1,2,3] [--files 100000,500000]

PYTHON has tarflume, PyTorch and DLIO: bench/dlio/README.md, or .venv-engines/bin/python after `make engines`. DLIO generates
the data and computes accelerator utilization (AU). The rules are those of MLPerf Storage's OPEN division, which allows other loaders and formats. Nothing was submitted to
MLCommons. Memory is measured in one more run after the rounds: the largest sum of PSS over the processes.
`--json FILE` also writes all values of all runs.
"""
from __future__ import annotations

import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import common  # noqa: E402
import data  # noqa: E402
from common import Case, CaseError  # noqa: E402

STOCK, OURS = "DLIO's loader for PyTorch", "tarflume"
CLASS = "++workload.reader.data_loader_classname=tarflume.dlio.TarflumeLoader"
PACKAGES = ("dlio_benchmark", "torch", "numpy", "pillow", "mpich")
EPOCHS, STEPS = 3, 3


def ours(sampler="iterative"):
    return [CLASS, f"++workload.reader.data_loader_sampler={sampler}"]


class Bench:
    def __init__(self, x):
        self.work, self.rounds, self.cold = x.work.resolve() / "dlio", x.rounds, x.cold
        self.work.mkdir(parents=True, exist_ok=True)
        self.pack = common.pack_binary(x.pack)
        self.log = tempfile.NamedTemporaryFile("r", suffix=".jsonl")
        self.pattern = x.cases

    def case(self, name, words, shards, folder, ranks=1, rivals=(), samples=None, more=()):
        """One row: a run of DLIO with these words. tarflume must deliver `samples`, or whole epochs."""
        out = self.work / "out"
        command = ["env", "OMP_NUM_THREADS=1", f"TARFLUME_SHARDS={shards}", *more, sys.executable, HERE / "one.py", out]

        def check(got):
            facts = got["vals"]
            if OURS not in name:
                return
            if samples is None and facts["proved"] != "True":
                raise CaseError("the ledgers differ from the expected one")
            if samples is not None and int(facts["samples"]) != samples:
                raise CaseError(f"{facts['samples']} samples were delivered, not {samples}")
            if float(facts["jpeg_blocks_skipped"]):
                raise CaseError("pictures were not decoded as a whole")

        def before():
            if self.cold:
                data.forget([folder, shards])
        return Case(name, [*command, ranks, *words], rivals, before=before, check=check, tree=True, timeout=600.0)

    def measure(self, title, cases):
        cases = [case for case in cases if common.matches(self.pattern, case.name)]
        common.rounds(title, cases, self.rounds, self.log.name)
        return cases

    def side_by_side(self, workload, files, ranks):
        """Both loaders with each number of ranks: one accelerator is simulated for each."""
        folder, shards = data.generate(workload, self.work, files, self.pack)
        cases = []
        for n in ranks:
            threads = max(1, len(os.sched_getaffinity(0)) // n)
            words = workload.words(folder, files) + workload.training(threads, EPOCHS)
            of = f"{n} accelerator{'s' * (n > 1)}, "
            cases.append(self.case(of + STOCK, words, shards, folder, n))
            cases.append(self.case(of + OURS, words + ours(), shards, folder, n, (of + STOCK,)))
        size = sum(path.stat().st_size for path in (folder / "train").iterdir()) / 1e6
        title = (f"{workload.name}: {files:,} files of {workload.form}, {size:,.0f} MB, batches of {workload.batch}, steps of"
                 f" {workload.step} s, AU of {workload.au:.0%} demanded, {EPOCHS} epochs")
        return table(title, self.measure(workload.name, cases))

    def lists(self, files):
        """Three steps with a long list of files."""
        folder, shards = data.links(self.work, files, self.pack)
        train, empty = data.TINY.training(2, 1, STEPS), data.placeholder(self.work)
        listed, one = data.TINY.words(folder, files), data.TINY.words(empty, 1, files)
        fixed = [f"PYTHONPATH={data.patched(self.work)}:{os.environ.get('PYTHONPATH', '')}"]
        kinds = {
            STOCK: (listed, [], folder, []),
            f"{STOCK}, with reader_handler.patch": (listed, [], folder, fixed),
            f"{OURS}, the same words": (listed, ours(), folder, []),
            f"{OURS}, data_loader_sampler=none": (listed, ours("none"), folder, []),
            f"{OURS}, data_loader_sampler=none, DLIO lists one file": (one, ours("none"), empty, []),
        }
        return self.measure("list of files", [
            self.case(f"{files:,} samples, {kind}", [*words, *train, *more], shards, listed_folder,
                      samples=STEPS * data.TINY.batch, more=environment)
            for kind, (words, more, listed_folder, environment) in kinds.items()])


def middle(case, key):
    return common.middle(float(run["vals"][key]) for run in case.runs)


def spread(case, key, show):
    return common.spread((float(run["vals"][key]) for run in case.runs), show)


def peak(case):
    return case.watched.get("pss_mb", float("nan"))


def verdicts(case):
    """In how many rounds DLIO said success."""
    good = sum(run["vals"]["verdict"] == "success" for run in case.runs)
    return f"{good} of {len(case.runs)}"


def table(title, cases):
    by = {case.name: case for case in cases}

    def times(case, key):
        rival = next((by[name] for name in case.rivals if name in by and by[name].runs), None)
        return f"{middle(case, key) / middle(rival, key):.2f}" if rival else ""
    return common.columns_table(title, cases, [
        ("AU, %", lambda c: spread(c, "au", lambda v: f"{v:.1f}")),
        ("AU / AU of DLIO's loader", lambda c: times(c, "au")),
        ("rounds that pass", verdicts),
        ("samples/s", lambda c: spread(c, "samples_s", lambda v: f"{v:,.0f}")),
        ("first batch, s", lambda c: f"{middle(c, 'first_batch_s'):.2f}"),
        ("step 3 ends, s", lambda c: f"{middle(c, 'step3_s'):.1f}"),
        ("peak memory, MB", lambda c: f"{peak(c):,.0f}"),
    ])


def list_table(cases):
    """Memory and times; "more" is compared with the shortest list of the same kind."""
    shortest = {}
    for case in cases:
        shortest.setdefault(case.name.partition(", ")[2], case)

    def more(case):
        least = shortest[case.name.partition(", ")[2]]
        return "" if least is case else f"{peak(case) - peak(least):,.0f}"
    return common.columns_table(f"List of files: {STEPS} steps, pictures of 32 x 32, 2 workers or threads", cases, [
        ("peak memory, MB", lambda c: f"{peak(c):,.0f}"),
        ("more than with the shortest list, MB", more),
        ("first batch, s", lambda c: spread(c, "first_batch_s", lambda v: f"{v:.2f}")),
        ("step 3 ends, s", lambda c: spread(c, "step3_s", lambda v: f"{v:.1f}")),
    ])


def fix_table():
    """The fix of DLIO's reader, measured by fix.py."""
    done = subprocess.run([sys.executable, str(HERE / "fix.py")], text=True, capture_output=True, check=True)
    return done.stdout.strip()


def main():
    ap = common.options(__doc__)
    ap.set_defaults(rounds=5)
    ap.add_argument("--workloads", default="retinanet,unet3d,files,fix")
    ap.add_argument("--ranks", default="1,2,3", help="numbers of simulated accelerators for retinanet")
    ap.add_argument("--files", default="240,100000,500000", help="lengths of the list of files")
    ap.add_argument("--retinanet-files", type=int, default=1_920)
    ap.add_argument("--unet3d-files", type=int, default=210)
    ap.add_argument("--cold", action="store_true", help="drop the data from the page cache before each run")
    ap.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all values of all runs")
    x = ap.parse_args()
    common.hide(x.work, "WORK")
    bench, chosen, tables = Bench(x), x.workloads.split(","), []
    if "retinanet" in chosen:
        ranks = [int(n) for n in x.ranks.split(",")]
        tables.append(bench.side_by_side(data.RETINANET, x.retinanet_files, ranks))
    if "unet3d" in chosen:
        tables.append(bench.side_by_side(data.UNET3D, x.unet3d_files, [1]))
    if "files" in chosen:
        tables.append(list_table([case for n in x.files.split(",") for case in bench.lists(int(n))]))
    if "fix" in chosen:
        tables.append(fix_table())
    if x.json:
        lines = pathlib.Path(bench.log.name).read_text().splitlines()
        x.json.write_text(json.dumps([json.loads(line) for line in lines], indent=1) + "\n")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    about = common.machine(x.rounds, [f"tarflume {importlib.metadata.version('tarflume')}", *versions])
    if x.cold:
        about = about.replace("warm page cache", "data dropped from the page cache before each run")
    rules = "DLIO, OPEN rules of MLPerf Storage, not submitted to MLCommons."
    common.publish("\n\n".join([f"## DLIO, {common.now()[:10]}", about, rules, *tables]), x.append)


if __name__ == "__main__":
    main()
