"""`allowed`: what a program may do that is unsafe, named by a call or by the environment."""

from __future__ import annotations

import os
from collections.abc import Collection

from ..errors import UsageError

__all__ = ["VARIABLE", "allowed"]

#: What `allow=` may name.
UNSAFE = ("pickle", "pipe")

#: Names it for a whole program, whose code has no `allow=`: "pickle", "pipe" or "pickle,pipe".
VARIABLE = "TARFLUME_WEBDATASET_ALLOW"


def allowed(names: Collection[str] = ()) -> tuple[str, ...]:
    """`names`, and those that the environment's `TARFLUME_WEBDATASET_ALLOW` names."""
    said = (names,) if isinstance(names, str) else tuple(names)
    if unknown := [name for name in said if name not in UNSAFE]:
        raise UsageError(f"allow={unknown} is not known; there are {list(UNSAFE)}")
    by_environment = [name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]
    if unknown := [name for name in by_environment if name not in UNSAFE]:
        raise UsageError(f"{VARIABLE} names {unknown}, which is not known; there are {list(UNSAFE)}")
    return tuple(name for name in UNSAFE if name in said or name in by_environment)
