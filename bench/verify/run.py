#!/usr/bin/env python3
"""Verifying 7,646,857 tiny samples in 765 shards: quick, a slice of thirty, whole; beside sha256sum of all tars.

    python3 bench/verify/run.py [--shards 765] [--samples 7646857] [--rounds 3] [--append]

A sample is one text of 16 bytes: a header and a block, so the tars are 1 kB a sample, and checks of samples count, not bytes.
"""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402
from common import Case, CaseError, first_line  # noqa: E402

HEAD = b"0000644\0" + b"0000000\0" * 2 + b"00000000020\0" + b"00000000000\0"
TAIL = b"0" + b"\0" * 100 + b"ustar\x0000"


def member(name):
    """A header for a file of 16 bytes, and its block."""
    header = bytearray(512)
    header[:len(name)] = name
    header[100:100 + len(HEAD)] = HEAD
    header[148:156] = b" " * 8
    header[156:156 + len(TAIL)] = TAIL
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + name[-16:].ljust(16, b"x") + bytes(496)


def make(folder, shards, samples):
    folder.mkdir(parents=True)
    for shard in range(shards):
        first, last = shard * samples // shards, (shard + 1) * samples // shards
        tar = b"".join(member(b"%09d.txt" % n) for n in range(first, last)) + bytes(1024)
        (folder / f"shard-{shard:06}.tar").write_bytes(tar)


def main():
    ap = common.options(__doc__)
    ap.add_argument("--shards", type=int, default=765)
    ap.add_argument("--samples", type=int, default=7_646_857)
    x = ap.parse_args()
    work = x.work.resolve()
    common.hide(work, "WORK")
    pack = common.pack_binary(x.pack)
    folder = work / "verify" / f"{x.shards}-{x.samples}"
    done = folder.with_suffix(".done")
    if not done.exists():
        common.remove(folder)
        make(folder, x.shards, x.samples)
        subprocess.run([pack, "index", folder, "-q"], check=True)
        os.sync()
        done.touch()
    bytes_ = sum(tar.stat().st_size for tar in folder.glob("*.tar"))
    cache = work / "verify" / "cache"

    def sound(got):
        if got["rc"]:
            raise CaseError(f"exit code {got['rc']}: {got['err'][-200:]}")

    def case(name, words, *against, before=lambda: None):
        return Case(name, words, against, check=sound, before=before, items=x.samples, mbytes=bytes_ / 1e6)
    rival = "sha256sum of all tars"
    verify = [pack, "verify", folder, "-q"]
    remembered = [*verify, f"--cache={cache}"]
    cases = [c for c in [
        case(rival, common.bash(f"cat {folder}/*.tar | sha256sum")),
        case("pack verify --level quick", [*verify, "--level", "quick"], rival),
        case("pack verify --manifest-only", [*verify, "--manifest-only"], rival),
        case("pack verify --slice 3/30", [*verify, "--slice", "3/30"], rival),
        case("pack verify --sample 1%", [*verify, "--sample", "1%"], rival),
        case("pack verify", verify, rival),
        case("pack verify --cache, all unchanged", remembered, rival,
             before=lambda: subprocess.run(remembered, check=True, stdout=subprocess.DEVNULL)),
    ] if common.matches(x.cases, c.name)]
    common.rounds(f"verify {x.shards}", cases, x.rounds, work / "log.jsonl")
    title = f"verify: {x.shards:,} shards, {x.samples:,} samples, {bytes_ / 1e9:.1f} GB of tars"
    common.publish("\n\n".join([f"## Verify, {common.now()[:10]}", common.machine(x.rounds, [first_line("rustc", "--version")]),
                                common.table(title, cases, "samples")]), x.append)
    sys.exit(any(c.error for c in cases))


if __name__ == "__main__":
    main()
