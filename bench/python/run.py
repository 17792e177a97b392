#!/usr/bin/env python3
"""The Python package beside webdataset, wids, MDS, litdata, grain and DALI: every sample's bytes, and decoded batches.

    python3 bench/python/run.py --photos DIR [--work DIR] [--venv DIR] [--rounds 3] [--small] [--tables raw,decode] [--append]

The data, the rivals and the rules are those of bench/read/run.py; the wheel is built and installed beside the rivals.
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


class Bench(reading.Bench):
    def our_cases(self):
        return []  # the example in Rust is not needed

    def install(self):
        wheels = common.TARGET / "wheels-bench"
        subprocess.run([self.python, "-m", "pip", "install", "-q", "maturin>=1.16,<2"], check=True)
        subprocess.run([self.python, "-m", "maturin", "build", "--quiet", "--release", "--locked", "-m",
                        common.ROOT / "python" / "Cargo.toml", "-o", wheels], check=True)
        wheel = max(wheels.glob("*.whl"), key=lambda path: path.stat().st_mtime)
        subprocess.run([self.python, "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", wheel], check=True)

    def python_case(self, name, front, mode, folder, against, shuffle="full"):
        cmd = [self.python, HERE / "ours.py", self.at / folder, front, mode, "--batch", self.batch, "--shuffle", shuffle]
        return self.case(f"tarflume, {name}", cmd, folder, against, self.seen() if mode == "raw" else self.enough)

    def raw(self):
        rivals = [case for case in super().raw() if not case.name.startswith("tarflume")]
        against = (reading.WDS, WORKERS)
        return [self.python_case("in order", "core", "raw", "shards", against, "none"),
                self.python_case("exactly shuffled", "core", "raw", "shards", against),
                self.python_case("tarflume.torch.Loader, exactly shuffled", "torch", "raw", "shards", against), *rivals]

    def decode(self):
        rivals = [case for case in super().decode() if not case.name.startswith("tarflume")]
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
    if "raw" in x.tables.split(","):
        b.bytes_table("raw bytes", b.raw())
    if "decode" in x.tables.split(","):
        b.decode_table()
    note = " **--small: a trial of the script, no measurement.**" if x.small else ""
    data = f"- {b.made['photos']} photographs, {b.made['photo_bytes'] / b.made['photos'] / 1000:.0f} kB each.{note}"
    known = [first_line(b.pack, "--version"), prepare.versions(b.python), first_line("rustc", "--version")]
    common.publish("\n\n".join([f"## Python, {common.now()[:10]}",
                                common.machine(x.rounds, known) + "\n" + data, *b.tables]), x.append)
    sys.exit(b.failed)


if __name__ == "__main__":
    main()
