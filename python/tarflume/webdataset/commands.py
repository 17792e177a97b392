"""Commands that read or write a shard: those of `pipe:` URLs, and curl for `http:` and `https:`."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Collection
from typing import IO, Any
from urllib.parse import urlsplit

from ..errors import ReadError
from .allowing import VARIABLE, allowed, enforced
from .handlers import RefusedError

__all__ = ["Command", "command_of"]

#: Seconds that a command may take to end after a signal.
PATIENCE = 5.0
#: Exit codes of a command whose output was closed; 23 is curl's.
STOPPED = (0, 23, 141, -signal.SIGPIPE)

_CURL = ("curl", "-s", "-S", "-f", "-L", "--proto", "=http,https", "--connect-timeout", "30", "--retry", "5")

Words = str | list[str]


def command_of(url: str, allow: Collection[str], mode: str = "rb") -> Words | None:
    """The command for `url`: text for a shell, or a list of words without one; None if it needs no command.

    Raises:
        RefusedError: commands are not allowed, or the scheme of the URL is unknown.
    """
    scheme = urlsplit(url).scheme
    if scheme in ("", "file"):
        return None
    if scheme not in ("pipe", "http", "https") or (scheme != "pipe" and mode != "rb"):
        doing = "read" if mode == "rb" else "written to"
        raise RefusedError(
            f"{url}: {scheme}: is not {doing} here: name a command that does it, such as \"pipe:aws s3 cp URL -\", "
            'with allow=("pipe",), or copy the shard to a disk'
        )
    if scheme == "pipe" and enforced():
        raise RefusedError(f"{url}: utils.enforce_security is set: this would run a command")
    if "pipe" not in allowed(allow):
        what = "run a command" if scheme == "pipe" else "run curl"
        raise RefusedError(
            f'{url}: this would {what}: if you trust the source of the list of shards, give allow=("pipe",), or set '
            f"{VARIABLE}=pipe in the environment"
        )
    return url.removeprefix("pipe:") if scheme == "pipe" else [*_CURL, "--url", url]


class Command:
    """A running command as a file: of its output (mode "rb"), or of its input ("wb").

    `close` raises `ReadError` if the command failed. A command whose output was not read to the end is stopped with all
    processes that it started, and its exit code is ignored.
    """

    def __init__(self, words: Words, mode: str = "rb", url: str = "") -> None:
        self.url, self.mode = url or str(words), mode
        ends: dict[str, Any] = {"stdout" if mode == "rb" else "stdin": subprocess.PIPE}
        # A separate process group, so that all processes of a shell can be ended.
        self.process = subprocess.Popen(words, shell=isinstance(words, str), process_group=0, **ends)
        self.stream: IO[bytes] = self.process.stdout if mode == "rb" else self.process.stdin  # type: ignore[assignment]
        self.whole = False

    def read(self, size: int = -1) -> bytes:
        """The next bytes; checks the exit code at the end."""
        data = self.stream.read(size)
        if size != 0 and (size < 0 or len(data) < size):
            self.whole = True
            self.check()
        return data

    def write(self, data: Any) -> int:
        """Writes bytes to the command."""
        return self.stream.write(data)

    def fileno(self) -> int:
        """The pipe's file descriptor."""
        return self.stream.fileno()

    def readable(self) -> bool:
        """Whether it was opened for reading."""
        return self.mode == "rb"

    def flush(self) -> None:
        """Flushes what was written so far."""
        self.stream.flush()

    def tell(self) -> int:
        """Raises an error: a pipe has no positions."""
        raise OSError(f"{self.url}: a command has no positions to seek to")

    def check(self) -> None:
        """Waits for the end; raises an error if the command failed."""
        code = self.process.wait()
        # After reading to the end, only 0 is a success.
        if code != 0 and (self.whole or self.mode == "wb" or code not in STOPPED):
            raise ReadError(f"{self.url}: the command ended with exit code {code}", path=self.url)

    def stop(self) -> None:
        """Ends the command and all processes that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def close(self) -> None:
        """Closes the pipe and waits for the command."""
        if self.stream.closed:
            return
        with contextlib.suppress(BrokenPipeError):
            self.stream.close()
        if self.mode == "rb" and not self.whole:
            self.stop()
        else:
            self.check()

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
