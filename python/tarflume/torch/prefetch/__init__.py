"""`Prefetcher`, and what it is made of: a reader in a thread, a channel, the copies, and the calls of PyTorch."""

from __future__ import annotations

from .prefetcher import Prefetcher

__all__ = ["Prefetcher"]
