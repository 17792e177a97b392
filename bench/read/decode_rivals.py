#!/usr/bin/env python3
"""decode_rivals.py AT PIPELINE [--pairs DIR] [--batch 256] [--samples 8192] (by run.py).

Decode, RandomResizedCrop(224), flip, batch: u8, two workers or threads, shuffled as far as each peer can. Prints as
KEY=VALUE: s, samples, ttfb (seconds from the start of building to the first batch), s4 and n4 (seconds and samples
from the arrival of batch 4 to that of the last: start-up and what was fetched ahead are left out), shape.
"""
import argparse
import importlib
import io
import math
import os
import pathlib
import random
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import layout  # noqa: E402

SIZE, WORKERS, BUFFER = 224, 2, 1_000
AREA, ASPECT = (0.08, 1.0), (3 / 4, 4 / 3)


# ---- one sample: JPEG bytes to a u8 image ---------------------------------------------------------
def pil():
    """PIL decodes, torchvision resizes with antialiasing: what its tutorials show."""
    from PIL import Image
    from torchvision.transforms import v2
    steps = v2.Compose([v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip(), v2.PILToTensor()])
    return lambda jpeg: steps(Image.open(io.BytesIO(jpeg)).convert("RGB"))


def tvio():
    """torchvision.io decodes, torchvision resizes with antialiasing."""
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms import v2
    steps = v2.Compose([v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip()])
    return lambda jpeg: steps(decode_jpeg(torch.frombuffer(bytearray(jpeg), dtype=torch.uint8), mode=ImageReadMode.RGB))


def torchcodec():
    """torchcodec decodes, torchvision resizes with antialiasing."""
    from torchcodec.decoders import decode_jpeg
    from torchvision.transforms import v2
    steps = v2.Compose([v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip()])
    return lambda jpeg: steps(decode_jpeg(jpeg, mode="RGB"))


def window(width, height):
    """The crop of RandomResizedCrop: left, top, width, height."""
    for _ in range(10):
        area = width * height * random.uniform(*AREA)
        aspect = math.exp(random.uniform(math.log(ASPECT[0]), math.log(ASPECT[1])))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side


def resized(image, box):
    import cv2
    x, y, w, h = box
    out = cv2.resize(image[y:y + h, x:x + w], (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
    return cv2.flip(out, 1) if random.random() < 0.5 else out


def cv2():
    """OpenCV decodes and resizes, bilinear without antialiasing."""
    import cv2 as peer

    def transform(jpeg):
        peer.setNumThreads(1)
        image = peer.imdecode(np.frombuffer(jpeg, np.uint8), peer.IMREAD_COLOR)
        image = peer.cvtColor(image, peer.COLOR_BGR2RGB)
        return resized(image, window(image.shape[1], image.shape[0]))
    return transform


def scaled():
    """simplejpeg decodes at the smallest DCT scale that keeps the crop at 224 or more, OpenCV resizes."""
    import cv2 as peer
    import simplejpeg

    def transform(jpeg):
        peer.setNumThreads(1)
        height, width, *_ = simplejpeg.decode_jpeg_header(jpeg, strict=False)
        box = window(width, height)
        factor = max(1.0, min(box[2:]) / SIZE)
        image = simplejpeg.decode_jpeg(jpeg, min_factor=factor, min_width=1, min_height=1, strict=False)
        scale = image.shape[1] / width
        return resized(image, [int(box[0] * scale), int(box[1] * scale),
                               max(1, int(box[2] * scale)), max(1, int(box[3] * scale))])
    return transform


def stacked(images):
    import torch
    return torch.from_numpy(np.stack(images)) if isinstance(images[0], np.ndarray) else torch.stack(images)


# ---- all of them: where samples come from, and who batches ----------------------------------------
def webdataset(x, transform):
    import webdataset as peer
    d = (peer.WebDataset(layout.shards(x.at), shardshuffle=100, seed=1, empty_check=False).shuffle(BUFFER)
         .map(lambda s: transform(s["jpg"])).batched(x.batch, collation_fn=stacked, partial=False))
    return peer.WebLoader(d, batch_size=None, num_workers=WORKERS, prefetch_factor=2)


def mds(x, transform):
    from streaming import StreamingDataset
    from streaming.base.util import clean_stale_shared_memory
    from torch.utils.data import DataLoader

    class Images(StreamingDataset):
        def __getitem__(self, i):
            return transform(super().__getitem__(i)["jpg"])

    clean_stale_shared_memory()
    d = Images(local=f"{x.at}/mds", shuffle=True, batch_size=x.batch)
    return DataLoader(d, batch_size=x.batch, num_workers=WORKERS, collate_fn=stacked, drop_last=True)


def folder(x, transform):
    from torch.utils.data import DataLoader

    class Files:
        def __init__(self):
            self.paths = sorted(os.path.join(d, f) for d, _, files in os.walk(x.pairs) for f in files
                                if f.endswith(".jpg"))

        def __len__(self):
            return len(self.paths)

        def __getitem__(self, i):
            with open(self.paths[i], "rb") as f:
                return transform(f.read())

    return DataLoader(Files(), batch_size=x.batch, shuffle=True, num_workers=WORKERS, collate_fn=stacked,
                      drop_last=True)


def dali(x, _):
    """The fused decoder decodes the crop only; bilinear without antialiasing, as the cv2 rows."""
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=x.batch, num_threads=WORKERS, device_id=None, prefetch_queue_depth=2)
    def pipeline():
        jpeg = fn.readers.webdataset(paths=layout.shards(x.at), index_paths=layout.indexes(x.at), ext=["jpg"],
                                     random_shuffle=True, initial_fill=BUFFER, name="reader")
        image = fn.decoders.image_random_crop(jpeg, device="cpu", output_type=types.RGB,
                                              random_area=list(AREA), random_aspect_ratio=list(ASPECT))
        image = fn.resize(image, size=(SIZE, SIZE), interp_type=types.INTERP_LINEAR, antialias=False)
        return fn.flip(image, horizontal=fn.random.coin_flip(probability=0.5))

    p = pipeline()
    p.build()
    while True:
        yield np.asarray(p.run()[0].as_tensor())


# Source, transform, and what both import: before the clock starts, for all alike.
PIPELINES = {
    "webdataset-pil": (webdataset, pil, ("torch", "webdataset")),
    "webdataset-tvio": (webdataset, tvio, ("torch", "webdataset")),
    "webdataset-torchcodec": (webdataset, torchcodec, ("torch", "webdataset", "torchcodec.decoders")),
    "webdataset-cv2": (webdataset, cv2, ("torch", "webdataset")),
    "webdataset-scaled": (webdataset, scaled, ("torch", "webdataset")),
    "mds-cv2": (mds, cv2, ("torch", "streaming")),
    "folder-pil": (folder, pil, ("torch", "torch.utils.data")),
    "dali": (dali, lambda: None, ("nvidia.dali.fn",)),
}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("at")
    ap.add_argument("pipeline", choices=PIPELINES)
    ap.add_argument("--pairs")
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--samples", type=int, default=8_192)
    x = ap.parse_args()
    random.seed(1)
    source, transform, modules = PIPELINES[x.pipeline]
    for name in modules:
        importlib.import_module(name)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    transform = transform()
    arrived, samples, shape = [], 0, None  # (seconds, samples so far)
    start = time.monotonic()
    for batch in source(x, transform):
        samples += len(batch)
        arrived.append((time.monotonic() - start, samples))
        shape = shape or f"{'x'.join(map(str, batch.shape[1:]))} {str(batch.dtype).removeprefix('torch.')}"
        if samples >= x.samples:
            break
    if len(arrived) < 5:
        sys.exit(f"{len(arrived)} batches are too few to time: batch 4 is the first that counts")
    (from_s, from_n), (to_s, to_n) = arrived[3], arrived[-1]
    print(f"s={to_s:.4f}\nsamples={samples}\nttfb={arrived[0][0]:.4f}\ns4={to_s - from_s:.4f}\nn4={to_n - from_n}"
          f"\nshape={shape}", flush=True)
    os._exit(0)  # workers are still at it


if __name__ == "__main__":
    main()
