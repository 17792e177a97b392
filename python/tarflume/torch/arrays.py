"""`ArrayLoader`: a `Loader` whose samples are rows of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from .. import _core
from ..errors import UsageError
from .loader import Loader

__all__ = ["ArrayLoader"]


class ArrayLoader(Loader):
    """Yields batches of rows of one or several `tarflume.ArrayDataset`s of equal length as dicts of tensors.

        loader = tarflume.torch.ArrayLoader(
            image=tarflume.ArrayDataset("train.h5", "/images"),
            label=tarflume.ArrayDataset("train.h5", "/labels"),
            batch_size=256, shuffle=True, seed=42, device="cuda",
        )
        for epoch in range(90):
            loader.set_epoch(epoch)
            for batch in loader:          # batch["image"]: uint8 [256, 224, 224, 3], batch["label"]: int64 [256]
                ...

    It is a `Loader`: states, epochs, ledgers, ranks, devices, transforms and statistics are those described there. The
    keywords whose values are arrays are the columns; all others are the settings of `Loader` and `tarflume.Loader` that
    are not for shards. A batch has the numbers of its rows as `"row"`, an int64 tensor in host memory, and no keys;
    `deliver="tuple"` leaves them out.

    A state belongs to arrays of the same types, shapes and numbers of rows, whose first, middle and last rows are the same.
    """

    _identity = "row"
    _instead = (
        "its threads already make batches, so iterate over the ArrayLoader itself, or put a tarflume.ArrayDataset into the "
        "DataLoader"
    )

    def __init__(
        self,
        *,
        pin_memory: bool = False,
        deliver: Literal["torch", "ring", "tuple", "dict"] = "torch",
        transform: Callable[[dict[str, Any]], Any] | None = None,
        collate: Callable[[Any], Any] | None = None,
        **arrays_and_settings: Any,
    ) -> None:
        arrays = {name: value for name, value in arrays_and_settings.items() if isinstance(value, _core.ArrayDataset)}
        settings = {name: value for name, value in arrays_and_settings.items() if name not in arrays}
        _check(settings)
        if not arrays:
            raise UsageError("an ArrayLoader needs an array: ArrayLoader(x=tarflume.ArrayDataset(path), batch_size=256)")
        super().__init__(
            arrays, pin_memory=pin_memory, deliver=deliver, transform=transform, collate=collate, **settings
        )


def _check(settings: dict[str, Any]) -> None:
    """
    Raises:
        UsageError: a value is an array in memory.
    """
    for name, value in settings.items():
        if getattr(value, "ndim", 0):
            raise UsageError(
                f"{name}= is a {type(value).__name__}, and an ArrayLoader takes arrays in files: save it with numpy.save "
                f"and give {name}=tarflume.ArrayDataset(path)"
            )
