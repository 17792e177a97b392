"""For Hugging Face `datasets`: shards as a `datasets.IterableDataset`.

    dataset = tarflume.huggingface.dataset("shards/", image=tarflume.Resize(224), label="/class")
    dataset = dataset.shuffle(seed=1, buffer_size=1000).map(...)

`datasets` distributes whole shards: to ranks with `split_dataset_by_node`, and to the workers of a DataLoader by
itself. Each sample is delivered once. Use `tarflume.torch.Loader` for an exact shuffle, equal steps on all ranks and
exact resuming.
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


#: Samples of a batch that is decoded at once.
ROWS = 64

#: Settings of a loader for which `datasets` has methods.
THEIRS = ("batch_size", "drop_last", "epoch_length", "rank", "repeat", "seed", "shuffle", "divide", "world_size")


def dataset(
    shards: _core.Path | Sequence[_core.Path] | _core.Dataset,
    *,
    features: datasets.Features | None = None,
    **settings: Any,
) -> datasets.IterableDataset:
    """A `datasets.IterableDataset` of samples, one shard of it for each tar.

    Samples are dicts of `"key"` and the columns of `tarflume.Loader`: images and arrays are NumPy arrays without a
    copy, numbers are NumPy scalars, files are `bytes`, texts are `str`. Without `image`, `label` and `columns`, all
    parts are bytes.

    Arguments:
        shards: as `tarflume.Loader` takes them, but no mixture: `datasets.interleave_datasets` mixes.
        features: the types of the columns, which some methods of `datasets` need.
        settings: of `tarflume.Loader`: `image`, `label`, `columns`, `on_bad`, `verify`, `num_threads`,
            `memory_limit`.

    Raises:
        ModuleNotFoundError: `datasets` is not installed.
        UsageError: a setting for which `datasets` has a method, such as `.shuffle()`.
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
            f"{theirs[0]}= is a job of datasets.IterableDataset, with methods such as shuffle, shard, repeat and batch: "
            f"leave {theirs[0]}= out, or use tarflume.torch.Loader"
        )
    opened = shards if isinstance(shards, _core.Dataset) else _core.Dataset(shards)
    _core.Loader(opened, batch_size=1, **settings).close()  # wrong settings are errors here, not in the first iteration
    words = {"shards": [str(shard) for shard in opened.shards], "settings": settings}
    return datasets.IterableDataset.from_generator(_samples, features=features, gen_kwargs=words)


def _samples(shards: list[str], settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The samples of some shards, in order. `datasets` distributes the list among the arguments."""
    with _core.Loader(shards, batch_size=ROWS, **settings) as loader:
        for batch in loader.epoch(0):
            columns = batch.numpy()
            for row in range(batch.rows):
                yield {name: column[row] for name, column in columns.items()}
