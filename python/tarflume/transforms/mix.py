"""`Mix`: MixUp and CutMix of the rows of a batch, for `tarflume.Loader(mix=...)`."""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, asdict, dataclass, fields
from typing import Any, Literal

from .arguments import Arguments
from .migration.mixes import of_timm, of_torchvision

__all__ = ["Mix"]

#: The values of `mode=`, `partner=` and `targets=`.
_MODES = ("batch", "pair", "elem")
_PARTNERS = ("previous", "mirrored")
_TARGETS = ("soft", "pair")


@dataclass(frozen=True, repr=False)
class Mix:
    """MixUp and CutMix of each batch, with the arguments of timm's `Mixup`. With both alphas each draw takes one of them.

        mix = tarflume.Mix(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=1000, label_smoothing=0.1)
        loader = tarflume.Loader("shards/", batch_size=256, image=recipe, label="/class", mix=mix)
        for batch in loader:
            batch["image"], batch["target"]          # uint8 [256, 224, 224, 3], float32 [256, 1000]

    Rows are mixed in Rust, in their places, before the batch is delivered. A row that is padding, or a substitute for a bad
    sample, is mixed with no row. What is drawn depends on seed, epoch and the position of the batch: not on threads, and
    not on where a job was resumed.

    Attributes:
        image, label: the column of pictures, and that of the numbers of classes.
        mixup_alpha: MixUp: a row keeps a share from Beta(alpha, alpha) of itself.
        cutmix_alpha: CutMix: a rectangle of a row is that of its partner; its area is a share from Beta(alpha, alpha).
        prob: the probability that a draw mixes at all.
        switch_prob: with both, the probability of CutMix.
        mode: "batch" has one draw for a batch, "pair" one for two rows that are mixed with each other, "elem" one for each
            row.
        partner: "previous" is the row before, as in torchvision, and the default of "batch"; "mirrored" is the row with the
            same number from the end, as in timm, and the default of the other modes.
        num_classes: of soft targets.
        label_smoothing: the weight that soft targets give to all classes together.
        targets: "soft" adds the column `target`, float32 `[batch, num_classes]`. "pair" adds the labels of the row and of
            its partner, `label_a` and `label_b`, and the weight of the row, `lam`.
        target: the name of the column of soft targets.
    """

    image: str = "image"
    label: str = "label"
    _: KW_ONLY
    mixup_alpha: float | None = None
    cutmix_alpha: float | None = None
    prob: float = 1.0
    switch_prob: float = 0.5
    mode: Literal["batch", "pair", "elem"] = "batch"
    partner: Literal["previous", "mirrored"] | None = None
    num_classes: int | None = None
    label_smoothing: float = 0.0
    targets: Literal["soft", "pair"] = "soft"
    target: str = "target"

    def __post_init__(self) -> None:
        check = Arguments("Mix")
        words = {name: self._name(check, name) for name in ("image", "label", "target")}
        alphas = {name: self._alpha(check, name) for name in ("mixup_alpha", "cutmix_alpha")}
        shares = {name: check.probability(name, getattr(self, name)) for name in ("prob", "switch_prob", "label_smoothing")}
        kinds = {"mode": check.word("mode", self.mode, _MODES), "targets": check.word("targets", self.targets, _TARGETS)}
        self.__dict__.update(words | alphas | shares | kinds)
        if self.mixup_alpha is None and self.cutmix_alpha is None:
            raise check.wrong("mixup_alpha", None, "and cutmix_alpha is None, too: give one or both, such as mixup_alpha=0.2")
        if self.partner is not None:
            check.word("partner", self.partner, _PARTNERS)
        if self.mode == "pair" and self.partner == "previous":
            raise check.wrong("partner", self.partner, 'rows are pairs in mode="pair": write partner="mirrored"')
        self._check_targets(check)

    @staticmethod
    def _named(value: object) -> bool:
        return isinstance(value, str) and value != ""

    def _name(self, check: Arguments, name: str) -> str:
        value = getattr(self, name)
        if not self._named(value):
            raise check.wrong(name, value, "it is the name of a column")
        return str(value)

    def _alpha(self, check: Arguments, name: str) -> float | None:
        value = getattr(self, name)
        kind = "MixUp" if name == "mixup_alpha" else "CutMix"
        if value is None:
            return None
        if value == 0 and not isinstance(value, bool):
            raise check.wrong(name, value, f"an alpha is above 0, and None turns {kind} off")
        return check.number(name, value, 0.0, above=True)

    def _check_targets(self, check: Arguments) -> None:
        if self.num_classes is not None:
            self.__dict__["num_classes"] = check.whole("num_classes", self.num_classes, 1)
        elif self.targets == "soft":
            advice = 'soft targets need it, such as num_classes=1000; targets="pair" has labels and the weight instead'
            raise check.wrong("num_classes", None, advice)
        if self.targets == "pair" and self.label_smoothing:
            advice = 'labels of targets="pair" are not smoothed: give it to the loss'
            raise check.wrong("label_smoothing", self.label_smoothing, advice)

    @classmethod
    def from_timm(cls, mixup: Any, image: str = "image", label: str = "label") -> Mix:
        """The settings of a `timm.data.Mixup` or `FastCollateMixup`.

            mix = tarflume.Mix.from_timm(timm.data.Mixup(0.8, 1.0, label_smoothing=0.1, num_classes=1000))
        """
        return cls(image, label, **of_timm(mixup))

    @classmethod
    def from_torchvision(cls, transform: Any, image: str = "image", label: str = "label") -> Mix:
        """The settings of torchvision's `v2.MixUp`, `v2.CutMix`, or `v2.RandomChoice` of both.

            theirs = v2.RandomChoice([v2.CutMix(num_classes=1000), v2.MixUp(num_classes=1000, alpha=0.2)])
            mix = tarflume.Mix.from_torchvision(theirs)
        """
        return cls(image, label, **of_torchvision(transform))

    def to_json(self) -> str:
        """The settings as JSON, as the Rust crate reads them."""
        return json.dumps({name: value for name, value in asdict(self).items() if value is not None})

    def __repr__(self) -> str:
        given = [field for field in fields(self) if getattr(self, field.name) != field.default]
        return f"tarflume.Mix({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in given)})"
