#!/usr/bin/env python3
"""Images that are prepared while they are packed: `pack build --resize` beside img2dataset's resizer, FFCV's writer, ImageMagick
and Pillow, in interleaved rounds, one thread each; and what the lossless options save.

    PYTHON bench/images/run.py --photos DIR --pack target/dist/pack [--size 256] [--quality 90] [--rounds 3]

PYTHON has pillow, scikit-image, opencv-python-headless, ffcv and img2dataset (with albumentations 1.3.1). `convert` is ImageMagick's. A
rival that is not installed is left out, with a line. DIR has JPEGs; it is not changed. SSIM compares each result with a
reference that no tool under test makes: the photograph in floating point, reduced by Pillow's Lanczos a channel, never
encoded. The time of a tool is from its start to its end, files read and written included; img2dataset's, FFCV's and Pillow's is that of
their loops alone, without starting Python. FFCV reduces the longer side, so `pack` has a row for that, too. The lossless
options are measured on the photographs, and on the same photographs saved by Pillow at quality 90 with the usual Huffman tables.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tarfile
import time

os.environ.update({"OPENCV_FOR_THREADS_NUM": "1", "OMP_NUM_THREADS": "1", "MAGICK_THREAD_LIMIT": "1"})

import numpy  # noqa: E402
from PIL import Image  # noqa: E402
from skimage.metrics import structural_similarity  # noqa: E402


def reference(path: pathlib.Path, side: int, longer: bool) -> numpy.ndarray:
    """The photograph with its shorter or longer side reduced, as floats of 0 to 255."""
    pixels = numpy.asarray(Image.open(path).convert("RGB"), dtype=numpy.float32)
    height, width = pixels.shape[:2]
    short = max(width, height) if longer else min(width, height)
    size = (width, height) if short <= side else (round(width * side / short), round(height * side / short))
    planes = [Image.fromarray(pixels[..., c], mode="F").resize(size, Image.Resampling.LANCZOS) for c in range(3)]
    return numpy.stack([numpy.asarray(plane) for plane in planes], axis=-1).clip(0, 255)


def ssim(made: bytes, wanted: numpy.ndarray) -> float | None:
    pixels = numpy.asarray(Image.open(io.BytesIO(made)).convert("RGB"), dtype=numpy.float32)
    if max(abs(a - b) for a, b in zip(pixels.shape, wanted.shape)) > 1:
        return None
    height, width = (min(a, b) for a, b in zip(pixels.shape[:2], wanted.shape[:2]))
    return structural_similarity(pixels[:height, :width], wanted[:height, :width], channel_axis=-1, data_range=255)


class Bench:
    def __init__(self, x: argparse.Namespace) -> None:
        self.x, self.work = x, pathlib.Path(x.work)
        shutil.rmtree(self.work, ignore_errors=True)
        self.source = self.work / "photos"
        self.source.mkdir(parents=True)
        found = sorted(p for p in pathlib.Path(x.photos).rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
        self.paths = [pathlib.Path(shutil.copy(p, self.source / f"{n:05}.jpg")) for n, p in enumerate(found)]
        self.bytes = sum(p.stat().st_size for p in self.paths)

    def pack(self, *options: str, source: pathlib.Path | None = None) -> tuple[float, dict[str, bytes], str]:
        out = self.work / "out"
        shutil.rmtree(out, ignore_errors=True)
        command = [self.x.pack, "build", source or self.source, "-o", out, "--require", "image", "--jobs", "1", *options]
        start = time.perf_counter()
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
        taken = time.perf_counter() - start
        made = {}
        for tar in sorted(out.glob("*.tar")):
            with tarfile.open(tar) as shard:
                made |= {member.name: shard.extractfile(member).read() for member in shard}
        return taken, made, ran.stdout

    def ours(self, side: str = "short") -> tuple[float, dict[str, bytes]]:
        options = ("--resize", f"{side}:{self.x.size}", "--quality", str(self.x.quality), "--no-fsync", "--quiet")
        return self.pack(*options)[:2]

    def magick(self) -> tuple[float, dict[str, bytes]]:
        out = self.work / "magick"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        size = f"{self.x.size}x{self.x.size}^>"
        settings = ["-filter", "Lanczos", "-resize", size, "-sampling-factor", "4:2:0", "-quality", str(self.x.quality)]
        start = time.perf_counter()
        for path in self.paths:
            subprocess.run(["convert", path, *settings, out / path.name], check=True)
        taken = time.perf_counter() - start
        return taken, {path.name: (out / path.name).read_bytes() for path in self.paths}

    def pillow(self) -> tuple[float, dict[str, bytes]]:
        made = {}
        start = time.perf_counter()
        for path in self.paths:
            image = Image.open(path).convert("RGB")
            short = min(image.size)
            if short > self.x.size:
                size = tuple(round(side * self.x.size / short) for side in image.size)
                image = image.resize(size, Image.Resampling.LANCZOS)
            out = io.BytesIO()
            image.save(out, "JPEG", quality=self.x.quality, optimize=True)
            made[path.name] = out.getvalue()
        return time.perf_counter() - start, made

    def img2dataset(self) -> tuple[float, dict[str, bytes]]:
        import cv2

        # The file alone: the package imports what it needs for downloads, too.
        package = importlib.util.find_spec("img2dataset")
        if package is None:
            raise ImportError("img2dataset is not installed")
        place = pathlib.Path(package.submodule_search_locations[0]) / "resizer.py"
        spec = importlib.util.spec_from_file_location("resizer", place)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cv2.setNumThreads(1)
        resizer = module.Resizer(
            image_size=self.x.size, resize_mode="keep_ratio", resize_only_if_bigger=True, encode_quality=self.x.quality,
        )
        made = {}
        start = time.perf_counter()
        for path in self.paths:
            encoded, *_, error = resizer(io.BytesIO(path.read_bytes()))
            if error:
                raise RuntimeError(f"{path}: {error}")
            made[path.name] = encoded
        return time.perf_counter() - start, made

    def ffcv(self) -> tuple[float, dict[str, bytes]]:
        import cv2
        from ffcv.fields import RGBImageField

        cv2.setNumThreads(1)
        field = RGBImageField(write_mode="jpg", max_resolution=self.x.size, jpeg_quality=self.x.quality)
        row, made = numpy.zeros(1, field.metadata_type)[0], {}
        start = time.perf_counter()
        for path in self.paths:
            storage = []
            field.encode(row, Image.open(path).convert("RGB"), lambda n, into=storage: (0, kept(into, n)))
            made[path.name] = storage[0].tobytes()
        return time.perf_counter() - start, made

    def run(self) -> None:
        size = self.x.size
        tools = {f"pack build --resize short:{size}": self.ours, "img2dataset Resizer": self.img2dataset,
                 "ImageMagick convert": self.magick, "Pillow": self.pillow,
                 f"pack build --resize long:{size}": lambda: self.ours("long"), "FFCV RGBImageField, longer side": self.ffcv}
        results: dict[str, list[float]] = {}
        made: dict[str, dict[str, bytes]] = {}
        for _ in range(self.x.rounds):
            for name, tool in tools.items():
                try:
                    taken, files = tool()
                except (ImportError, FileNotFoundError) as error:
                    print(f"{name}: not measured: {error}", file=sys.stderr)
                    continue
                results.setdefault(name, []).append(len(self.paths) / taken)
                made[name] = files
        print(f"{len(self.paths)} photographs, {self.bytes / 1e6:.1f} MB, to {size} pixels, quality {self.x.quality}\n")
        print("| tool | images/s a core, median (min-max) | MB written | SSIM, mean (least) |\n|---|---|---|---|")
        by_side = {
            side: {path.name: reference(path, size, side == "long") for path in self.paths} for side in ("short", "long")
        }
        for name, rates in results.items():
            wanted = by_side["long" if "long" in name else "short"]
            found = [ssim(made[name][path], pixels) for path, pixels in wanted.items()]
            known = [value for value in found if value is not None]
            quality = f"{statistics.mean(known):.4f} ({min(known):.4f})" if known else "other sizes"
            size = sum(map(len, made[name].values())) / 1e6
            print(f"| {name} | {statistics.median(rates):,.0f} ({min(rates):,.0f}-{max(rates):,.0f}) | {size:.2f} | {quality} |")
        self.lossless("the photographs", self.source)
        usual = self.work / "usual"
        usual.mkdir()
        for path in self.paths:
            Image.open(path).convert("RGB").save(usual / path.name, quality=90)
        self.lossless("saved by Pillow at quality 90", usual)
        print("\n" + self.pack("--resize", f"short:{self.x.size}", "--no-fsync")[2])

    def lossless(self, title: str, source: pathlib.Path) -> None:
        print(f"\n| {title}: options | images/s a core | MB | saved | summary |\n|---|---|---|---|---|")
        whole = sum(p.stat().st_size for p in source.iterdir())
        for options in (["--optimize"], ["--baseline"], ["--strip-metadata"], ["--optimize", "--baseline", "--strip-metadata"]):
            _, files, said = self.pack(*options, "--no-fsync", source=source)
            taken = min(self.pack(*options, "--no-fsync", "--quiet", source=source)[0] for _ in range(self.x.rounds))
            size = sum(map(len, files.values()))
            speed = next((line for line in said.splitlines() if line.startswith("one thread")), "")
            different = sum(
                Image.open(io.BytesIO(files[p.name])).tobytes() != Image.open(source / p.name).tobytes() for p in self.paths
            )
            if different:
                raise SystemExit(f"{options}: {different} photographs have other pixels")
            rate = len(self.paths) / taken
            print(f"| {' '.join(options)} | {rate:,.0f} | {size / 1e6:.2f} | {100 * (1 - size / whole):.2f} % | {speed} |")


def kept(into: list[numpy.ndarray], count: int) -> numpy.ndarray:
    into.append(numpy.zeros(count, numpy.uint8))
    return into[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", required=True)
    parser.add_argument("--pack", default="target/dist/pack")
    parser.add_argument("--work", default="target/bench-images")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--quality", type=int, default=90)
    parser.add_argument("--rounds", type=int, default=3)
    Bench(parser.parse_args()).run()


if __name__ == "__main__":
    main()
