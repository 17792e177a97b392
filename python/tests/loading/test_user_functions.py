"""Exceptions of users' functions: they arrive as they are, with their traceback and the place where it happened; nothing
hangs, nothing ends quietly, and the loader works afterwards."""

from __future__ import annotations

import traceback

import pytest
from torch.utils.data import DataLoader

import tarflume
import tarflume.grain
import tarflume.torch as ours
import tarflume.webdataset as wds
from tarflume import errors

WORDS = {"batch_size": 10}


class NoTextError(Exception):
    """An exception that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class TwoArgumentsError(Exception):
    def __init__(self, one: object, two: object) -> None:
        super().__init__(f"{one}{two}")


RAISED = [
    ValueError("mine"), KeyboardInterrupt(), SystemExit(3), StopIteration("x"), GeneratorExit(), MemoryError(),
    EOFError("e"), NoTextError(), TwoArgumentsError(1, 2),
]  # fmt: skip


def thrower(error):
    def the_users_function(*_args, **_words):
        raise error

    return the_users_function


def doors(shards, function):
    """Each place that takes a function, and the note or the key by which its exception names the place."""
    column = {"x": tarflume.Apply(function, tarflume.Json("/n"))}
    tar = str(min(shards.glob("*.tar")))

    def tars(**words):
        return wds.WebDataset(tar, shardshuffle=False, **words)

    return {
        "Apply": (lambda: tarflume.Loader(shards, columns=column, **WORDS), "key"),
        "Apply, skip": (lambda: tarflume.Loader(shards, columns=column, on_bad="skip", **WORDS), "key"),
        "collate": (lambda: tarflume.Loader(shards, collate=function, **WORDS), "called with batch 0 of epoch 0"),
        "map": (lambda: tarflume.Loader(shards, **WORDS).epoch(0).map(function), "called with batch 0 of epoch 0"),
        "torch transform": (lambda: ours.Loader(shards, transform=function, **WORDS), "called with batch 0 of epoch 0"),
        "torch collate": (lambda: ours.Loader(shards, collate=function, **WORDS), "called with batch 0 of epoch 0"),
        "torch samples": (lambda: ours.Dataset(shards, transform=function), "called with sample"),
        "map-style": (lambda: ours.MapDataset(shards, transform=function), "called with sample"),
        "grain": (lambda: tarflume.grain.Source(shards, transform=function), "called with sample"),
        "wds map": (lambda: tars().map(function), "called with sample"),
        "wds select": (lambda: tars().select(function), "called with sample"),
        "wds map_dict": (lambda: tars().map_dict(json=function), "called with sample"),
        "wds decode": (lambda: tars().decode(function), "key"),
        "wds batched": (lambda: tars().batched(5, collation_fn=function), "called with sample"),
        "wds select_files": (lambda: tars(select_files=function), "called with sample"),
        "wds rename_files": (lambda: tars(rename_files=function), "called with sample"),
    }


@pytest.mark.parametrize("raised", RAISED, ids=[type(error).__name__ for error in RAISED])
def test_the_exception_of_a_function_arrives(shards, raised):
    keys = set(tarflume.Dataset(shards).key(n) for n in range(100))
    for name, (make, place) in doors(shards, thrower(raised)).items():
        if name == "Apply, skip" and isinstance(raised, Exception) and not isinstance(raised, MemoryError):
            continue  # a bad sample is left out: see below
        data = make()
        with pytest.raises(BaseException) as caught:  # noqa: PT011
            list(data)
        error = caught.value
        chain = [error, error.__cause__]
        if isinstance(raised, StopIteration):
            assert not isinstance(error, StopIteration) and raised in chain, name
        elif isinstance(raised, Exception) and place == "key" and not isinstance(raised, MemoryError):
            assert isinstance(error, errors.DecodeError) and error.__cause__ is raised, name
        elif not (isinstance(raised, MemoryError) and name == "wds decode"):
            assert error is raised, f"{name}: {error!r}" if type(error) is not NoTextError else name
        assert "the_users_function" in "".join(traceback.format_exception(error)), name
        notes = " ".join(getattr(error, "__notes__", []))
        if place == "key" and isinstance(error, errors.Error):
            assert error.key in keys, name
        elif place == "key" and name.startswith("Apply"):
            assert "key " in notes, name
        elif isinstance(raised, Exception):
            assert place in notes, f"{name}: {notes}"
        if hasattr(data, "close"):
            data.close()
        if hasattr(raised, "__notes__"):
            del raised.__notes__
        raised.__cause__ = raised.__context__ = None


def test_only_exceptions_about_a_sample_make_it_bad(shards):
    """`on_bad="skip"` leaves out samples, not Ctrl-C."""

    def fails_once(error):
        def of(number):
            if number == 7:
                raise error
            return number

        return {"x": tarflume.Apply(of, tarflume.Json("/n"))}

    for on_bad in ("skip", "substitute"):
        for error in (KeyboardInterrupt(), SystemExit(1), MemoryError()):
            loader = tarflume.Loader(shards, columns=fails_once(error), on_bad=on_bad, **WORDS)
            with pytest.raises(type(error)):
                list(loader)
            assert loader.bad_samples() == []
            loader.close()
        for error in (ValueError("x"), NoTextError(), StopIteration()):
            with tarflume.Loader(shards, columns=fails_once(error), on_bad=on_bad, **WORDS) as loader:
                rows = sum(batch.rows for batch in loader)
                assert rows == (99 if on_bad == "skip" else 100) and len(loader.bad_samples()) == 1


def test_exceptions_in_worker_processes_arrive(shards):
    """One worker is enough: the exception crosses the process with its text and its key."""
    function = thrower(TwoArgumentsError(1, 2))
    column = {"x": tarflume.Apply(function, tarflume.Json("/n"))}
    for data in (
        ours.Dataset(shards, columns=column, **WORDS),
        ours.Dataset(shards, transform=function, **WORDS),
        wds.WebDataset(str(min(shards.glob("*.tar"))), shardshuffle=False).map(function),
    ):
        with pytest.raises(Exception, match="12") as caught:
            list(DataLoader(data, batch_size=None, num_workers=1))
        assert "the_users_function" in str(caught.value)


def test_a_filter_of_files_that_ends_its_iteration_loses_no_sample(tmp_path, shards):
    """StopIteration ended the shard without an error, and its other samples were lost."""
    seen = []

    def picks(name):
        seen.append(name)
        if len(seen) == 5:
            raise StopIteration
        return True

    tars = [str(path) for path in sorted(shards.glob("*.tar"))]
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        list(wds.WebDataset(tars, shardshuffle=False, select_files=picks))
    for kind in (EOFError, OSError):  # which the reader of tars takes for a cut one
        with open(tars[0], "rb") as stream, pytest.raises(kind, match="mine"):
            list(wds.tariterators.tar_file_iterator(stream, select_files=thrower(kind("mine"))))
