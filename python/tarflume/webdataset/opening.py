"""A shard by its URL: a file, standard input, or, where that is allowed, what a command prints."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from .._core import TarStream
from ..errors import ReadError
from .handlers import RefusedError

__all__ = ["opened"]

#: Seconds that a command may take to end when it is told to.
PATIENCE = 5.0
#: Exit codes of a command that was told to stop, or whose reader went away.
STOPPED = (0, 141, -signal.SIGPIPE)


@contextlib.contextmanager
def opened(url: str, allow: Collection[str], memory: int | None) -> Iterator[Iterator[dict[str, Any]]]:
    """The samples of the tar at `url`, as dicts of bytes."""
    scheme = urlsplit(url).scheme
    if scheme == "pipe":
        with _command(url, allow) as path, TarStream(path, url=url, memory=memory) as samples:
            yield samples
        return
    if scheme not in ("", "file"):
        raise RefusedError(
            f"{url}: {scheme}: is not read here: copy the shard to a disk, or name a command that prints it, "
            '"pipe:curl -s -f -L URL", with allow=("pipe",)'
        )
    path = url if scheme == "" else url2pathname(urlsplit(url).path)
    local = None if path == "-" else path
    with TarStream(path, url=url, local_path=local, memory=memory) as samples:
        yield samples


@contextlib.contextmanager
def _command(url: str, allow: Collection[str]) -> Iterator[str]:
    """The path of a pipe into which the command of a `pipe:` prints; an error behind it if the command fails."""
    if "pipe" not in allow:
        raise RefusedError(
            f'{url}: this would run a command: if you trust who wrote the list of shards, give allow=("pipe",)'
        )
    words = url.removeprefix("pipe:")
    # A process group of its own, so that all that the shell starts can be ended with it.
    with subprocess.Popen(words, shell=True, stdout=subprocess.PIPE, process_group=0) as process:
        assert process.stdout is not None
        whole = False
        try:
            yield f"/dev/fd/{process.stdout.fileno()}"
            whole = True
        finally:
            process.stdout.close()
            if not whole:
                _end(process)
            process.wait()
    if process.returncode not in STOPPED:
        raise ReadError(f"{url}: the command ended with exit code {process.returncode}", path=url)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
