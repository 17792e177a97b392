"""Shuffles, stops after a batch, and resumes with another batch size. `make demo` prints and runs it."""

import json
import sys

import tarflume


def training(batch_size):
    return tarflume.Loader(
        sys.argv[1],
        batch_size=batch_size,
        shuffle="full",
        seed=42,
        image=tarflume.RandomResizedCrop(224, flip=0.5),
        label="/class",
    )


def ordinals(batch):
    return memoryview(batch.ordinals).tolist()


whole = [ordinal for batch in training(3).epoch(0) for ordinal in ordinals(batch)]
print("epoch 0:", whole)

loader = training(3)
batch = next(loader.epoch(0))
print("stopped after one batch:", ordinals(batch), "images", batch["image"].shape, "labels", memoryview(batch["label"]).tolist())
saved = json.dumps(loader.state_dict())  # beside the model

loader = training(2)
loader.load_state_dict(json.loads(saved))
rest = [ordinal for next_batch in loader for ordinal in ordinals(next_batch)]
print("resumed:", rest)
assert ordinals(batch) + rest == whole
