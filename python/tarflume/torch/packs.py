"""Bounds of documents in packs of tokens."""

from __future__ import annotations

import torch

__all__ = ["cu_seqlens"]


def cu_seqlens(segment_ids: torch.Tensor) -> torch.Tensor:
    """The bounds of the documents of a batch of packs: int32, from 0 to the number of all tokens, on the device of `segment_ids`.

        bounds = tarflume.torch.cu_seqlens(batch["segment_ids"])
        longest = int(bounds.diff().max())
        flash_attn_varlen_func(q, k, v, bounds, bounds, longest, longest, causal=True)

    `segment_ids`, [packs, tokens], has the number of the document of each token from 1, and 0 for padding, which counts as
    one document at the end of its pack. Queries and keys are those of the batch as one row of packs * tokens.
    """
    begins = torch.ones_like(segment_ids, dtype=torch.bool)
    begins[:, 1:] = segment_ids[:, 1:] != segment_ids[:, :-1]
    starts = begins.flatten().nonzero().flatten().to(torch.int32)
    end = torch.tensor([segment_ids.numel()], dtype=torch.int32, device=segment_ids.device)
    return torch.cat([starts, end])
