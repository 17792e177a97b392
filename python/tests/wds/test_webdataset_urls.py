"""`tarflume.webdataset` over URLs: the samples of the files, and no command is run."""

from __future__ import annotations

import http.server
import os
import pathlib
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from patience import PATIENCE_S
import servers
import tarflume.webdataset as ours
from tarflume import errors
from tarflume._core import TarStream
from wds_data import Data, plain


@pytest.fixture(autouse=True)
def no_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """No command may be run, and the environment has neither proxies for this machine nor credentials."""

    def refused(*words: Any, **_: Any) -> None:
        raise AssertionError(f"a command was run: {words}")

    monkeypatch.setattr(subprocess, "Popen", refused)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return Data(tmp_path_factory.mktemp("root") / "bucket")


@pytest.fixture(scope="module")
def web(data: Data) -> Iterator[str]:
    """The URL of the folder above that of the tars."""
    with servers.http_files(data.root.parent) as url:
        yield url


def dataset(urls: Any, **words: Any) -> Any:
    return ours.WebDataset(urls, shardshuffle=False, **words)


def told(samples: Any) -> list[Any]:
    """What does not depend on the place of the shards."""
    return [plain({name: part for name, part in sample.items() if name[:2] != "__"}) for sample in samples]


@pytest.mark.parametrize("kind", ["plain-{000..003}.tar", "packed-{000..003}.tar.gz"])
def test_urls_give_the_samples_of_the_files(data: Data, web: str, kind: str) -> None:
    here = list(dataset(f"{data.root}/{kind}"))
    for allow in ((), ("pipe",)):
        there = list(dataset(f"{web}/bucket/{kind}", allow=allow))
        assert told(there) == told(here)
        assert [sample["__key__"] for sample in there] == [sample["__key__"] for sample in here]
        names = [sample["__url__"].rpartition("/")[2] for sample in here]
        assert [sample["__url__"] for sample in there] == [f"{web}/bucket/{name}" for name in names]
        assert not any("__local_path__" in sample for sample in there)


def test_a_query_belongs_to_the_url_and_to_no_message(web: str) -> None:
    assert len(list(dataset(f"{web}/bucket/plain-{{000..001}}.tar?sig=secret"))) == 14
    with pytest.raises(errors.ReadError, match=r"bucket/none\.tar: ") as caught:
        list(dataset(f"{web}/bucket/none.tar?sig=secret"))
    assert "secret" not in str(caught.value)


def test_handlers_decide_about_a_missing_shard(web: str) -> None:
    urls = f"{web}/bucket/{{plain-000,missing,plain-001}}.tar"
    with pytest.raises(errors.ReadError, match=r"bucket/missing\.tar: the store has no such object") as caught:
        list(dataset(urls))
    assert caught.value.path == f"{web}/bucket/missing.tar"
    assert len(list(dataset(urls, handler=ours.ignore_and_continue))) == 14
    assert len(list(dataset(urls, handler=ours.ignore_and_stop))) == 7


def test_storage_says_how_a_store_is_reached(data: Data, web: str) -> None:
    storage = {"endpoint": web, "allow_http": True, "anonymous": True, "region": "here"}
    there = dataset("s3://bucket/plain-{000..003}.tar", storage=storage)
    assert told(there) == told(dataset(data.braces))
    with pytest.raises(errors.UsageError, match="endpiont"):
        list(dataset("s3://bucket/a.tar", storage={"endpiont": web}))


def test_a_folder_and_an_unknown_scheme_are_refused(web: str) -> None:
    with pytest.raises(errors.UsageError, match="by braces"):
        list(dataset(f"{web}/bucket/"))
    with pytest.raises(ours.RefusedError, match="pipe:aws s3 cp"):
        list(dataset("ais://bucket/a.tar", handler=ours.ignore_and_continue))


def test_a_server_without_ranges_is_named_as_such(data: Data) -> None:
    class Whole(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *words: Any) -> None:
            super().__init__(*words, directory=os.fspath(data.root))

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Whole) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        with pytest.raises(errors.ReadError, match="ignores ranges"):
            list(dataset(f"http://127.0.0.1:{served.server_address[1]}/plain-000.tar"))
        served.shutdown()


def test_leaving_early_does_not_wait_for_the_server(data: Data) -> None:
    asked, left = threading.Event(), threading.Event()
    waited = []

    class Slow(servers.RangeHandler):
        def send_head(self) -> None:
            asked.set()
            waited.append(not left.wait(PATIENCE_S))
            return super().send_head()

    with servers.http_files(pathlib.Path(data.root), Slow) as url:
        stream = TarStream(f"{url}/plain-000.tar")
        assert asked.wait(PATIENCE_S)
        stream.close()
        left.set()
    assert not any(waited), "it waited for an answer"
