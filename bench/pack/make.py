#!/usr/bin/env python3
"""make.py PHOTOS OUT PAIRS TINY: the two folders that run.py packs (needs Pillow; run.py calls it).

pairs/  PAIRS JPEG+JSON pairs: the photographs copied under many names, real copies, no links
tiny/   TINY pairs of a distinct JPEG crop of about 3 KB and JSON of about 80 bytes
Both lie in 1000 class folders. data.json, written last, says what was made.
"""
import io
import json
import multiprocessing
import os
import random
import re
import sys

from PIL import Image

CLASSES = 1000


def stem_of(path):
    return re.sub(r"[^A-Za-z0-9_-]+", "_", os.path.splitext(os.path.basename(path))[0])


def put(folder, number, stem, jpeg, meta):
    base = os.path.join(folder, f"c{number * 7919 % CLASSES:04d}", stem)
    meta = json.dumps(meta).encode()
    for ext, data in ((".jpg", jpeg), (".json", meta)):
        with open(base + ext, "xb") as f:
            f.write(data)
    return len(jpeg) + len(meta)


def one_photo(job):
    """Every copy and crop of one photograph. Returns (pairs, bytes, tiny, bytes)."""
    i, path, every, out, pairs, tiny = job
    with open(path, "rb") as f:
        raw = f.read()
    image = Image.open(io.BytesIO(raw))
    meta = {"class": i, "label": stem_of(path).split("_", 1)[-1][:24], "width": image.width, "height": image.height}
    made = [0, 0, 0, 0]
    for n in range(i, pairs, every):
        made[0] += 1
        made[1] += put(os.path.join(out, "pairs"), n, f"{stem_of(path)}_{n // every:02d}", raw, meta)
    image = image.convert("RGB")
    image.thumbnail((320, 320))
    rng, (w, h) = random.Random(i), image.size
    for n in range(i, tiny, every):
        side = rng.uniform(min(w, h) * 0.5, min(w, h))
        x, y = rng.uniform(0, w - side), rng.uniform(0, h - side)
        jpeg = io.BytesIO()
        crop = image.resize((88, 88), Image.Resampling.BILINEAR, box=(x, y, x + side, y + side))
        crop.save(jpeg, "JPEG", quality=80)
        made[2] += 1
        made[3] += put(os.path.join(out, "tiny"), n, f"{stem_of(path)}_{n // every:04d}", jpeg.getvalue(),
                       {**meta, "width": 88, "height": 88})
    return made


def main():
    photos, out, pairs, tiny = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    found = sorted(os.path.join(d, f) for d, _, files in os.walk(photos) for f in files
                   if f.lower().endswith((".jpg", ".jpeg")))
    names = [stem_of(p) for p in found]
    if not found or len(set(names)) < len(names):
        sys.exit(f"{len(found)} photographs with {len(set(names))} names in {photos}: need some, all different")
    for kind in ("pairs", "tiny"):
        for c in range(CLASSES):
            os.makedirs(os.path.join(out, kind, f"c{c:04d}"))
    jobs = [(i, p, len(found), out, pairs, tiny) for i, p in enumerate(found)]
    with multiprocessing.Pool() as pool:
        made = [sum(column) for column in zip(*pool.imap_unordered(one_photo, jobs))]
    stamp = {"photos": len(found), "photo_bytes": sum(map(os.path.getsize, found)),
             "pairs": {"pairs": made[0], "bytes": made[1]}, "tiny": {"pairs": made[2], "bytes": made[3]}}
    with open(os.path.join(out, "data.json"), "w") as f:
        json.dump(stamp, f)


if __name__ == "__main__":
    main()
