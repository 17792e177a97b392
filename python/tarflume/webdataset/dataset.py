"""`WebDataset`: the first stages of a pipeline, from the list of shards to samples."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from ..errors import UsageError
from . import filters
from .allowing import allowed
from .fluent import FluidInterface
from .handlers import Handler, reraise_exception
from .shardlists import ResampledShards, SimpleShardList, Urls, non_empty, single_node_only, split_by_worker

__all__ = ["WebDataset"]

Splitter = Callable[[Iterable[Any]], Iterator[Any]]


class WebDataset(FluidInterface):
    """Samples of tars as dicts: `__key__`, `__url__`, `__local_path__`, and bytes by extension in lower case.

    urls: text with braces and `::` ("a/{000..765}.tar::s3://b/{000..099}.tar"), a folder, or a list of shards. Shards
        are files, or URLs of S3, Google Cloud, Azure, the Hugging Face Hub (`hf://datasets/...`) and web servers. Tars
        may be compressed with gzip or Zstandard.
    handler: handles errors: one of the handlers of `tarflume.webdataset`, or a function.
    resampled: draws shards with replacement, without end.
    shardshuffle: the number of shards in the shuffle buffer; False or 0 for none. seed: of an order that is the same in
        every pass. detshuffle: uses another order in each pass.
    nodesplitter, workersplitter: select the shards of this rank and of this worker.
    select_files, rename_files: select parts by their names, and rename them.
    empty_check: raises an error if there is no sample.
    allow: unsafe operations to allow: "pickle" (runs code that is stored in shards), "pipe" (runs commands in
        `urls`). `TARFLUME_WEBDATASET_ALLOW=pickle,pipe` in the environment allows them for
        programs without `allow=`.
    memory_limit: bytes that reading may use, 1 GiB by default; a sample may use an eighth. At most 64 MiB of samples
        wait for the caller.
    storage: how the stores of URLs are reached, as for `tarflume.Dataset`; by default, as the environment says. Up to 32
        MiB of a shard are fetched ahead, beside `memory_limit`.
    ignore_zeros: reads on behind the end marker of a tar, for tars that were joined (`cat a.tar b.tar`). By default more
        than zeros there is an error after the last sample before it.
    """

    def __init__(
        self,
        urls: Urls,
        handler: Handler = reraise_exception,
        mode: str | None = None,
        resampled: bool = False,
        repeat: bool = False,
        shardshuffle: int | bool | None = None,
        cache_size: int = -1,
        cache_dir: str | None = None,
        url_to_name: Any = None,
        detshuffle: bool = False,
        nodesplitter: Splitter | None = single_node_only,
        workersplitter: Splitter | None = split_by_worker,
        select_files: Callable[[str], bool] | None = None,
        rename_files: Callable[[str], str] | None = None,
        empty_check: bool = True,
        verbose: bool = False,
        seed: Any = None,
        *,
        allow: Collection[str] = (),
        memory_limit: int | None = None,
        storage: Mapping[str, object] | None = None,
        ignore_zeros: bool = False,
    ) -> None:
        super().__init__()
        self.allow = allowed(allow)
        self.seed = os.environ.get("WDS_SEED", random.randint(0, 1_000_000)) if seed is None else seed
        if (cache_dir is not None or "WDS_CACHE" in os.environ) and cache_size != 0:
            warnings.warn("tarflume.webdataset has no cache of shards: each pass reads them from their place", stacklevel=2)
        if repeat:
            warnings.warn("WebDataset(repeat=...) does nothing, as in webdataset: call .repeat()", stacklevel=2)
        if resampled or mode == "resampled":
            self.append(ResampledShards(urls))
        elif mode is None:
            self.append(SimpleShardList(urls))
        else:
            raise UsageError(f'mode={mode!r} is not known; there is "resampled"')
        for splitter in (nodesplitter, workersplitter):
            if splitter:
                self.append(splitter)
        self._mix(100 if shardshuffle is True else shardshuffle, detshuffle)
        reading = {"handler": handler, "select_files": select_files, "rename_files": rename_files}
        limits = {"allow": self.allow, "memory_limit": memory_limit, "storage": storage}
        limits["ignore_zeros"] = ignore_zeros
        self.append(filters.tarfile_to_samples(**reading, **limits))
        if empty_check:
            self.append(non_empty)

    def _mix(self, size: int | None, anew: bool) -> None:
        if size is None:
            warnings.warn(
                "WebDataset(shardshuffle=None) does not mix shards: give False or a number of shards", stacklevel=3
            )
        elif size and anew:
            self.append(filters.detshuffle(size, seed=int(self.seed)))
        elif size:
            self.append(filters.shuffle(size, seed=self.seed))
