#!/usr/bin/env python3
"""Packing, indexing and verifying: pack beside GNU tar, webdataset, tarfile and a C floor.

    python3 bench/pack/run.py [--photos DIR] [--work DIR] [--rounds 3] [--small] [--append]

Every time includes the folder walk; outputs are removed, the disk is synced and memory warmed before each
run; a case counts only when its output holds every member. --cases '^(?!pack)' runs the rivals alone.
"""
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import Case, CaseError, bash, first_line, sh  # noqa: E402

SIZES = {"pairs": 20_000, "tiny": 200_000}
MAX_COUNT, MAX_BYTES = 10_000, 256e6
PIP = ["webdataset==1.0.2", "numpy", "pillow"]
BUILD, PLAIN = "pack build", "pack build --no-entry-points"
OURS = (BUILD, f"{BUILD} --no-fsync", PLAIN, f"{PLAIN} --no-fsync", "pack index --headers", "pack index (with digests)",
        "pack index --entry-points", "pack verify --jobs 1", "pack verify --jobs 1 --level quick",
        "pack verify --jobs 1 --level decode")
TAR, DURABLE = "GNU tar, 2 processes", "GNU tar, 2 processes, then sync of the shards"
WDS, WDS2 = "webdataset ShardWriter, 1 process", "webdataset ShardWriter, 2 processes"


def q(path):
    return shlex.quote(str(path))


def warm(path, size):
    """Fill the page cache and free it again, so that every case finds memory that the host has handed out.

    In a virtual machine pages that were free for seconds may have gone back to the host; the case that
    touches them first would pay for that, and it was up to four times slower.
    """
    zeros = bytes(1 << 20)
    with open(path, "wb") as f:
        for _ in range(size >> 20):
            f.write(zeros)
    path.unlink()


def make_venv(work):
    venv = work / "venv"
    if not (venv / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        subprocess.run([str(venv / "bin/python"), "-m", "pip", "install", "-q", *PIP], check=True)
        (venv / "ready").touch()
    return venv / "bin" / "python"


def make_data(python, photos, data, small):
    """Make pairs/ and tiny/ unless they are there, made of the same photographs."""
    sizes = [p.stat().st_size for p in photos.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg")]
    if not sizes:
        sys.exit(f"no photographs in {photos}: give --photos DIR")
    stamp = data / "data.json"
    if stamp.exists():
        made = json.loads(stamp.read_text())
        if (made["photos"], made["photo_bytes"]) == (len(sizes), sum(sizes)):
            return made
    if data.exists():
        shutil.rmtree(data)
    data.mkdir(parents=True)
    pairs, tiny = (n // (50 if small else 1) for n in SIZES.values())
    need = 4 * sum(sizes) / len(sizes) * pairs + tiny * 20_000
    if shutil.disk_usage(data).free < need:
        sys.exit(f"needs {need / 1e9:.0f} GB of free disk")
    print(f"  making {pairs} pairs and {tiny} tiny pairs", file=sys.stderr, flush=True)
    subprocess.run([str(python), str(HERE / "make.py"), str(photos), str(data), str(pairs), str(tiny)], check=True)
    os.sync()
    return json.loads(stamp.read_text())


def shards(folder):
    return sorted(pathlib.Path(folder).rglob("*.tar"))


class Bench:
    def __init__(self, x):
        self.work, self.rounds, self.pattern = x.work.resolve(), x.rounds, x.cases
        self.work.mkdir(parents=True, exist_ok=True)
        self.data = self.work / ("data-small" if x.small else "data")
        common.hide(self.work, "WORK")
        common.hide(x.photos, "PHOTOS")
        self.outs = self.work / ("out-small" if x.small else "out")
        self.python = make_venv(self.work)
        self.floor = common.compile_c(HERE / "floor.c", self.work / "bin" / "floor")
        ours = any(common.matches(self.pattern, c) for c in OURS)
        self.pack = common.pack_binary(x.pack) if ours else "pack"
        self.made = make_data(self.python, x.photos.resolve(), self.data, x.small)
        self.tables, self.failed = [], False

    def versions(self):
        venv = "import importlib.metadata as m; print(*(f'{p} {m.version(p)}' for p in ('webdataset', 'pillow')))"
        ours = [first_line(self.pack, "--version")] if isinstance(self.pack, pathlib.Path) else []
        return [*ours, first_line("tar", "--version"),
                first_line("b3sum", "--version"), first_line(str(self.python), "-c", venv),
                first_line("cc", "--version"), first_line("rustc", "--version")]

    def measure(self, title, cases):
        cases = [c for c in cases if common.matches(self.pattern, c.name)]
        if not cases:
            return
        common.rounds(title, cases, self.rounds, self.work / "log.jsonl")
        self.tables.append(common.table(title, cases))
        self.failed |= any(c.error for c in cases)

    # ---- folders to shards ----------------------------------------------------------------------
    def out(self, kind, slug):
        return self.outs / kind / slug

    def pack_table(self, kind):
        n, size = self.made[kind]["pairs"], self.made[kind]["bytes"]
        src = self.data / kind
        sh(f"find {q(src)} -type f -print0 | xargs -0 cat > /dev/null")  # warm the page cache
        per = 2 * min(MAX_COUNT, int(MAX_BYTES * n / size), -(-n // 2))
        listing = f"cd {q(src)} && find . -type f -printf '%P\\n' | LC_ALL=C sort"

        def tar(o):
            return (f"{listing} | split -l {per} -d -a 6 - {q(o)}/list. && cd {q(src)} && ls {q(o)}/list.*"
                    f" | xargs -P2 -I@ sh -c 'tar cf @.tar -T @' && rm {q(o)}/list.??????")

        def floor(threads):
            return lambda o: bash(f"{listing} > {q(o)}/list && {q(self.floor)} {q(o)}/list {q(o)} {per} {threads}")

        def webdataset(procs):
            return lambda o: [self.python, HERE / "rivals.py", "write", src, o, procs]

        def build(*flags):
            return lambda o: [self.pack, "build", src, "-o", o, "--quiet", *flags]

        specs = [
            (BUILD, "pack", build(), (PLAIN, DURABLE, WDS)),
            (f"{BUILD} --no-fsync", "pack-no-fsync", build("--no-fsync"), (f"{PLAIN} --no-fsync", TAR, WDS)),
            (PLAIN, "pack-plain", build("--no-entry-points"), (DURABLE, WDS)),
            (f"{PLAIN} --no-fsync", "pack-plain-no-fsync", build("--no-entry-points", "--no-fsync"),
             (TAR, WDS, "floor in C, 2 threads")),
            (TAR, "tar", lambda o: bash(tar(o)), ()),
            (DURABLE, "tar-sync", lambda o: bash(f"{tar(o)} && sync {q(o)}/*.tar"), ()),
            (WDS, "webdataset", webdataset(1), (TAR,)),
            (WDS2, "webdataset-2", webdataset(2), (TAR,)),
            ("floor in C, 1 thread", "floor-1", floor(1), (TAR,)),
            ("floor in C, 2 threads", "floor-2", floor(2), (TAR,)),
        ]
        cases = [self.writer(name, self.out(kind, slug), cmd, rivals, n, size) for name, slug, cmd, rivals in specs]
        self.measure(f"pack, {kind}: {2 * n:,} files, {size / 1e6:,.0f} MB", cases)

    def writer(self, name, out, cmd, rivals, n, size):
        """A case that writes shards into `out`; only what the later tables read is kept."""
        def before():
            common.remove(out)
            # pack makes its own folder
            (out.parent if out.name.startswith("pack") else out).mkdir(parents=True, exist_ok=True)
            os.sync()
            warm(out.parent / "fill", int(size * 1.2))

        def check(_):
            got, written = members(out), sum(s.stat().st_size for s in shards(out))
            if got != 2 * n or written < size:
                raise CaseError(f"wrote {got:,} members of {2 * n:,}, {written:,} bytes for {size:,}")
            if out.name.startswith("pack"):
                told = json.loads(sh(f"{q(self.pack)} info --format json {q(out)}")).get("entry_points", {"parts": 0})
                if told["parts"] != (0 if "plain" in out.name else n):
                    raise CaseError(f"{told['parts']:,} of {n:,} JPEGs have entry points")
            if out.name not in ("pack", "webdataset"):
                common.remove(out)
        return Case(name, cmd(out), rivals, before, check, items=2 * n, mbytes=size / 1e6)

    # ---- index of existing shards ---------------------------------------------------------------
    def index_table(self, kind, whose):
        n, at = self.made[kind]["pairs"], self.outs / kind / f"index-{whose}"
        found = shards(self.out(kind, whose))
        if not found:
            return
        common.remove(at)
        at.mkdir(parents=True)
        for s in found:
            os.link(s, at / s.name)
        mbytes = sum(s.stat().st_size for s in found) / 1e6
        tars, lists = " ".join(q(s) for s in shards(at)), self.outs / kind / "lists"

        def clear():
            for f in at.iterdir():
                if f.suffix != ".tar":
                    common.remove(f)
            common.remove(lists)
            lists.mkdir()
            os.sync()

        def listed(got):
            total = int(got["vals"].get("members", 0)) or int(sh(f"cat {q(lists)}/* | grep -vc 'Block of NULs'"))
            if total != 2 * n:
                raise CaseError(f"listed {total:,} members of {2 * n:,}")

        def indexed(_):
            sidecars = [f for f in at.iterdir() if f.suffix != ".tar" and f.stat().st_size > 0]
            if len(sidecars) < len(found) or sum(f.stat().st_size for f in sidecars) < 2 * n:
                raise CaseError(f"{len(sidecars)} sidecars for {len(found)} shards, or too small to hold every member")

        def gnu(jobs):
            return bash(f"printf '%s\\n' {tars} | xargs -P{jobs} -I@ sh -c 'tar tRf @ > {q(lists)}/$(basename @)'")

        def python(jobs):
            return [self.python, HERE / "rivals.py", "list", jobs, *shards(at)]

        def case(name, cmd, check, *rivals):
            return Case(name, cmd, rivals, clear, check, items=2 * n, mbytes=mbytes)
        gnu2, py1 = "GNU tar tRf, 2 processes", "Python tarfile, 1 process"
        self.measure(f"index, {kind}, shards of {whose}: {len(found)} shards, {2 * n:,} members, {mbytes:,.0f} MB", [
            case("pack index --headers", [self.pack, "index", "--headers", "--force", at], indexed, gnu2, py1),
            case("pack index (with digests)", [self.pack, "index", "--force", at], indexed, gnu2, py1),
            case("pack index --entry-points", [self.pack, "index", "--entry-points", "--force", at], indexed,
                 "pack index (with digests)"),
            case("GNU tar tRf, 1 process", gnu(1), listed),
            case(gnu2, gnu(2), listed),
            case(py1, python(1), listed),
            case("Python tarfile, 2 processes", python(2), listed),
        ])
        common.remove(at)
        common.remove(lists)

    # ---- verify ---------------------------------------------------------------------------------
    def verify_table(self, kind):
        n, at = self.made[kind]["pairs"], self.out(kind, "pack")
        found = shards(at)
        if not found:
            return
        tars, mbytes = " ".join(map(q, found)), sum(s.stat().st_size for s in found) / 1e6

        def case(name, cmd, *rivals):
            return Case(name, cmd, rivals, items=2 * n, mbytes=mbytes)
        cat, b3 = "cat > /dev/null", "b3sum, 1 thread"
        cases = [
            case("pack verify --jobs 1", [self.pack, "verify", at, "--jobs", 1], cat, b3, "sha256sum"),
            case("pack verify --jobs 1 --level quick", [self.pack, "verify", at, "--jobs", 1, "--level", "quick"], cat),
            case("pack verify --jobs 1 --level decode", [self.pack, "verify", at, "--jobs", 1, "--level", "decode"], cat),
            case(cat, bash(f"cat {tars} > /dev/null")),
            case("sha256sum", bash(f"sha256sum {tars} > /dev/null")),
        ]
        if shutil.which("b3sum"):
            cases.append(case(b3, bash(f"b3sum --num-threads 1 {tars} > /dev/null")))
        cases[0].check = self.sees_damage(at, found[0], [], cut=False)
        cases[1].check = self.sees_damage(at, found[0], ["--level", "quick"], cut=True)
        cases[2].check = self.sees_damage(at, found[0], ["--level", "decode"], cut=False)
        self.measure(f"verify, {kind}: {len(found)} shards, {mbytes:,.0f} MB", cases)

    def sees_damage(self, at, shard, flags, cut):
        """After a timed run: a linked copy with one shard cut, or one byte of a photograph flipped, must fail."""
        def check(_):
            bad = at.with_name("damaged")
            common.remove(bad)
            shutil.copytree(at, bad, copy_function=os.link)
            hurt, half = bad / shard.relative_to(at), shard.stat().st_size // 2
            hurt.unlink()
            shutil.copyfile(shard, hurt)
            with hurt.open("r+b") as f:
                if cut:
                    f.truncate(half)
                else:
                    f.seek(half)
                    at_byte = half + f.read(1 << 20).index(b"\xff\xd8\xff") + 700
                    f.seek(at_byte)
                    byte = f.read(1)[0]
                    f.seek(at_byte)
                    f.write(bytes([byte ^ 0x10]))
            rc = common.run([self.pack, "verify", bad, "--jobs", 1, *flags])["rc"]
            common.remove(bad)
            if rc == 0:
                raise CaseError("a cut shard was not found" if cut else "a flipped byte was not found")
        return check


def members(folder):
    """Files in all shards of a folder, counted by GNU tar."""
    if not shards(folder):
        return 0
    return int(sh(f"find {q(folder)} -name '*.tar' -print0 | xargs -0 -n1 tar tf | grep -vc '/$'"))


def main():
    ap = common.options(__doc__)
    ap.add_argument("--photos", type=pathlib.Path, default=common.ROOT / "fixtures" / "photos")
    ap.add_argument("--small", action="store_true", help="a fiftieth of the data, to try the script")
    ap.add_argument("--kinds", default="pairs,tiny")
    ap.add_argument("--tables", default="pack,index,verify", help="index and verify read what pack wrote")
    x = ap.parse_args()
    b = Bench(x)
    for kind in x.kinds.split(","):
        if "pack" in x.tables:
            b.pack_table(kind)
        if "index" in x.tables:
            b.index_table(kind, "webdataset")
            b.index_table(kind, "pack")
        if "verify" in x.tables:
            b.verify_table(kind)
    note = " **--small: a trial of the script, no measurement.**" if x.small else ""
    data = f"- {b.made['photos']} photographs, {b.made['photo_bytes'] / b.made['photos'] / 1000:.0f} kB each.{note}"
    common.publish("\n\n".join([f"## Pack, {common.now()[:10]}",
                                common.machine(x.rounds, b.versions()) + "\n" + data, *b.tables]), x.append)
    sys.exit(b.failed)


if __name__ == "__main__":
    main()
