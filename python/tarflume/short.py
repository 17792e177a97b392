"""Values of parts in few characters, for the `repr` of a sample and for notebooks."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []

#: Characters of a text that are shown.
_SHOWN = 60
#: Bytes of the longest part that is shown as text.
_TEXT = 4096


def _short(value: Any) -> str:
    """The `repr` of a value; of bytes that are no short text, their number."""
    if not isinstance(value, bytes):
        return repr(value)
    text = _text(value)
    if text is None:
        return f"{len(value)} bytes"
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _text(value: bytes) -> str | None:
    """The text of a short part; None if it is long, or no text."""
    try:
        text = value.decode() if len(value) <= _TEXT else "\0"
    except UnicodeDecodeError:
        return None
    return text if text.replace("\n", " ").isprintable() else None
