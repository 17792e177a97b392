"""Stages with webdataset's names: `compose(shuffle(1000), map(f))`."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from . import stages
from .batches import batched_samples, default_collation_fn, unbatched_samples, unlisted_samples
from .decoding import Decoder, PatternDecoder
from .drawing import Drawing, processing, takes_drawing
from .handlers import Handler, reraise_exception
from .lmdb_cached import LMDBCached
from .pipeline import FilterFunction, pipelinefilter
from .reading import tarfile_samples
from .stages import Cached, detshuffle, getfirst, transform_with

__all__ = [
    "Cached",
    "LMDBCached",
    "associate",
    "batched",
    "decode",
    "default_collation_fn",
    "detshuffle",
    "extract_keys",
    "getfirst",
    "info",
    "log_keys",
    "map",
    "map_dict",
    "map_tuple",
    "rename",
    "rename_keys",
    "rsample",
    "select",
    "shuffle",
    "slice",
    "tarfile_to_samples",
    "to_tuple",
    "transform_with",
    "unbatched",
    "unlisted",
    "xdecode",
]


def _decoded_by(data: Iterable[Any], decoder: Decoder, handler: Handler = reraise_exception) -> Iterator[Any]:
    return (made for _, made in stages.handled(data, decoder, handler))


@takes_drawing
def _decoded(
    data: Iterable[Any],
    *args: Any,
    handler: Handler = reraise_exception,
    drawing: Drawing | None = None,
    **kw: Any,
) -> Iterator[Any]:
    """Decodes the parts of each sample: see `Decoder`. drawing: what recipes draw."""
    decoder = Decoder(args, **kw)
    return _decoded_by(data, decoder if drawing is None else decoder.seeded(drawing), handler)


def decode(*args: Any, handler: Handler = reraise_exception, **kw: Any) -> FilterFunction:
    """Decodes the parts of each sample: see `Decoder`."""
    return FilterFunction(_decoded_by, Decoder(args, **kw), handler=handler)


def _xdecode(
    data: Iterable[Any], *args: tuple[str, Any], must_decode: bool = True, allow: Collection[str] = (), **kw: Any
) -> Iterator[Any]:
    """Decodes the parts of each sample by patterns, `xdecode(("*.txt", f), png=g)`: see `PatternDecoder`."""
    decoder = PatternDecoder([*args, *((f"*.{ext}", f) for ext, f in kw.items())], must_decode, allow)
    return (processing(decoder, sample) for sample in data)


def _shown(
    data: Iterable[Any],
    fmt: str | None = None,
    n: int = 3,
    every: int = -1,
    width: int = 50,
    stream: Any = None,
    name: str = "",
) -> Iterator[Any]:
    """All samples; prints the first `n` and each `every`th."""
    for place, sample in enumerate(data):
        if place < n or (every > 0 and (place + 1) % every == 0):
            lines = [f"--- {name}", *(f"{part} {value!r:.{width}}" for part, value in sample.items())]
            print("\n".join(lines) if fmt is None else fmt.format(**sample), file=stream or sys.stderr)
        yield sample


def _sliced(data: Iterable[Any], *args: Any) -> Iterator[Any]:
    """Samples `[start, stop)` in steps, as `itertools.islice`."""
    return itertools.islice(data, *args)


associate = pipelinefilter(stages.associated)
batched = pipelinefilter(batched_samples)
extract_keys = pipelinefilter(stages.keys_extracted)
info = pipelinefilter(_shown)
log_keys = pipelinefilter(stages.keys_logged)
map = pipelinefilter(stages.mapped)
map_dict = pipelinefilter(stages.dict_mapped)
map_tuple = pipelinefilter(stages.tuple_mapped)
rename = pipelinefilter(stages.renamed)
rename_keys = pipelinefilter(stages.keys_renamed)
rsample = pipelinefilter(stages.sampled)
select = pipelinefilter(stages.selected)
shuffle = pipelinefilter(stages.shuffled)
slice = pipelinefilter(_sliced)
tarfile_to_samples = pipelinefilter(tarfile_samples)
to_tuple = pipelinefilter(stages.tuples)
unbatched = pipelinefilter(unbatched_samples)
unlisted = pipelinefilter(unlisted_samples)
xdecode = pipelinefilter(_xdecode)

# The stages as functions of an iterator, with the names that open_clip and others use.
_associate = stages.associated
_batched = batched_samples
_decode = _decoded
_extract_keys = stages.keys_extracted
_info = _shown
_log_keys = stages.keys_logged
_map = stages.mapped
_map_dict = stages.dict_mapped
_map_tuple = stages.tuple_mapped
_rename = stages.renamed
_rename_keys = stages.keys_renamed
_rsample = stages.sampled
_select = stages.selected
_shuffle = stages.shuffled
_to_tuple = stages.tuples
_unbatched = unbatched_samples
_unlisted = unlisted_samples
