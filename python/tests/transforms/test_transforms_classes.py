"""The classes of `tarflume.transforms`: their arguments are those of torchvision."""

from __future__ import annotations

import copy
import enum
import inspect
import json
import pickle
from typing import Any

import numpy as np
import pytest
import torchvision.transforms.v2 as v2
from PIL import Image
from torchvision.transforms import AutoAugmentPolicy, InterpolationMode

from tarflume import transforms
from tarflume.errors import UsageError

#: Arguments of operations that torchvision has, too.
THEIRS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("RandomResizedCrop", (224,), {}),
    ("RandomResizedCrop", ([64, 96], (0.2, 1.0), (0.5, 2.0), "bicubic"), {}),
    ("RandomResizedCrop", (224,), {"interpolation": InterpolationMode.BICUBIC, "antialias": True}),
    ("Resize", (256,), {}),
    ("Resize", ([256],), {"max_size": 300}),
    ("Resize", ((224, 200), InterpolationMode.NEAREST), {}),
    ("CenterCrop", (224,), {}),
    ("CenterCrop", ((1, 300),), {}),
    ("FiveCrop", (224,), {}),
    ("TenCrop", ((96, 224), True), {}),
    ("RandomCrop", (32,), {"padding": 4, "padding_mode": "reflect"}),
    ("RandomCrop", ((32, 48), (1, 2), True, (1, 2, 3)), {}),
    ("RandomCrop", (480,), {"padding": [1, 2, 3, 4], "pad_if_needed": True, "fill": 255}),
    ("Pad", (4,), {}),
    ("Pad", ((1, 2), 7, "symmetric"), {}),
    ("RandomShortestSize", ((640, 800), 1333), {}),
    ("RandomShortestSize", (640,), {}),
    ("RandomResize", (240, 961), {}),
    ("ScaleJitter", ((1024, 1024), (0.1, 2.0)), {}),
    ("RandomZoomOut", (), {}),
    ("RandomZoomOut", ((1, 2, 3), (1.5, 3), 0.2), {}),
    ("RandomHorizontalFlip", (), {}),
    ("RandomHorizontalFlip", (1,), {}),
    ("RandomVerticalFlip", (0.3,), {}),
    ("RandomRotation", (30,), {}),
    ("RandomRotation", ((-10, 40), InterpolationMode.BILINEAR, True, None, 9), {}),
    ("RandomRotation", (5,), {"center": [3, 4]}),
    ("RandomAffine", (30,), {}),
    ("RandomAffine", ((-5, 5), (0.1, 0.2), (0.8, 1.2), 10, "bilinear", (1, 2, 3), (3, 4)), {}),
    ("RandomAffine", (0,), {"shear": (-3, 3, -4, 4)}),
    ("RandomPerspective", (0.3, 1.0), {}),
    ("ElasticTransform", (), {}),
    ("ElasticTransform", ([40.0, 60.0], 4.0, "nearest"), {}),
    ("ColorJitter", (), {}),
    ("ColorJitter", (0.4, 0.4, 0.4, 0.1), {}),
    ("ColorJitter", (2.0, (0.3, 0.5), 0, (-0.2, 0.5)), {}),
    ("Grayscale", (), {}),
    ("Grayscale", (3,), {}),
    ("RandomGrayscale", (0.2,), {}),
    ("RandomInvert", (), {}),
    ("RandomPosterize", (4,), {}),
    ("RandomSolarize", (128, 0.2), {}),
    ("RandomAutocontrast", (), {}),
    ("RandomEqualize", (), {}),
    ("RandomAdjustSharpness", (2,), {}),
    ("RandomPhotometricDistort", (), {}),
    ("RandomPhotometricDistort", ((0.5, 1.5), (0.5, 1.5), (0.5, 1.5), (-0.1, 0.1), 0.9), {}),
    ("RandomChannelPermutation", (), {}),
    ("GaussianBlur", (23,), {}),
    ("GaussianBlur", ([5, 9], 1.5), {}),
    ("GaussianNoise", (0.1, 0.2), {}),
    ("JPEG", (50,), {}),
    ("JPEG", ([30, 90],), {}),
    ("RandomErasing", (), {}),
    ("RandomErasing", (0.25, (0.02, 0.2), (0.5, 2.0), "random"), {}),
    ("RandomErasing", (), {"value": [1, 2, 3], "inplace": True}),
    ("AutoAugment", (), {}),
    ("AutoAugment", (AutoAugmentPolicy.CIFAR10, InterpolationMode.BILINEAR), {}),
    ("RandAugment", (), {}),
    ("RandAugment", (3, 15, 31, "bilinear", 128), {}),
    ("TrivialAugmentWide", (), {}),
    ("AugMix", (), {}),
    ("AugMix", (5, 4, 2, 0.5, False), {}),
]  # fmt: skip
#: Operations that torchvision does not have, and lists of operations.
OURS: list[transforms.Operation] = [
    transforms.RandomQuarterTurn(),
    transforms.RandomQuarterTurn((1, 3)),
    transforms.RandomGamma((0.5, 2.0), 0.9),
    transforms.ResizeKeepRatio(640, letterbox=True, fill=114),
    transforms.TimmAugment("rand-m9-mstd0.5-inc1"),
    transforms.timm("augmix-m5-w4", interpolation="bicubic"),
    transforms.RandomErasing(value="random_color", count=(1, 3)),
    transforms.FixedSizeCrop((30, 40), fill=7, padding_mode="edge"),
    transforms.Compose([]),
    transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224)]),
    transforms.RandomApply([transforms.ColorJitter(0.8, 0.8, 0.8, 0.2), transforms.Compose([transforms.Pad(1)])], p=0.8),
    transforms.RandomChoice([transforms.RandomInvert(), transforms.RandomEqualize()]),
    transforms.RandomChoice([transforms.RandomInvert(), transforms.RandomEqualize()], p=[3, 1]),
    transforms.RandomOrder([transforms.RandomInvert(), transforms.RandomSolarize(threshold=1.5)]),
]


def ours(name: str, arguments: tuple[Any, ...], words: dict[str, Any]) -> transforms.Operation:
    made = getattr(transforms, name)(*arguments, **words)
    assert isinstance(made, transforms.Operation)
    return made


EVERY = [ours(*case) for case in THEIRS] + OURS


def plain(value: Any) -> Any:
    """A value of torchvision's object in one form: lists as tuples, members of an enumeration as their words."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return tuple(plain(one) for one in value)
    return value


@pytest.mark.parametrize("case", THEIRS, ids=repr)
def test_the_arguments_are_kept_as_torchvision_keeps_them(case: tuple[str, tuple[Any, ...], dict[str, Any]]) -> None:
    name, arguments, words = case
    theirs, made = getattr(v2, name)(*arguments, **words), ours(name, arguments, words)
    for argument, value in vars(made).items():
        if argument in ("fill", "count"):
            continue
        expected = plain(getattr(theirs, argument))
        if (name, argument) == ("Pad", "padding") or argument == "padding" and expected is not None:
            sides = (expected,) if isinstance(expected, int) else expected
            expected = sides if len(sides) == 4 else (sides[0], sides[-1]) * 2
            if name == "RandomCrop":
                left, right, top, bottom = expected
                expected = (left, top, right, bottom)
        if (name, argument) == ("Resize", "size") and len(expected) == 1:
            expected = expected[0]
        if (name, argument) == ("RandomErasing", "value"):
            expected = "random" if expected is None else expected * (3 // len(expected))
        assert value == expected, argument


@pytest.mark.parametrize("name", sorted({name for name, _, _ in THEIRS}))
def test_names_order_and_defaults_of_arguments_are_those_of_torchvision(name: str) -> None:
    theirs = inspect.signature(getattr(v2, name)).parameters
    made = inspect.signature(getattr(transforms, name)).parameters
    shared = [word for word in made.values() if word.kind is not inspect.Parameter.KEYWORD_ONLY]
    assert [word.name for word in shared] == list(theirs)
    for word in shared:
        assert word.default == plain(theirs[word.name].default), word.name


@pytest.mark.parametrize("operation", EVERY, ids=repr)
def test_an_operation_is_made_again_by_its_repr_and_by_pickle(operation: transforms.Operation) -> None:
    again = eval(repr(operation), {"transforms": transforms})
    assert again == operation and hash(again) == hash(operation) and repr(again) == repr(operation)
    for other in (pickle.loads(pickle.dumps(operation)), copy.copy(operation), copy.deepcopy(operation)):
        assert other == operation and type(other) is type(operation) and repr(other) == repr(operation)


@pytest.mark.parametrize("operation", EVERY, ids=repr)
def test_the_json_has_the_name_and_the_arguments(operation: transforms.Operation) -> None:
    ((name, arguments),) = operation.to_dict().items()
    assert name == type(operation).__name__
    assert set(arguments) <= set(vars(operation))
    expected = operation.to_dict()["Compose"]["transforms"] if name == "Compose" else [operation.to_dict()]
    assert json.loads(operation.to_json()) == expected


def test_the_json_has_one_form_of_each_argument() -> None:
    affine = transforms.RandomAffine(30, translate=(0.1, 0.2), fill=7).to_dict()
    assert affine == {
        "RandomAffine": {
            "degrees": [-30.0, 30.0],
            "translate": [0.1, 0.2],
            "interpolation": "nearest",
            "fill": [7, 7, 7],
        }
    }
    recipe = transforms.Compose([transforms.RandomApply([transforms.Resize(256)], p=0.5)])
    assert json.loads(recipe.to_json()) == [
        {"RandomApply": {"transforms": [{"Resize": {"size": 256, "interpolation": "bilinear"}}], "p": 0.5}}
    ]


def test_a_repr_has_no_arguments_that_are_as_by_default() -> None:
    recipe = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()])
    assert repr(recipe) == (
        "transforms.Compose([\n"
        "    transforms.RandomResizedCrop(size=(224, 224)),\n"
        "    transforms.RandomHorizontalFlip(),\n"
        "])"
    )
    assert repr(transforms.RandomApply([transforms.RandomInvert(1.0)], 0.8)) == (
        "transforms.RandomApply([\n    transforms.RandomInvert(p=1.0),\n], p=0.8)"
    )
    assert repr(transforms.Compose([])) == "transforms.Compose([])"


def test_operations_never_change_and_differ_by_class_and_arguments() -> None:
    flip = transforms.RandomHorizontalFlip()
    with pytest.raises(AttributeError, match="never changes"):
        flip.p = 0.1
    with pytest.raises(AttributeError, match="never changes"):
        del flip.p
    assert flip != transforms.RandomVerticalFlip() and flip != transforms.RandomHorizontalFlip(0.4) and flip != 0.5
    assert len({flip, transforms.RandomHorizontalFlip(0.5), transforms.RandomVerticalFlip()}) == 2
    recipe = transforms.Compose([flip, transforms.Pad(1)])
    assert len(recipe) == 2 and list(recipe) == [flip, transforms.Pad(1)] and recipe[0] == flip and recipe[1:] == (recipe[1],)


@pytest.mark.parametrize(
    "given", ["bicubic", InterpolationMode.BICUBIC, Image.Resampling.BICUBIC, int(Image.Resampling.BICUBIC)], ids=repr
)
def test_an_interpolation_has_several_forms(given: Any) -> None:
    assert transforms.Resize(8, interpolation=given) == transforms.Resize(8, interpolation="bicubic")


def test_numbers_of_numpy_are_numbers() -> None:
    crop = transforms.RandomResizedCrop(np.int64(224), scale=np.array([0.5, 1.0]))
    assert crop == transforms.RandomResizedCrop(224, scale=(0.5, 1.0))
    assert repr(crop) == "transforms.RandomResizedCrop(size=(224, 224), scale=(0.5, 1.0))"


#: Arguments that are refused, and texts that the error has.
WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any], list[str]]] = [
    ("RandomHorizontalFlip", (1.5,), {}, ["p is 1.5", "0 to 1"]),
    ("RandomHorizontalFlip", ("half",), {}, ["p is 'half'"]),
    ("RandomInvert", (True,), {}, ["p is True"]),
    ("RandomInvert", (float("nan"),), {}, ["p is nan"]),
    ("RandomResizedCrop", (0,), {}, ["size is 0", "1 to 65535"]),
    ("RandomResizedCrop", (224.5,), {}, ["size is 224.5", "(height, width)"]),
    ("RandomResizedCrop", ((1, 2, 3),), {}, ["size is (1, 2, 3)"]),
    ("RandomResizedCrop", ("224",), {}, ["size is '224'"]),
    ("RandomResizedCrop", (224, (0.5, 0.2)), {}, ["scale is (0.5, 0.2)", "lower one first"]),
    ("RandomResizedCrop", (224, (0.0, 1.0)), {}, ["scale[0] is 0.0", "above 0"]),
    ("RandomResizedCrop", (224, 0.5), {}, ["scale is 0.5", "pair"]),
    ("RandomResizedCrop", (224,), {"interpolation": "cubic"}, ["interpolation is 'cubic'", "'bicubic'"]),
    ("RandomResizedCrop", (224,), {"interpolation": Image.Resampling.BOX}, ["interpolation is", "'bilinear'"]),
    ("RandomResizedCrop", (224,), {"antialias": False}, ["antialias is False", "leave antialias out"]),
    ("Resize", (None,), {}, ["size is None", "ResizeKeepRatio(N)"]),
    ("Resize", ((2, 3),), {"max_size": 5}, ["max_size is 5"]),
    ("Resize", (256,), {"max_size": 256}, ["max_size is 256", "larger than the shorter side"]),
    ("RandomRotation", (-3,), {}, ["degrees is -3", "at least 0"]),
    ("RandomRotation", ((1, 2, 3),), {}, ["degrees is (1, 2, 3)"]),
    ("RandomRotation", (3,), {"interpolation": "lanczos"}, ["interpolation is 'lanczos'", "'nearest', 'bilinear', 'bicubic'"]),
    ("RandomRotation", (3,), {"fill": 256}, ["fill is 256", "0 to 255"]),
    ("RandomRotation", (3,), {"fill": (1, 2)}, ["fill is (1, 2)"]),
    ("RandomRotation", (3,), {"expand": 1}, ["expand is 1", "True or False"]),
    ("RandomAffine", (3, (0.1, 1.1)), {}, ["translate[1] is 1.1", "0 to 1"]),
    ("RandomAffine", (3,), {"scale": (0.0, 1.0)}, ["scale[0] is 0.0"]),
    ("RandomAffine", (3,), {"shear": (1, 2, 3)}, ["shear is (1, 2, 3)"]),
    ("FiveCrop", (0,), {}, ["size is 0"]),
    ("TenCrop", (9, 1), {}, ["vertical_flip is 1", "True or False"]),
    ("RandomCrop", (32,), {"padding": -1}, ["padding is -1"]),
    ("RandomCrop", (32,), {"padding": (1, 2, 3)}, ["padding is (1, 2, 3)", "left, top, right, bottom"]),
    ("RandomCrop", (32,), {"padding_mode": "wrap"}, ["padding_mode is 'wrap'", "'reflect'"]),
    ("RandomZoomOut", (), {"side_range": (0.5, 2.0)}, ["side_range[0] is 0.5", "1 to 100"]),
    ("RandomIoUCrop", (0.9, 0.5), {}, ["max_scale is 0.5", "0.9 to 1"]),
    ("RandomIoUCrop", (), {"sampler_options": []}, ["sampler_options is []"]),
    ("RandomIoUCrop", (), {"sampler_options": [-1.0]}, ["sampler_options[0] is -1.0"]),
    ("RandomIoUCrop", (), {"trials": 0}, ["trials is 0"]),
    ("FixedSizeCrop", (0,), {}, ["size is 0"]),
    ("RandomPerspective", (1.5,), {}, ["distortion_scale is 1.5"]),
    ("ElasticTransform", (-1.0,), {}, ["alpha is -1.0"]),
    ("ColorJitter", (-0.1,), {}, ["brightness is -0.1"]),
    ("ColorJitter", ("strong",), {}, ["brightness is 'strong'"]),
    ("ColorJitter", (0, 0, 0, 0.6), {}, ["hue is 0.6", "0 to 0.5"]),
    ("ColorJitter", (0, 0, (1.5, 0.5)), {}, ["saturation is (1.5, 0.5)"]),
    ("Grayscale", (2,), {}, ["num_output_channels is 2", "1 or 3"]),
    ("RandomPosterize", (9,), {}, ["bits is 9"]),
    ("RandomPosterize", (4.0,), {}, ["bits is 4.0", "whole number"]),
    ("RandomSolarize", (300,), {}, ["threshold is 300"]),
    ("GaussianBlur", (4,), {}, ["kernel_size is 4", "odd"]),
    ("GaussianBlur", (3, (2.0, 1.0)), {}, ["sigma is (2.0, 1.0)"]),
    ("GaussianNoise", (), {"sigma": -1}, ["sigma is -1"]),
    ("JPEG", (0,), {}, ["quality is 0", "1 to 100"]),
    ("JPEG", ((90, 30),), {}, ["quality is (90, 30)"]),
    ("RandomErasing", (), {"scale": (0.1, 1.1)}, ["scale[1] is 1.1"]),
    ("RandomErasing", (), {"value": "noise"}, ["value is 'noise'", "'random'"]),
    ("RandomErasing", (), {"count": 0}, ["count is 0"]),
    ("AutoAugment", ("imagenet21k",), {}, ["policy is 'imagenet21k'", "'imagenet', 'cifar10', 'svhn'"]),
    ("RandAugment", (2, 31), {}, ["magnitude is 31", "0 to 30"]),
    ("AugMix", (11,), {}, ["severity is 11", "1 to 10"]),
    ("RandomResize", (240, 240), {}, ["max_size is 240", "241 to 65536"]),
    ("RandomQuarterTurn", ((4,),), {}, ["turns[0] is 4", "0 to 3"]),
    ("TimmAugment", (9,), {}, ["config is 9", "rand-m9-mstd0.5-inc1"]),
    ("TimmAugment", ("random-m9",), {}, ["config is 'random-m9'", "begins with rand, augmix, original"]),
    ("TimmAugment", ("rand-m9-x3",), {}, ["'x3' is none of its sections", "mstd"]),
    ("TimmAugment", ("3a",), {"interpolation": "lanczos"}, ["interpolation is 'lanczos'"]),
    ("RandomApply", ([],), {}, ["transforms is []", "at least one"]),
    ("RandomChoice", ([transforms.RandomInvert()], [1, 2]), {}, ["p is [1, 2]", "each of the 1"]),
    ("RandomChoice", ([transforms.RandomInvert()], [0]), {}, ["p is [0]", "above 0"]),
    ("Compose", (transforms.RandomInvert(),), {}, ["transforms is", "list of operations"]),
    ("Compose", ([transforms.RandomInvert(), print],), {}, ["transforms[1] is", "tarflume.Apply"]),
    ("Compose", ([v2.RandomInvert()],), {}, ["transforms[0] is", "from_torchvision"]),
]  # fmt: skip


@pytest.mark.parametrize("case", WRONG, ids=repr)
def test_an_error_names_the_operation_the_argument_and_the_value(
    case: tuple[str, tuple[Any, ...], dict[str, Any], list[str]],
) -> None:
    name, arguments, words, texts = case
    with pytest.raises(UsageError) as error:
        getattr(transforms, name)(*arguments, **words)
    assert str(error.value).startswith(f"{name}: ")
    for text in texts:
        assert text in str(error.value)


def test_every_operation_is_documented_with_an_example_that_runs() -> None:
    for name in transforms.__all__:
        member = getattr(transforms, name)
        if not (inspect.isclass(member) and issubclass(member, transforms.Operation)):
            continue
        examples = [line.strip() for line in (member.__doc__ or "").splitlines() if line.startswith("        transforms.")]
        assert examples or name in ("Operation", "Compose"), name
        for example in examples:
            if "shards/" not in example:
                eval(example, {"transforms": transforms})
