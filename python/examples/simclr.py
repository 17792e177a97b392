"""SimCLR on the CPU: two views of each picture from one decoding, a small network, the loss of pairs.

    python simclr.py SHARDS [--steps 200] [--batch 64] [--size 32]

It prints the mean loss of ten steps at a time. The loss of a network that knows nothing is the logarithm of the number of
other pictures in a batch, which is 4.84 for 64 samples.
"""

import argparse
import itertools

import torch
from torch import nn
from torch.nn import functional

import tarflume
import tarflume.torch
import tarflume.transforms as T


def recipe(size: int) -> T.Compose:
    """SimCLR's recipe for small pictures: colors change half as much as at 224 pixels, and nothing is blurred."""
    return T.Compose([
        T.RandomResizedCrop(size, scale=(0.2, 1.0)),
        T.RandomHorizontalFlip(),
        T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
        T.RandomGrayscale(0.2),
    ])  # fmt: skip


def network(width: int = 32, features: int = 64) -> nn.Module:
    """Three convolutions, and a projection."""
    return nn.Sequential(
        nn.Conv2d(3, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
        nn.Conv2d(2 * width, 4 * width, 3, stride=2, padding=1), nn.BatchNorm2d(4 * width), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, features),
    )  # fmt: skip


def loss_of_pairs(features: torch.Tensor, temperature: float = 0.2) -> torch.Tensor:
    """NT-Xent: `features` is [samples, 2, numbers]; each view is to be found by the other one of its sample."""
    samples = features.shape[0]
    views = functional.normalize(features.transpose(0, 1).flatten(0, 1), dim=1)
    likeness = views @ views.T / temperature
    likeness.fill_diagonal_(-torch.inf)
    other = torch.arange(2 * samples).roll(samples)
    return functional.cross_entropy(likeness, other)


def train(shards: str, steps: int = 200, batch: int = 64, size: int = 32) -> list[float]:
    """The loss of each step."""
    torch.manual_seed(0)
    views = tarflume.Views(pair=(2, recipe(size)), layout="chw", dtype="float32", normalize="imagenet")
    loader = tarflume.torch.Loader(shards, batch_size=batch, shuffle="full", seed=1, drop_last=True, views=views)
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    losses = []
    epochs = itertools.chain.from_iterable(loader for _ in itertools.count())
    for batch_ in itertools.islice(epochs, steps):
        pairs = batch_["pair"]  # float32 [samples, 2, 3, size, size]
        loss = loss_of_pairs(model(pairs.flatten(0, 1)).unflatten(0, (-1, 2)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("shards")
    ap.add_argument("--steps", type=int, default=200)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--size", type=int, default=32)
    x = ap.parse_args()
    losses = train(x.shards, x.steps, x.batch, x.size)
    for at in range(0, len(losses), 10):
        few = losses[at : at + 10]
        print(f"steps {at:4} to {at + len(few) - 1:4}: {sum(few) / len(few):.3f}")


if __name__ == "__main__":
    main()
