"""`gopen`: opens a file, standard input or output, or, with "pipe" in `allow=`, a command."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..errors import UsageError
from .allowing import enforced
from .commands import Command, command_of
from .handlers import RefusedError

__all__ = ["gopen", "gopen_schemes", "local_path", "reader", "rewrite_url"]

#: Functions `(url, mode, bufsize, **words)` for schemes that a program opens itself; they come first.
gopen_schemes: dict[str, Callable[..., Any]] = {}


def rewrite_url(url: str) -> str:
    """`url` by the first rule of the environment's `GOPEN_REWRITE` that changes it.

    Rules have `;` between them, and each is a regular expression for the front of a URL, `=`, and its replacement:
    `http://a/=http://b/;s3://=/mnt/`.
    """
    rules = os.environ.get("GOPEN_REWRITE")
    if rules is None:
        return url
    if enforced():
        raise RefusedError(f"{url}: utils.enforce_security is set: GOPEN_REWRITE does not change URLs")
    for rule in rules.split(";"):
        front, equals, other = rule.partition("=")
        if not equals:
            raise UsageError(f"GOPEN_REWRITE: the rule {rule!r} has no '=': write FRONT=REPLACEMENT")
        rewritten = re.sub("^" + front, other, url)
        if rewritten != url:
            return rewritten
    return url


def local_path(url: str) -> str:
    """The path of a file of this machine, given as a path or as `file:...`.

    Raises:
        RefusedError: `utils.enforce_security` is set.
    """
    if enforced():
        raise RefusedError(f"{url}: utils.enforce_security is set: files of this machine are not opened")
    parts = urlsplit(url)
    return url2pathname(parts.path) if parts.scheme == "file" else url


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
    url = rewrite_url(url)
    scheme = urlsplit(url).scheme
    if scheme in gopen_schemes:
        return gopen_schemes[scheme](url, mode, bufsize, **words)
    command = command_of(url, allow, mode)
    if command is not None:
        return Command(command, mode, url)
    return open(local_path(url), mode)


def reader(url: str, **words: Any) -> Any:
    """`gopen` for reading."""
    return gopen(url, "rb", **words)
