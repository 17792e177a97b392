"""`allowed`: the unsafe operations that a call or the environment allows; `enforced`: whether none is."""

from __future__ import annotations

import importlib
import os
from collections.abc import Collection

from ..errors import UsageError

__all__ = ["VARIABLE", "allowed", "enforced"]

#: The values of `allow=`.
UNSAFE = ("pickle", "pipe")

#: Allows them for a program without `allow=`: "pickle", "pipe" or "pickle,pipe".
VARIABLE = "TARFLUME_WEBDATASET_ALLOW"


def allowed(names: Collection[str] = ()) -> tuple[str, ...]:
    """`names`, and those in the environment variable `TARFLUME_WEBDATASET_ALLOW`."""
    said = (names,) if isinstance(names, str) else tuple(names)
    if unknown := [name for name in said if name not in UNSAFE]:
        raise UsageError(f"allow={unknown} is not known; there are {list(UNSAFE)}")
    by_environment = [name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]
    if unknown := [name for name in by_environment if name not in UNSAFE]:
        raise UsageError(f"{VARIABLE} names {unknown}, which is not known; there are {list(UNSAFE)}")
    return tuple(name for name in UNSAFE if name in said or name in by_environment)


def enforced() -> bool:
    """Whether the program set `utils.enforce_security`, as programs of webdataset do: it forbids what `allow=` allows."""
    return bool(importlib.import_module(".utils", __package__).enforce_security)
