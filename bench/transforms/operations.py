#!/usr/bin/env python3
"""Each operation of tarflume beside torchvision on uint8, PIL, albumentations and kornia-rs: images/s of one core.

    PYTHON bench/transforms/operations.py [--photo FILE] [--rounds 5] [--operations REGEX] [--append]

PYTHON has tarflume, torch, torchvision, timm, albumentations, kornia-rs and Pillow; what is missing is an empty column. Pictures
have 224 x 224 x 3 bytes; crops and resizes take 500 x 375. Every operation is taken for certain. The column "tarflume" is
the crate, which draws and changes pixels as the threads of the loader do: bench/transforms/crates, built in release. It
changes pictures in place, so its times include a copy of the picture, which a loader does not make. "from Python" is
`tarflume.transforms.apply`, one call a picture. Policies of the column "PIL" are those of timm, but TrivialAugmentWide is
torchvision's. albumentations and the
bilinear resize of kornia-rs do not antialias.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
for threads in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"
os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
import common  # noqa: E402
import crates  # noqa: E402
from operations_rivals import LIBRARIES  # noqa: E402

#: The column of calls from Python.
FROM_PYTHON = "from Python"
#: Seconds of a measurement, at least.
LEAST = 0.05


def ours():
    """The operations by the name of their row. A name that begins with "wide" takes the larger picture."""
    import tarflume.transforms as T

    return {
        "wide, RandomResizedCrop(224)": T.RandomResizedCrop(224),
        "wide, RandomResizedCrop(224), bicubic": T.RandomResizedCrop(224, interpolation="bicubic"),
        "wide, Resize(224)": T.Resize((224, 224)),
        "wide, Resize(224), bicubic": T.Resize((224, 224), interpolation="bicubic"),
        "wide, Resize(224), lanczos": T.Resize((224, 224), interpolation="lanczos"),
        "wide, CenterCrop(224)": T.CenterCrop(224),
        "RandomCrop(224, padding=28)": T.RandomCrop(224, padding=28),
        "Pad(28, reflect)": T.Pad(28, padding_mode="reflect"),
        "RandomHorizontalFlip": T.RandomHorizontalFlip(1.0),
        "RandomVerticalFlip": T.RandomVerticalFlip(1.0),
        "RandomQuarterTurn": T.RandomQuarterTurn((1,)),
        "RandomRotation(30)": T.RandomRotation(30),
        "RandomRotation(30), bilinear": T.RandomRotation(30, interpolation="bilinear"),
        "RandomAffine": T.RandomAffine(30, (0.1, 0.1), (0.8, 1.2), 5),
        "RandomAffine, bilinear": T.RandomAffine(30, (0.1, 0.1), (0.8, 1.2), 5, interpolation="bilinear"),
        "RandomAffine, bicubic": T.RandomAffine(30, (0.1, 0.1), (0.8, 1.2), 5, interpolation="bicubic"),
        "RandomPerspective": T.RandomPerspective(0.5, 1.0),
        "ElasticTransform": T.ElasticTransform(),
        "ColorJitter(0.4, 0.4, 0.4, 0.1)": T.ColorJitter(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1),
        "brightness": T.ColorJitter(brightness=0.4),
        "contrast": T.ColorJitter(contrast=0.4),
        "saturation": T.ColorJitter(saturation=0.4),
        "hue": T.ColorJitter(hue=0.1),
        "RandomGrayscale": T.RandomGrayscale(1.0),
        "RandomInvert": T.RandomInvert(1.0),
        "RandomPosterize(4)": T.RandomPosterize(4, 1.0),
        "RandomSolarize(128)": T.RandomSolarize(128, 1.0),
        "RandomAutocontrast": T.RandomAutocontrast(1.0),
        "RandomEqualize": T.RandomEqualize(1.0),
        "RandomAdjustSharpness(2)": T.RandomAdjustSharpness(2, 1.0),
        "RandomGamma": T.RandomGamma((0.8, 1.2), 1.0),
        "RandomChannelPermutation": T.RandomChannelPermutation(),
        "RandomPhotometricDistort": T.RandomPhotometricDistort(p=1.0),
        "GaussianBlur(23)": T.GaussianBlur(23, (0.1, 2.0)),
        "GaussianNoise": T.GaussianNoise(),
        "JPEG(50)": T.JPEG(50),
        "RandomErasing": T.RandomErasing(1.0),
        "AutoAugment": T.AutoAugment(),
        "RandAugment": T.RandAugment(),
        "TrivialAugmentWide": T.TrivialAugmentWide(),
        "AugMix": T.AugMix(),
        'timm("rand-m9-mstd0.5-inc1")': T.timm("rand-m9-mstd0.5-inc1"),
    }


def seconds(call):
    """Of one call, over so many that they take LEAST."""
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            call()
        took = time.perf_counter() - start
        if took >= LEAST:
            return took / count
        count *= 2


def from_python(recipe, pixels):
    """`tarflume.transforms.apply`, with another seed at each call."""
    import tarflume.transforms as T
    seed = 0

    def call():
        nonlocal seed
        seed += 1
        T.apply(recipe, pixels, seed)
    return call


def calls(recipes, pixels):
    """What is timed in this process, by row and column; and the libraries that are missing, with the reason."""
    found = {name: {FROM_PYTHON: from_python(recipe, pixels[name])} for name, recipe in recipes.items()}
    missing = {}
    for title, library in LIBRARIES.items():
        try:
            made = library(pixels)
        except ImportError as error:
            missing[title] = str(error)
            continue
        for name in found:
            if name in made:
                found[name][title] = made[name]
    return found, missing


def measure(x, recipes, found, folder):
    """The seconds of each row and column, one for each round; the columns take turns."""
    times = {name: {"tarflume": [], **{column: [] for column in row}} for name, row in found.items()}
    wrong = {}
    program = x.program or crates.build()
    for round_ in range(x.rounds):
        said = subprocess.run([program, folder, "operations"], text=True, stdout=subprocess.PIPE, check=True).stdout
        for name, nanoseconds in json.loads(said).items():
            times[name]["tarflume"].append(nanoseconds / 1e9)
        for name, row in found.items():
            columns = list(row)
            at = round_ % len(columns)
            for column in columns[at:] + columns[:at]:
                if (name, column) in wrong:
                    continue
                try:
                    times[name][column].append(seconds(row[column]))
                except Exception as error:
                    if column == FROM_PYTHON:
                        raise
                    # A rival that refuses an operation has no figure.
                    wrong[name, column] = f"{type(error).__name__}: {error}"
        print(f"  round {round_ + 1} of {x.rounds}", file=sys.stderr, flush=True)
    return times, wrong


def table(times, columns):
    """Images/s by medians, and how many times the fastest rival's rate ours is."""
    rows = ["| operation | " + " | ".join(columns) + " | times the fastest rival |", "|---" * (len(columns) + 2) + "|"]
    for name, row in times.items():
        rates = {column: 1 / common.middle(values) for column, values in row.items() if values}
        rivals = [rate for column, rate in rates.items() if column not in ("tarflume", FROM_PYTHON)]
        ratio = f"{rates['tarflume'] / max(rivals):.2f}" if rivals else ""
        shown = [f"{rates[column]:,.0f}" if column in rates else "" for column in columns]
        rows.append(f"| {name.removeprefix('wide, ')} | " + " | ".join(shown) + f" | {ratio} |")
    return "\n".join(rows)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--photo", type=pathlib.Path, default=common.ROOT / "fixtures" / "photos" / "places" / "temple.jpg")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--operations", default="", help="regular expression: only the operations whose names match")
    ap.add_argument("--program", type=pathlib.Path, help="this program of bench/transforms/crates instead of building it")
    ap.add_argument("--append", nargs="?", const=common.RESULTS, type=pathlib.Path, metavar="FILE")
    ap.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all seconds to FILE")
    x = ap.parse_args()
    import numpy as np
    recipes = {name: recipe for name, recipe in ours().items() if common.matches(x.operations, name)}
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        crates.write(at, x.photo)
        lists = {name: json.loads(recipe.to_json()) for name, recipe in recipes.items()}
        (at / "recipes.json").write_text(json.dumps(lists))
        width, height = crates.WIDE
        wide = np.fromfile(at / "wide.rgb", np.uint8).reshape(height, width, 3)
        square = np.fromfile(at / "square.rgb", np.uint8).reshape(crates.SIDE, crates.SIDE, 3)
        pixels = {name: wide if name.startswith("wide") else square for name in recipes}
        found, missing = calls(recipes, pixels)
        times, wrong = measure(x, recipes, found, folder)
    columns = ["tarflume", FROM_PYTHON, *LIBRARIES]
    notes = [f"- Missing: {column}: {reason}" for column, reason in missing.items()]
    notes += [f"- {name}, {column}: {common.clean(reason)[:120]}" for (name, column), reason in wrong.items()]
    import importlib.metadata as metadata
    names = ("tarflume", "torchvision", "timm", "albumentations", "pillow", "opencv-python-headless", "kornia-rs")
    # Of two versions on the path, the first is the one that is imported.
    installed = {}
    for dist in metadata.distributions():
        installed.setdefault(dist.metadata["Name"].lower().replace("_", "-"), dist.version)
    head = common.machine(x.rounds, [f"{name} {installed.get(name, 'missing')}" for name in names])
    common.publish("\n\n".join([f"## Operations of transforms, {common.now()[:10]}", "\n".join([head, *notes]),
                                "### images/s of one core, medians\n\n" + table(times, columns)]), x.append)
    if x.json:
        x.json.write_text(json.dumps({"date": common.now(), "rounds": x.rounds, "seconds": times}, indent=1) + "\n")


if __name__ == "__main__":
    main()
