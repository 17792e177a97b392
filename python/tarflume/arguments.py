"""Translates arguments of Python (paths, mappings, iterables) to the words that the commands take. `checked` refuses
unknown keywords with a suggestion."""

from __future__ import annotations

import difflib
import errno
import functools
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeAlias, TypeVar

from .errors import MissingSourceError, UsageError

__all__ = ["Path", "checked", "dict_of", "extensions_of", "pairs_of", "paths_of", "words_of"]


def __dir__() -> list[str]:
    return sorted(__all__)


Path: TypeAlias = str | os.PathLike[str]

# A URL (s3://bucket/set) or a source with its kind (npy:x.npy). One letter is a drive.
_PREFIXED = re.compile(r"[A-Za-z][A-Za-z0-9-]+:")


def texts_of(paths: Path | Sequence[Path] | None) -> list[str]:
    """Returns one or more paths, which may have options behind them, as strings; none for None."""
    if paths is None:
        return []
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return [os.fspath(path) for path in paths]


def paths_of(paths: Path | Sequence[Path]) -> list[str]:
    """Returns one or more paths as strings.

    Raises `UsageError` if there is none, and `MissingSourceError` for a local path that does not exist. URLs and
    sources of the form KIND:FILE are not looked up here.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    found = [os.fspath(path) for path in paths]
    if not found:
        raise UsageError("no path was given")
    for path in found:
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            if _PREFIXED.match(path):
                continue
            text = f"{path}: no such file or folder"
            raise MissingSourceError(text, path=path, errno=errno.ENOENT) from None
        except OSError:
            pass  # it may exist: the job reports the error
    return found


def words_of(words: str | Iterable[str] | None) -> str | None:
    """Returns words as one string, separated by commas."""
    return words if words is None or isinstance(words, str) else ",".join(words)


def extensions_of(words: str | Iterable[str] | None) -> list[str] | None:
    """Returns extensions as a list; a string has them separated by commas."""
    joined = words_of(words)
    return None if joined is None else [word.strip() for word in joined.split(",") if word.strip()]


def dict_of(storage: Mapping[str, object] | None) -> dict[str, object] | None:
    """Returns options of a store as a dictionary."""
    return None if storage is None else dict(storage)


def pairs_of(pairs: str | Mapping[str, Any] | None) -> str | None:
    """Returns a mapping as NAME=VALUE pairs, separated by commas."""
    if pairs is None or isinstance(pairs, str):
        return pairs
    return ",".join(f"{name}={value}" for name, value in pairs.items())


def typed_columns(columns: str | Mapping[str, str] | None) -> str | None:
    """Returns typed columns as "NAME:TYPE,NAME:TYPE"; a place may be before the type: {"class": "json:/label:u32"}."""
    if columns is None or isinstance(columns, str):
        return columns
    return ",".join(f"{name}={kind}" if ":" in kind else f"{name}:{kind}" for name, kind in columns.items())


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

#: Spellings of other libraries, and of the command, and what they are here: the first keyword that a function has.
_SPELLINGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("workers", "num_workers", "threads", "num_threads", "n_jobs", "processes"), ("jobs",)),
    **dict.fromkeys(("output", "dst", "dest", "out_dir", "output_dir"), ("out",)),
    **dict.fromkeys(("source", "input", "folder", "input_dir"), ("src",)),
    **dict.fromkeys(("force", "overwrite", "exist_ok"), ("fresh",)),
    **dict.fromkeys(("labels", "class_from"), ("label",)),
    **dict.fromkeys(("maxcount", "samples_per_shard", "max_samples", "shard_samples"), ("shard_samples", "max_samples")),
    **dict.fromkeys(("maxsize", "shard_bytes", "size_limit"), ("shard_size",)),
    **dict.fromkeys(("num_shards", "n_shards"), ("shards",)),
    **dict.fromkeys(("splits", "ratios"), ("split",)),
    **dict.fromkeys(("map_fn", "collate_fn", "preprocess"), ("transform",)),
}


def checked(
    name: str, instead: Mapping[str, str] | None = None
) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Makes a function or a constructor that refuses unknown keywords with the keyword that was probably meant.

    - `name`: the function as users write it: "tarflume.pack.build".
    - `instead`: for keywords of other functions, what to write.
    """

    def decorator(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        code = function.__code__
        known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

        @functools.wraps(function)
        def wrapper(*args: _Arguments.args, **words: _Arguments.kwargs) -> _Result:
            for word in words:
                if word not in known:
                    raise UsageError(f"{name} takes no {word}=; {_meant(name, word, known, instead or {})}")
            return function(*args, **words)

        return wrapper

    return decorator


def _meant(name: str, word: str, known: Sequence[str], instead: Mapping[str, str]) -> str:
    """What was probably meant by the unknown keyword `word`."""
    if word in instead:
        return instead[word]
    spelled = [keyword for keyword in _SPELLINGS.get(word, ()) if keyword in known]
    near = spelled or difflib.get_close_matches(word, [keyword for keyword in known if keyword != "self"], 1)
    return f"did you mean {near[0]}=?" if near else f"help({name}) lists all"
