#!/usr/bin/env python3
"""Planning 8 million pairs: pack plan beside find, sort and os.walk on the same 16 million names.

    python3 bench/scan/run.py [--pairs 8000000] [--flat N] [--rounds 3] [--append]

The names are hard links to a few small files in folders of 8,000 pairs (--flat N: N names in one folder).
Fails when pack plan takes 180 s or 1.5 GB. The tree is kept in the work folder; --clean removes it at the end.
"""
import base64
import json
import os
import pathlib
import shlex
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import Case, CaseError, bash, first_line, sh  # noqa: E402

PER_FOLDER, MAX_S, MAX_MB = 8_000, 180, 1_500
# 8x8 gray pixels
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////"
    "////////////////wAALCAAIAAgBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AP//Z")
META = json.dumps({"class": 7, "label": "feather_boa", "width": 8, "height": 8}).encode()
PLAN, FIND = "pack plan", "find, sort"
# What a Python loader does first. Freeing 16 million strings is no part of the job.
WALK = """import os, sys
names = sorted(os.path.join(d, f) for d, _, files in os.walk(sys.argv[1]) for f in files)
print(f"names={len(names)}", flush=True)
os._exit(0)"""


def make(work, pairs, flat):
    """The tree of links, made once; the file beside it says that it is whole."""
    src = work / "scan" / f"{'flat' if flat else 'tree'}-{pairs}"
    done = src.with_suffix(".done")
    if not done.exists():
        src.parent.mkdir(parents=True, exist_ok=True)
        sh(f"rm -rf {shlex.quote(str(src))}")
        links = common.compile_c(HERE / "links.c", work / "bin" / "links")
        jpeg, meta = src.with_suffix(".jpg"), src.with_suffix(".json")
        jpeg.write_bytes(JPEG)
        meta.write_bytes(META)
        print(f"  making {2 * pairs:,} names", file=sys.stderr, flush=True)
        got = common.run([links, jpeg, meta, src, pairs, pairs if flat else PER_FOLDER], timeout=3600)
        if got["rc"]:
            sys.exit(f"links: {got['err'].strip()}")
        os.sync()
        done.touch()
    return src, done


def size_of(path):
    if path.is_dir():
        return sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
    return path.stat().st_size if path.exists() else 0


def samples_of(plan):
    """What the plan's footer says; the footer's place and length stand in the last 32 bytes."""
    data = next(p for p in ([plan] if plan.is_file() else plan.rglob("plan")) if p.is_file()).read_bytes()
    at, length = struct.unpack_from("<QQ", data, len(data) - 32)
    return json.loads(data[at:at + length])["samples"]


def main():
    ap = common.options(__doc__)
    ap.add_argument("--pairs", type=int, default=8_000_000)
    ap.add_argument("--flat", type=int, default=0, metavar="N", help="N names in one folder instead")
    ap.add_argument("--clean", action="store_true", help="remove the tree at the end (minutes)")
    x = ap.parse_args()
    pairs, work = x.flat // 2 or x.pairs, x.work.resolve()
    common.hide(work, "WORK")
    pack = common.pack_binary(x.pack)
    src, done = make(work, pairs, x.flat)
    plan, at, sizes = work / "scan" / "plan-out", shlex.quote(str(src)), []

    def before():
        common.remove(plan)
        os.sync()

    def planned(_):
        sizes.append(size_of(plan))
        found = samples_of(plan)
        if found != pairs:
            raise CaseError(f"the plan names {found:,} samples, not {pairs:,}")

    def counted(got):
        if int(got["vals"].get("names", 0)) != 2 * pairs:
            raise CaseError(f"saw {got['vals'].get('names')} names of {2 * pairs:,}")

    def case(name, cmd, check, *rivals):
        return Case(name, cmd, rivals, before, check, items=2 * pairs)
    sized = "find with sizes, sort"
    cases = [
        case(PLAN, [pack, "plan", src, "-o", plan, "--quiet"], planned, FIND, sized, "Python sorted os.walk"),
        case(FIND, bash(f"echo names=$(find {at} -type f | LC_ALL=C sort | wc -l)"), counted),
        case(sized, bash(f"echo names=$(find {at} -type f -printf '%p\\t%s\\n' | LC_ALL=C sort | wc -l)"), counted),
        case("Python sorted os.walk", [sys.executable, "-c", WALK, src], counted),
    ]
    cases = [c for c in cases if common.matches(x.cases, c.name)]
    sh(f"find {at} -printf '%s' > /dev/null")  # warm the caches of names and inodes
    common.rounds(f"scan {pairs}", cases, x.rounds, work / "log.jsonl")
    lines, failed = [], any(c.error for c in cases)
    if sizes and cases[0].runs:
        seconds, mbytes = (max(r[k] for r in cases[0].runs) for k in ("wall", "rss_mb"))
        ok = seconds < MAX_S and mbytes < MAX_MB
        failed |= not ok
        lines = [f"The plan has {sizes[-1] / 1e6:,.1f} MB. Worst run {seconds:.1f} s (limit {MAX_S}),"
                 f" {mbytes:,.0f} MB (limit {MAX_MB:,}): {'within' if ok else 'BEYOND'} the limits."]
    shape = "one folder" if x.flat else f"folders of {2 * PER_FOLDER:,}"
    title = f"scan and plan: {2 * pairs:,} names (hard links) in {shape}"
    tar = [first_line(pack, "--version"), first_line("find", "--version"), first_line("sort", "--version")]
    common.publish("\n\n".join([f"## Scan, {common.now()[:10]}", common.machine(x.rounds, tar),
                                common.table(title, cases, "names"), *lines]), x.append)
    common.remove(plan)
    if x.clean:
        done.unlink()
        sh(f"rm -rf {at}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
