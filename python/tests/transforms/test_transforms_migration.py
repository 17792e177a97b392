"""Recipes of torchvision as recipes of `tarflume.transforms`."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torchvision.transforms as v1
import torchvision.transforms.v2 as v2
from torchvision.transforms import AutoAugmentPolicy, InterpolationMode

from tarflume import transforms
from tarflume.errors import UsageError
from tarflume.transforms import Converted, from_torchvision

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
TENSOR = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
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


def test_the_recipe_of_torchvision_for_training() -> None:
    theirs = v2.Compose(
        [
            v2.RandomResizedCrop(176, antialias=True),
            v2.RandomHorizontalFlip(0.5),
            v2.TrivialAugmentWide(interpolation=InterpolationMode.BILINEAR),
            *TENSOR,
            v2.RandomErasing(p=0.1),
        ]
    )
    assert near(from_torchvision(theirs)) == Converted(
        transforms.Compose(
            [
                transforms.RandomResizedCrop(176),
                transforms.RandomHorizontalFlip(),
                transforms.TrivialAugmentWide(interpolation="bilinear"),
                transforms.RandomErasing(p=0.1),
            ]
        ),
        **NORMALIZED,
    )


@pytest.mark.parametrize("end", [[v1.ToTensor()], [v1.PILToTensor(), v1.ConvertImageDtype(torch.float)]], ids=["one", "two"])
def test_the_recipe_of_an_evaluation_of_both_modules(end: list[Any]) -> None:
    theirs = v1.Compose([v1.Resize(232), v1.CenterCrop(224), *end, v1.Normalize(torch.tensor(MEAN), torch.tensor(STD))])
    recipe = transforms.Compose([transforms.Resize(232), transforms.CenterCrop(224)])
    assert near(from_torchvision(theirs)) == Converted(recipe, **NORMALIZED)


def test_the_recipe_of_simclr() -> None:
    theirs = v1.Compose(
        [
            v1.RandomResizedCrop(224),
            v1.RandomHorizontalFlip(),
            v1.RandomApply([v1.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8),
            v1.RandomGrayscale(p=0.2),
            v1.RandomApply([v1.GaussianBlur(23, (0.1, 2.0))], p=0.5),
            v1.ToTensor(),
        ]
    )
    jitter = transforms.ColorJitter(0.8, 0.8, 0.8, 0.2)
    assert from_torchvision(theirs) == Converted(
        transforms.Compose(
            [
                transforms.RandomResizedCrop(224),
                transforms.RandomHorizontalFlip(),
                transforms.RandomApply([jitter], p=0.8),
                transforms.RandomGrayscale(p=0.2),
                transforms.RandomApply([transforms.GaussianBlur(23)], p=0.5),
            ]
        ),
        layout="chw",
        dtype="float32",
    )


def test_the_second_global_crop_of_dino() -> None:
    jitter = v1.RandomApply([v1.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8)
    theirs = v1.Compose(
        [
            v1.Compose([v1.RandomResizedCrop(224, (0.32, 1.0), interpolation=InterpolationMode.BICUBIC)]),
            v1.Compose([v1.RandomHorizontalFlip(), jitter, v1.RandomGrayscale(0.2)]),
            v1.Compose([v1.RandomApply([v1.GaussianBlur(9)], 0.1), v1.RandomSolarize(threshold=128, p=0.2)]),
            v1.Compose([v1.ToTensor(), v1.Normalize(MEAN, STD)]),
        ]
    )
    found = from_torchvision(theirs)
    assert found == Converted(
        transforms.Compose(
            [
                transforms.RandomResizedCrop(224, (0.32, 1.0), interpolation="bicubic"),
                transforms.RandomHorizontalFlip(),
                transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
                transforms.RandomGrayscale(0.2),
                transforms.RandomApply([transforms.GaussianBlur(9)], 0.1),
                transforms.RandomSolarize(128, p=0.2),
            ]
        ),
        **NORMALIZED,
    )


@pytest.mark.parametrize("module", [v1, v2], ids=["v1", "v2"])
def test_every_class_of_both_modules(module: Any) -> None:
    """The same arguments make the same operation. v1 and v2 keep some in other forms."""
    jitter = module.ColorJitter(brightness=(0.5, 1.5), hue=0.1)
    theirs = [
        (module.RandomCrop((32, 40), padding=(1, 2, 3, 4), fill=(1, 2, 3)), "RandomCrop", ((32, 40), (1, 2, 3, 4), False, (1, 2, 3))),
        (module.RandomCrop(32, padding=4, padding_mode="reflect"), "RandomCrop", (32, 4, False, 0, "reflect")),
        (module.RandomCrop(32), "RandomCrop", (32,)),
        (module.Pad((1, 2), fill=9), "Pad", ((1, 2), 9)),
        (module.Resize([224, 200], InterpolationMode.NEAREST), "Resize", ((224, 200), "nearest")),
        (module.Resize(224, max_size=300), "Resize", (224, "bilinear", 300)),
        (module.RandomVerticalFlip(0.1), "RandomVerticalFlip", (0.1,)),
        (module.RandomRotation(30, expand=True, fill=7), "RandomRotation", (30, "nearest", True, None, 7)),
        (module.RandomAffine((-5, 5), (0.1, 0.2), (0.8, 1.2), 10, fill=(1, 2, 3)), "RandomAffine", ((-5, 5), (0.1, 0.2), (0.8, 1.2), 10, "nearest", (1, 2, 3))),
        (module.RandomPerspective(0.3, 0.9), "RandomPerspective", (0.3, 0.9)),
        (module.ElasticTransform(40.0, [4.0, 5.0]), "ElasticTransform", (40.0, (4.0, 5.0))),
        (jitter, "ColorJitter", ((0.5, 1.5), None, None, 0.1)),
        (module.Grayscale(3), "Grayscale", (3,)),
        (module.RandomInvert(), "RandomInvert", ()),
        (module.RandomPosterize(3), "RandomPosterize", (3,)),
        (module.RandomAutocontrast(), "RandomAutocontrast", ()),
        (module.RandomEqualize(), "RandomEqualize", ()),
        (module.RandomAdjustSharpness(2.0, 0.3), "RandomAdjustSharpness", (2.0, 0.3)),
        (module.AutoAugment(AutoAugmentPolicy.SVHN, fill=(1, 2, 3)), "AutoAugment", ("svhn", "nearest", (1, 2, 3))),
        (module.RandAugment(3, 5), "RandAugment", (3, 5)),
        (module.AugMix(5, fill=3), "AugMix", (5, 3, -1, 1.0, True, "bilinear", 3)),
    ]  # fmt: skip
    for step, name, arguments in theirs:
        expected = getattr(transforms, name)(*arguments)
        assert from_torchvision(step) == Converted(transforms.Compose([expected])), name


def test_what_only_v2_has() -> None:
    theirs = [
        (v2.Resize(None, max_size=640), transforms.ResizeKeepRatio(640)),
        (v2.RandomShortestSize([640, 800], 1333), transforms.RandomShortestSize((640, 800), 1333)),
        (v2.RandomResize(240, 961), transforms.RandomResize(240, 961)),
        (v2.ScaleJitter((1024, 1024)), transforms.ScaleJitter((1024, 1024))),
        (v2.RandomPhotometricDistort(), transforms.RandomPhotometricDistort()),
        (v2.RandomChannelPermutation(), transforms.RandomChannelPermutation()),
        (v2.GaussianNoise(0.1, 0.2, clip=False), transforms.GaussianNoise(0.1, 0.2, clip=False)),
        (v2.JPEG((30, 90)), transforms.JPEG((30, 90))),
        (v2.Pad(1, fill={"others": 3}), transforms.Pad(1, 3)),
    ]
    for step, expected in theirs:
        assert from_torchvision(step).recipe == transforms.Compose([expected])


def test_lists_of_operations() -> None:
    choice = v2.RandomChoice([v2.RandomInvert(), v2.Compose([v2.RandomEqualize(), v2.RandomAutocontrast()])], p=[1, 3])
    order = v2.RandomOrder([v2.RandomInvert(), v2.RandomChoice([v2.RandomInvert(), v2.RandomEqualize()])])
    found = from_torchvision(torch.nn.Sequential(v2.Identity(), choice, order))
    both = transforms.Compose([transforms.RandomEqualize(), transforms.RandomAutocontrast()])
    even = transforms.RandomChoice([transforms.RandomInvert(), transforms.RandomEqualize()])
    assert found == Converted(
        transforms.Compose(
            [
                transforms.RandomChoice([transforms.RandomInvert(), both], p=[1, 3]),
                transforms.RandomOrder([transforms.RandomInvert(), even]),
            ]
        )
    )


def test_settings_of_the_column() -> None:
    half = from_torchvision(v2.Compose([v2.ToImage(), v2.ToDtype({v2.ToImage: torch.int64, "others": torch.float16}, scale=True)]))
    assert half == Converted(transforms.Compose([]), layout="chw", dtype="float16")
    assert from_torchvision(v2.Compose([v2.PILToTensor()])) == Converted(transforms.Compose([]), layout="chw")
    assert from_torchvision(v2.Compose([v2.PILToTensor(), v2.ToPILImage()])) == Converted(transforms.Compose([]))
    gray = from_torchvision(v2.Compose([v2.Grayscale(), v2.ToTensor(), v2.Normalize([0.5], [0.25])]))
    assert gray.channels == "gray" and gray.mean == (0.5, 0.5, 0.5) and gray.std == (0.25, 0.25, 0.25)


def test_floats_that_are_not_scaled_are_levels() -> None:
    found = from_torchvision(v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32), v2.Normalize([127.5] * 3, [51.0] * 3)]))
    assert found == Converted(transforms.Compose([]), "chw", "rgb", "float32", (0.5, 0.5, 0.5), (0.2, 0.2, 0.2))
    found = from_torchvision(v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32)]))
    assert found.mean == (0.0, 0.0, 0.0) and found.std == (1 / 255, 1 / 255, 1 / 255)


def test_fills_and_thresholds_of_floats_become_levels() -> None:
    theirs = v2.Compose([v2.ToTensor(), v2.RandomSolarize(0.5, 1.0), v2.Pad(2, fill=0.4), v2.RandomRotation(9, fill=[0, 0.2, 1])])
    assert from_torchvision(theirs).recipe == transforms.Compose(
        [transforms.RandomSolarize(127.5, 1.0), transforms.Pad(2, 102), transforms.RandomRotation(9, fill=(0, 51, 255))]
    )


def test_values_of_erasing_are_those_at_its_place() -> None:
    """The last operation writes values of the row, others levels."""
    normalize, noise = v2.Normalize([0.5] * 3, [0.25] * 3), v2.RandomErasing(value="random")
    erased = [v2.ToTensor(), v2.RandomErasing(value=1.0), normalize]
    assert from_torchvision(v2.Compose(erased)).recipe[-1] == transforms.RandomErasing(value=2.0)
    early = [v2.PILToTensor(), v2.RandomErasing(value=255), v2.ToDtype(torch.float32, scale=True), normalize]
    assert from_torchvision(v2.Compose(early)).recipe[-1] == transforms.RandomErasing(value=2.0)
    unit = [v2.ToTensor(), v2.RandomErasing(value=0.2)]
    assert from_torchvision(v2.Compose(unit)).recipe[-1] == transforms.RandomErasing(value=51.0)
    assert "put it after Normalize" in refused(from_torchvision, v2.Compose([v2.ToTensor(), noise]))
    late = [v2.ToTensor(), normalize, v2.RandomErasing(value=[1.0, 2.0, 3.0])]
    assert from_torchvision(v2.Compose(late)).recipe[-1] == transforms.RandomErasing(value=(1.0, 2.0, 3.0))
    between = [v2.ToTensor(), normalize, v2.RandomErasing(value=0.0), v2.RandomHorizontalFlip()]
    assert from_torchvision(v2.Compose(between)).recipe[0] == transforms.RandomErasing(value=127.5)
    assert from_torchvision(v2.Compose([v2.ToTensor(), normalize, noise])).recipe[0] == transforms.RandomErasing(value="random")
    assert "put it after Normalize" in refused(from_torchvision, v2.Compose([v2.ToTensor(), noise, normalize]))
    text = refused(from_torchvision, v2.Compose([v2.ToTensor(), normalize, noise, v2.RandomHorizontalFlip()]))
    assert "transforms[2]" in text and "put it at the end" in text


def test_the_text_of_a_converted_recipe_is_a_program() -> None:
    found = from_torchvision(v2.Compose([v2.Resize(256), v2.ToTensor()]))
    assert str(found) == (
        "tarflume.Image(transforms.Compose([\n    transforms.Resize(size=256),\n]), layout='chw', dtype='float32')"
    )
    assert eval(repr(found), {"transforms": transforms}) == found
    assert found.settings() == {"layout": "chw", "dtype": "float32"}


class Sharper(v2.RandomAdjustSharpness):
    """A class of a user, which may do anything."""


@pytest.mark.parametrize(
    ("theirs", "texts"),
    [
        (v2.Lambda(abs), ["Lambda", "tarflume.Apply"]),
        (abs, ["transforms[1]", "abs", "tarflume.Apply"]),
        (Sharper(2), ["Sharper", "tarflume.Apply"]),
        (v2.FiveCrop(9), ["FiveCrop", "end the recipe"]),
        (v2.TenCrop(9), ["tarflume.transforms.TenCrop"]),
        (v2.MixUp(num_classes=2), ["MixUp", "batch"]),
        (v2.CutMix(num_classes=2), ["CutMix", "batch"]),
        (v2.SanitizeBoundingBoxes(), ["SanitizeBoundingBoxes", "min_size"]),
        (v2.ClampBoundingBoxes(), ["ClampBoundingBoxes", "leave it out"]),
        (v2.LinearTransformation(torch.eye(3), torch.zeros(3)), ["LinearTransformation", "device"]),
        (v2.UniformTemporalSubsample(3), ["UniformTemporalSubsample", "tarflume.Apply"]),
        (v2.Normalize(MEAN, STD), ["Normalize", "ToDtype(torch.float32, scale=True)"]),
        (v2.ToDtype(torch.float64, scale=True), ["torch.float64", "float32"]),
        (v2.RandomApply([v2.ToTensor()]), ["transforms[1].transforms[0]", "ToTensor", "put it at the end"]),
        (v2.RandomApply([v2.Lambda(abs)]), ["transforms[1].transforms[0]", "Lambda"]),
        (v2.RandomApply([v2.RandomErasing()]), ["transforms[1].transforms[0]", "a p of its own"]),
        (v2.Compose([v2.Compose([v2.Lambda(abs)])]), ["transforms[1].transforms[0].transforms[0]", "Lambda"]),
        (v2.Compose([*TENSOR, v2.ColorJitter(0.5)]), ["transforms[1].transforms[3]", "ColorJitter", "before"]),
        (v2.Compose([*TENSOR, v2.Normalize(MEAN, STD)]), ["transforms[1].transforms[3]", "second Normalize"]),
        (v2.Compose([v2.ToImage(), v2.Resize(9, antialias=False)]), ["transforms[1].transforms[1]", "antialias is False"]),
        (v2.Compose([v2.RandomInvert(), v2.Grayscale()]), ["transforms[1].transforms[1]", "Grayscale(3)"]),
        (v2.Resize(9, InterpolationMode.BOX), ["transforms[1]", "interpolation is", "'bilinear'"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)  # fmt: skip
def test_a_step_without_a_counterpart_is_named_with_its_place(theirs: Any, texts: list[str]) -> None:
    text = refused(from_torchvision, v2.Compose([v2.RandomHorizontalFlip(), theirs]))
    assert text.startswith("from_torchvision: transforms[1]")
    for expected in texts:
        assert expected in text


class MaybeConvertMode:
    """The class of open_clip, which is not installed here."""

    __module__ = "open_clip.transform"

    def __init__(self, mode: str = "RGB") -> None:
        self.mode = mode


class MaybeToTensor(v1.ToTensor):
    """The same."""

    __module__ = "open_clip.transform"


def test_the_recipe_of_open_clip() -> None:
    theirs = [v1.Resize(32, interpolation=InterpolationMode.BICUBIC), v1.CenterCrop(32)]
    end = [MaybeToTensor(), v1.Normalize(MEAN, STD)]
    found = near(from_torchvision(v1.Compose([*theirs, MaybeConvertMode(), *end])))
    assert found == near(from_torchvision(v1.Compose([*theirs, v1.ToTensor(), v1.Normalize(MEAN, STD)])))
    assert found.settings() == NORMALIZED
    with pytest.raises(UsageError, match='channels="gray"'):
        from_torchvision(v1.Compose([*theirs, MaybeConvertMode("L"), *end]))
