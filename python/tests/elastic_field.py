"""The field of an elastic action, from its numbers, as torchvision makes it of the same noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torchvision.transforms.v2.functional as F


def noise_field(seed: int, count: int) -> np.ndarray:
    """Numbers of 24 bits from SplitMix64, two from each 64 bits: those across, then those down."""
    pairs = (count + 1) // 2
    with np.errstate(over="ignore"):
        state = np.uint64(seed) + np.arange(1, 2 * pairs + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits = z ^ (z >> np.uint64(31))
    halves = np.stack([bits >> np.uint64(40), bits >> np.uint64(8) & np.uint64(0xFFFFFF)], -1)
    values = (halves.astype(np.float64) / 2**23 - 1).astype(np.float32).reshape(2, 2 * pairs)
    return values[:, :count]


def displacement(action: dict[str, Any], height: int, width: int) -> Any:
    """The field of torchvision's `ElasticTransform`, from our noise."""
    fields = torch.from_numpy(noise_field(action["seed"], height * width)).view(2, 1, 1, height, width)
    both = []
    for axis, side in enumerate((width, height)):
        field, sigma = fields[axis], action["sigma"][axis]
        if sigma > 0:
            taps = int(8 * sigma + 1) | 1
            field = F.gaussian_blur(field, [taps, taps], action["sigma"])
        both.append(field * action["alpha"][axis] / side)
    return torch.concat(both, 1).permute(0, 2, 3, 1)
