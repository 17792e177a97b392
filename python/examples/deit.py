"""timm's DeiT recipe on tarflume's loader: crop, flip, RandAugment and erasing in Rust, Mixup and CutMix as before.

    python deit.py SHARDS CLASSES [--model vit_tiny_patch16_224] [--epochs 1] [--batch 64]

docs/tutorials/recipes.md shows the three lines that differ from a program for ImageFolder.
"""

import argparse

import timm
import timm.data
import torch
from timm.loss import SoftTargetCrossEntropy

import tarflume.torch
import tarflume.transforms as T


def train(shards: str, classes: int, name: str = "vit_tiny_patch16_224", epochs: int = 1, batch: int = 64) -> list[float]:
    """The loss of each step."""
    transform = timm.data.create_transform(
        224, is_training=True, interpolation="bicubic",
        auto_augment="rand-m9-mstd0.5-inc1", re_prob=0.25, re_mode="pixel",
    )  # fmt: skip
    loader = tarflume.torch.Loader(
        shards, image=T.from_timm(transform), label="/class", deliver="tuple",
        batch_size=batch, shuffle=True, drop_last=True,
    )  # fmt: skip
    mixup = timm.data.Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=classes)
    model = timm.create_model(name, num_classes=classes)
    optimizer = torch.optim.AdamW(model.parameters(), 5e-4)
    losses = []
    for _ in range(epochs):
        for images, labels in loader:
            images, targets = mixup(images, labels)
            loss = SoftTargetCrossEntropy()(model(images), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            print(f"step {len(losses)}: {loss.item():.3f}")
    return losses


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("shards")
    ap.add_argument("classes", type=int)
    ap.add_argument("--model", default="vit_tiny_patch16_224")
    ap.add_argument("--epochs", type=int, default=1)
    ap.add_argument("--batch", type=int, default=64)
    x = ap.parse_args()
    train(x.shards, x.classes, x.model, x.epochs, x.batch)


if __name__ == "__main__":
    main()
