#!/usr/bin/env python3
"""Two versions of this project side by side: the figures of bench/pack, bench/read and bench/jpeg, before and after.

    python3 bench/versions/run.py --before TREE [--photos DIR] [--rounds 9] [--instructions] [--only pack,read,jpeg,cold] [--append]

TREE is another checkout (`git worktree add ../before COMMIT`); its programs are built there, ours here. `--before .
--profiles dist,release --only pack,read` compares two profiles of this one. Each case runs once in each version per round,
and the version that runs first alternates. A row gives CPU seconds, and the ratio of the medians (above 1: the version here
takes longer) with the middle half of the paired rounds. The table `cold` drops the page cache before each run (needs root)
and gives elapsed seconds. --instructions runs each case in callgrind instead, on less data: a count that other programs on
the machine do not change.
"""
import importlib.util
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import CaseError  # noqa: E402

WHICH = ("before", "here")
PHOTOS = common.ROOT.parent / "shared" / "data" / "photos"


class Version:
    """A checkout and the programs that were built from it."""

    def __init__(self, tree, profile=None):
        self.tree = tree
        target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "")) if tree == common.ROOT else None
        self.target = target if target and target.parts else tree / "target"
        # Versions before the profile `dist` optimize as fully with `release`.
        has_dist = "[profile.dist]" in (tree / "Cargo.toml").read_text()
        self.profile = profile or (common.PROFILE if has_dist else "release")

    def build(self):
        jpeg = ("--manifest-path", "bench/jpeg/Cargo.toml", "--target-dir", str(self.target))
        # Older versions have the command in the packer's crate.
        owner = "tarflume-cli" if (self.tree / "command").is_dir() else "tarflume-packer"
        for words in (("-p", owner, "--bin", "pack"), ("-p", "tarflume", "--example", "read"), jpeg):
            if subprocess.run(["cargo", "build", "--profile", self.profile, *words], cwd=self.tree, check=False).returncode:
                sys.exit(f"cargo build {' '.join(words)} failed in {self.tree}")
        return self

    @property
    def commit(self):
        return common.first_line("git", "-C", str(self.tree), "rev-parse", "--short", "HEAD")

    def program(self, name):
        return self.target / self.profile / {"read": "examples/read", "jpeg": "tarflume-bench-jpeg"}.get(name, name)


class Row:
    """One case: a command for each version, and what each round took."""

    def __init__(self, name, command, before=lambda _: None):
        self.name, self.command, self.before = name, command, before
        self.took = {which: [] for which in WHICH}
        self.error = ""

    def round(self, number, measure):
        for which in WHICH if number % 2 else reversed(WHICH):
            try:
                self.before(which)
                self.took[which].append(measure(self.command(which)))
            except (CaseError, OSError) as e:
                self.error = f"{which}: {e}"
                print(f"  {self.name}: FAILED {common.clean(self.error)}", file=sys.stderr, flush=True)
                return
        print(f"  {self.name}: {self.took['before'][-1]:,.3f} {self.took['here'][-1]:,.3f}", file=sys.stderr, flush=True)

    def line(self, show):
        if self.error or not self.took["here"]:
            return f"| {self.name} | FAILED: {common.clean(self.error)} | | |"
        before, here = (self.took[which] for which in WHICH)
        pairs = [b / a for a, b in zip(before, here)]
        ratio = statistics.median(here) / statistics.median(before)
        quarter = statistics.quantiles(pairs, n=4) if len(pairs) > 3 else [min(pairs), 0, max(pairs)]
        return (f"| {self.name} | {show(statistics.median(before))} | {show(statistics.median(here))} | {ratio:.3f} "
                f"({quarter[0]:.3f}-{quarter[2]:.3f}) |")


def seconds(command):
    """CPU seconds of a run: what other programs take from this one does not count."""
    got = common.run(command)
    if got["rc"]:
        raise CaseError(common.reason(got))
    return got["cpu"]


def elapsed(command):
    """Seconds of a run from the outside: what is waited for counts."""
    got = common.run(command)
    if got["rc"]:
        raise CaseError(common.reason(got))
    return got["wall"]


def drop_caches(_):
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n")


def instructions(command):
    """Millions of instructions of a run. One more thread more or less does not change them much."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run([*tool, *map(str, command)], text=True, capture_output=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        raise CaseError(done.stderr.strip()[-300:])
    return int(found[1]) / 1e6


class Bench:
    def __init__(self, x):
        self.x, self.work = x, x.work.resolve() / "versions"
        self.work.mkdir(parents=True, exist_ok=True)
        for path, word in ((self.work, "WORK"), (x.photos, "PHOTOS"), (x.before, "BEFORE")):
            common.hide(path, word)
        trees = (x.before.resolve(), common.ROOT)
        profiles = x.profiles.split(",") if x.profiles else (None, None)
        self.versions = {which: Version(*of).build() for which, *of in zip(WHICH, trees, profiles, strict=True)}
        pack = module("pack/run.py")
        pack.SIZES = {"pairs": 250, "tiny": 2_000} if x.instructions else {"pairs": 4_000, "tiny": 40_000}
        self.data = self.work / f"data-{pack.SIZES['pairs']}"
        pack.make_data(pack.make_venv(self.work), x.photos.resolve(), self.data, small=False)

    def pack(self, which, *words):
        return [self.versions[which].program("pack"), *words]

    def shards(self, which, kind, *flags):
        """What this version packed of `kind`, made on demand."""
        out = self.work / f"{which}-{self.data.name}-{kind}{'-'.join(flags)}"
        if not out.exists():
            common.sh(" ".join(map(str, self.pack(which, "build", self.data / kind, "-o", out, "--quiet", *flags))))
        return out

    def packing(self):
        for kind in ("pairs", "tiny"):
            for words, flags in (("build", ()), ("build --no-entry-points", ("--no-entry-points",))):
                def out(which):
                    return self.work / f"out-{which}"

                yield Row(f"pack {words}, {kind}", lambda which, kind=kind, flags=flags: self.pack(
                    which, "build", self.data / kind, "-o", out(which), "--quiet", "--no-fsync", *flags),
                    lambda which: shutil.rmtree(out(which), ignore_errors=True))
            for level in ("quick", "full", "decode"):
                yield Row(f"pack verify --level {level}, {kind}", lambda which, kind=kind, level=level: self.pack(
                    which, "verify", "--jobs", 1, "--level", level, self.shards(which, kind)))
            for flag in ("--headers", "", "--entry-points"):
                def tars(which, kind=kind):
                    made, at = self.shards(which, kind), self.work / f"index-{which}"
                    shutil.rmtree(at, ignore_errors=True)
                    at.mkdir()
                    for tar in sorted(made.glob("*.tar")):
                        os.link(tar, at / tar.name)

                yield Row(f"pack index {flag}, {kind}", lambda which, flag=flag: self.pack(
                    which, "index", self.work / f"index-{which}", "--quiet", *([flag] if flag else [])), tars)

    def read(self, which, kind, *flags, points=True, threads=2, epochs=1):
        shards = self.shards(which, kind, *([] if points else ["--no-entry-points"]))
        return [self.versions[which].program("read"), shards, "--batch", 256, "--threads", threads, "--epochs", epochs, *flags]

    def cold(self):
        for source in ("file", "mapped"):
            for shuffle in ("none", "blocks", "full"):
                for parts in ((), ("--parts", "json")):
                    name = f"cold, {source}, shuffle {shuffle}{', JSON alone' if parts else ''}"
                    yield Row(name, lambda which, words=("--mode", "raw", "--source", source, "--shuffle", shuffle, *parts): self.read(
                        which, "pairs", *words), drop_caches)

    def reading(self):
        epochs = 1 if self.x.instructions else 4

        def row(name, *flags, kind="pairs", mode="raw", **setting):
            times = epochs if mode == "raw" else 1
            return Row(f"read {kind}, {name}", lambda which: self.read(which, kind, "--mode", mode, *flags, epochs=times, **setting))
        for kind in ("pairs", "tiny"):
            yield row("in order, 1 thread", kind=kind, threads=1)
            yield row("in order, 2 threads", kind=kind)
            yield row("in order, mapped", "--source", "mapped", kind=kind)
            for shuffle in ("shards", "buffer", "blocks", "full"):
                yield row(f"shuffle {shuffle}", "--shuffle", shuffle, kind=kind)
            yield row("verify all", "--verify", "all", kind=kind)
            yield row("JSON alone", "--parts", "json", kind=kind)
        yield row("decoded, full shuffle", "--shuffle", "full", mode="image")
        yield row("decoded, full shuffle, no entry points", "--shuffle", "full", mode="image", points=False)
        yield row("decoded, in order, tiny", kind="tiny", mode="image")

    def decoding(self):
        listed = common.sh(f"{self.versions['before'].program('jpeg')} --list")
        named = [line.split("|", 1) for line in listed.splitlines()]
        count = 24 if self.x.instructions else 250
        for data in ("photos", "mosaics"):
            for table, name in named:
                if "tarflume" in name:
                    yield Row(f"jpeg {table}, {data}, {name}", lambda which, table=table, name=name, data=data: [
                        self.versions[which].program("jpeg"), "--once", name, "--tables", table, "--data", data,
                        "--photos", count, "--mosaics", 4, self.x.photos])

    def table(self, title, rows):
        measure = elapsed if title == "cold" else instructions if self.x.instructions else seconds
        rows = [row for row in rows if common.matches(self.x.cases, row.name)]
        for number in range(1 if self.x.instructions else self.x.rounds):
            for row in rows:
                if not row.error:
                    row.round(number, measure)
        unit = {elapsed: "s", seconds: "CPU s", instructions: "millions of instructions"}[measure]
        show = (lambda n: f"{n:,.1f}") if self.x.instructions else (lambda n: f"{n:.3f}")
        head = [f"### {title}, {unit}", "", "| case | before | here | here / before (middle half of the rounds) |", "|---|---|---|---|"]
        return "\n".join(head + [row.line(show) for row in rows]), any(row.error for row in rows)


def module(path):
    """A script beside this one, as a module."""
    spec = importlib.util.spec_from_file_location(path.replace("/", "_").removesuffix(".py"), HERE.parent / path)
    made = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str((HERE.parent / path).parent))
    spec.loader.exec_module(made)
    return made


def main():
    ap = common.options(__doc__)
    ap.set_defaults(rounds=9)
    ap.add_argument("--before", type=pathlib.Path, required=True, help="the other checkout")
    ap.add_argument("--profiles", metavar="BEFORE,HERE", help="profiles of Cargo.toml [dist, where there is one]")
    ap.add_argument("--photos", type=pathlib.Path, default=PHOTOS if PHOTOS.is_dir() else common.ROOT / "fixtures" / "photos")
    ap.add_argument("--instructions", action="store_true", help="count instructions in callgrind, once")
    ap.add_argument("--only", default="pack,read,jpeg")
    x = ap.parse_args()
    b = Bench(x)
    made = {"pack": b.packing, "read": b.reading, "jpeg": b.decoding, "cold": b.cold}
    tables = [b.table(word, list(made[word]())) for word in x.only.split(",")]
    known = [*(f"{which}: {of.commit}, {of.profile}" for which, of in b.versions.items()), common.first_line("rustc", "--version")]
    common.publish("\n\n".join([f"## Two versions, {common.now()[:10]}", common.machine(x.rounds, known), *(t for t, _ in tables)]),
                   x.append)
    sys.exit(any(failed for _, failed in tables))


if __name__ == "__main__":
    main()
