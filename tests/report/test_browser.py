"""The report in a real Chromium: errors, map, thumbnails, hover and tap, widths, themes, speed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from grande_gnn.graph.neighbors import Neighbors
from grande_gnn.report import write_report

pytestmark = pytest.mark.browser

WIDE, PHONE = 1400, 390

# Every visible line of text: its box, cut to the scrolling box around it.
TEXT_BOXES = """(() => {
  const boxes = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const page = new DOMRect(-1e6, -1e6, 2e6, 2e6);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const parent = node.parentElement, range = document.createRange();
    if (!node.data.trim() || !parent.checkVisibility()) continue;
    if (parent.closest("script, style, select, title")) continue;
    const clip = parent.closest(".scroll, #legend")?.getBoundingClientRect() ?? page;
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      const left = Math.max(clip.left, box.left), right = Math.min(clip.right, box.right);
      const top = Math.max(clip.top, box.top), bottom = Math.min(clip.bottom, box.bottom);
      const text = node.data.trim().slice(0, 40);
      if (right - left > 1 && bottom - top > 1) boxes.push([left, top, right, bottom, text]);
    }
  }
  return boxes;
})()"""

# Elements that hide part of what they hold; tables and a long legend may, as they scroll.
CUT = """[...document.querySelectorAll("body *")].filter((e) =>
  e.checkVisibility() && getComputedStyle(e).overflow !== "visible"
  && !e.matches(".scroll, #legend, svg, select, option, canvas, input")
  && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)
).map((e) => e.outerHTML.slice(0, 120))"""


def solid_colors(n: int) -> np.ndarray:
    return np.random.default_rng(3).integers(20, 236, (n, 3)).astype(np.uint8)


@pytest.fixture(scope="module")
def page(make_labelling, tmp_path_factory):
    """Images spread over the map, with long and foreign names; their thumbnails are colors that tell them apart."""
    files = [f"photos/{'a long name ' * (i % 9)}été 空 {i}.jpg" for i in range(400)]
    grid = np.stack(np.divmod(np.arange(400), 20), axis=1)
    colors = solid_colors(400)

    def thumbnails(rows):
        return (np.broadcast_to(colors[i], (64, 64, 3)) for i in rows)

    labelling = make_labelling(
        n=400, n_classes=17, files=files, neighbors=Neighbors(grid), thumbnails=thumbnails
    )
    path = tmp_path_factory.mktemp("page") / "report.html"
    return write_report(labelling, path, image_root="../my photos #1")


def places(browser) -> np.ndarray:
    """Where each image lies in the window, as the map draws it before any zoom."""
    browser.js("document.getElementById('map').scrollIntoView()")
    left, top, width, height = browser.js(
        "(({left, top, width, height}) => [left, top, width, height])(canvas.getBoundingClientRect())"
    )
    xy = (
        np.array(browser.js("JSON.parse(document.getElementById('map-data').textContent).xy")).reshape(-1, 2)
        / 9999
    )
    return np.stack([left + 18 + xy[:, 0] * (width - 36), top + 18 + (1 - xy[:, 1]) * (height - 36)], axis=1)


def loneliest(spots: np.ndarray) -> int:
    """The image whose nearest other image on the map is farthest, so that nothing covers it."""
    distance = np.linalg.norm(spots[:, None] - spots[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    return int(distance.min(axis=1).argmax())


def picture(browser, selector: str) -> np.ndarray:
    """The mean color of an element, as the screen shows it."""
    box = browser.js(
        f"(({{x, y, width, height}}) => [x, y, width, height])({selector}.getBoundingClientRect())"
    )
    shot = Image.open(io.BytesIO(browser.page.screenshot())).convert("RGB")
    x, y, width, height = box
    return np.asarray(shot.crop((int(x) + 8, int(y) + 8, int(x + width) - 8, int(y + height) - 8))).mean(
        (0, 1)
    )


def assert_tidy(browser, width: int) -> None:
    """Nothing sticks out of the page, is cut, or lies on something else."""
    assert browser.js("document.documentElement.scrollWidth") <= width
    assert browser.js(CUT) == []
    boxes = browser.js(TEXT_BOXES)
    assert len(boxes) > 100
    assert all(left >= 0 and right <= width + 0.5 for left, _, right, _, _ in boxes)
    corners = np.array([box[:4] for box in boxes])
    for i, (left, top, right, bottom) in enumerate(corners):
        x = np.minimum(right, corners[i + 1 :, 2]) - np.maximum(left, corners[i + 1 :, 0])
        y = np.minimum(bottom, corners[i + 1 :, 3]) - np.maximum(top, corners[i + 1 :, 1])
        hit = np.flatnonzero((x > 2) & (y > 6))  # lines of a text may share some leading
        assert not len(hit), (boxes[i], boxes[i + 1 + hit[0]])


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_the_page_is_tidy_and_silent(browser, page, width, dark):
    browser.open(page, width=width, dark=dark)
    browser.js("document.querySelectorAll('.more').forEach((button) => button.click())")
    assert_tidy(browser, width)
    shot = Image.open(io.BytesIO(browser.page.screenshot(full_page=True))).convert("L")
    assert shot.width == width
    assert (np.median(np.asarray(shot)) < 60) == dark
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith(("file:", "blob:", "data:"))] == []


def test_the_map_draws_images_in_the_color_of_their_label(browser, page):
    browser.open(page)
    spots = places(browser)
    i = loneliest(spots)
    left, top = browser.js("(({left, top}) => [left, top])(canvas.getBoundingClientRect())")
    x, y = np.rint(spots[i] - (left, top)).astype(int).tolist()
    pixel = browser.js(f"[...canvas.getContext('2d').getImageData({x}, {y}, 1, 1).data].slice(0, 3)")
    color = browser.js(f"grande.data.light[grande.best({i})]")
    assert "#{:02x}{:02x}{:02x}".format(*pixel) == color


def test_hover_shows_the_thumbnail_and_a_click_keeps_it(browser, page):
    browser.open(page)
    spots, colors = places(browser), solid_colors(400)
    i = loneliest(spots)
    x, y = spots[i].tolist()
    assert browser.js("tip.hidden")
    browser.page.mouse.move(x, y)
    browser.wait("!tip.hidden")
    assert browser.js("Number(tip.querySelector('.thumb').dataset.i)") == i
    browser.page.wait_for_timeout(300)  # the sheet is decoded by another thread
    assert np.abs(picture(browser, "tip.querySelector('.thumb')") - colors[i]).max() < 12
    browser.page.mouse.click(x, y)
    browser.wait("inspector.querySelector('.thumb.main')")
    assert np.abs(picture(browser, "inspector.querySelector('.thumb.main')") - colors[i]).max() < 12
    assert browser.js("inspector.querySelectorAll('.strip .thumb').length") == 6
    assert browser.js("inspector.querySelector('a').textContent") == browser.js(f"grande.data.files[{i}]")
    link = browser.js("decodeURIComponent(inspector.querySelector('a').getAttribute('href'))")
    assert link == "../my photos #1/" + browser.js(f"grande.data.files[{i}]")
    browser.page.mouse.move(5, 5)
    browser.wait("tip.hidden")
    assert browser.errors == []


def test_a_tap_shows_the_thumbnail_on_a_phone(browser, page):
    browser.open(page, width=PHONE, height=844)
    spots = places(browser)
    i = loneliest(spots)
    browser.page.touchscreen.tap(*spots[i].tolist())
    browser.wait("inspector.querySelector('.thumb.main')")
    assert browser.js("Number(tip.querySelector('.thumb').dataset.i)") == i
    assert browser.js("document.documentElement.scrollWidth") <= PHONE
    assert browser.errors == []


def test_thumbnails_in_lists_show_their_image_and_lead_to_the_map(browser, page):
    browser.open(page)
    colors = solid_colors(400)
    browser.js("document.querySelector('#unsure .thumb').scrollIntoView()")
    browser.wait("document.querySelector('#unsure .thumb').style.backgroundImage")
    browser.page.wait_for_timeout(300)
    for selector in ("#unsure .thumb", "#unsure .strip .thumb"):
        i = browser.js(f"Number(document.querySelector('{selector}').dataset.i)")
        shown = picture(browser, f"document.querySelector('{selector}')")
        assert np.abs(shown - colors[i]).max() < 12
    browser.js("document.querySelector('#unsure .thumb').click()")
    browser.wait("location.hash === '#map'")
    i = browser.js("Number(document.querySelector('#unsure .thumb').dataset.i)")
    assert browser.js("Number(inspector.querySelector('.main').dataset.i)") == i


def test_filters_zoom_pictures_sorting_and_theme_work(browser, page):
    browser.open(page)
    browser.js("document.getElementById('map').scrollIntoView()")
    frame = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    seen = {browser.page.screenshot()}
    for action in (
        "document.querySelector('#legend button').click()",
        "document.querySelector('#legend button').click(); document.getElementById('show').value = 'given';"
        "document.getElementById('show').dispatchEvent(new Event('change'))",
        "document.getElementById('color').value = 'confidence';"
        "document.getElementById('color').dispatchEvent(new Event('change'))",
        "document.getElementById('closer').click()",
        "document.getElementById('pictures').click()",
        "document.getElementById('theme').click()",
    ):
        browser.js(action)
        browser.js(frame)
        browser.page.wait_for_timeout(200)
        seen.add(browser.page.screenshot())
    assert len(seen) == 7
    assert browser.js("document.documentElement.dataset.theme") == "dark"
    order = (
        "[...document.querySelectorAll('.sortable tbody tr')].map((row) => Number(row.cells[4].dataset.v))"
    )
    for direction in (1, -1):
        browser.js("document.querySelectorAll('.sortable thead button')[4].click()")
        values = browser.js(order)
        assert values == sorted(values, reverse=direction < 0)
    assert browser.errors == []


def test_the_numbers_are_there_without_javascript(browser, page):
    without = browser.open(page, width=WIDE, javascript=False)
    assert "87.3&nbsp;%" in without.inner_html("main")
    assert browser.js("document.documentElement.scrollWidth") <= WIDE
    assert without.locator("#trust").bounding_box()
    assert without.locator("#map").bounding_box() is None


def test_hostile_names_run_nothing(browser, make_labelling, make_thumbnails, tmp_path):
    names = [
        "</script><script>window.hit=1</script>",
        "<img src=x onerror=window.hit=1>",
        "';window.hit=1;'",
        "\udcff",
    ]
    hostile: dict[str, Any] = {
        "files": names * 15,
        "labels": names * 15,
        "runner_up": names[::-1] * 15,
        "root": Path(names[1]),
        "settings": {names[0]: names[1]},
        "thumbnails": make_thumbnails(),
    }
    path = tmp_path / "report.html"
    write_report(make_labelling(**hostile), path, image_root="../" + names[1])
    browser.open(path)
    browser.js("document.querySelectorAll('.card > .thumb').forEach((thumb) => thumb.click())")
    assert browser.js("window.hit") is None
    assert browser.js("document.querySelectorAll('img').length") == 0
    assert browser.errors == []


@pytest.mark.slow
@pytest.mark.alone
def test_twenty_thousand_images_fit_and_answer_in_time(browser, make_labelling, make_thumbnails, tmp_path):
    labelling = make_labelling(n=20_000, n_classes=200, thumbnails=make_thumbnails(64))
    path = write_report(labelling, tmp_path / "report.html")
    browser.open(path)
    ready = browser.js("performance.getEntriesByName('grande-ready')[0].startTime")
    x, y = places(browser)[217].tolist()
    browser.page.mouse.move(x, y)
    browser.wait("!tip.hidden && tip.querySelector('.thumb').style.backgroundImage")
    shown = browser.js("performance.now()")
    report = {"megabytes": path.stat().st_size / 1e6, "ready_ms": ready, "thumbnail_ms": shown}
    print(json.dumps(report))
    assert report["megabytes"] <= 40
    assert ready <= 3000
    assert_tidy(browser, WIDE)
    assert browser.errors == []
