"""Opens a shard by its URL: a file, standard input, an object in a store, or, if allowed, the output of a command."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Collection, Iterator
from typing import Any

from .._core import TarStores, TarStream
from ..errors import TruncatedError, UsageError
from .commands import PATIENCE, Command, Words, command_of
from .gopen import local_path, rewrite_url

__all__ = ["opened"]

#: Schemes that the stores in Rust read, without a command.
_STORES = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "http", "https", "hf")


@contextlib.contextmanager
def opened(
    url: str,
    allow: Collection[str],
    memory_limit: int | None,
    stores: TarStores | None = None,
    ignore_zeros: bool = False,
) -> Iterator[Iterator[dict[str, Any]]]:
    """The samples of the tar at `url`, as dicts of bytes."""
    reading: Any = {"memory_limit": memory_limit, "ignore_zeros": ignore_zeros}
    place = rewrite_url(url)
    if place.partition("://")[0] in _STORES:
        shown = place.partition("?")[0]  # the rest may be a secret
        if shown.endswith("/"):
            raise UsageError(f"{shown}: this is a folder: name its shards, for example by braces", path=shown)
        with TarStream(place, url=url, stores=stores, **reading) as samples:
            yield samples
        return
    words = command_of(place, allow)
    if words is not None:
        with _printed(words, url) as path, TarStream(path, url=url, **reading) as samples:
            yield samples
        return
    path = place if place == "-" else local_path(place)
    local = None if path == "-" else path
    with TarStream(path, url=url, local_path=local, **reading) as samples:
        yield samples


@contextlib.contextmanager
def _printed(words: Words, url: str) -> Iterator[str]:
    """The path of a pipe with the output of a command; raises an error at the end if the command fails."""
    command = Command(words, "rb", url)
    whole = False
    try:
        yield f"/dev/fd/{command.fileno()}"
        whole = True
    except TruncatedError:
        # A failed command prints too little: its exit code is the better error.
        with contextlib.suppress(subprocess.TimeoutExpired):
            command.process.wait(PATIENCE)
            command.check()
        raise
    finally:
        command.stream.close()
        if not whole:
            command.stop()
    command.check()
