"""For timm: `create_loader` over shards, with the arguments of `timm.data.create_loader`.

    from tarflume.timm import create_loader          # was: from timm.data import create_loader

    loader = create_loader("shards/", input_size=(3, 224, 224), batch_size=256, is_training=True,
                           auto_augment="rand-m9-mstd0.5-inc1", re_prob=0.25, use_prefetcher=False)
    for input, target in loader:                     # float32 [256, 3, 224, 224], int64 [256]
        input, target = mixup_fn(input, target)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _core
from .errors import UsageError

if TYPE_CHECKING:
    import torch as _torch

    from .torch import Loader

__all__ = ["create_loader"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: About worker processes, of which there are none: threads make the batches.
_OF_WORKERS = ("num_workers", "persistent_workers", "use_multi_epochs_loader", "worker_seeding")

#: Arguments that change more than a transform, with their values that change nothing.
_ABSENT: Mapping[str, Any] = {
    "num_aug_repeats": 0, "num_aug_splits": 0, "re_split": False, "tf_preprocessing": False, "input_size_choices": None,
}  # fmt: skip

#: Arguments of `create_loader` that `create_transform` takes by the same names.
_OF_TRANSFORMS = (
    "no_aug", "re_prob", "re_mode", "re_count", "train_crop_mode", "scale", "ratio", "hflip", "vflip", "color_jitter",
    "color_jitter_prob", "grayscale_prob", "gaussian_blur_prob", "auto_augment", "interpolation", "mean", "std", "crop_pct",
    "crop_mode", "crop_border_pixels",
)  # fmt: skip


def create_loader(
    shards: _core.Shards,
    input_size: int | tuple[int, int] | tuple[int, int, int],
    batch_size: int,
    is_training: bool = False,
    *,
    label: str | _core.Json = "/class",
    seed: int = 42,
    use_prefetcher: bool = True,
    collate_fn: Any = None,
    distributed: bool = False,
    device: _torch.device | str = "cuda",
    img_dtype: _torch.dtype | None = None,
    fp16: bool = False,
    pin_memory: bool = False,
    settings: Mapping[str, Any] | None = None,
    **theirs: Any,
) -> Loader:
    """A `tarflume.torch.Loader` of pairs of pictures and labels, as the loader that timm makes of the same arguments.

    Pictures are normalized, `[batch_size, channels, height, width]`. The transform is the one of
    `timm.data.create_transform`, converted by `tarflume.transforms.from_timm`. In training the order is
    `shuffle="full"` with `seed`, and a last batch that is not full is left out.

    - `label`: of `tarflume.Loader`. `settings`: more of its settings, such as `{"memory_limit": 4 << 30}`.
    - `use_prefetcher`: batches are on `device`, if that is a GPU. Without it they are in host memory.
    - `collate_fn`: a `timm.data.FastCollateMixup`; targets are then float32 `[batch_size, num_classes]`. A
      `timm.data.Mixup` is for `use_prefetcher=False`, and is called with each batch, as in timm.
    - `distributed`: the rank is that of the process group; without it there is one rank.
    - What timm has for worker processes (`num_workers=` and others) has no effect.

    Raises:
        ModuleNotFoundError: timm or PyTorch is not installed.
        UsageError: an argument that is not known, one of `num_aug_repeats`, `num_aug_splits`, `re_split`,
            `tf_preprocessing` and `input_size_choices`, or a transform that is not converted.
    """
    from timm.data.mixup import FastCollateMixup
    from timm.data.transforms_factory import create_transform

    from .torch import Loader
    from .transforms import from_timm
    from .transforms.mix import Mix

    _refuse(theirs)
    words = {name: theirs[name] for name in _OF_TRANSFORMS if name in theirs}
    words.setdefault("color_jitter", 0.4)
    made = create_transform(input_size, is_training=is_training, use_prefetcher=False, **words)
    ours: dict[str, Any] = {"image": from_timm(made).image(dtype=_dtype(img_dtype, fp16)), "label": label}
    ours |= {"shuffle": "full", "seed": seed} if is_training else {"shuffle": "none"}
    ours |= {"batch_size": batch_size, "drop_last": is_training, "deliver": "tuple", "pin_memory": pin_memory}
    if collate_fn is not None:
        if not isinstance(collate_fn, FastCollateMixup):
            raise UsageError(
                f"collate_fn={type(collate_fn).__name__} is not known: give a timm.data.FastCollateMixup, or call a "
                "function with each batch that the loader yields"
            )
        ours |= {"mix": Mix.from_timm(collate_fn), "collate": _with_targets}
    if use_prefetcher and str(device).startswith("cuda"):
        ours |= {"device": str(device)}
    if not distributed:
        ours |= {"rank": 0, "world_size": 1}
    return Loader(shards, **(ours | dict(settings or {})))


def _refuse(theirs: Mapping[str, Any]) -> None:
    """
    Raises:
        UsageError: an argument is none of `timm.data.create_loader`, or has no counterpart.
    """
    for name, value in theirs.items():
        if name in _ABSENT and value != _ABSENT[name]:
            raise UsageError(f"tarflume.timm.create_loader has no {name}=: leave it out, or use timm.data.create_loader")
        if name not in (*_ABSENT, *_OF_WORKERS, *_OF_TRANSFORMS):
            raise UsageError(
                f"tarflume.timm.create_loader has no {name}=: settings of tarflume.Loader are in settings={{{name!r}: ...}}"
            )


def _dtype(img_dtype: _torch.dtype | None, fp16: bool) -> str:
    """
    Raises:
        UsageError: pictures have no such type.
    """
    name = "float16" if fp16 else str(img_dtype or "float32").removeprefix("torch.")
    if name not in ("float32", "float16", "bfloat16"):
        raise UsageError(f"img_dtype={img_dtype} is not known; there are torch.float32, torch.float16 and torch.bfloat16")
    return name


def _with_targets(columns: tuple[Any, ...]) -> tuple[Any, Any]:
    """Pictures and soft targets, of pictures, labels and soft targets."""
    image, _, target = columns
    return image, target
