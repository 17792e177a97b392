"""The cache of a machine, through Python and the command, over an HTTP server that counts requests."""

from __future__ import annotations

import json
import multiprocessing
import pathlib
import pickle
import subprocess
from collections.abc import Iterator

import pytest

import servers
import tarflume
from tarflume.errors import Error, UsageError
from conftest import PACK, pairs


class CountingHandler(servers.RangeHandler):
    """Remembers the names that were asked for."""

    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()


def tars() -> int:
    """Requests for shards since the last call."""
    found = sum(name.endswith(".tar") for name in CountingHandler.asked)
    CountingHandler.asked.clear()
    return found


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    out = tmp_path_factory.mktemp("local") / "set"
    tarflume.pack.build(pairs(tmp_path_factory.mktemp("source") / "pairs", 60), out, shards=4)
    return out


@pytest.fixture
def url(local: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TARFLUME_SIDECARS", str(tmp_path / "sidecars"))
    monkeypatch.setenv("TARFLUME_CACHE", str(tmp_path / "cache"))
    with servers.http_files(local, CountingHandler) as url:
        CountingHandler.asked.clear()
        yield url


def run(*words: object, code: int = 0) -> str:
    done = subprocess.run([PACK, *map(str, words)], text=True, capture_output=True, check=False)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def epoch(shards: object, **words: object) -> str:
    loader = tarflume.Loader(shards, batch_size=7, shuffle="full", seed=3, columns=["jpg"], **words)
    assert sum(len(batch["key"]) for batch in loader) > 50
    assert loader.ledger() == loader.expected(0)
    return str(loader.ledger())


def ledger_of(url: str) -> str:
    return epoch(url, cache="64MiB")


def test_a_second_epoch_asks_for_no_shard(local: pathlib.Path, url: str) -> None:
    assert epoch(url, cache="64MiB") == epoch(local)
    assert tars() >= 4  # more, where a reader does not wait any longer for what another one fetches
    loader = tarflume.Loader(url, batch_size=7, shuffle="blocks", columns=["jpg"], cache="64MiB")
    list(loader)
    assert tars() == 0
    found = loader.stats()["fetch"]["cache"]
    assert found["hits"] >= 40 and found["misses"] == found["damaged"] == found["errors"] == 0
    assert 40 << 20 < found["bytes"] <= 64 << 20
    assert tarflume.Loader(url, batch_size=7, columns=["jpg"]).stats()["fetch"]["cache"] is None
    dataset = pickle.loads(pickle.dumps(tarflume.Dataset(url, cache="64MiB")))
    assert dataset[5]["jpg"] == tarflume.Dataset(local)[5]["jpg"]
    assert tars() == 0


def test_processes_share_it(local: pathlib.Path, url: str) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        ledgers = pool.map(ledger_of, [url] * 4)
    assert set(ledgers) == {epoch(local)}
    # Without it each of the 4 would ask for 4. A process that has waited long enough for another asks by itself.
    assert tars() >= 4
    assert json.loads(run("cache", "stat", "--format", "json"))["blocks"] == 4


def test_the_environment_turns_it_on(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARFLUME_CACHE_SIZE", "40MiB")
    epoch(url)
    tars()
    epoch(url)
    assert tars() == 0
    monkeypatch.setenv("TARFLUME_CACHE_SIZE", "lots")
    with pytest.raises(UsageError, match="TARFLUME_CACHE_SIZE"):
        epoch(url)


def test_the_command_warms_shows_checks_and_removes_it(url: str, tmp_path: pathlib.Path) -> None:
    assert "there is no cache" in run("cache", "stat", code=2)
    assert "give its size" in run("cache", "warm", url, code=2)
    text = run("cache", "warm", url, "--size", "64MiB")
    assert "4 blocks fetched" in text, text
    assert "0 blocks fetched (0 bytes), 4 were there" in run("cache", "warm", url)
    tars()
    epoch(url, cache="1TiB")  # it exists, so it keeps its size
    assert tars() == 0
    shown = json.loads(run("cache", "stat", "--format", "json"))
    assert shown["blocks"] == 4 and shown["hits"] >= 40 and shown["evictions"] == 0
    assert "4 blocks of 48" in run("cache", "stat")
    assert "4 blocks right, 0 damaged" in run("cache", "verify")
    path = pathlib.Path(shown["path"])
    with path.open("r+b") as file:
        for place in range((path.stat().st_size - (48 << 20)) + 100, path.stat().st_size, 1 << 20):
            file.seek(place)
            file.write(b"other bytes")
    found = run("cache", "verify", code=1)
    assert "0 blocks right, 4 damaged" in found and "it is empty now" in found
    assert epoch(url, cache="64MiB")
    assert "removed" in run("cache", "drop")
    assert "there was no cache" in run("cache", "drop")
    assert list((tmp_path / "cache").iterdir()) == []


def test_what_cannot_be_cached_is_said(url: str) -> None:
    with pytest.raises(UsageError, match="17 MiB"):
        epoch(url, cache="1MiB")
    with pytest.raises(Error, match="cannot reserve"):
        epoch(url, cache=str(1 << 60))
    with pytest.raises(UsageError, match="size"):
        epoch(url, cache="much")
    assert "give the URL" in run("cache", "warm", "shards/", code=2)
