"""A browser, the pages and the server of `pack view`. Chromium is that of the system: `TARFLUME_CHROMIUM`, or found in PATH."""

from __future__ import annotations

import collections.abc
import os
import pathlib
import shutil
import signal
import subprocess

import demo_set
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

PACK = os.environ["TARFLUME_PACK"]
AXE = pathlib.Path(os.environ["TARFLUME_AXE"])
#: What has not happened by then never will, however busy the machine is.
PATIENCE_S = 1800.0
expect.set_options(timeout=PATIENCE_S * 1000)


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The data set of demo_set.py."""
    return demo_set.make(PACK, tmp_path_factory.mktemp("set"))


@pytest.fixture(scope="session")
def page_file(shards: pathlib.Path) -> pathlib.Path:
    """Its page."""
    page = shards.parent / "page.html"
    subprocess.run([PACK, "view", str(shards), "-o", str(page)], check=True)
    return page


@pytest.fixture(scope="session")
def server(shards: pathlib.Path) -> collections.abc.Iterator[str]:
    """The address of its server."""
    command = [PACK, "view", str(shards), "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0


@pytest.fixture(scope="session")
def browser() -> collections.abc.Iterator[Browser]:
    path = os.environ.get("TARFLUME_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    assert path, "Chromium is missing: apt-get install chromium"
    with sync_playwright() as playwright:
        # Without its sandbox, because containers do not have what it needs; all pages are ours.
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


class Opened:
    """A page, with all that its console said and all that it asked of a network."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on("request", lambda request: self.asked.append(request.url))

    def keys(self) -> list[str]:
        """The keys of the cards."""
        return self.page.locator(".card .key").all_inner_texts()

    def until(self, condition: str) -> None:
        """Waits for an expression. Not `wait_for_function`, which evaluates a text inside of the page: its policy forbids that."""
        for _ in range(round(PATIENCE_S / 0.05)):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(condition)

    def axe(self) -> list[str]:
        """What axe-core finds wrong, each with its place."""
        # evaluate, not a script element: the page allows its own script alone.
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("axe.run()")
        return [f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found["violations"] for node in one["nodes"]]


@pytest.fixture(params=["file", "server"])
def any_page(request: pytest.FixtureRequest) -> str:
    """The address of the page of one file, and then that of the server."""
    if request.param == "server":
        return str(request.getfixturevalue("server"))
    return pathlib.Path(request.getfixturevalue("page_file")).as_uri()


@pytest.fixture
def opened(browser: Browser, any_page: str) -> collections.abc.Iterator[Opened]:
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.set_default_timeout(PATIENCE_S * 1000)
    one = Opened(page)
    page.goto(any_page)
    page.wait_for_selector(".card")
    yield one
    assert one.said == []
    page.close()
