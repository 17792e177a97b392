"""PyTorch computes in one thread here: the pictures are small, and threads would wait for each other."""

from __future__ import annotations

import importlib.util

if importlib.util.find_spec("torch") is not None:
    import torch

    torch.set_num_threads(1)
