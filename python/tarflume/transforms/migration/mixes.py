"""MixUp and CutMix of timm and of torchvision, as the arguments of `tarflume.Mix`."""

from __future__ import annotations

from typing import Any

from ...errors import UsageError

__all__ = ["of_timm", "of_torchvision"]


def of_timm(mixup: Any) -> dict[str, Any]:
    """The arguments for a `timm.data.Mixup`.

    Raises:
        UsageError: it is of another class, or has a setting without a counterpart.
    """
    if not any(kind.__module__.startswith("timm.") and kind.__name__ == "Mixup" for kind in type(mixup).__mro__):
        raise UsageError(f"Mix.from_timm takes a timm.data.Mixup, not {mixup!r}")
    if mixup.cutmix_minmax is not None:
        raise _refused("from_timm", "Mixup", "cutmix_minmax", mixup.cutmix_minmax, "write cutmix_alpha=1.0")
    if not mixup.correct_lam:
        advice = "leave it out: the weight is the share of the pixels that stay"
        raise _refused("from_timm", "Mixup", "correct_lam", mixup.correct_lam, advice)
    return {
        "mixup_alpha": float(mixup.mixup_alpha) or None,
        "cutmix_alpha": float(mixup.cutmix_alpha) or None,
        "prob": float(mixup.mix_prob),
        "switch_prob": float(mixup.switch_prob),
        "mode": mixup.mode,
        "partner": "mirrored",
        "num_classes": mixup.num_classes,
        "label_smoothing": float(mixup.label_smoothing),
    }


def of_torchvision(transform: Any) -> dict[str, Any]:
    """The arguments for a `v2.MixUp`, a `v2.CutMix`, or a `v2.RandomChoice` of both.

    Raises:
        UsageError: it is of another class, or has a setting without a counterpart.
    """
    steps = transform.transforms if _is(transform, "RandomChoice") else [transform]
    names = [type(step).__name__ for step in steps]
    if sorted(names) not in (["MixUp"], ["CutMix"], ["CutMix", "MixUp"]) or not all(map(_is_mix, steps)):
        raise UsageError(
            "Mix.from_torchvision takes v2.MixUp, v2.CutMix or v2.RandomChoice of one of each, not "
            f"{' '.join(repr(transform).split())}: apply others to the batches"
        )
    classes = {step.num_classes for step in steps}
    if None in classes or len(classes) > 1:
        advice = "write the number of classes in each, such as v2.MixUp(num_classes=1000)"
        raise _refused("from_torchvision", " and ".join(names), "num_classes", sorted(map(str, classes)), advice)
    by_name = dict(zip(names, steps, strict=True))
    arguments: dict[str, Any] = {"num_classes": classes.pop(), "partner": "previous"}
    for name, word in (("MixUp", "mixup_alpha"), ("CutMix", "cutmix_alpha")):
        if name in by_name:
            arguments[word] = float(by_name[name].alpha)
    if len(steps) == 2 and transform.p is not None:
        arguments["switch_prob"] = float(transform.p[names.index("CutMix")] / sum(transform.p))
    return arguments


def _is(transform: Any, name: str) -> bool:
    kind = type(transform)
    return kind.__name__ == name and kind.__module__.startswith("torchvision.")


def _is_mix(step: Any) -> bool:
    return _is(step, "MixUp") or _is(step, "CutMix")


def _refused(function: str, of: str, name: str, value: object, advice: str) -> UsageError:
    return UsageError(f"Mix.{function}: {of} has {name}={value!r}, which has no counterpart in tarflume.Mix: {advice}")
