"""`tokens`: text and conversations become token ids in shards."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from . import _core
from .arguments import Path, checked, paths_of
from .progress import Progress, finished
from .results import Built


@checked("tarflume.pack.tokens")
def tokens(
    src: Path | Sequence[Path],
    out: Path,
    *,
    length: int | None = None,
    tokenizer: Path | None = None,
    encode: Callable[[list[str]], Iterable[Any]] | None = None,
    fingerprint: str | None = None,
    vocabulary: int | None = None,
    messages: str | None = None,
    prompt: str | None = None,
    response: str | None = None,
    alpaca: bool = False,
    tools: str | None = None,
    chat_template: Path | None = None,
    template_name: str | None = None,
    template_variables: Mapping[str, Any] | None = None,
    template_date: str | None = None,
    mask_prompt: bool | Literal["all", "last"] = False,
    pack: Literal["bfd", "concat", "rows"] | None = None,
    max_length: int | None = None,
    truncate: Literal["right", "left", "error"] = "right",
    drop_longer: bool = False,
    min_length: int = 0,
    window: int | None = None,
    eos: int | str | None = None,
    pad: int | str | None = None,
    where: str | None = None,
    dtype: Literal["uint16", "uint32"] | None = None,
    text_field: str = "text",
    text_part: str = "txt",
    per_line: bool = False,
    special_tokens: bool = False,
    split_special_tokens: bool = False,
    bad_budget: int = 0,
    cache: Path | None = None,
    unit: int | str | None = None,
    shard_size: int | str | None = None,
    shard_samples: int | None = None,
    prefix: str = "shard",
    fsync: bool = True,
    jobs: int | None = None,
    fresh: bool = False,
    ignore_zeros: bool = False,
    compress: str | None = None,
    progress: Progress = None,
) -> Built:
    """Tokenizes text or conversations, and packs them into blocks of `length` ids, or into rows.

    - `src`: files and folders of .jsonl, .txt (both also .gz and .zst), .parquet, .arrow and .tar, or "megatron:PREFIX", which
      needs no tokenizer. `text_field`: the field of JSON, or the column of Parquet; `text_part`: the part of a tar's
      samples; `per_line`: each line of a text file is a document. `bad_budget`: so many documents that cannot be read
      are left out, and listed in `out/.tokens/problems.jsonl`; one more raises.
    - `tokenizer`: a tokenizer.json of Hugging Face tokenizers. `special_tokens`: adds those of its post processor.
      `split_special_tokens`: special tokens in the text, such as "<|endoftext|>", are text.
    - `encode`: any function from a list of texts to as many lists of ids (or arrays, or objects with `ids`), such as
      `lambda texts: tok(texts, add_special_tokens=False)["input_ids"]`. `fingerprint`: a name for the function and its
      settings, under which ids are cached. `vocabulary`: the number of ids of the model, by default that of
      `tokenizer`; other ids raise. Without it, the largest id that appears decides the type.
    - Conversations are rows with `messages` (the field of a list with role and content, or with from and value), with
      `prompt` and `response` (fields with a text or a list of messages), or with the fields of `alpaca`; `tools`: the
      field of the tools. `chat_template`: a file of Jinja, a tokenizer_config.json, or a folder with one; by default
      the folder of `tokenizer`. `template_name`: one of several templates; `template_variables`: what the template is
      given beside the conversation; `template_date`: the date that it sees, such as "2026-11-29". `mask_prompt`: only
      what the assistant writes has loss, in all its turns (True or "all") or in the last one ("last").
    - `pack`: "bfd" (best fit: splits only documents longer than a block, over a `window` of 8,192 documents; the
      default with `length`), "concat", or "rows" (each sample is one document, with its length and without padding;
      the default of conversations without `length`). `max_length`: the most ids of a document; of a longer one the end
      is cut (`truncate="right"`) or the beginning ("left"), it raises ("error"), or with `drop_longer` it is left out.
      `min_length`: documents with fewer ids are left out. `eos`: the token behind each document that does not end with it, an id or a token's text. `pad`: the token that fills up a block;
      by default that of `eos`, or 0. `where`: a condition such as "len(ids) >= 10". `dtype`: the type of ids.
    - `cache`: the folder of ids, which several data sets may share; by default `out/.tokens/cache`. `unit`: the bytes of
      text that are tokenized and cached together, by default "2MiB".
    - `shard_size`, `shard_samples`, `prefix`, `compress`, `jobs`, `progress`: as for `build`. `fsync`: waits until shards are on
      disk. `fresh`: removes an unfinished data set of another command in `out`. `ignore_zeros`: as for `index`.

    A sample has `ids.npy`, `cu_seqlens.npy` and `json`; `tarflume.token_columns` reads it. Text is tokenized once: a
    rerun or another length tokenizes nothing, a corpus that has grown only what is new.

    With `mask_prompt` a sample has `loss.npy`, which `tarflume.Tokens(..., "labels")` follows; see docs/FINE-TUNING.md.

    Returns the manifest with `documents`, `empty`, `filtered`, `truncated`, `longer`, `shorter`, `without_loss`,
    `loss_tokens`, `packing`, `bad`, `ended` (documents that ended with `eos` before),
    `special_in_text` (special tokens in texts), `doubled` (documents that begin or end with a special token twice),
    `tokenizer` (by what texts became ids: the fast path, or the library `tokenizers` with the reason), `text_bytes`,
    `tokenized_bytes`, `units`, `tokenized_units`, `tokens`, `length`, `dtype`, `pad`, `published_before`, `fill` (the share of ids that are no padding, from 0 to 1) and `notices`, each of which is also a warning. Raises as
    `build`.
    """
    work = _core.pack_tokens(
        paths_of(src),
        os.fspath(out),
        length,
        chats=_core.Chats(
            messages=messages,
            prompt=prompt,
            response=response,
            alpaca=alpaca,
            tools=tools,
            chat_template=None if chat_template is None else os.fspath(chat_template),
            template_name=template_name,
            template_variables=None if template_variables is None else json.dumps(template_variables),
            template_date=template_date,
            mask_prompt="all" if mask_prompt is True else mask_prompt or None,
        ),
        lengths=_core.FittedLengths(
            max_length=max_length, truncate=truncate, drop_longer=drop_longer, min_length=min_length
        ),
        tokenizer=None if tokenizer is None else os.fspath(tokenizer),
        encode=encode,
        fingerprint=fingerprint,
        vocabulary=vocabulary,
        pack=pack,
        window=window,
        eos=None if eos is None else str(eos),
        pad=None if pad is None else str(pad),
        condition=where,
        dtype=dtype,
        text_field=text_field,
        text_part=text_part,
        per_line=per_line,
        special_tokens=special_tokens,
        split_special_tokens=split_special_tokens,
        bad_budget=bad_budget,
        cache=None if cache is None else os.fspath(cache),
        unit=unit,
        shard_size=shard_size,
        shard_samples=shard_samples,
        prefix=prefix,
        fsync=fsync,
        jobs=jobs,
        fresh=fresh,
        ignore_zeros=ignore_zeros,
        compress=compress,
    )
    done = finished(work, progress)
    for notice in done["report"]["notices"]:
        warnings.warn(notice, stacklevel=2)
    return Built(done["report"] | {"fill": done["fill"], "problems": []} | done["manifest"])
