"""`diagnose`: measures where the time of a training step goes, for any loader, and suggests a change."""

from __future__ import annotations

from .measuring import diagnose
from .report import Diagnosis

__all__ = ["Diagnosis", "diagnose"]


def __dir__() -> list[str]:
    return sorted(__all__)
