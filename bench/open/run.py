#!/usr/bin/env python3
"""Opening a data set of 765 shards and 7,646,857 samples: our mapped index beside lists of names.

    python3 bench/open/run.py [--shards 765] [--samples 7646857] [--rounds 3] [--append]

Ours is the example `open` of tarflume-formats (`make DIR SHARDS SAMPLES`, then `time DIR`; it prints KEY=VALUE).
The rivals load what other loaders keep: a list of all paths, or a text index of every member of every shard.
Seconds are of the whole process, start-up included; "says" holds what the process timed by itself.
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
    ap.add_argument("--shards", type=int, default=765)
    ap.add_argument("--samples", type=int, default=7_646_857)
    x = ap.parse_args()
    work = x.work.resolve()
    common.hide(work, "WORK")
    at = work / "open" / f"{x.shards}-{x.samples}"
    ours, rivals = at / "ours", at / "rivals"
    text, lists = "text index of every member, parsed in Python", ("list[str] from JSON", "list[str] from pickle")

    def complete(got):
        said = got["vals"].get("samples")
        if said is None or int(said) != x.samples:
            raise CaseError(f"opened samples={said}, wanted {x.samples}")

    def python(what):
        return [sys.executable, HERE / "rivals.py", "open", what, rivals]

    def case(name, cmd, *against):
        return Case(name, cmd, against, check=complete, items=x.samples)
    example = common.PROGRAMS / "examples" / "open"
    cases = [c for c in [
        case("tarflume index, mapped", [example, "time", ours], *lists, text),
        case(lists[0], python("json")),
        case(lists[1], python("pickle")),
        case(text, python("text")),
    ] if common.matches(x.cases, c.name)]
    made = []
    if any(c.cmd[0] == example for c in cases):
        common.built("examples/open", "-p", "tarflume-formats", "--example", "open")
        made.append((ours, [example, "make", ours, x.shards, x.samples]))
    made.append((rivals, [sys.executable, HERE / "rivals.py", "make", rivals, x.shards, x.samples]))
    for folder, cmd in made:
        done = folder.with_suffix(".done")
        if not done.exists():
            common.remove(folder)
            folder.mkdir(parents=True)
            got = common.run(cmd)
            if got["rc"]:
                sys.exit(f"make {folder.name}: {common.clean(got['err'].strip())}")
            os.sync()
            done.touch()
    common.rounds(f"open {x.shards}", cases, x.rounds, work / "log.jsonl")
    disk = [f"{folder.name} {sum(f.stat().st_size for f in folder.rglob('*') if f.is_file() and f.suffix != '.tar') / 1e6:,.0f} MB"
            for folder, _ in made]
    title = f"open: {x.shards:,} shards, {x.samples:,} samples (on disk: {', '.join(disk)})"
    common.publish("\n\n".join([f"## Open, {common.now()[:10]}", common.machine(x.rounds, [first_line("rustc", "--version")]),
                                common.table(title, cases, "samples", vals=True)]), x.append)
    sys.exit(any(c.error for c in cases))


if __name__ == "__main__":
    main()
