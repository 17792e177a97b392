#!/usr/bin/env python3
"""Reading: every sample's bytes, and decoded batches, beside webdataset, wids, MDS, litdata, grain, DALI and cat.

    python3 bench/read/run.py [--photos DIR] [--work DIR] [--venv DIR] [--rounds 3] [--small] [--cold] [--append]

All read the same 20,000 pairs, those of bench/pack: tar readers the shards that pack build wrote, the others their own
format. Seconds are those a case measures itself, from opening the data to the last sample: imports are left out, for
all alike. A case counts only when it saw every sample. Ours is the example `read` of tarflume.
"""
import os
import pathlib
import shlex
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import common  # noqa: E402
import prepare  # noqa: E402
from common import Case, CaseError, bash, digits, first_line, spread  # noqa: E402

CAT, WDS, PIL = "cat > /dev/null", "webdataset", "webdataset + PIL + torchvision, 2 workers"
DALI = "DALI, fused, 2 threads"
SCALED = "webdataset + simplejpeg with DCT scaling + cv2, 2 workers"
ORDERS = ("none", "shards", "buffer", "blocks", "full")
TABLES = ("raw", "order", "decode")
BATCH, SMALL_BATCH = 256, 32


def seconds(run):
    return float(run["vals"].get("s", run["wall"]))


def cost(run):
    """Seconds a decoded sample, from batch 4 on; where a case doesn't say, from the first batch on."""
    v = run["vals"]
    if "n4" in v:
        return float(v["s4"]) / int(v["n4"])
    return (float(v["s"]) - float(v["ttfb"])) / (int(v["samples"]) - int(v["batch"]))


def memory(key):
    """Of the watched run. A short case may end between two looks: then what it says about itself is the larger."""
    return lambda case: whole(max(case.watched[key], float(case.watched["vals"].get(key, 0))))


def column(head, value, show=digits):
    """Median of a value of each run; empty where the runs lack it."""
    def cell(case):
        try:
            return spread(map(value, case.runs), show)
        except KeyError:
            return ""
    return head, cell


def whole(x):
    return f"{x:,.0f}"


class Bench:
    def __init__(self, x):
        self.x, self.work = x, x.work.resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.at = self.work / ("read-small" if x.small else "read")
        self.at.mkdir(exist_ok=True)
        for path, word in ((self.work, "WORK"), (x.photos, "PHOTOS")):
            common.hide(path, word)
        venv = (x.venv or self.work / "venv-read").absolute()
        common.hide(venv, "VENV")
        self.python = venv / "bin" / "python" if x.venv and (venv / "bin" / "python").exists() else prepare.venv(venv)
        self.batch = SMALL_BATCH if x.small else BATCH
        self.pairs, self.made = prepare.pairs(self.python, x.photos.resolve(), self.work, x.small)
        self.pack = common.pack_binary(x.pack)
        self.n, self.mb = self.made["pairs"]["pairs"], self.made["pairs"]["bytes"] / 1e6
        self.lost = prepare.formats(self.at, self.python, self.pack, self.pairs, self.made, x.small)
        self.ours = x.read.resolve() if x.read else common.PROGRAMS / "examples" / "read"
        if not x.read and any(common.matches(x.cases, c.name) for c in self.our_cases()):
            common.built("examples/read", "-p", "tarflume", "--example", "read")
        self.tables, self.failed = [], False

    # ---- cases ------------------------------------------------------------------------------------
    def case(self, name, cmd, folder, against, check, before=None):
        """A case that reads AT/folder (or a folder elsewhere), which is read once before each run: warm for all."""
        at = self.at / folder if isinstance(folder, str) else folder
        need = [f for f in (folder, "idx" if "dali" in map(str, cmd) else "") if f in self.lost]
        if need:
            return Case(name, cmd, against, error=self.lost[need[0]])

        def warm():
            common.sh(f"find {shlex.quote(str(at))} -type f -print0 | xargs -0 -r cat > /dev/null")
        return Case(name, cmd, against, before or warm, check, tree=True, timeout=300)

    def seen(self, mbytes=True):
        """Every sample, and every byte of its parts."""
        def check(got):
            v = got["vals"]
            float(v["s"]), float(v["ttfb"])
            if int(v["samples"]) != self.n or mbytes and abs(float(v["mb"]) - self.mb) > self.mb / 1000:
                raise CaseError(f"saw {v['samples']} samples of {self.n}, {v['mb']} MB of {self.mb:.1f}")
        return check

    def enough(self, got):
        v = got["vals"]
        v.setdefault("batch", self.batch)
        float(v["s"]), float(v["ttfb"])
        if "n4" not in v and int(v["samples"]) < self.n or "n4" in v and int(v["n4"]) <= 0:
            raise CaseError(f"saw {v['samples']} samples, n4 = {v.get('n4')}")

    def our(self, name, *flags, shuffle="none", threads=2, mode="raw", against=(CAT, WDS), check=None, before=None,
            folder="shards"):
        cmd = [self.ours, self.at / folder, "--shuffle", shuffle, "--threads", threads, "--batch", self.batch,
               "--mode", mode, "--epochs", 1, *flags]
        return self.case(f"tarflume, {name}", cmd, folder, against, check or self.seen(), before)

    def rival(self, name, folder, reader, *flags):
        return self.case(name, [self.python, HERE / "rivals.py", self.at, reader, *flags], folder, (), self.seen())

    def cat(self, before=None):
        shards = shlex.quote(str(self.at / "shards"))
        script = (f"export LC_ALL=C; a=$EPOCHREALTIME; cat {shards}/*.tar > /dev/null; b=$EPOCHREALTIME;"
                  " us=$((${b/./} - ${a/./})); printf 's=%d.%06d\\n' $((us / 1000000)) $((us % 1000000))")
        return self.case(CAT, bash(script), "shards", (), lambda _: None, before)

    def our_cases(self):
        return [*self.raw(), *self.order(), *self.decode()]

    def raw(self):
        two = ("--workers", 2)
        return [
            self.our("in order, 1 thread", threads=1),
            self.our("in order, 2 threads"),
            self.our("in order, 2 threads, mapped", "--source", "mapped"),
            self.our("in order, 2 threads, pread", "--source", "file"),
            self.our("full shuffle, 2 threads", shuffle="full", against=(CAT, WDS, "tarflume, in order, 2 threads")),
            self.our("in order, 2 threads, verify sampled", "--verify", "sampled"),
            self.our("in order, 2 threads, verify all", "--verify", "all"),
            self.our("json only, in order, 2 threads", "--parts", "json", against=(), check=self.seen(mbytes=False)),
            self.cat(),
            self.rival("Python tarfile, streamed", "shards", "tarfile"),
            self.rival(WDS, "shards", "webdataset"),
            self.rival("webdataset, shuffle 1000", "shards", "webdataset", "--shuffle"),
            self.rival("webdataset, 2 workers", "shards", "webdataset", *two),
            self.rival("wids, in order", "shards", "wids"),
            self.rival("wids, random", "shards", "wids", "--shuffle"),
            self.rival("MDS", "mds", "mds"),
            self.rival("MDS, shuffled", "mds", "mds", "--shuffle"),
            self.rival("MDS, 2 workers", "mds", "mds", *two),
            self.rival("DALI with index, 2 threads", "shards", "dali", *two),
            self.rival("DALI with index, shuffle 1000, 2 threads", "shards", "dali", "--shuffle", *two),
            self.rival("litdata, copied", "litdata", "litdata"),
            self.rival("litdata, copied, shuffled", "litdata", "litdata", "--shuffle"),
            self.rival("litdata, copied, 2 workers", "litdata", "litdata", *two),
            self.rival("array_record reader", "array_record", "array_record"),
            self.rival("grain + array_record", "array_record", "grain"),
            self.rival("grain + array_record, shuffled", "array_record", "grain", "--shuffle"),
        ]

    def order(self):
        return [self.our(f"shuffle {o}", shuffle=o, against=("tarflume, shuffle none",) if o != "none" else ())
                for o in ORDERS]

    def cold(self):
        def drop():
            os.sync()
            try:
                pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n")
            except OSError as e:
                raise CaseError(f"--cold needs root: {e}") from e
        return [self.our("cold, pread", "--source", "file", against=(CAT,), before=drop),
                self.our("cold, mapped", "--source", "mapped", against=(CAT,), before=drop),
                self.our("cold, full shuffle, pread", "--source", "file", shuffle="full", against=(CAT,), before=drop),
                self.cat(drop)]

    def decode(self):
        def ours(name, *flags, order="none", folder="points"):
            return self.our(f"decoded, {name}", *flags, shuffle=order, mode="image", check=self.enough, folder=folder,
                            against=(PIL, SCALED, DALI))

        def rival(name, folder, pipeline):
            samples = 8 * self.batch if self.x.small else self.x.samples
            cmd = [self.python, HERE / "decode_rivals.py", self.at, pipeline, "--pairs", self.pairs,
                   "--batch", self.batch, "--samples", samples]
            return self.case(name, cmd, folder, (), self.enough)
        return [
            ours("in order"), ours("shuffle full", order="full"),
            ours("shuffle full, without entry points", order="full", folder="shards"),
            ours("shuffle full, no antialiasing", "--filter", "fast", order="full"),
            rival(PIL, "shards", "webdataset-pil"),
            rival("webdataset + torchvision.io, 2 workers", "shards", "webdataset-tvio"),
            rival("webdataset + torchcodec, 2 workers", "shards", "webdataset-torchcodec"),
            rival("webdataset + cv2, 2 workers", "shards", "webdataset-cv2"),
            rival(SCALED, "shards", "webdataset-scaled"),
            rival(DALI, "shards", "dali"),
            rival("MDS + cv2, 2 workers", "mds", "mds-cv2"),
            rival("folder + PIL + torchvision DataLoader, 2 workers", self.pairs, "folder-pil"),
        ]

    # ---- tables -----------------------------------------------------------------------------------
    def measure(self, title, cases, timed, rest):
        cases = [c for c in cases if common.matches(self.x.cases, c.name)]
        if not cases:
            return
        common.rounds(title, cases, self.x.rounds, self.work / "log.jsonl")
        by = {c.name: c for c in cases}
        columns = [*rest, column("first batch, s", lambda r: float(r["vals"]["ttfb"])),
                   ("peak PSS MB", memory("pss_mb")), ("own MB", memory("own_mb")),
                   ("speed against the rival", lambda c: common.ratios(c, by, timed))]
        self.tables.append(common.columns_table(title, cases, columns))
        self.failed |= any(c.error for c in cases)

    def bytes_table(self, title, cases):
        self.measure(f"{title}: {self.n:,} samples, {self.mb:,.0f} MB", cases, seconds, [
            column("s, median (min-max)", seconds),
            ("samples/s", lambda c: whole(self.n / common.middle(map(seconds, c.runs)))),
            ("MB/s", lambda c: whole(common.middle(float(r["vals"].get("mb", self.mb)) / seconds(r) for r in c.runs))),
            ("CPU s with imports", lambda c: digits(common.middle(r["cpu"] for r in c.runs)))])

    def decode_table(self):
        self.measure(f"decode, RandomResizedCrop(224), flip, u8 batches of {self.batch}, 2 threads or workers",
                     self.decode(), cost, [column("images/s, median (min-max)", lambda r: 1 / cost(r), whole)])


def main():
    ap = common.options(__doc__)
    ap.add_argument("--photos", type=pathlib.Path, default=common.ROOT / "fixtures" / "photos")
    ap.add_argument("--small", action="store_true", help="a fiftieth of the data, to try the script")
    ap.add_argument("--venv", type=pathlib.Path, help="an environment with the rivals [WORK/venv-read, made on demand]")
    ap.add_argument("--read", type=pathlib.Path, help="this binary instead of building the example")
    ap.add_argument("--samples", type=int, default=8_192, help="samples a rival decodes; ours decodes all")
    ap.add_argument("--tables", default=",".join(TABLES), help="of raw, order, decode, cold")
    ap.add_argument("--cold", action="store_true", help="the table cold, too: drops the page cache (needs root)")
    x = ap.parse_args()
    tables = x.tables.split(",") + ["cold"] * x.cold
    b = Bench(x)
    if "raw" in tables:
        b.bytes_table("raw bytes", b.raw())
    if "order" in tables:
        b.bytes_table("order, raw bytes, 2 threads", b.order())
    if "cold" in tables:
        b.bytes_table("page cache dropped before each run (a virtual machine's host may still cache)", b.cold())
    if "decode" in tables:
        b.decode_table()
    note = " **--small: a trial of the script, no measurement.**" if x.small else ""
    data = f"- {b.made['photos']} photographs, {b.made['photo_bytes'] / b.made['photos'] / 1000:.0f} kB each.{note}"
    known = [first_line(b.pack, "--version"), first_line("cat", "--version"), prepare.versions(b.python),
             first_line("rustc", "--version")]
    common.publish("\n\n".join([f"## Read, {common.now()[:10]}",
                                common.machine(x.rounds, known) + "\n" + data, *b.tables]), x.append)
    sys.exit(b.failed)


if __name__ == "__main__":
    main()
