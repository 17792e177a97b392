"""Makes the pictures of docs/VIEW.md in docs/images, from the data set of tests/browser/demo_set.py. `make screenshots` runs it.

    python3 docs/screenshots.py PACK
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs/images"
sys.path.insert(0, str(ROOT / "tests/browser"))
import demo_set  # noqa: E402

DESK, PHONE = (1280, 800), (390, 844)


def page(browser: Browser, address: str, size: tuple[int, int], scheme: str) -> Page:
    made = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)  # type: ignore[arg-type]
    made.goto(address)
    made.wait_for_selector(".card")
    return made


def save(made: Page, name: str) -> None:
    """Writes the picture with at most 256 colors: a third of the bytes."""
    from PIL import Image

    seen = "i.getBoundingClientRect().top < innerHeight && i.getBoundingClientRect().bottom > 0"
    near = f"[...document.images].filter(i => {seen}).every(i => i.complete)"
    made.wait_for_timeout(300)
    while not made.evaluate(near):
        made.wait_for_timeout(50)
    path = IMAGES / f"{name}.png"
    made.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)
    made.close()


def shoot(browser: Browser, address: str) -> None:
    save(page(browser, address, DESK, "dark"), "view-samples-dark")
    charts = page(browser, address, DESK, "light")
    charts.get_by_role("link", name="Charts").click()
    save(charts, "view-charts")
    sample = page(browser, address, DESK, "light")
    sample.locator(".card", has_text="scene-0012").click()
    save(sample, "view-sample")
    phone = page(browser, address, PHONE, "light")
    phone.locator("#samples-title").evaluate("title => title.scrollIntoView()")
    save(phone, "view-phone")
    dark = page(browser, address, PHONE, "dark")
    dark.locator(".card", has_text="scene-0012").click()
    save(dark, "view-phone-dark")


def main() -> None:
    pack = sys.argv[1]
    chromium = os.environ.get("TARFLUME_CHROMIUM") or shutil.which("chromium")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        shards = demo_set.make(pack, pathlib.Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with subprocess.Popen([pack, "view", str(shards), "--serve"], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            shoot(browser, server.stdout.readline().strip())
            server.terminate()
        browser.close()


if __name__ == "__main__":
    main()
