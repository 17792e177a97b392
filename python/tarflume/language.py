"""Columns of token blocks for language models."""

from __future__ import annotations

import warnings
from typing import Literal

from ._core import Tokens

__all__ = ["token_columns"]


def __dir__() -> list[str]:
    return sorted(__all__)


def token_columns(
    length: int,
    *,
    labels: bool = False,
    position_ids: bool = False,
    segment_ids: bool = False,
    attention_mask: bool = False,
    dtype: Literal["int64", "int32"] = "int64",
    padding: int = 0,
    pad: Literal["length", "longest"] = "length",
    multiple_of: int = 1,
) -> dict[str, Tokens]:
    """The columns of a data set that `tarflume.pack.tokens` made, under the names of Hugging Face's models.

        columns = tarflume.token_columns(2048, labels=True, position_ids=True)
        loader = tarflume.torch.Loader("tokens/", batch_size=8, shuffle="full", columns=columns)
        for batch in loader:
            loss = model(**{name: batch[name] for name in columns}, use_cache=False).loss

    With `position_ids`, `use_cache=False` and no `attention_mask`, models of transformers keep the documents of a row
    apart; otherwise each document sees those before it.

    All are arrays [batch_size, length] of `dtype` ("int64" or "int32"):

    - `input_ids`, always.
    - `labels`: for models that shift them: the ids, with -100 in the padding and at the first id of each document.
    - `position_ids`: begin at 0 with each document.
    - `segment_ids`: the number of the document from 1, 0 for padding; for masks between documents.
    - `attention_mask`: 1 for ids, 0 for padding. It is for rows of one document, and warns: it says nothing about the
      documents of a row. With `pad="longest"` there is no warning.

    `length`: that of the data set. `padding`: the id behind the last one of an array that is shorter. `pad="longest"`:
    for rows of one document, as `--pack rows` makes them; each batch is as long as its longest row, rounded up to
    `multiple_of`, and `length` is the limit of a row.

        columns = tarflume.token_columns(2048, labels=True, attention_mask=True, pad="longest", multiple_of=8)
        loader = tarflume.torch.Loader("sft/", batch_size=8, shuffle="full", columns=columns)
        for batch in loader:
            loss = model(**{name: batch[name] for name in columns}).loss
    """
    if attention_mask and pad == "length":
        warnings.warn(
            "attention_mask=True gives 1 for ids and 0 for padding, with which models let the documents of a row see "
            "each other. For rows of several documents, leave it out and give position_ids=True, and the model "
            "use_cache=False; or make a mask of segment_ids. For rows of one document, give "
            'pad="longest"',
            stacklevel=2,
        )
    wanted = {
        "input_ids": "ids",
        "labels": "labels" if labels else None,
        "position_ids": "position_ids" if position_ids else None,
        "segment_ids": "segment_ids" if segment_ids else None,
        "attention_mask": "mask" if attention_mask else None,
    }
    return {
        name: Tokens(length, kind, dtype=dtype, padding=padding, pad=pad, multiple_of=multiple_of)
        for name, kind in wanted.items()
        if kind is not None
    }
