"""torchvision's kernels for boxes, points and masks, called with the numbers of drawn actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torchvision.transforms.v2.functional as F
from elastic_field import displacement
from torchvision import tv_tensors
from torchvision.transforms.v2.functional import _geometry as G

torch.set_num_threads(1)
#: Pixels of pictures of some hundred pixels. torchvision multiplies by a ratio of single precision where a picture is resized.
TOLERANCE = 1e-4
Action = dict[str, Any]
Size = tuple[int, int]


def boxes_of(numbers: Any, size: Size, format: str = "xyxy") -> tv_tensors.BoundingBoxes:
    """Boxes of double precision, on a picture of this height and width."""
    count = {"xyxyxyxy": 8, "cxcywhr": 5, "xywhr": 5}.get(format, 4)
    data = torch.as_tensor(np.array(numbers, np.float64).reshape(-1, count))
    return tv_tensors.BoundingBoxes(data, format=format.upper(), canvas_size=size)


def points_of(numbers: Any, size: Size) -> tv_tensors.KeyPoints:
    return tv_tensors.KeyPoints(torch.as_tensor(np.array(numbers, np.float64)), canvas_size=size)


def mask_of(array: np.ndarray) -> tv_tensors.Mask:
    return tv_tensors.Mask(torch.from_numpy(array))


def moved(actions: list[Action], value: Any, fill: int = 0, given: dict[str, Any] | None = None) -> Any:
    """Boxes, points or a mask after the actions. `given` has the arguments of torchvision of an affine action, which has only
    the matrix."""
    outside = None
    for action in actions:
        ((name, numbers),) = action.items()
        if name == "keep_centers":
            outside = ~within(numbers, value) if isinstance(value, tv_tensors.BoundingBoxes) else None
            continue
        value = _moved(name, numbers, value, fill, given or {})
        if outside is not None:
            # As RandomIoUCrop marks them.
            value[outside] = 0
            outside = None
    return value


def within(numbers: dict[str, int], boxes: tv_tensors.BoundingBoxes) -> torch.Tensor:
    left, top = numbers["left"], numbers["top"]
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    return (left < x) & (x < left + numbers["width"]) & (top < y) & (y < top + numbers["height"])


def _moved(name: str, numbers: dict[str, Any], value: Any, fill: int, given: dict[str, Any]) -> Any:
    is_mask = isinstance(value, tv_tensors.Mask)
    filled = {"fill": fill} if is_mask else {}
    match name:
        case "crop":
            return F.crop(value, numbers["top"], numbers["left"], numbers["height"], numbers["width"])
        case "pad":
            mode = numbers["padding_mode"] if is_mask else "constant"
            return F.pad(value, numbers["padding"], padding_mode=mode, **filled)
        case "resize":
            return F.resize(value, numbers["size"])
        case "horizontal_flip":
            return F.horizontal_flip(value)
        case "vertical_flip":
            return F.vertical_flip(value)
        case "quarter_turn":
            return F.rotate(value, 90.0 * numbers["turns"], expand=True)
        case "affine" if "expand" in given:
            return F.rotate(value, **given, **filled)
        case "affine":
            return F.affine(value, **given, **filled)
        case "perspective":
            return F.perspective(value, None, None, coefficients=numbers["coefficients"], **filled)
        case "elastic":
            return F.elastic(value, displacement(numbers, *F.get_size(value)), **filled)
    return value


def affine_action(given: dict[str, Any], size: Size) -> Action:
    """The action of torchvision's `affine`, which has the inverse matrix that torchvision makes for a picture."""
    height, width = size
    center = given["center"] or [width / 2, height / 2]
    apart = [center[0] - width * 0.5, center[1] - height * 0.5]
    matrix = G._get_inverse_affine_matrix(apart, given["angle"], given["translate"], given["scale"], given["shear"])
    numbers = {"matrix": matrix, "size": list(size), "interpolation": "bilinear", "fill": [0, 0, 0]}
    return {"affine": numbers}


def same(found: Any, expected: Any, context: Any, tolerance: float = TOLERANCE) -> None:
    wanted = np.asarray(expected.as_subclass(torch.Tensor))
    assert np.asarray(found).shape == wanted.shape, context
    np.testing.assert_allclose(found, wanted, rtol=3e-7, atol=tolerance, err_msg=repr(context))
