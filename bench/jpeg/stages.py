#!/usr/bin/env python3
"""Where the time of a crop goes, ours beside libjpeg-turbo's: a profile of both, for the figure of bench/jpeg/README.md.

    python3 bench/jpeg/stages.py --times 'DECODER' US ... [--photos DIR] [--library DIR] [--passes 10]

Writes docs/jpeg.json and draws docs/jpeg.svg from it. Needs perf, and the program that run.py builds. --library is a
folder with a libjpeg.so.62 that has symbols: Debian's has none, and all its work would be one stage.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "docs")]
import common  # noqa: E402
import jpeg as figure  # noqa: E402

PHOTOS = common.ROOT.parent / "shared" / "data" / "photos"
# Symbols of both programs, the first that fits counts.
STAGES = [
    ("Huffman decoding", r"decode_mcu|fill_bit_buffer|huff|entropy::|unstuff|memchr|points::|position::|strand::"),
    ("inverse DCT", r"idct|to_8x8|to_4x4|to_2x2|to_1x1|decompress_onepass|planes::"),
    ("upsampling and color", r"upsample|h2v1|h2v2|h1v2|ycc|color_convert|color|lines::"),
    ("resizing", r"fast_image_resize|convolution|resiz|across_|::down|taps"),
    ("checksum", r"crc"),
    ("the rest", r""),
]


def samples(program, name, x, work):
    """{(library, symbol): samples} of all passes of one decoder, the loading of its data included."""
    found = {}
    for _ in range(x.passes):
        data = work / "perf.data"
        command = [program, "--once", name, "--tables", "crop", "--data", "photos", x.photos]
        env = dict(os.environ) | ({"LD_LIBRARY_PATH": str(x.library)} if x.library else {})
        subprocess.run(["perf", "record", "-q", "-F", "4999", "-o", data, *command], check=True, capture_output=True, env=env)
        report = subprocess.run(["perf", "report", "-i", data, "--stdio", "--no-children", "-F", "sample,dso,symbol"],
                                check=True, capture_output=True, text=True).stdout
        for line in report.splitlines():
            if (row := re.match(r"\s+(\d+)\s+(\S+)\s+\[[.k]\] (.*)", line)) and not row[2].startswith("[kernel"):
                at = (row[2], re.sub(r"0x[0-9a-f]+", "", row[3]).strip())
                found[at] = found.get(at, 0) + int(row[1])
    return found


def profile(program, name, nobody, x, work):
    """{stage: share of its time}: what the decoder's passes have more than those that only load."""
    stages, rest = dict.fromkeys([s for s, _ in STAGES], 0), {}
    for at, count in samples(program, name, x, work).items():
        own = count - nobody.get(at, 0)
        stage = next(stage for stage, pattern in STAGES if re.search(pattern, at[1]))
        stages[stage] += own
        if stage == STAGES[-1][0]:
            rest[at[1]] = own
    stages = {stage: max(0, count) for stage, count in stages.items()}
    print(f"{name}: {stages}; the rest: {sorted(rest.items(), key=lambda s: -s[1])[:6]}", file=sys.stderr)
    return {stage: count / sum(stages.values()) for stage, count in stages.items()}


def main():
    x = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    x.add_argument("--photos", type=pathlib.Path, default=PHOTOS)
    x.add_argument("--library", type=pathlib.Path)
    x.add_argument("--passes", type=int, default=10)
    x.add_argument("--times", nargs=2, action="append", required=True, metavar=("DECODER", "US"),
                   help="microseconds an image of a decoder, from run.py's table of crops")
    x = x.parse_args()
    work = common.TARGET / "stages"
    work.mkdir(parents=True, exist_ok=True)
    program = common.PROGRAMS / "tarflume-bench-jpeg"
    nobody, bars = samples(program, "nobody", x, work), []
    for name, us in x.times:
        shares = profile(program, name, nobody, x, work)
        bars.append({"name": name, "us": float(us), "stages": {s: share * float(us) for s, share in shares.items()}})
    figure.PATH.write_text(json.dumps(bars, indent=1) + "\n")
    figure.main()


if __name__ == "__main__":
    main()
