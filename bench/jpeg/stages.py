#!/usr/bin/env python3
"""Where the time of a crop goes, ours beside libjpeg-turbo's: a profile of both, for the figure of docs/JPEG.md.

    python3 bench/jpeg/stages.py [--photos DIR] [--passes 20]

Writes docs/jpeg.json and draws docs/jpeg.svg from it. Needs perf, and the program that run.py builds.
"""
import argparse
import json
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
    ("Huffman decoding", r"decode_mcu|jpeg_fill_bit_buffer|huff|entropy::|unstuff|memchr|points::|position::|strand::"),
    ("inverse DCT", r"idct|to_8x8|to_4x4|to_2x2|to_1x1|decompress_onepass|planes::"),
    ("upsampling and colour", r"upsample|h2v1|h2v2|h1v2|ycc|color_convert|colour|lines::|sep_upsample"),
    ("resizing", r"fast_image_resize|convolution|resiz"),
    ("checksum of the entry points", r"crc"),
    ("the rest", r"jpeg_|jpegdec|skip|memset|memmove|memcpy|slot::|group::|header::|process_data|tarflume|read_markers|turbo"),
]


def profile(program, name, photos, passes, work):
    """{stage: share}, {symbol: share} of one decoder, over several passes; loading the data is left out."""
    shares, symbols = dict.fromkeys([s for s, _ in STAGES], 0.0), {}
    for _ in range(passes):
        data = work / "perf.data"
        command = [program, "--once", name, "--tables", "crop", "--data", "photos", photos]
        subprocess.run(["perf", "record", "-q", "-F", "4999", "-o", data, *command], check=True, capture_output=True)
        report = subprocess.run(["perf", "report", "-i", data, "--stdio", "--no-children", "-F", "overhead,dso,symbol"],
                                check=True, capture_output=True, text=True).stdout
        for line in report.splitlines():
            found = re.match(r"\s+([\d.]+)%\s+(\S+)\s+\[[.k]\] (.*)", line)
            if not found or found[2].startswith("[kernel"):
                continue
            for stage, pattern in STAGES:
                if re.search(pattern, found[3] if found[2] != "libjpeg.so.62" else f"jpeg_ {found[3]}"):
                    shares[stage] += float(found[1])
                    break
            else:
                symbols[found[3]] = symbols.get(found[3], 0) + float(found[1])
    whole = sum(shares.values())
    print(name, "left out:", sorted(symbols.items(), key=lambda s: -s[1])[:6], file=sys.stderr)
    return {stage: share / whole for stage, share in shares.items()}


def main():
    x = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    x.add_argument("--photos", type=pathlib.Path, default=PHOTOS)
    x.add_argument("--passes", type=int, default=20)
    x.add_argument("--times", nargs=2, action="append", required=True, metavar=("DECODER", "US"),
                   help="microseconds an image of a decoder, from run.py's table of crops")
    x = x.parse_args()
    work = common.TARGET / "stages"
    work.mkdir(parents=True, exist_ok=True)
    program = common.TARGET / "release" / "tarflume-bench-jpeg"
    bars = []
    for name, us in x.times:
        shares = profile(program, name, x.photos, x.passes, work)
        bars.append({"name": name, "us": float(us), "stages": {s: share * float(us) for s, share in shares.items()}})
    figure.PATH.write_text(json.dumps(bars, indent=1) + "\n")
    figure.main()


if __name__ == "__main__":
    main()
