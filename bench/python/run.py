#!/usr/bin/env python3
"""The Python package beside webdataset, wids, MDS, litdata, grain, DALI, SPDL and FFCV: bytes, and decoded batches.

    python3 bench/python/run.py --photos DIR [--work DIR] [--venv DIR] [--rounds 3] [--small] [--tables raw,decode] [--append]

The data, the rules and most rivals are those of bench/read/run.py; the wheel is built and installed beside the rivals.
SPDL needs FFmpeg's libraries, FFCV is compiled against libopencv-dev and libturbojpeg0-dev: where those are missing,
their rows say so.
"""
import importlib.util
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
READ = HERE.parent / "read"
sys.path[:0] = [str(HERE.parent), str(READ)]
import common  # noqa: E402
import prepare  # noqa: E402
from common import first_line  # noqa: E402

SPEC = importlib.util.spec_from_file_location("reading", READ / "run.py")
reading = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(reading)
WORKERS = "webdataset, 2 workers"
FFCV_NEEDS = ("setuptools", "wheel", "numba", "terminaltables", "fastargs", "assertpy", "pandas")


class Bench(reading.Bench):
    def our_cases(self):
        return []  # the example in Rust is not needed

    def install(self):
        wheels = common.TARGET / "wheels-bench"
        subprocess.run([self.python, "-m", "pip", "install", "-q", "maturin>=1.16,<2"], check=True)
        subprocess.run([self.python, "-m", "maturin", "build", "--quiet", "--profile", common.PROFILE, "--locked", "-m",
                        common.ROOT / "python" / "Cargo.toml", "-o", wheels], check=True)
        wheel = max(wheels.glob("*.whl"), key=lambda path: path.stat().st_mtime)
        subprocess.run([self.python, "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", wheel], check=True)

    def more_rivals(self):
        """SPDL and FFCV into the environment, and FFCV's own files; what fails is why its rows are empty."""
        pip = [self.python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        ready = self.at.parent / "more-rivals.done"
        if not ready.exists():
            subprocess.run([*pip, "spdl==0.8.0", *FFCV_NEEDS], check=False)
            subprocess.run([*pip, "--no-deps", "--no-build-isolation", "ffcv==1.0.2"], check=False)
            ready.touch()
        write = [self.python, HERE / "rivals.py", self.at, "write", "--pairs", self.pairs]
        why = prepare.once(self.at, "ffcv", str(self.made), lambda: prepare.checked(write))
        if why:
            self.lost["ffcv"] = why

    def more(self, name, folder, case):
        cmd = [self.python, HERE / "rivals.py", self.at, case, "--batch", self.batch,
               "--samples", 8 * self.batch if self.x.small else self.x.samples]
        check = self.enough if not case.endswith("raw") else self.seen(mbytes=case == "spdl-raw")
        return self.case(name, cmd, folder, (), check)

    def python_case(self, name, front, mode, folder, against, shuffle="full"):
        cmd = [self.python, HERE / "ours.py", self.at / folder, front, mode, "--batch", self.batch, "--shuffle", shuffle]
        return self.case(f"tarflume, {name}", cmd, folder, against, self.seen() if mode == "raw" else self.enough)

    def raw(self):
        rivals = [case for case in super().raw() if not case.name.startswith("tarflume")]
        rivals += [self.more("SPDL, 2 threads", "shards", "spdl-raw"),
                   self.more("FFCV (its own files, rows padded), 2 threads", "ffcv", "ffcv-raw")]
        against = (reading.WDS, WORKERS)
        return [self.python_case("in order", "core", "raw", "shards", against, "none"),
                self.python_case("exactly shuffled", "core", "raw", "shards", against),
                self.python_case("tarflume.torch.Loader, exactly shuffled", "torch", "raw", "shards", against), *rivals]

    def decode(self):
        rivals = [case for case in super().decode() if not case.name.startswith("tarflume")]
        rivals += [self.more("SPDL with FFmpeg, 2 threads", "shards", "spdl"),
                   self.more("FFCV (its own files, JPEGs encoded again), 2 threads", "ffcv", "ffcv")]
        against = (reading.PIL, reading.SCALED, reading.DALI)
        return [self.python_case("exactly shuffled", "core", "image", "points", against),
                self.python_case("tarflume.torch.Loader, exactly shuffled", "torch", "image", "points", against),
                self.python_case("tarflume.torch.Dataset in a DataLoader, 2 workers", "dataloader", "image", "points", against),
                *rivals]


def main():
    ap = common.options(__doc__)
    ap.add_argument("--photos", type=pathlib.Path, default=common.ROOT / "fixtures" / "photos")
    ap.add_argument("--small", action="store_true", help="a fiftieth of the data, to try the script")
    ap.add_argument("--venv", type=pathlib.Path, help="an environment with the rivals [WORK/venv-read, made on demand]")
    ap.add_argument("--samples", type=int, default=8_192, help="samples a rival decodes; ours decodes all")
    ap.add_argument("--tables", default="raw,decode")
    ap.set_defaults(read=None)
    x = ap.parse_args()
    b = Bench(x)
    b.install()
    b.more_rivals()
    if "raw" in x.tables.split(","):
        b.bytes_table("raw bytes", b.raw())
    if "decode" in x.tables.split(","):
        b.decode_table()
    note = " **--small: a trial of the script, no measurement.**" if x.small else ""
    data = f"- {b.made['photos']} photographs, {b.made['photo_bytes'] / b.made['photos'] / 1000:.0f} kB each.{note}"
    more = prepare.versions(b.python, ("spdl", "ffcv"))
    known = [first_line(b.pack, "--version"), prepare.versions(b.python), more, first_line("rustc", "--version")]
    common.publish("\n\n".join([f"## Python, {common.now()[:10]}",
                                common.machine(x.rounds, known) + "\n" + data, *b.tables]), x.append)
    sys.exit(b.failed)


if __name__ == "__main__":
    main()
