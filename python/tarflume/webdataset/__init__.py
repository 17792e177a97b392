"""The names of webdataset, implemented by tarflume: change the import and keep the pipeline.

    import tarflume.webdataset as wds

    dataset = (wds.WebDataset("shards/{000..765}.tar", shardshuffle=100, nodesplitter=wds.split_by_node)
               .shuffle(1000).decode("rgb8").to_tuple("jpg;png", "json").batched(64))

Samples and their order are the same where those of webdataset are deterministic. A thread in Rust reads tars ahead.
Unsafe operations are errors unless `allow=` names them: "pickle" runs code that is stored in shards, "pipe" runs
commands. docs/WEBDATASET.md lists all calls: which are the same, better or absent.

For training, `tarflume.Loader` and `tarflume.torch` shuffle exactly, resume exactly and decode without Python.
"""

from __future__ import annotations

from . import cache, filters, handlers, mixing, pipeline, shardlists, tariterators, tenbin, utils
from .cache import LRUCleanup
from .dataset import WebDataset
from .decoding import Continue, Decoder, DecodingError, gzfilter, handle_extension, torch_loads
from .encoding import numpy_dumps, torch_dumps
from .filters import (
    Cached,
    LMDBCached,
    associate,
    batched,
    decode,
    detshuffle,
    extract_keys,
    getfirst,
    info,
    log_keys,
    map,
    map_dict,
    map_tuple,
    rename,
    rename_keys,
    rsample,
    select,
    shuffle,
    slice,
    tarfile_to_samples,
    to_tuple,
    transform_with,
    unbatched,
    unlisted,
    xdecode,
)
from .fluent import FluidInterface, FluidWrapper
from .gopen import gopen, gopen_schemes
from .handlers import (
    RefusedError,
    ignore_and_continue,
    ignore_and_stop,
    reraise_exception,
    warn_and_continue,
    warn_and_stop,
)
from .images import ImageHandler, imagehandler
from .loader import WebLoader
from .mixing import MockDataset, RandomMix, RoundRobin
from .pipeline import DataPipeline, PipelineStage, pipelinefilter
from .reading import tarfile_samples
from .shardlists import (
    DirectoryShardList,
    ResampledShards,
    SimpleShardList,
    expand_urls,
    non_empty,
    resampled,
    shardspec,
    single_node_only,
    split_by_node,
    split_by_worker,
)
from .utils import repeatedly
from .writing import ShardWriter, TarWriter

__all__ = [
    "Cached",
    "Continue",
    "DataPipeline",
    "Decoder",
    "DecodingError",
    "DirectoryShardList",
    "FluidInterface",
    "FluidWrapper",
    "ImageHandler",
    "LMDBCached",
    "LRUCleanup",
    "MockDataset",
    "PipelineStage",
    "RandomMix",
    "RefusedError",
    "ResampledShards",
    "RoundRobin",
    "ShardWriter",
    "SimpleShardList",
    "TarWriter",
    "WebDataset",
    "WebLoader",
    "associate",
    "batched",
    "cache",
    "decode",
    "detshuffle",
    "expand_urls",
    "extract_keys",
    "filters",
    "getfirst",
    "gopen",
    "gopen_schemes",
    "gzfilter",
    "handle_extension",
    "handlers",
    "ignore_and_continue",
    "ignore_and_stop",
    "imagehandler",
    "info",
    "log_keys",
    "map",
    "map_dict",
    "map_tuple",
    "mixing",
    "non_empty",
    "numpy_dumps",
    "pipeline",
    "pipelinefilter",
    "rename",
    "rename_keys",
    "repeatedly",
    "reraise_exception",
    "resampled",
    "rsample",
    "select",
    "shardlists",
    "shardspec",
    "shuffle",
    "single_node_only",
    "slice",
    "split_by_node",
    "split_by_worker",
    "tarfile_samples",
    "tarfile_to_samples",
    "tariterators",
    "tenbin",
    "to_tuple",
    "torch_dumps",
    "torch_loads",
    "transform_with",
    "unbatched",
    "unlisted",
    "utils",
    "warn_and_continue",
    "warn_and_stop",
    "xdecode",
]


def __dir__() -> list[str]:
    return sorted(__all__)
