"""`LMDBCached`: keeps the samples of a pass in an LMDB database."""

from __future__ import annotations

import importlib
import itertools
import os
import pickle
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from ..errors import UsageError
from .decoding import may_unpickle
from .pipeline import PipelineStage
from .shardlists import worker_info

__all__ = ["LMDBCached"]

#: The mark of a whole pass that webdataset writes.
_THEIRS = b"_"


class LMDBCached(PipelineStage):
    """Writes the samples of the first whole pass to a database, and yields them from it later, in the same order.

    Each worker of each rank keeps its own samples, and reads the source again if their number is another. A database
    that webdataset wrote is read by a process without workers.

    fname: the folder of the database. map_size: the bytes that it may have. pickler: its `dumps` and `loads` convert a
        sample. chunksize: samples in a transaction. allow: "pickle", unless `pickler` is another module.

    Raises:
        RefusedError: pickles are not allowed.
        UsageError: the package `lmdb` is missing, or `map_size` is too small.
    """

    def __init__(
        self,
        fname: str | os.PathLike[str],
        map_size: float = 1e12,
        pickler: Any = pickle,
        chunksize: int = 500,
        *,
        allow: Collection[str] = (),
    ) -> None:
        if pickler is pickle:
            may_unpickle(allow)
        self.fname, self.map_size, self.pickler, self.chunksize = os.fspath(fname), int(map_size), pickler, chunksize

    def run(self, *source: Iterable[Any]) -> Iterator[Any]:
        """The samples."""
        try:
            lmdb: Any = importlib.import_module("lmdb")
        except ModuleNotFoundError as exn:
            raise UsageError("LMDBCached needs the package lmdb: pip install lmdb") from exn
        rank, world, worker, workers = worker_info()
        alone = world == workers == 1
        share = f"{rank}.{world}.{worker}.{workers}/"
        try:
            # Opened in each pass: a database must not be open across a fork.
            with lmdb.open(self.fname, map_size=self.map_size) as db:
                with db.begin() as txn:
                    count, theirs = txn.get(share.encode()), txn.get(_THEIRS)
                if count is not None:
                    yield from self._kept(db, share, int(count))
                elif theirs is not None and alone:
                    yield from self._all(db)
                else:
                    yield from self._keeping(db, share, source[0])
        except lmdb.MapFullError as exn:
            text = f"{self.fname}: map_size={self.map_size} has no room for these samples: give more bytes"
            raise UsageError(text, path=self.fname) from exn

    def _kept(self, db: Any, share: str, count: int) -> Iterator[Any]:
        with db.begin() as txn:
            for n in range(count):
                yield self.pickler.loads(txn.get(f"{share}{n}".encode()))

    def _all(self, db: Any) -> Iterator[Any]:
        with db.begin() as txn:
            for key, value in txn.cursor():
                if key != _THEIRS:
                    yield self.pickler.loads(value)

    def _keeping(self, db: Any, share: str, source: Iterable[Any]) -> Iterator[Any]:
        samples, count = iter(source), 0
        while chunk := list(itertools.islice(samples, self.chunksize)):
            # Before they are yielded: the consumer may change a sample.
            with db.begin(write=True) as txn:
                for n, sample in enumerate(chunk, count):
                    txn.put(f"{share}{n}".encode(), self.pickler.dumps(sample))
            count += len(chunk)
            yield from chunk
        with db.begin(write=True) as txn:
            txn.put(share.encode(), str(count).encode())
