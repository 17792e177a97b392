#!/usr/bin/env python3
"""The case that kills others: 7,646,857 samples, 24 processes with 16 readers each, beside Python's list of paths.

    python3 bench/scale/run.py [--shards 765] [--samples 7646857] [--rounds 3] [--append]

MLPerf Storage's retinanet on two nodes: mlcommons/storage#449 tells of about 430 GB a node for 12 processes with 16
workers, each of which keeps a list[str] of its own and copies of it. Our 765 shards are holes with true indexes (the
example `open` of tarflume-formats makes them); the example `scale` of tarflume opens them and draws ordinals of a full
shuffle in 16 threads of each of 24 processes, and looks up the row of each. Python's lists are measured in as many
processes as fit into --memory and scaled, which the table says. Memory is the sum of PSS: pages that processes share
are counted once. Fails when ours misses a limit.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import Case, CaseError, digits, first_line, middle, spread  # noqa: E402

BYTES_A_PATH = 150  # a str of about 50 letters, its place in the list, and what the allocator keeps
LIMIT_MB, OPEN_MS, FIRST_US = 400, 20, 1_000
OPENED, DRAWN = "tarflume, opened", "tarflume"


def available_mb():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0


def said(key, show=digits):
    """Median (min-max) over the runs of what a case says."""
    def cell(case):
        values = [float(r["vals"][key]) for r in case.runs if key in r["vals"]]
        return spread(values, show) if values else ""
    return cell


def whole(x):
    return f"{x:,.0f}"


class Bench:
    def __init__(self, x):
        self.x, work = x, x.work.resolve()
        common.hide(work, "WORK")
        self.log, self.at = work / "log.jsonl", work / "scale" / f"{x.shards}-{x.samples}"
        self.ours, self.paths = self.at / "ours", self.at / "paths.pkl"
        self.at.mkdir(parents=True, exist_ok=True)
        self.example = x.scale.resolve() if x.scale else common.PROGRAMS / "examples" / "scale"
        fits = int(min(x.memory * 1e3, available_mb() - 2e3) / (BYTES_A_PATH * x.samples / 1e6)) - 1
        self.copies = max(2, min(x.world, fits))  # one more while it is pickled
        self.tables, self.failed, self.ran = [], False, {}

    def make(self, name, target, cmd):
        done = self.at / f"{name}.done"
        if done.exists():
            return
        common.remove(target)
        print(f"  making {name}", file=sys.stderr, flush=True)
        got = common.run(cmd)
        if got["rc"]:
            sys.exit(f"make {name}: {common.clean(got['err'].strip())}")
        done.touch()

    def prepare(self):
        x = self.x
        if any(common.matches(x.cases, n) for n in (OPENED, DRAWN)):
            if not x.scale:
                common.built("examples/scale", "-p", "tarflume", "--example", "scale")
            making = common.built("examples/open", "-p", "tarflume-formats", "--example", "open")
            self.make("ours", self.ours, [making, "make", self.ours, x.shards, x.samples])
        self.make("paths", self.paths, [sys.executable, HERE / "rivals.py", "make", self.paths, x.samples])

    def complete(self, got):
        float(got["vals"]["open_ms"]), float(got["vals"]["first_ordinal_us"])
        if int(got["vals"].get("samples", self.x.samples)) != self.x.samples:
            raise CaseError(f"opened samples={got['vals']['samples']}, wanted {self.x.samples}")

    def measure(self, title, cases, columns):
        cases = [c for c in cases if common.matches(self.x.cases, c.name)]
        if not cases:
            return
        common.rounds(title, cases, self.x.rounds, self.log)
        self.tables.append(common.columns_table(title, cases, columns))
        self.failed |= any(c.error for c in cases)
        self.ran.update({c.name: c.runs for c in cases if not c.error})

    def open_table(self):
        self.measure(f"one process: {self.x.shards:,} shards, {self.x.samples:,} samples", [
            Case(OPENED, [self.example, "open", self.ours], check=self.complete),
            Case("list[str], unpickled, then random.shuffle",
                 [sys.executable, HERE / "rivals.py", "open", self.paths], check=self.complete),
        ], [("open, ms", said("open_ms")), ("first ordinal after that, us", said("first_ordinal_us")),
            ("process, s", lambda c: spread(r["wall"] for r in c.runs)),
            ("peak RSS MB", lambda c: whole(middle(r["rss_mb"] for r in c.runs)))])

    def sit_table(self):
        x = self.x

        def sit(name, count, *cmd):
            return Case(name, [sys.executable, HERE / "sit.py", count, *cmd], check=self.complete, timeout=1800)

        def lists(method):
            return sit(f"list[str] in {method}ed processes", 1, sys.executable, HERE / "rivals.py", "sit", method,
                       self.paths, self.copies)
        cases = [sit(DRAWN, x.world, self.example, "sit", self.ours, "--threads", x.threads, "--rank", "{rank}",
                     "--world", x.world), lists("fork"), lists("spawn")]
        self.measure(f"{x.world} processes of {x.threads} readers each", cases, [
            ("measured with", self.measured_with), ("PSS of these, MB", said("pss_mb", whole)),
            ("own of these, MB", said("own_mb", whole)),
            ("a process, MB", lambda c: digits(self.each(c))),
            (f"{x.world} processes, MB", self.all_ranks),
            (f"with {x.threads} workers each that are processes, MB", self.all_workers),
            ("open, ms", said("open_ms")), ("first ordinal, us", said("first_ordinal_us")),
            ("all ready after, s", said("ready_s")), ("ordinals drawn", lambda c: c.runs[-1]["vals"].get("draws", ""))])

    def holders(self, case):
        """Processes that hold the data set; the children that multiprocessing starts for itself hold nothing."""
        return int(case.runs[-1]["vals"].get("copies", self.x.world))

    def each(self, case):
        return middle(float(r["vals"]["pss_mb"]) for r in case.runs) / self.holders(case)

    def measured_with(self, case):
        threads = f" of {self.x.threads} threads" if case.name == DRAWN else ""
        return f"{self.holders(case)} processes{threads}"

    def all_ranks(self, case):
        scaled = "" if self.holders(case) == self.x.world else f" (scaled from {self.holders(case)})"
        return whole(self.each(case) * self.x.world) + scaled

    def all_workers(self, case):
        """Our readers are threads: nothing is added. A worker that is a process holds a list of its own."""
        if case.name == DRAWN:
            return whole(self.each(case) * self.x.world) + " (threads)"
        return f"{self.each(case) * self.x.world * (1 + self.x.threads):,.0f} (scaled from {self.holders(case)})"

    def limits(self):
        """Ours against what was asked of it."""
        lines = []
        for name, key, limit, unit in ((DRAWN, "pss_mb", LIMIT_MB, "MB, total PSS"),
                                       (OPENED, "open_ms", OPEN_MS, "ms to open"),
                                       (OPENED, "first_ordinal_us", FIRST_US, "us to the first ordinal")):
            runs = self.ran.get(name, [])
            if runs:
                got = middle(float(r["vals"][key]) for r in runs)
                self.failed |= got >= limit
                lines.append(f"- tarflume: {digits(got)} {unit}: {'under' if got < limit else 'NOT UNDER'} {limit:,}")
        return "\n".join(lines)

    def disk(self):
        index = sum(f.stat().st_size for f in self.ours.rglob("*") if f.suffix != ".tar" and f.is_file())
        return (f"- on disk: indexes and manifest {index / 1e6:,.0f} MB; list of paths, pickled, "
                f"{self.paths.stat().st_size / 1e6:,.0f} MB. Reported for path lists: about 430,000 MB a node of 12"
                f" processes with 16 workers (mlcommons/storage#449).")


def main():
    ap = common.options(__doc__)
    ap.add_argument("--shards", type=int, default=765)
    ap.add_argument("--samples", type=int, default=7_646_857)
    ap.add_argument("--world", type=int, default=24, help="processes")
    ap.add_argument("--threads", type=int, default=16, help="readers in each")
    ap.add_argument("--memory", type=float, default=16, help="GB that Python's lists may take [16]")
    ap.add_argument("--scale", type=pathlib.Path, help="this binary instead of building the example")
    b = Bench(ap.parse_args())
    b.prepare()
    b.open_table()
    b.sit_table()
    common.publish("\n\n".join([f"## Scale, {common.now()[:10]}",
                                common.machine(b.x.rounds, [first_line("rustc", "--version")]) + "\n" + b.disk(),
                                *b.tables, b.limits()]), b.x.append)
    sys.exit(b.failed)


if __name__ == "__main__":
    main()
