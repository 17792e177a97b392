"""Recipes of timm and albumentations as recipes of `tarflume.transforms`."""

from __future__ import annotations

from typing import Any

import pytest

from tarflume import transforms
from tarflume.errors import UsageError
from tarflume.transforms import Converted, from_albumentations, from_timm
from torchvision.transforms import InterpolationMode

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
NORMALIZED: dict[str, Any] = {"layout": "chw", "dtype": "float32", "mean": MEAN, "std": STD}


def near(found: Converted) -> Converted:
    """The same with numbers of 6 digits: libraries keep some as float32."""
    words = found.settings()
    for name in ("mean", "std"):
        if name in words:
            words[name] = tuple(round(value, 6) for value in words[name])
    return Converted(found.recipe, **words)


def refused(convert: Any, theirs: Any) -> str:
    with pytest.raises(UsageError) as error:
        convert(theirs)
    assert type(error.value) is UsageError
    return str(error.value)


# timm


def test_the_recipe_of_deit() -> None:
    timm = pytest.importorskip("timm")
    theirs = timm.data.create_transform(
        224,
        is_training=True,
        auto_augment="rand-m9-mstd0.5-inc1",
        interpolation="bicubic",
        re_prob=0.25,
        re_mode="pixel",
        re_count=1,
    )
    assert near(from_timm(theirs)) == Converted(
        transforms.Compose(
            [
                transforms.RandomResizedCrop(224, interpolation="bicubic"),
                transforms.RandomHorizontalFlip(),
                transforms.TimmAugment("rand-m9-n2-p0.5-mstd0.5-inc1", interpolation="bicubic"),
                transforms.RandomErasing(0.25, (0.02, 1 / 3), (0.3, 1 / 0.3), "random"),
            ]
        ),
        **NORMALIZED,
    )


@pytest.mark.parametrize(
    "config",
    [
        "rand-m9-mstd0.5-inc1", "rand-m7-n3-p0.8-mstd101-mmax20", "rand-m15-t3a", "rand-m9-t3aw-mstd1", "rand-tweights",
        "original", "originalr-mstd0.5", "v0", "v0r", "3a", "augmix-m5-w4", "augmix-m3-w2-d2-a0.5-b1-mstd0.5",
    ],
)  # fmt: skip
@pytest.mark.parametrize("interpolation", ["random", "bilinear"])
def test_policies_of_timm_are_found_again(config: str, interpolation: str) -> None:
    """The text that a policy is converted to makes the same policy."""
    timm = pytest.importorskip("timm")
    words = {"color_jitter": 0.0, "interpolation": interpolation}
    first = timm.data.create_transform(224, is_training=True, auto_augment=config, **words)
    (found,) = (step for step in from_timm(first).recipe if isinstance(step, transforms.TimmAugment))
    second = timm.data.create_transform(224, is_training=True, auto_augment=found.config, **words)
    assert repr(second.transforms[2]) == repr(first.transforms[2]).replace("m=10.0", "m=10")
    assert found.interpolation == (None if interpolation == "random" else interpolation)
    assert found.fill == (124, 116, 104) and found.translate_pct is None


def test_random_interpolation_of_timm_is_drawn_for_each_picture() -> None:
    timm = pytest.importorskip("timm")
    theirs = timm.data.create_transform((3, 96, 128), is_training=True, color_jitter=(0.3, 0.3, 0.3), interpolation="random")
    found = from_timm(theirs)
    crop = transforms.RandomResizedCrop((96, 128), interpolation="random")
    assert found.recipe == transforms.Compose(
        [crop, transforms.RandomHorizontalFlip(), transforms.ColorJitter(0.3, 0.3, 0.3)]
    )
    drawn = [transforms.draw(crop, seed, 50, 60)[1]["resize"]["interpolation"] for seed in range(1000)]
    assert {*drawn} == {"bilinear", "bicubic"} and 440 < drawn.count("bicubic") < 560
    # The crop is that of the other interpolations.
    plain = transforms.RandomResizedCrop((96, 128))
    assert transforms.draw(crop, 3, 50, 60)[0] == transforms.draw(plain, 3, 50, 60)[0]
    theirs.transforms[0].interpolation = [InterpolationMode.BILINEAR, InterpolationMode.LANCZOS]
    with pytest.raises(UsageError, match='interpolation="random", which draws bilinear or bicubic'):
        from_timm(theirs)


def test_evaluations_of_timm() -> None:
    timm = pytest.importorskip("timm")
    make = timm.data.create_transform
    center = transforms.Compose([transforms.Resize(235, "bicubic"), transforms.CenterCrop(224)])
    found = near(from_timm(make(224, crop_pct=0.95, interpolation="bicubic")))
    assert found == Converted(center, **NORMALIZED)
    squash = transforms.Compose([transforms.Resize((256, 256)), transforms.CenterCrop(224)])
    assert from_timm(make(224, crop_mode="squash")).recipe == squash
    border = transforms.Compose([transforms.ResizeKeepRatio(224, letterbox=True, fill=(124, 116, 104))])
    assert from_timm(make(224, crop_mode="border", crop_pct=1.0)).recipe == border
    bytes_of_prefetcher = from_timm(make(224, use_prefetcher=True))
    assert bytes_of_prefetcher.settings() == {"layout": "chw"}


def test_erasing_of_timm() -> None:
    timm = pytest.importorskip("timm")
    for mode, value in (("const", 0.0), ("rand", "random_color"), ("pixel", "random")):
        theirs = timm.data.create_transform(224, is_training=True, re_prob=0.3, re_mode=mode, re_count=3)
        erasing = from_timm(theirs).recipe[-1]
        assert isinstance(erasing, transforms.RandomErasing)
        expected = transforms.RandomErasing(0.3, (0.02, 1 / 3), (0.3, 1 / 0.3), value, count=(1, 3))
        assert vars(erasing) == vars(expected)


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        ({"is_training": True, "train_crop_mode": "rkrc"}, ["transforms[0]", "ResizeKeepRatio", 'train_crop_mode="rrc"']),
        ({"crop_border_pixels": 4}, ["transforms[0]", "TrimBorder", "crop_border_pixels=None"]),
        ({"crop_mode": "border"}, ["transforms[1]", "CenterCropOrPad", "crop_pct=1.0"]),
        ({"input_size": (200, 224)}, ["transforms[0]", "ResizeKeepRatio", "square"]),
    ],
    ids=["rkrc", "border pixels", "border", "oblong"],
)
def test_steps_of_timm_without_a_counterpart(words: dict[str, Any], texts: list[str]) -> None:
    timm = pytest.importorskip("timm")
    text = refused(from_timm, timm.data.create_transform(**words))
    assert all(expected in text for expected in ["from_timm", *texts]), text


# albumentations


def test_a_recipe_of_albumentations() -> None:
    A = pytest.importorskip("albumentations")
    theirs = A.Compose(
        [
            A.RandomResizedCrop((224, 200), scale=(0.2, 1.0)),
            A.HorizontalFlip(p=0.5),
            A.OneOf([A.InvertImg(p=0.2), A.Posterize((3, 4), p=0.6)], p=0.3),
            A.ColorJitter(0.2, 0.2, 0.2, 0.1, p=0.8),
            A.ToGray(p=0.2),
            A.NoOp(),
            A.Normalize(),
            A.ToTensorV2(),
        ]
    )
    bits = transforms.RandomChoice([transforms.RandomPosterize(3, 1.0), transforms.RandomPosterize(4, 1.0)])
    one = transforms.RandomChoice([transforms.RandomInvert(1.0), bits], p=[0.2, 0.6])
    assert near(from_albumentations(theirs)) == Converted(
        transforms.Compose(
            [
                transforms.RandomResizedCrop((224, 200), scale=(0.2, 1.0)),
                transforms.RandomHorizontalFlip(),
                transforms.RandomApply([one], p=0.3),
                transforms.RandomApply([transforms.ColorJitter((0.8, 1.2), (0.8, 1.2), (0.8, 1.2), 0.1)], p=0.8),
                transforms.RandomGrayscale(0.2),
            ]
        ),
        **NORMALIZED,
    )


def test_steps_of_albumentations() -> None:
    A = pytest.importorskip("albumentations")
    flip = transforms.RandomQuarterTurn(), transforms.RandomHorizontalFlip()
    steps = [
        (A.VerticalFlip(p=0.2), transforms.RandomVerticalFlip(0.2)),
        (A.RandomRotate90(p=1), transforms.RandomQuarterTurn()),
        (A.D4(p=0.5), transforms.RandomApply(list(flip), 0.5)),
        (A.Transpose(p=0.5), transforms.RandomApply([transforms.RandomQuarterTurn((1,)), transforms.RandomVerticalFlip(1.0)], 0.5)),
        (A.Rotate(30, p=1), transforms.RandomRotation(30, "bilinear")),
        (A.Affine(rotate=(-9, 9), scale=(0.8, 1.2), keep_ratio=True, translate_percent=(-0.1, 0.1), shear=(-5, 5), p=1),
         transforms.RandomAffine(9, (0.1, 0.1), (0.8, 1.2), (-5, 5, -5, 5), "bilinear")),
        (A.Resize(20, 30), transforms.Resize((20, 30))),
        (A.SmallestMaxSize(256, interpolation=2), transforms.Resize(256, "bicubic")),
        (A.SmallestMaxSize([256, 320]), transforms.RandomShortestSize((256, 320))),
        (A.LongestMaxSize(640), transforms.ResizeKeepRatio(640)),
        (A.CenterCrop(20, 30), transforms.CenterCrop((20, 30))),
        (A.RandomCrop(20, 30), transforms.RandomCrop((20, 30))),
        (A.Pad(4, border_mode=4), transforms.Pad(4, padding_mode="reflect")),
        (A.Solarize((0.4, 0.4), p=0.2), transforms.RandomSolarize(102.0, 0.2)),
        (A.AutoContrast(p=1), transforms.RandomAutocontrast(1.0)),
        (A.Equalize(p=1), transforms.RandomEqualize(1.0)),
        (A.ChannelShuffle(p=1), transforms.RandomChannelPermutation()),
        (A.RandomGamma((80, 120), p=0.5), transforms.RandomGamma((0.8, 1.2))),
        (A.GaussianBlur((7, 7), (0.1, 2.0), p=1), transforms.GaussianBlur(7)),
        (A.GaussNoise((0.1, 0.1), p=1), transforms.GaussianNoise(0.0, 0.1)),
        (A.ImageCompression(quality_range=(30, 90), p=1), transforms.JPEG((30, 90))),
    ]  # fmt: skip
    for theirs, expected in steps:
        assert from_albumentations(theirs).recipe == transforms.Compose([expected]), theirs
    letterbox = A.Compose([A.LongestMaxSize(640), A.PadIfNeeded(640, 640, fill=114)])
    assert from_albumentations(letterbox).recipe == transforms.Compose([transforms.ResizeKeepRatio(640, letterbox=True)])


def test_settings_of_albumentations() -> None:
    A = pytest.importorskip("albumentations")
    floats = from_albumentations(A.Compose([A.ToFloat(max_value=255), A.Normalize((0.5,) * 3, (0.25,) * 3, max_pixel_value=1.0)]))
    assert floats == Converted(transforms.Compose([]), "hwc", "rgb", "float32", (0.5,) * 3, (0.25,) * 3)
    levels = from_albumentations(A.Normalize((127.5,) * 3, (51.0,) * 3, max_pixel_value=1.0))
    assert levels.mean == (0.5,) * 3 and levels.std == (0.2,) * 3


def test_steps_of_albumentations_without_a_counterpart() -> None:
    A = pytest.importorskip("albumentations")
    cases = [
        (A.RandomBrightnessContrast(), ["RandomBrightnessContrast", "ColorJitter"]),
        (A.HueSaturationValue(), ["HueSaturationValue", "ColorJitter"]),
        (A.CoarseDropout(), ["CoarseDropout", "RandomErasing"]),
        (A.Sharpen(), ["Sharpen", "RandomAdjustSharpness"]),
        (A.GridDistortion(), ["GridDistortion", "tarflume.Apply"]),
        (A.Solarize((0.3, 0.5)), ["Solarize", "one threshold"]),
        (A.GaussNoise(), ["GaussNoise", "std_range"]),
        (A.Resize(9, 9, interpolation=3), ["Resize", "antialiased"]),
        (A.PadIfNeeded(9, 9), ["PadIfNeeded", "LongestMaxSize"]),
        (A.Affine(rotate=(0, 9)), ["Affine", "both sides"]),
        (A.Normalize(normalization="image"), ["Normalize", "standard"]),
        (A.OneOf([A.ToFloat(), A.InvertImg()]), ["transforms[1].transforms[0]", "ToFloat"]),
    ]
    for theirs, texts in cases:
        text = refused(from_albumentations, A.Compose([A.HorizontalFlip(), theirs]))
        assert text.startswith("from_albumentations: transforms[1]")
        assert all(expected in text for expected in texts), text
    boxes = A.Compose([A.HorizontalFlip()], bbox_params=A.BboxParams("coco"))
    assert "changes bboxes" in refused(from_albumentations, boxes)
