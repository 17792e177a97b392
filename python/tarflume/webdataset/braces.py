"""Braces in names: `{a,b}`, `{000..765}`, `{a..f}`, `{0..8..2}`, also nested; `\\` before literal braces."""

from __future__ import annotations

import itertools
import re

from ..errors import UsageError

__all__ = ["braces"]

NUMBERS = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.-?(\d+))?")
LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.-?(\d+))?")
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def braces(pattern: str) -> list[str]:
    """All names of a pattern; the leftmost brace changes slowest."""
    made, at = _several(pattern, 0, pattern)
    if at < len(pattern):
        raise _unbalanced(pattern)
    return made


def _several(text: str, at: int, pattern: str) -> tuple[list[str], int]:
    """The names of the text from `at` up to a `,` or `}` of an outer brace, and the position of that."""
    pieces: list[list[str]] = []
    inside = at > 0
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            pieces.append([text[at + 1]])
            at += 2
        elif char == "{":
            choices, at = _brace(text, at, pattern)
            pieces.append(choices)
        elif char == "}" or (char == "," and inside):
            break
        else:
            pieces.append([char])
            at += 1
    return ["".join(choice) for choice in itertools.product(*pieces)], at


def _brace(text: str, at: int, pattern: str) -> tuple[list[str], int]:
    """The choices of the brace at `at`, and the position behind it."""
    end = text.find("}", at)
    steps = _range(text[at + 1 : end]) if end > 0 else None
    if steps is not None:
        return steps, end + 1
    choices: list[str] = []
    count = 0
    while at < len(text) and text[at] in "{,":
        more, at = _several(text, at + 1, pattern)
        choices += more
        count += 1
        if at < len(text) and text[at] == "}":
            # Braces with a single choice are part of the name.
            return (choices if count > 1 else [f"{{{choice}}}" for choice in choices]), at + 1
    raise _unbalanced(pattern)


def _range(inner: str) -> list[str] | None:
    if found := NUMBERS.fullmatch(inner):
        low, high, step = found.groups()
        padded = any(len(end.lstrip("-")) > 1 and end.lstrip("-")[0] == "0" for end in (low, high))
        width = max(len(low), len(high)) if padded else 0
        return [f"{n:0{width}d}" for n in _steps(int(low), int(high), int(step or 1))]
    if found := LETTERS.fullmatch(inner):
        low, high, step = found.groups()
        return [ALPHABET[n] for n in _steps(ALPHABET.index(low), ALPHABET.index(high), int(step or 1))]
    return None


def _steps(low: int, high: int, step: int) -> range:
    return range(low, high + 1, step or 1) if low <= high else range(low, high - 1, -(step or 1))


def _unbalanced(pattern: str) -> UsageError:
    return UsageError(f"the braces of {pattern!r} are not balanced: write \\{{ for a brace that is part of a name")
