"""Makes the pictures beside this file: a wave of luma that a shift or a missing block shows, colors that change so
slowly that it does not matter how they are interpolated; in those named sharp, stripes of colors whose edges show it.
Needs NumPy and cjpeg (Debian: libjpeg-turbo-progs)."""

import pathlib
import subprocess

import numpy as np

PICTURES = {"yuv444": (61, 45, "1x1"), "yuv422": (77, 50, "2x1"), "yuv420": (90, 67, "2x2"), "yuv440": (53, 75, "1x2"),
            "sharp422": (75, 33, "2x1"), "sharp420": (75, 57, "2x2"), "sharp440": (33, 75, "1x2"),
            "gray": (70, 41, None), "tiny420": (5, 3, "2x2"), "tinygray": (1, 1, None)}

here = pathlib.Path(__file__).parent
for name, (width, height, sampling) in PICTURES.items():
    y, x = np.mgrid[0:height, 0:width].astype(float)
    luma = 128 + 45 * np.sin((x + 2 * y) * 2 * np.pi / 23) + 30 * (x / width - y / height)
    stripes = 30 * (-1) ** ((x // 6 + y // 6) % 2)
    tint = (stripes, -stripes / 2, -stripes) if name.startswith("sharp") else (
        35 * (x / width - 0.5), 35 * (y / height - 0.5), -35 * (x / width - 0.5))
    channels = [luma] if sampling is None else [luma + one for one in tint]
    pixels = np.clip(np.stack(channels, -1).round(), 0, 255).astype(np.uint8).squeeze()
    kind = b"P6" if sampling else b"P5"
    head = b"%s %d %d 255\n" % (kind, width, height)
    options = ["-sample", f"{sampling},1x1,1x1"] if sampling else ["-grayscale"]
    made = subprocess.run(["cjpeg", "-quality", "95", "-baseline", *options], input=head + pixels.tobytes(),
                          stdout=subprocess.PIPE, check=True)
    (here / f"{name}.jpg").write_bytes(made.stdout)
