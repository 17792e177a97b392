"""For Hugging Face `datasets`: shards as a `datasets.IterableDataset`.

    dataset = tarflume.huggingface.dataset("shards/", image=tarflume.Resize(224), label="/class")
    dataset = dataset.shuffle(seed=1, buffer_size=1000).map(...)

It is dealt by shard, as `datasets` does it: over ranks by `split_dataset_by_node`, over workers of a DataLoader by
itself; both give each sample once. For an exact shuffle, equal steps on all ranks and exact resume take
`tarflume.torch.Loader`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from .errors import UsageError

if TYPE_CHECKING:
    import datasets

__all__ = ["dataset"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: Samples that are decoded together.
ROWS = 64

#: What `datasets` does itself.
THEIRS = ("batch_size", "drop_last", "epoch_length", "rank", "repeat", "seed", "shuffle", "split", "world")


def dataset(
    shards: _core.Path | Sequence[_core.Path] | _core.Dataset,
    *,
    features: datasets.Features | None = None,
    **settings: Any,
) -> datasets.IterableDataset:
    """A `datasets.IterableDataset` of samples, one shard of it for each tar.

    Samples are dicts of `"key"` and what `tarflume.Loader` would have as columns: rows of images and arrays as
    NumPy arrays without a copy, numbers as NumPy scalars, files as `bytes`, texts as `str`. Without `image`,
    `label` or `columns`: all parts as bytes.

    Arguments:
        shards: as `tarflume.Loader` takes them, but no mixture: `datasets.interleave_datasets` mixes.
        features: the types of the columns, as `datasets` wants to know them for some of its methods.
        settings: of `tarflume.Loader`: `image`, `label`, `columns`, `on_bad`, `verify`, `threads`, `memory`.

    Raises:
        ModuleNotFoundError: `datasets` is not installed.
        UsageError: a setting that `datasets` has its own way for: shuffle with `.shuffle()`, and so on.
    """
    try:
        import datasets
    except ModuleNotFoundError as error:
        if error.name != "datasets":
            raise
        raise ModuleNotFoundError(
            "tarflume.huggingface needs Hugging Face datasets: pip install datasets", name="datasets"
        ) from None
    if theirs := [name for name in THEIRS if name in settings]:
        raise UsageError(
            f"a datasets.IterableDataset does {theirs[0]} itself (shuffle, shard, repeat, batch): leave {theirs[0]}= "
            "out, or take tarflume.torch.Loader"
        )
    opened = shards if isinstance(shards, _core.Dataset) else _core.Dataset(shards)
    _core.Loader(opened, batch_size=1, **settings).close()  # what is wrong is said here
    words = {"shards": [str(shard) for shard in opened.shards], "settings": settings}
    return datasets.IterableDataset.from_generator(_samples, features=features, gen_kwargs=words)


def _samples(shards: list[str], settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The samples of some shards, in order. A list among the arguments is what `datasets` deals out."""
    with _core.Loader(shards, batch_size=ROWS, drop_last=False, **settings) as loader:
        for batch in loader.epoch(0):
            columns = batch.numpy()
            for row in range(batch.rows):
                yield {name: column[row] for name, column in columns.items()}
