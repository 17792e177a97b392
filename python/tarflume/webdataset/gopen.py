"""`gopen`: opens a file, standard input or output, or, with "pipe" in `allow=`, a command."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..errors import UsageError
from .commands import Command, command_of

__all__ = ["gopen", "gopen_schemes", "reader"]

#: Functions `(url, mode, bufsize, **words)` for schemes that a program opens itself; they come first.
gopen_schemes: dict[str, Callable[..., Any]] = {}


def gopen(url: str, mode: str = "rb", bufsize: int = 8192, *, allow: Collection[str] = (), **words: Any) -> Any:
    """Opens `url` for reading ("rb") or writing ("wb").

    url: a path, `file:...`, "-", `pipe:command`, or `http:` and `https:` by curl, for reading. The last three run a
        command and need `allow=("pipe",)`, or `TARFLUME_WEBDATASET_ALLOW=pipe` in the environment.

    Raises:
        RefusedError: the scheme is not allowed or unknown.
    """
    if mode not in ("rb", "wb"):
        raise UsageError(f'mode={mode!r} is not known; there are "rb", "wb"')
    if url == "-":
        return sys.stdin.buffer if mode == "rb" else sys.stdout.buffer
    parts = urlsplit(url)
    if parts.scheme in gopen_schemes:
        return gopen_schemes[parts.scheme](url, mode, bufsize, **words)
    command = command_of(url, allow, mode)
    if command is not None:
        return Command(command, mode, url)
    return open(url2pathname(parts.path) if parts.scheme == "file" else url, mode)


def reader(url: str, **words: Any) -> Any:
    """`gopen` for reading."""
    return gopen(url, "rb", **words)
