"""The amount of work of each part, and its time limit."""

#: On a GPU.
FULL = {
    # The data.
    "pictures": 6_144, "rows": 4_096, "row_bytes": 2_048, "wide_rows": 768, "wide_bytes": 224 * 224 * 3,
    # correctness: batches by delivery and consumer, of `rows_batch` rows; pictures that are finished.
    "rows_batch": 32, "side": 224,
    "checks": {("ring", "fast"): 40_000, ("torch", "fast"): 30_000, ("ring", "slow device"): 20_000,
               ("torch", "slow device"): 8_000, ("ring", "slow host"): 1_000, ("torch", "slow host"): 1_000},
    "finished_batches": 24, "finished_batch": 64,
    # pixels: pictures of at most `small_side` squared pixels, so many of them; beside
    "small_side": 512, "small": 250, "graphs": 12,
    # copies
    "copies": 40, "wide_batch": 256, "rounds": 5,
    # training
    "batch": 256, "warm": 10, "steps": 50, "train_rounds": 3,
    # prefetcher: batches by loader and consumer
    "prefetched": 1_000,
    # nvjpeg, resident
    "decoded": 12, "resident_epochs": 6, "copy_bytes": 2 << 30,
}

#: To try the script on a GPU: a fiftieth.
QUICK = FULL | {
    "pictures": 1_024, "wide_rows": 512,
    "checks": {key: max(40, count // 50) for key, count in FULL["checks"].items()},
    "finished_batches": 4, "small": 50, "graphs": 4, "copies": 8, "rounds": 2, "warm": 4, "steps": 10, "train_rounds": 1, "prefetched": 100, "decoded": 2,
    "resident_epochs": 2, "copy_bytes": 256 << 20,
}

#: To try the script without one.
DRY = FULL | {
    "pictures": 24, "rows": 64, "row_bytes": 256, "wide_rows": 16, "wide_bytes": 4_096, "rows_batch": 8, "side": 32,
    "checks": {key: 24 for key in FULL["checks"]}, "finished_batches": 2, "finished_batch": 6, "small_side": 512, "small": 6, "copies": 3,
    "wide_batch": 8, "rounds": 2, "batch": 4, "warm": 1, "steps": 3, "train_rounds": 2, "prefetched": 12, "decoded": 1,
    "resident_epochs": 2, "copy_bytes": 1 << 20,
}

#: Seconds after which a part is ended; what it has said by then is kept.
LIMITS = {"machine": 30, "copies": 60, "pixels": 60, "nvjpeg": 50, "resident": 40, "correctness": 120, "finished": 50,
          "beside": 40, "prefetcher": 60, "training": 180, "engines": 60}
#: Seconds for all of it: whatever part runs then is ended. The limits come to more: README.md has two calls.
IN_ALL = 465
