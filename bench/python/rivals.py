#!/usr/bin/env python3
"""SPDL and FFCV, which bench/read does not have (by run.py).

    rivals.py AT write --pairs DIR          FFCV's own files, untimed
    rivals.py AT NAME [--batch 256] [--samples 8192]

NAME is spdl-raw, ffcv-raw, spdl or ffcv: all parts as bytes, or decode, RandomResizedCrop(224), flip, u8 batches, two
threads, shuffled as far as each can. Prints what bench/read's programs print.
"""
import argparse
import os
import pathlib
import random
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "read"))
import layout  # noqa: E402
from decode_rivals import SIZE, WORKERS, window  # noqa: E402


# ---- SPDL: stages in threads, FFmpeg below ----------------------------------------------------------
def members(at):
    import spdl.io
    for path in layout.shards(at):
        with open(path, "rb") as tar:
            yield from spdl.io.iter_tarfile(tar)


def spdl_raw(x):
    from spdl.pipeline import PipelineBuilder

    def pairs():
        sample = {}
        for name, data in members(x.at):
            sample[name.rpartition(".")[2]] = data
            if len(sample) == 2:
                yield sample
                sample = {}
    pipeline = PipelineBuilder().add_source(pairs()).aggregate(x.batch).add_sink(2).build(num_threads=WORKERS)
    with pipeline.auto_stop():
        for batch in pipeline:
            yield len(batch), sum(len(s["jpg"]) + len(s["json"]) for s in batch), None


def spdl(x):
    """FFmpeg decodes, crops and scales (bilinear, which there averages: it antialiases)."""
    import spdl.io
    from spdl.pipeline import PipelineBuilder

    def jpegs():  # a thousand in a buffer, one at random given, as the other rivals do
        held, rng = [], random.Random(1)
        for name, data in members(x.at):
            if name.endswith(".jpg"):
                held.append(data)
                if len(held) > 1_000:
                    at = rng.randrange(len(held))
                    held[at], held[-1] = held[-1], held[at]
                    yield held.pop()
        yield from held

    def decoded(jpeg):
        packets = spdl.io.demux_image(jpeg)
        left, top, width, height = window(packets.width, packets.height)
        steps = [f"crop={width}:{height}:{left}:{top}:exact=1", f"scale={SIZE}:{SIZE}:flags=bilinear",
                 *["hflip"] * (random.random() < 0.5), "format=rgb24"]
        return spdl.io.decode_packets(packets, filter_desc=",".join(steps))

    def batched(frames):
        return spdl.io.to_numpy(spdl.io.convert_frames(frames))
    pipeline = (PipelineBuilder().add_source(jpegs()).pipe(decoded, concurrency=WORKERS)
                .aggregate(x.batch, drop_last=True).pipe(batched).add_sink(2).build(num_threads=WORKERS))
    with pipeline.auto_stop():
        for batch in pipeline:
            yield len(batch), batch.nbytes, batch


# ---- FFCV: its own files, compiled stages -----------------------------------------------------------
class Pairs:
    def __init__(self, pairs, image):
        self.stems = sorted(str(p.with_suffix("")) for p in pathlib.Path(pairs).rglob("*.jpg"))
        self.image = image

    def __len__(self):
        return len(self.stems)

    def __getitem__(self, i):
        from PIL import Image
        jpg = f"{self.stems[i]}.jpg"
        if self.image:
            return (Image.open(jpg).convert("RGB"),)
        return tuple(np.fromfile(f"{self.stems[i]}.{ext}", np.uint8) for ext in ("jpg", "json"))


def write(x):
    from ffcv.fields import BytesField, RGBImageField
    from ffcv.writer import DatasetWriter
    folder = pathlib.Path(x.at, "ffcv")
    folder.mkdir()
    image = RGBImageField(write_mode="jpg", jpeg_quality=90)
    DatasetWriter(str(folder / "raw.beton"), {"jpg": BytesField(), "json": BytesField()},
                  num_workers=WORKERS).from_indexed_dataset(Pairs(x.pairs, False))
    DatasetWriter(str(folder / "jpg.beton"), {"image": image}, num_workers=WORKERS).from_indexed_dataset(
        Pairs(x.pairs, True))


def loader(x, name, pipelines):
    from ffcv.loader import Loader, OrderOption
    return Loader(str(pathlib.Path(x.at, "ffcv", name)), batch_size=x.batch, num_workers=WORKERS, seed=1,
                  order=OrderOption.QUASI_RANDOM, drop_last="image" in pipelines, pipelines=pipelines)


def ffcv_raw(x):
    """Rows padded to the longest: what the bytes of a batch are can't be told from it."""
    from ffcv.fields.decoders import BytesDecoder
    for jpg, json in loader(x, "raw.beton", {"jpg": [BytesDecoder()], "json": [BytesDecoder()]}):
        yield len(jpg), jpg.nbytes + json.nbytes, None


def ffcv(x):
    from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
    from ffcv.transforms import RandomHorizontalFlip, ToTensor
    steps = [RandomResizedCropRGBImageDecoder((SIZE, SIZE)), RandomHorizontalFlip(), ToTensor()]
    for (batch,) in loader(x, "jpg.beton", {"image": steps}):
        yield len(batch), batch.nbytes, batch


CASES = {"spdl-raw": spdl_raw, "spdl": spdl, "ffcv-raw": ffcv_raw, "ffcv": ffcv}


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("at")
    ap.add_argument("case", choices=[*CASES, "write"])
    ap.add_argument("--pairs")
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--samples", type=int, default=8_192)
    x = ap.parse_args()
    if x.case == "write":
        return write(x)
    __import__({"spdl-raw": "spdl.io", "spdl": "spdl.io"}.get(x.case, "ffcv.loader"))
    raw, arrived, samples, size, shape = x.case.endswith("raw"), [], 0, 0, ""
    random.seed(1)
    start = time.monotonic()
    for rows, nbytes, batch in CASES[x.case](x):
        samples, size = samples + rows, size + nbytes
        arrived.append((time.monotonic() - start, samples))
        if batch is not None:
            shape = shape or f"{'x'.join(map(str, batch.shape[1:]))} {str(batch.dtype).removeprefix('torch.')}"
        if not raw and samples >= x.samples:
            break
    print(f"s={time.monotonic() - start:.4f}\nsamples={samples}\nmb={size / 1e6:.3f}\nttfb={arrived[0][0]:.4f}")
    if not raw:
        (from_s, from_n), (to_s, to_n) = arrived[3], arrived[-1]
        print(f"s4={to_s - from_s:.4f}\nn4={to_n - from_n}\nshape={shape}")
    sys.stdout.flush()
    os._exit(0)  # threads are still at it


if __name__ == "__main__":
    main()
