"""The page and the server of `pack view` in Chromium: what a user sees and does. Each test also requires an empty console."""

from __future__ import annotations

import json
import pathlib

import pytest
from conftest import PATIENCE_S, Opened
from playwright.sync_api import Browser, expect

SAMPLES = 240


def annotations(shards: pathlib.Path) -> dict[str, list[str]]:
    """The classes of each key, from the source."""
    listed = json.loads((shards.parent / "source/instances.json").read_text())
    names = {one["id"]: one["name"] for one in listed["categories"]}
    keys = {one["id"]: one["file_name"].removesuffix(".jpg") for one in listed["images"]}
    found: dict[str, list[str]] = {key: [] for key in keys.values()}
    for one in listed["annotations"]:
        found[keys[one["image_id"]]].append(names[one["category_id"]])
    return found


def test_the_page_asks_nothing_of_other_hosts(opened: Opened, any_page: str) -> None:
    opened.page.locator(".card").nth(3).click()
    own = any_page if any_page.startswith("http") else "file:"
    assert opened.asked and all(url.startswith((own, "data:")) for url in opened.asked)
    assert any_page.startswith("http") or [url for url in opened.asked if not url.startswith("data:")] == [any_page]


def test_every_picture_that_is_shown_is_decoded(opened: Opened) -> None:
    opened.until("[...document.querySelectorAll('.card img:not(.overlay)')].slice(0, 8).every(i => i.complete)")
    sizes = opened.page.evaluate("[...document.querySelectorAll('.card img:not(.overlay)')].slice(0, 8).map(i => i.naturalWidth)")
    assert len(sizes) == 8 and min(sizes) > 20


def test_photographs_are_above_the_charts(opened: Opened) -> None:
    top = "id => document.getElementById(id).getBoundingClientRect().top"
    assert opened.page.evaluate(top, "sheet") < 900, "the first photographs are on the first screen"
    for name in ["Problems", "Charts"]:
        opened.page.get_by_role("link", name=name).click()
        opened.until(f"document.getElementById('{name.lower()}-title').getBoundingClientRect().top < innerHeight")
    assert opened.page.evaluate(top, "sheet") < opened.page.evaluate(top, "problems") < opened.page.evaluate(top, "charts")


def test_search_finds_keys_and_classes(opened: Opened, shards: pathlib.Path) -> None:
    classes = annotations(shards)
    search = opened.page.get_by_label("Key or class")
    search.fill("scene-003")
    expect(opened.page.locator("#count")).to_contain_text(f"10 samples of {SAMPLES}")
    assert opened.keys() == [f"scene-{n:04}" for n in range(30, 40)]
    search.fill("RING")
    wanted = sorted(key for key, names in classes.items() if "ring" in names)
    expect(opened.page.locator("#count")).to_contain_text(f"{len(wanted)} samples of {SAMPLES}")
    assert opened.keys() == wanted[:120]
    search.fill("no such thing")
    expect(opened.page.locator("#count")).to_contain_text("0 samples")
    assert opened.keys() == []
    opened.page.get_by_role("button", name="Clear").click()
    expect(opened.page.locator("#count")).to_have_text(f"{SAMPLES} samples")
    expect(opened.page.locator(".card")).to_have_count(120)


def test_classes_and_problems_filter(opened: Opened, shards: pathlib.Path) -> None:
    wanted = sorted(key for key, names in annotations(shards).items() if "triangle" in names)
    opened.page.locator("#charts").get_by_role("button", name="triangle").click()
    expect(opened.page.locator("#count")).to_contain_text(f"{len(wanted)} samples of")
    assert opened.keys() == wanted[:120]
    opened.page.get_by_role("button", name="Clear").click()
    for flag, key in [("duplicate", "scene-0031"), ("damaged-part jpg", "scene-0042"), ("four-inks", "scene-0023"), ("tiny-picture", "scene-0017")]:
        opened.page.get_by_role("button", name=f"Show {flag}").click()
        expect(opened.page.locator(".card .key")).to_have_text([key])
        expect(opened.page.locator("#count")).to_contain_text("1 sample of")
    expect(opened.page.locator(".problem", has_text="missing-part mask.png")).to_contain_text("24 samples")


def test_more_samples_follow_until_the_end(opened: Opened) -> None:
    assert len(opened.keys()) == 120
    opened.page.get_by_role("button", name="Show more").click()
    expect(opened.page.locator(".card")).to_have_count(SAMPLES)
    assert opened.keys() == [f"scene-{n:04}" for n in range(SAMPLES)]
    expect(opened.page.get_by_role("button", name="Show more")).to_be_hidden()


def test_keys_move_open_and_close(opened: Opened) -> None:
    page = opened.page
    # A dialog returns the focus after it is hidden, so the focus is waited for.
    focused = page.locator(".card:focus")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("/")
    expect(page.locator("#search")).to_have_value("/")
    expect(page.locator("#count")).to_contain_text("0 samples of")
    page.locator("#search").fill("")
    expect(page.locator("#count")).to_have_text(f"{SAMPLES} samples")
    page.locator(".card").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(focused).to_have_attribute("title", "scene-0002")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    expect(focused).not_to_have_attribute("title", "scene-0001")
    below = focused.get_attribute("title")
    assert below and below > "scene-0004"
    page.keyboard.press("ArrowUp")
    expect(focused).to_have_attribute("title", "scene-0001")
    page.keyboard.press("Enter")
    expect(page.locator("dialog h2")).to_have_text("scene-0001")
    page.keyboard.press("ArrowRight")
    expect(page.locator("dialog h2")).to_have_text("scene-0002")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    expect(focused).to_have_attribute("title", "scene-0002")
    page.keyboard.press("End")
    expect(focused).to_have_attribute("title", "scene-0119")


def test_boxes_and_masks_are_at_their_places(opened: Opened, shards: pathlib.Path) -> None:
    listed = json.loads((shards.parent / "source/instances.json").read_text())
    image = listed["images"][5]
    boxes = [one["bbox"] for one in listed["annotations"] if one["image_id"] == 5]
    opened.page.locator(".card", has_text="scene-0005").click()
    drawn = opened.page.locator("dialog svg.overlay rect")
    expect(drawn).to_have_count(len(boxes))
    picture = opened.page.locator("dialog .large img:not(.overlay)")
    expect(picture).to_be_visible()
    opened.until("document.querySelector('dialog .large img').naturalWidth > 0")
    frame = picture.bounding_box()
    assert frame
    scale = frame["width"] / image["width"]
    for n, (x, y, width, height) in enumerate(boxes):
        place = drawn.nth(n).bounding_box()
        assert place
        wanted = [frame["x"] + x * scale, frame["y"] + y * scale, width * scale, height * scale]
        found = [place["x"], place["y"], place["width"], place["height"]]
        assert all(abs(a - b) < 4 for a, b in zip(wanted, found, strict=True)), (wanted, found)
    mask = opened.page.locator("dialog img.overlay")
    expect(mask).to_have_count(1)
    opened.until("document.querySelector('dialog img.overlay').naturalWidth > 0")
    # A pixel in the middle of the first box of the mask has a color, the corner of the picture has none.
    middle = [(boxes[0][0] + boxes[0][2] / 2) / image["width"], (boxes[0][1] + boxes[0][3] * 0.7) / image["height"]]
    opacity = """([x, y]) => { const image = document.querySelector('dialog img.overlay'); const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight]; const context = canvas.getContext('2d');
        context.drawImage(image, 0, 0); return context.getImageData(x * canvas.width, y * canvas.height, 1, 1).data[3]; }"""
    assert opened.page.evaluate(opacity, middle) == 255
    empty = next(([x, y] for x in (0.02, 0.98) for y in (0.02, 0.98) if not any(
        b[0] <= x * image["width"] <= b[0] + b[2] and b[1] <= y * image["height"] <= b[1] + b[3] for b in boxes)))
    assert opened.page.evaluate(opacity, empty) == 0
    opened.page.keyboard.press("Escape")
    expect(opened.page.locator(".card .overlay rect").first).to_be_visible()
    for label, drawn in [("Boxes", ".card .overlay rect"), ("Masks", ".card img.overlay"), ("Keypoints", ".card .overlay circle")]:
        opened.page.get_by_label(label).uncheck()
        expect(opened.page.locator(drawn).first).to_be_hidden()
    opened.page.get_by_role("button", name="Clear").click()
    expect(opened.page.locator(".card .overlay rect").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_axe_finds_nothing_wrong(browser: Browser, any_page: str, scheme: str, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)  # type: ignore[arg-type]
    page.set_default_timeout(PATIENCE_S * 1000)
    one = Opened(page)
    page.goto(any_page)
    page.wait_for_selector(".card")
    assert one.axe() == []
    page.locator(".card").nth(2).click()
    expect(page.locator("dialog")).to_be_visible()
    assert one.axe() == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"
    page.close()


def test_texts_of_a_data_set_are_never_markup(browser: Browser, tmp_path: pathlib.Path) -> None:
    import subprocess

    from conftest import PACK
    from PIL import Image

    source = tmp_path / "src" / "<img src=x onerror=alert(1)>"
    source.mkdir(parents=True)
    Image.new("RGB", (40, 30), "red").save(source / "</script><script>alert(2).jpg".replace("/", "_"))
    (source / "</script><script>alert(2).json".replace("/", "_")).write_text(json.dumps({"label": "</script><b>x"}))
    subprocess.run([PACK, "build", str(tmp_path / "src"), "-o", str(tmp_path / "out"), "--names", "space=allow"], check=True, capture_output=True)
    subprocess.run([PACK, "view", str(tmp_path / "out"), "-o", str(tmp_path / "page.html")], check=True)
    page = browser.new_page()
    one = Opened(page)
    page.on("dialog", lambda dialog: one.said.append(dialog.message))
    page.goto((tmp_path / "page.html").as_uri())
    page.locator(".card").first.click()
    assert page.locator("dialog h2").inner_text().startswith("<img src=x")
    assert "</script><b>x" in page.locator("#detail").inner_text()
    assert one.said == []
    page.close()
