"""What Accelerate learns of a `Loader`: where its epoch ends, and how many rows of the last batch are no repetition.

Accelerate's own loaders add themselves to its `GradientState` while they are iterated over. By it `accumulate()` finishes a
step at the end of an epoch, and `gather_for_metrics` cuts off rows that were repeated.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["gradient_state"]


def gradient_state() -> Any:
    """Accelerate's `GradientState`; None if no `Accelerator` was made in this process."""
    module = sys.modules.get("accelerate.state")
    if module is None or not module.GradientState._shared_state:
        return None
    return module.GradientState()
