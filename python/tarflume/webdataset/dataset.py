"""`WebDataset`: shards, split and mixed, their samples, and the calls that follow."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
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

    urls: text with braces and `::` ("a/{000..765}.tar::b/{000..099}.tar"), a folder, or a list of shards. Tars may
        be packed by gzip or Zstandard.
    handler: what becomes of errors: one of `tarflume.webdataset`'s, or a function.
    resampled: draws shards with replacement, without end.
    shardshuffle: shards that are mixed at a time; False or 0 for none. seed: of that order, the same in every pass;
        detshuffle: of an order that is another in each pass.
    nodesplitter, workersplitter: which shards are this rank's and this worker's.
    select_files, rename_files: which parts to take by their names, and what to call them.
    empty_check: an error if there is no sample.
    allow: what is unsafe and wanted: "pickle" (runs what the shards' maker put into them), "pipe" (runs commands
        that `urls` names, and curl for `http:` and `https:`). `TARFLUME_WEBDATASET_ALLOW=pickle,pipe` in the
        environment names it for programs that have no `allow=`.
    memory: bytes that the reading may take, 1 GiB if nothing is said; a sample may take an eighth. 64 MiB of samples
        wait for the caller at most.
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
        memory: int | None = None,
    ) -> None:
        super().__init__()
        self.allow = allowed(allow)
        self.seed = os.environ.get("WDS_SEED", random.randint(0, 1_000_000)) if seed is None else seed
        if (cache_dir is not None or "WDS_CACHE" in os.environ) and cache_size != 0:
            warnings.warn("there is no cache of shards here: shards are read where they are, each time", stacklevel=2)
        if repeat:
            warnings.warn("WebDataset(repeat=...) does nothing, as ever: call .repeat()", stacklevel=2)
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
        self.append(filters.tarfile_to_samples(**reading, allow=self.allow, memory=memory))
        if empty_check:
            self.append(non_empty)

    def _mix(self, size: int | None, anew: bool) -> None:
        if size is None:
            warnings.warn(
                "WebDataset(shardshuffle=None) does not mix shards: say False or a number of shards", stacklevel=3
            )
        elif size and anew:
            self.append(filters.detshuffle(size, seed=int(self.seed)))
        elif size:
            self.append(filters.shuffle(size, seed=self.seed))
