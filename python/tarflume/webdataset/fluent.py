"""The methods of a pipeline: each returns a copy with one more stage."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Self

from . import filters
from .batches import default_collation_fn
from .decoding import Decoder
from .handlers import Handler, reraise_exception
from .pipeline import DataPipeline

__all__ = ["FluidInterface", "FluidWrapper"]


class FluidInterface(DataPipeline):
    """A pipeline whose stages are added by calls."""

    #: The unsafe operations that decoders may use.
    allow: Collection[str] = ()

    def shuffle(self, size: int, **kw: Any) -> Self:
        """Mixes with a buffer of `size` samples (`initial`, `rng` or `seed`). Does nothing if `size` is below 1."""
        return self if size < 1 else self.compose(filters.shuffle(size, **kw))

    def decode(
        self,
        *args: Any,
        pre: Any = None,
        post: Any = None,
        only: Any = None,
        partial: bool = False,
        handler: Handler = reraise_exception,
        allow: Collection[str] | None = None,
    ) -> Self:
        """Decodes parts by their extensions: see `Decoder`. `decode(recipe)` gives the rows of a loader with this recipe.
        `allow` is by default that of the data set."""
        allow = self.allow if allow is None else allow
        return self.map(Decoder(args, pre=pre, post=post, only=only, partial=partial, allow=allow), handler=handler)

    def map(self, f: Callable[[Any], Any], handler: Handler = reraise_exception) -> Self:
        """`f(sample)` for each sample; leaves out samples for which it returns None. A dict keeps its `__key__`."""
        return self.compose(filters.map(f, handler=handler))

    def map_dict(self, handler: Handler = reraise_exception, **kw: Callable[[Any], Any]) -> Self:
        """Applies functions to the named parts of each sample: `map_dict(jpg=f)`. A recipe of `tarflume.transforms` draws by
        seed, epoch and sample."""
        return self.compose(filters.map_dict(handler=handler, **kw))

    def map_tuple(self, *args: Any, handler: Handler = reraise_exception) -> Self:
        """Applies functions, or recipes as `map_dict`, to the values of each tuple; None leaves a value unchanged."""
        return self.compose(filters.map_tuple(*args, handler=handler))

    def to_tuple(self, *args: Any, **kw: Any) -> Self:
        """Tuples of the named parts: `to_tuple("jpg;png", "json")` or `to_tuple("jpg;png json")`."""
        return self.compose(filters.to_tuple(*args, **kw))

    def select(self, predicate: Callable[[Any], Any], **kw: Any) -> Self:
        """The samples for which `predicate` is true."""
        return self.compose(filters.select(predicate, **kw))

    def rename(self, **kw: Any) -> Self:
        """Renames parts: `rename(image="jpg;png")`; with `keep=False`, leaves out all others."""
        return self.compose(filters.rename(**kw))

    def rename_keys(self, *args: Any, **kw: Any) -> Self:
        """Renames parts by patterns: `rename_keys(image="*.jpg")`."""
        return self.compose(filters.rename_keys(*args, **kw))

    def extract_keys(self, *args: Any, **kw: Any) -> Self:
        """Tuples of the parts that fit patterns: `extract_keys("*.jpg;*.png", "*.json")`."""
        return self.compose(filters.extract_keys(*args, **kw))

    def batched(
        self,
        batchsize: int,
        collation_fn: Callable[[list[Any]], Any] | None = default_collation_fn,
        partial: bool = True,
    ) -> Self:
        """Batches: columns of `batchsize` rows. Without `partial`, leaves out a smaller last batch."""
        return self.compose(filters.batched(batchsize, collation_fn=collation_fn, partial=partial))

    def unbatched(self) -> Self:
        """The rows of batches."""
        return self.compose(filters.unbatched())

    def listed(self, batchsize: int, partial: bool = True) -> Self:
        """Lists of `batchsize` samples."""
        return self.compose(filters.batched(batchsize, collation_fn=None, partial=partial))

    def unlisted(self) -> Self:
        """The items of lists."""
        return self.compose(filters.unlisted())

    def slice(self, *args: Any) -> Self:
        """`slice(stop)` or `slice(start, stop, step)` of each pass."""
        return self.compose(filters.slice(*args))

    def xdecode(self, *args: Any, **kw: Any) -> Self:
        """Decodes parts by patterns of their names: see `PatternDecoder`."""
        return self.compose(filters.xdecode(*args, **kw))

    def rsample(self, p: float = 0.5) -> Self:
        """Each sample with probability `p`."""
        return self.compose(filters.rsample(p))

    def log_keys(self, logfile: str | None = None) -> Self:
        """Appends the keys of all samples to `logfile`."""
        return self.compose(filters.log_keys(logfile))

    def mcached(self) -> Self:
        """Keeps all samples of the first pass in memory."""
        return self.compose(filters.Cached())

    def lmdb_cached(self, *args: Any, **kw: Any) -> Self:
        """Keeps all samples of the first pass in a database: see `LMDBCached`."""
        return self.compose(filters.LMDBCached(*args, **kw))


class FluidWrapper(FluidInterface):
    """The methods of a pipeline for any source of samples."""

    def __init__(self, initial: Any) -> None:
        super().__init__(initial)
