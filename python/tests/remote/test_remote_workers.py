"""Data sets in stores, in the workers of a DataLoader: forked ones open stores of their own."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

import servers
import tarflume
from conftest import pairs

torch = pytest.importorskip("torch")

import tarflume.torch as ours  # noqa: E402
import tarflume.webdataset as wds  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

COUNT = 40

Place = tuple[str, dict[str, str]]


@pytest.fixture(autouse=True)
def sidecars(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sidecars stay in the folder of the test; the environment has no credentials."""
    monkeypatch.setenv("TARFLUME_SIDECARS", str(tmp_path / "sidecars"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("local")
    tarflume.pack.build(pairs(root / "pairs", COUNT), root / "set", shards=4)
    return root / "set"


@pytest.fixture(scope="module", params=["http", "s3", "az"])
def place(request: pytest.FixtureRequest, local: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The same data set in a store: its URL and `storage=`."""
    if request.param == "az" and not servers.AZURITE.exists():
        pytest.skip("azurite is not installed: `make python` does")
    with contextlib.ExitStack() as stack:
        folder = tmp_path_factory.mktemp("server")
        if request.param == "http":
            yield stack.enter_context(servers.http_files(local)), {"allow_http": "true"}
            return
        server = servers.seaweedfs if request.param == "s3" else servers.azurite
        options = stack.enter_context(server(folder))
        url = f"{request.param}://data/workers"
        tarflume.pack.build(local.parent / "pairs", url, shards=4, storage=options)
        yield url, options


def rows(loader: Any) -> list[tuple[str, bytes]]:
    return [
        (key, json) for batch in loader for key, json in zip(batch["key"], map(bytes, batch["json"]), strict=True)
    ]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_an_iterable_data_set_is_read_by_workers(method: str, place: Place, local: pathlib.Path) -> None:
    if method == "spawn" and not place[0].startswith("http"):
        pytest.skip("spawned workers share nothing with their parent, whichever store it is")
    words: dict[str, Any] = {"columns": {"json": "json"}, "batch_size": 6, "shuffle": "full", "seed": 2}
    url, storage = place
    data = ours.Dataset(url, storage=storage, cache="64MiB", **words)
    expected = rows(DataLoader(ours.Dataset(local, **words), batch_size=None))
    assert rows(DataLoader(data, batch_size=None)) == expected, "the parent has connections now"
    loader = DataLoader(data, batch_size=None, num_workers=2, multiprocessing_context=method)
    data.set_epoch(0)
    assert rows(loader) == expected
    data.set_epoch(0)
    assert rows(loader) == expected, "workers of a second epoch"


def test_samples_by_number_are_read_by_forked_workers_and_by_their_parent(place: Place, local: pathlib.Path) -> None:
    url, storage = place
    opened = tarflume.Dataset(url, storage=storage)
    expected = [bytes(sample["json"]) for sample in ours.MapDataset(local)]
    data = ours.MapDataset(opened, parts=["json"])
    assert bytes(data[0]["json"]) == expected[0], "the parent has connections now"
    loader = DataLoader(data, batch_size=None, num_workers=2, multiprocessing_context="fork")
    running = iter(loader)
    found = [bytes(next(running)["json"])]
    assert bytes(data[1]["json"]) == expected[1], "parent and children read at the same time"
    found += [bytes(sample["json"]) for sample in running]
    assert found == expected
    assert bytes(data[2]["json"]) == expected[2]


def test_the_door_of_webdataset_is_read_by_forked_workers(place: Place, local: pathlib.Path) -> None:
    url, storage = place
    shards = [f"{url.rstrip('/')}/{path.name}" for path in sorted(local.glob("*.tar"))]
    data = wds.WebDataset(shards, shardshuffle=False, storage=storage)
    expected = sorted(sample["__key__"] for sample in wds.WebDataset([str(p) for p in local.glob("*.tar")], shardshuffle=False))
    next(iter(data))
    loader = wds.WebLoader(data, batch_size=None, num_workers=2, multiprocessing_context="fork")
    assert sorted(sample["__key__"] for sample in loader) == expected


def test_a_forked_child_does_not_mix_two_states_of_a_data_set(local: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """The child opens the data set by its URL, where another one may be now."""
    folder = tmp_path / "served"
    folder.mkdir()
    for path in local.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    with servers.http_files(folder) as url:
        data = tarflume.Dataset(url, storage={"allow_http": "true"})
        assert data[0]["__key__"]
        tarflume.pack.build(pairs(tmp_path / "other", 12), tmp_path / "new", shards=4)
        for path in (tmp_path / "new").iterdir():
            if path.is_file():
                (folder / path.name).write_bytes(path.read_bytes())
        child = os.fork()
        if child == 0:
            try:
                data[0]
            except tarflume.errors.StaleError as error:
                os._exit(0 if "parent process" in str(error) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
