#!/usr/bin/env python3
"""Tables of samples: streaming the table of a data set, and the first batch of a selection, by ordinal and by key.

    python3 bench/tables/run.py --python PYTHON [--shards 800] [--samples 8000000] [--rounds 3] [--append]

PYTHON is an interpreter with the package tarflume, NumPy, pyarrow and polars. The data set is made by the example `open` of
tarflume-formats: real sidecars beside empty tars of the right length. Every second sample is selected. Each case measures its own
seconds, without imports; the rival does what a map-style data set needs for the same: a dict from keys to numbers, and a
shuffled list of the selected ones.
"""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import Case, CaseError, first_line  # noqa: E402


def main():
    ap = common.options(__doc__)
    ap.add_argument("--python", type=pathlib.Path, required=True)
    ap.add_argument("--shards", type=int, default=800)
    ap.add_argument("--samples", type=int, default=8_000_000)
    x = ap.parse_args()
    work = x.work.resolve()
    common.hide(work, "WORK")
    common.hide(x.python, "PYTHON")
    data = work / "tables" / f"{x.shards}-{x.samples}"
    example = common.built("examples/open", "-p", "tarflume-formats", "--example", "open")
    done = data.with_suffix(".done")
    if not done.exists():
        common.remove(data)
        data.mkdir(parents=True)
        made = common.run([example, "make", data, x.shards, x.samples])
        if made["rc"]:
            sys.exit(f"make: {common.clean(made['err'].strip())}")
        os.sync()
        done.touch()

    def complete(got):
        if got["vals"].get("samples") is None:
            raise CaseError("the case printed no number of samples")

    def case(name, what, *against):
        cmd = [x.python, HERE / "cases.py", what, data]
        return Case(name, cmd, against, check=complete, items=x.samples, tree=True)

    rival = "dict of keys and a shuffled list of numbers in Python"
    cases = [c for c in [
        case("table, streamed to pyarrow", "stream"),
        case("table, as a polars data frame", "polars"),
        case("first batch, selected by ordinal", "ordinal", rival),
        case("first batch, selected by key", "key", rival),
        case("first batch, selected by key, keys in random order", "mixed", rival),
        case(rival, "rival"),
    ] if common.matches(x.cases, c.name)]
    common.rounds("tables", cases, x.rounds, work / "log.jsonl")
    title = f"tables: {x.shards:,} shards, {x.samples:,} samples, every second one selected"
    common.publish("\n\n".join([f"## Tables, {common.now()[:10]}", common.machine(x.rounds, [first_line("rustc", "--version")]),
                                common.table(title, cases, "samples", vals=True)]), x.append)
    sys.exit(any(c.error for c in cases))


if __name__ == "__main__":
    main()
