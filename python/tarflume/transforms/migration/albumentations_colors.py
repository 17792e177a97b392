"""Counterparts of albumentations' steps that change colors: each a function of the step's arguments.

A function returns operations that are always taken, or what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base import Operation
from ..color import (
    ColorJitter, RandomAutocontrast, RandomChannelPermutation, RandomEqualize, RandomGamma, RandomGrayscale,
    RandomInvert, RandomPosterize, RandomSolarize,
)  # fmt: skip
from ..control import RandomChoice
from ..filter import JPEG, GaussianBlur, GaussianNoise

__all__ = ["COLORS"]

Words = dict[str, Any]
Found = list[Operation] | str


def _jitter(words: Words) -> Found:
    return [ColorJitter(*(words[name] for name in ("brightness", "contrast", "saturation", "hue")))]


def _gray(words: Words) -> Found:
    if words["method"] != "weighted_average" or words["num_output_channels"] != 3:
        return 'write ToGray(num_output_channels=3, method="weighted_average")'
    return [RandomGrayscale(1.0)]


def _invert(words: Words) -> Found:
    return [RandomInvert(1.0)]


def _posterize(words: Words) -> Found:
    bits = words["num_bits"]
    if not isinstance(bits[0], int):
        return "write one number of bits for all channels"
    steps = [RandomPosterize(count, 1.0) for count in range(bits[0], bits[1] + 1)]
    return [steps[0] if len(steps) == 1 else RandomChoice(steps)]


def _solarize(words: Words) -> Found:
    low, high = words["threshold_range"]
    if low != high:
        return "write one threshold: Solarize(threshold_range=(t, t))"
    return [RandomSolarize(255 * low, 1.0)]


def _autocontrast(words: Words) -> Found:
    if words["cutoff"] or words["ignore"] is not None:
        return "write AutoContrast(cutoff=0)"
    return [RandomAutocontrast(1.0)]


def _equalize(words: Words) -> Found:
    if not words["by_channels"] or words["mask"] is not None:
        return "write Equalize(by_channels=True) without a mask"
    return [RandomEqualize(1.0)]


def _shuffle(words: Words) -> Found:
    return [RandomChannelPermutation()]


def _gamma(words: Words) -> Found:
    low, high = words["gamma_limit"]
    return [RandomGamma((low / 100, high / 100), 1.0)]


def _blur(words: Words) -> Found:
    low, high = words["blur_limit"]
    sigma = words["sigma_limit"]
    if high == 0:
        low = high = 2 * int(3.5 * sigma[1]) + 1  # as many taps as albumentations has for the largest sigma
    taps = [count for count in range(low, high + 1) if count % 2 == 1]
    if not taps or low == 0:
        return "write an odd number of taps: GaussianBlur(blur_limit=(n, n))"
    steps = [GaussianBlur(count, sigma) for count in taps]
    return [steps[0] if len(steps) == 1 else RandomChoice(steps)]


def _noise(words: Words) -> Found:
    low, high = words["std_range"]
    least, most = words["mean_range"]
    if low != high or least != most or not words["per_channel"] or words["noise_scale_factor"] != 1:
        return "write one standard deviation: GaussNoise(std_range=(s, s), per_channel=True)"
    return [GaussianNoise(least, low)]


def _compression(words: Words) -> Found:
    if words["compression_type"] != "jpeg":
        return 'write ImageCompression(compression_type="jpeg")'
    return [JPEG(words["quality_range"])]


def _brightness_contrast(words: Words) -> Found:
    return "write ColorJitter(brightness, contrast, saturation=0, hue=0), which multiplies instead of adding"


def _hue_saturation_value(words: Words) -> Found:
    return "write ColorJitter(brightness, contrast=0, saturation=saturation, hue=hue)"


def _erase(words: Words) -> Found:
    return "write tarflume.transforms.RandomErasing(p, scale, ratio)"


def _sharpen(words: Words) -> Found:
    return "write tarflume.transforms.RandomAdjustSharpness(2)"


COLORS: dict[str, Callable[[Words], Found]] = {
    "AutoContrast": _autocontrast,
    "ChannelShuffle": _shuffle,
    "CoarseDropout": _erase,
    "ColorJitter": _jitter,
    "Equalize": _equalize,
    "Erasing": _erase,
    "GaussNoise": _noise,
    "GaussianBlur": _blur,
    "HueSaturationValue": _hue_saturation_value,
    "ImageCompression": _compression,
    "InvertImg": _invert,
    "Posterize": _posterize,
    "RandomBrightnessContrast": _brightness_contrast,
    "RandomGamma": _gamma,
    "Sharpen": _sharpen,
    "Solarize": _solarize,
    "ToGray": _gray,
}
