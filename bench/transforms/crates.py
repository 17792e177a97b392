#!/usr/bin/env python3
"""Operations of tarflume beside those of fast_image_resize, image, imageproc and kornia-rs, on one thread, with the
distance of their pixels from Pillow's (resizes) and torchvision's (the rest).

    PYTHON bench/transforms/crates.py [--photo FILE] [--rounds 21] [--append]

PYTHON has NumPy, Pillow, torch and torchvision. The program in bench/transforms/crates is built in release.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import common  # noqa: E402

CRATES = HERE / "crates"
WIDE, SIDE = (500, 375), 224
#: The same numbers are in crates/src/work.rs.
DEGREES, TAPS, SIGMA, FACTOR, SHARPNESS, HUE = 30.0, 23, 2.0, 1.4, 2.0, 0.1


def write(folder, photo):
    """The pictures, and what each operation is expected to make of them, as plain bytes."""
    import numpy as np
    import torch
    from PIL import Image
    from torchvision.transforms.v2 import InterpolationMode
    from torchvision.transforms.v2 import functional as F

    picture = Image.open(photo).convert("RGB")
    width = min(picture.width, picture.height * WIDE[0] // WIDE[1])
    height = width * WIDE[1] // WIDE[0]
    wide = picture.resize(WIDE, Image.Resampling.LANCZOS, box=(0, 0, width, height))
    square = wide.resize((SIDE, SIDE), Image.Resampling.LANCZOS, box=(62, 0, 437, 375))
    pixels = torch.from_numpy(np.array(square)).permute(2, 0, 1)
    made = {
        "flip": F.horizontal_flip(pixels),
        "rotate-nearest": F.rotate(pixels, DEGREES, InterpolationMode.NEAREST),
        "rotate-bilinear": F.rotate(pixels, DEGREES, InterpolationMode.BILINEAR, fill=0),
        "blur": F.gaussian_blur(pixels, [TAPS, TAPS], [SIGMA, SIGMA]),
        "sharpness": F.adjust_sharpness(pixels, SHARPNESS),
        "equalize": F.equalize(pixels),
        "brightness": F.adjust_brightness(pixels, FACTOR),
        "contrast": F.adjust_contrast(pixels, FACTOR),
        "saturation": F.adjust_saturation(pixels, FACTOR),
        "hue": F.adjust_hue(pixels, HUE),
        "grayscale": F.rgb_to_grayscale(pixels, 3),
    }
    arrays = {name: tensor.permute(1, 2, 0).numpy() for name, tensor in made.items()}
    for name in ("bilinear", "bicubic", "lanczos"):
        arrays[f"resize-{name}"] = np.array(wide.resize((SIDE, SIDE), Image.Resampling[name.upper()]))
    arrays |= {"wide": np.array(wide), "square": np.array(square)}
    for name, array in arrays.items():
        (folder / f"{name}.rgb").write_bytes(array.tobytes())


def build():
    """The program of CRATES, built in release; the script stops when that fails."""
    target = CRATES / "target"
    words = ["cargo", "build", "--release", "--locked", "-j1"]
    if subprocess.run(words, cwd=CRATES, env={**os.environ, "CARGO_TARGET_DIR": str(target)}, check=False).returncode:
        sys.exit(f"{' '.join(words)} failed in {CRATES.relative_to(common.ROOT)}")
    return target / "release" / "tarflume-bench-transforms"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--photo", type=pathlib.Path, default=common.ROOT / "fixtures" / "photos" / "places" / "temple.jpg")
    ap.add_argument("--rounds", type=int, default=21)
    ap.add_argument("--append", nargs="?", const=common.RESULTS, type=pathlib.Path, metavar="FILE",
                    help="add the table to FILE [bench/RESULTS.md]")
    x = ap.parse_args()
    program = build()
    with tempfile.TemporaryDirectory() as folder:
        write(pathlib.Path(folder), x.photo)
        done = subprocess.run([program, folder, str(x.rounds)], text=True, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    import PIL
    import torchvision
    head = common.machine(x.rounds, [f"Pillow {PIL.__version__}; torchvision {torchvision.__version__}",
                                     common.first_line("rustc", "--version")])
    common.publish(f"## Transforms beside other crates, {common.now()[:10]}\n\n{head}\n"
                   f"- Resizes: {WIDE[0]} x {WIDE[1]} to {SIDE} x {SIDE} x 3; all others {SIDE} x {SIDE} x 3.\n\n"
                   f"{done.stdout}", x.append)


if __name__ == "__main__":
    main()
