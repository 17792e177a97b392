"""Opens a shard by its URL: a file, standard input, or, if allowed, the output of a command."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from .._core import TarStream
from ..errors import TruncatedError
from .commands import PATIENCE, Command, Words, command_of

__all__ = ["opened"]


@contextlib.contextmanager
def opened(url: str, allow: Collection[str], memory_limit: int | None) -> Iterator[Iterator[dict[str, Any]]]:
    """The samples of the tar at `url`, as dicts of bytes."""
    words = command_of(url, allow)
    if words is not None:
        with _printed(words, url) as path, TarStream(path, url=url, memory_limit=memory_limit) as samples:
            yield samples
        return
    parts = urlsplit(url)
    path = url if parts.scheme == "" else url2pathname(parts.path)
    local = None if path == "-" else path
    with TarStream(path, url=url, local_path=local, memory_limit=memory_limit) as samples:
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
