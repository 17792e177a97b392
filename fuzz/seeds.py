#!/usr/bin/env python3
"""Writes the seeds whose scans libjpeg-turbo alone makes, by Pillow: fuzz/seeds.py fuzz/seeds

Progressive pictures with bits that come in several scans, with restart markers, gray and of four components. The
other seeds of JPEGs are of `cargo run -p tarflume-jpeg --example jpeg_seeds`."""
import io
import pathlib
import sys

from PIL import Image

MODES = {"jpeg_header": b"", "jpeg_scan": b"", "jpeg_decode": bytes([1, 0, 20, 200, 30, 255]), "jpeg_group": b"\1"}
KINDS = {
    "progressive-refined": ("RGB", (40, 24), {"subsampling": 2}),
    "progressive-restarts": ("RGB", (33, 17), {"subsampling": 1, "restart_marker_blocks": 2}),
    "progressive-gray": ("L", (31, 40), {}),
    "progressive-cmyk": ("CMYK", (16, 24), {}),
}


def picture(mode, size):
    bands = len(mode) if mode != "L" else 1
    values = ((x * 5 + y * 3 + band * 40 + x * y % 17) % 256
              for y in range(size[1]) for x in range(size[0]) for band in range(bands))
    return Image.frombytes(mode, size, bytes(values))


def main():
    out = pathlib.Path(sys.argv[1])
    for name, (mode, size, options) in KINDS.items():
        jpeg = io.BytesIO()
        picture(mode, size).save(jpeg, "JPEG", quality=90, progressive=True, **options)
        for target, choices in MODES.items():
            (out / target).mkdir(parents=True, exist_ok=True)
            (out / target / name).write_bytes(choices + jpeg.getvalue())


if __name__ == "__main__":
    main()
