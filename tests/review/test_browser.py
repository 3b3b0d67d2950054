"""The review page in a real Chromium: keys, undo, zoom, two tabs, selection, lasso, audit, saving, looks, injection."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from grande_gnn.labelling.result import Labelling
from grande_gnn.review.queues import QUEUES
from grande_gnn.review.session import Session

pytestmark = pytest.mark.browser

WIDE, PHONE = 1280, 390

# Every visible line of text: its box, cut to the scrolling box around it.
TEXT_BOXES = """(() => {
  const boxes = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const parent = node.parentElement, range = document.createRange();
    if (!node.data.trim() || !parent.checkVisibility()) continue;
    if (parent.closest("script, style, select, title, figcaption")) continue;
    let clip = new DOMRect(-1e6, -1e6, 2e6, 2e6);
    for (let box = parent; box; box = box.parentElement)
      if (getComputedStyle(box).overflow !== "visible") { clip = box.getBoundingClientRect(); break; }
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      const left = Math.max(clip.left, box.left), right = Math.min(clip.right, box.right);
      const top = Math.max(clip.top, box.top), bottom = Math.min(clip.bottom, box.bottom);
      if (right - left > 1 && bottom - top > 1) boxes.push([left, top, right, bottom, node.data.trim().slice(0, 40)]);
    }
  }
  return boxes;
})()"""

# Elements that hide part of what they hold and cannot be scrolled.
CUT = """[...document.querySelectorAll("body *")].filter((e) =>
  e.checkVisibility() && getComputedStyle(e).overflow === "hidden" && !e.matches("select, option, input, figcaption")
  && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)).map((e) => e.outerHTML.slice(0, 120))"""


def decisions(session):
    return [d for d in session.journal.decisions if d.kind != "start"]


def test_everything_is_decided_by_keyboard(reviewer, session, link):
    page = reviewer.open(link)
    reviewer.queue(page, "unsure")
    rows = session.queue("unsure")
    assert reviewer.row(page) == rows[0]
    reviewer.press(page, "2")
    assert (decisions(session)[-1].files, decisions(session)[-1].label) == (
        (session.files[rows[0]],),
        "green",
    )
    assert reviewer.row(page) == rows[1]
    page.keyboard.press("ArrowRight")
    assert reviewer.row(page) == rows[2]
    page.keyboard.press("ArrowLeft")
    reviewer.wait(page, "document.querySelector('.caption .label')")
    shown = page.inner_text(".caption .label")  # what is seen counts, even if a training is changing it
    reviewer.press(page, "Enter")
    assert (decisions(session)[-1].kind, decisions(session)[-1].label) == ("label", shown)
    third = reviewer.row(page)
    reviewer.press(page, "n")
    assert (decisions(session)[-1].kind, decisions(session)[-1].files) == ("none", (session.files[third],))
    reviewer.press(page, "s")
    assert decisions(session)[-1].kind == "skip"
    assert len(decisions(session)) == 4
    for _ in range(4):
        page.keyboard.press("u")
        page.wait_for_timeout(150)
    reviewer.wait(page, "document.getElementById('undo').disabled")
    assert session.state.marks == {}
    assert session.state.skipped == set()
    assert reviewer.row(page) == rows[0]
    assert reviewer.errors == []


def test_decisions_saved_before_are_undone_after_reloading(reviewer, session, link):
    page = reviewer.open(link)
    reviewer.queue(page, "unsure")
    row = reviewer.row(page)
    reviewer.press(page, "1")
    page.reload()
    reviewer.wait(page, "performance.getEntriesByName('grande-ready').length")
    page.keyboard.press("u")
    reviewer.wait(page, "document.getElementById('undo').disabled")
    assert session.files[row] not in session.state.marks


def test_a_new_class_is_typed_found_renamed_and_merged(reviewer, session, link):
    page = reviewer.open(link)
    reviewer.queue(page, "unsure")
    row = reviewer.row(page)
    page.keyboard.press("/")
    page.keyboard.type("violet")
    reviewer.press(page, "Enter")
    assert session.labels()[row] == "violet"
    reviewer.wait(page, "document.querySelector('#classes [data-label=violet] kbd')?.textContent === '4'")
    other = reviewer.row(page)
    page.keyboard.press("/")
    page.keyboard.type("vio")
    reviewer.press(page, "Enter")
    assert session.labels()[other] == "violet"
    page.click("#edit")
    page.click("dialog .row:has-text('violet') button")
    page.keyboard.type("red")  # over the old name, which is selected
    page.click("dialog button:text-is('Rename')")
    reviewer.wait(page, "!document.getElementById('message').hidden")
    assert "a class of that name exists" in page.inner_text("#message")
    page.click("#edit")
    page.click("dialog .row:has-text('violet') button")
    page.select_option("dialog select", "blue")
    page.click("dialog button:text-is('Merge')")
    reviewer.wait(page, "!document.querySelector('#classes [data-label=violet]')")
    assert session.labels()[row] == session.labels()[other] == "blue"
    assert [error for error in reviewer.errors if "400" not in error] == []


def test_zoom_shows_every_pixel(reviewer, session, link):
    page = reviewer.open(link)
    page.keyboard.press("z")
    reviewer.wait(page, "document.querySelector('#zoom img')?.naturalWidth === 64")
    page.keyboard.press("Escape")
    reviewer.wait(page, "!document.getElementById('zoom').open")
    page.click(".shown img")
    reviewer.wait(page, "document.getElementById('zoom').open")
    assert reviewer.errors == []


def test_two_tabs_see_each_other(reviewer, session, link):
    one, other = reviewer.open(link), reviewer.open(link)
    for page in (one, other):
        reviewer.queue(page, "unsure")
    before = other.inner_text("#facts b")
    reviewer.press(one, "1")
    reviewer.wait(other, f"document.querySelector('#facts b').textContent !== '{before}'")
    assert int(other.inner_text("#facts b")) == int(before) + 1
    other.keyboard.press("ArrowRight")  # the image at hand stays where it is
    reviewer.press(other, "2")
    reviewer.wait(one, f"document.querySelector('#facts b').textContent === '{int(before) + 2}'")
    assert len(decisions(session)) == 2
    assert reviewer.errors == []


def test_many_are_selected_in_a_gallery_and_labelled_at_once(reviewer, session, link):
    page = reviewer.open(link)
    reviewer.queue(page, "class")
    page.select_option("#gallery-class", label=page.inner_text("#gallery-class option:has-text('red')"))
    reviewer.wait(page, "document.querySelectorAll('.gallery button').length > 5")
    page.wait_for_timeout(200)
    rows = session.queue("class", "red")
    page.click(".gallery li:nth-child(1) button")
    page.click(".gallery li:nth-child(4) button", modifiers=["Shift"])
    assert page.inner_text("#selection").startswith("4 images")
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    assert page.inner_text("#selection").startswith("5 images")
    reviewer.press(page, "1")
    assert [session.labels()[row] for row in rows[:5]] == ["blue"] * 5
    assert len(decisions(session)) == 1
    assert reviewer.errors == []


def test_a_lasso_selects_what_lies_inside(reviewer, session, link):
    page = reviewer.open(link)
    reviewer.queue(page, "map")
    box = page.locator(".map canvas").bounding_box()
    xy = np.array(
        page.evaluate("fetch('/api/map').then((answer) => answer.json()).then((data) => data.xy)")
    ).reshape(-1, 2)
    places = np.stack(
        [16 + xy[:, 0] / 9999 * (box["width"] - 32), 16 + (1 - xy[:, 1] / 9999) * (box["height"] - 32)],
        axis=1,
    )
    center, r = np.array([box["width"] / 2, box["height"] / 2]), min(box["width"], box["height"]) / 3
    inside = np.linalg.norm(places - center, axis=1) < r * 0.995
    near_edge = np.abs(np.linalg.norm(places - center, axis=1) - r) < r * 0.02
    page.mouse.move(box["x"] + center[0] + r, box["y"] + center[1])
    page.mouse.down()
    for k in range(1, 90):
        angle = 2 * math.pi * k / 90
        page.mouse.move(
            box["x"] + center[0] + r * math.cos(angle), box["y"] + center[1] + r * math.sin(angle)
        )
    page.mouse.up()
    n = int(page.inner_text("#selection").split()[0])
    assert abs(n - inside.sum()) <= near_edge.sum()
    reviewer.press(page, "3")
    assert len(decisions(session)[-1].files) == n
    rows = {session.row_of[file] for file in decisions(session)[-1].files}
    assert set(np.flatnonzero(inside & ~near_edge)) <= rows
    page.focus(".map canvas")
    page.keyboard.press("ArrowUp")
    page.keyboard.press(" ")
    assert page.inner_text("#selection").startswith("12 images")
    page.keyboard.press("Escape")
    assert page.is_hidden("#selection")
    assert reviewer.errors == []


AUDITED = "document.getElementById('audit-estimate')?.textContent.includes('After {} audited')"
"""Whether the page shows the estimate after so many images."""


def started_audit(reviewer, link):
    """A page that shows the first image of an audit."""
    page = reviewer.open(link)
    reviewer.queue(page, "audit")
    page.click("#audit-start")
    reviewer.wait(page, "document.querySelector('#stage .shown')")
    return page


def test_an_audit_hides_our_answer(reviewer, session, link):
    page = started_audit(reviewer, link)
    assert page.query_selector("#classes .is") is None
    assert page.inner_text("#near") == ""
    assert "%" not in page.inner_text("#stage")
    for n in range(1, 4):
        page.keyboard.press("1")
        reviewer.wait(page, AUDITED.format(n))
    assert session.state.audit is not None
    assert [*session.state.audit.judged.values()] == ["blue"] * 3
    assert "95 % confidence sequence" in page.inner_text("#stage")
    page.keyboard.press("u")
    reviewer.wait(page, AUDITED.format(2))
    page.click("#audit-end")
    reviewer.wait(page, "document.getElementById('audit-start')")
    assert len(session.state.audited) == 2
    assert reviewer.errors == []


def test_a_late_answer_does_not_bring_a_judged_image_back(reviewer, session, link):
    page = started_audit(reviewer, link)
    late = []

    def hold_the_first(route):
        if route.request.method == "GET" and not late:
            late.append((route, route.fetch()))
        else:
            route.continue_()

    page.route("**/api/audit", hold_the_first)
    page.keyboard.press("1")
    reviewer.wait(page, AUDITED.format(1))
    for _ in range(1000):  # the page asks again after every decision; this answer is held
        if late:
            break
        page.wait_for_timeout(15)
    page.keyboard.press("1")
    reviewer.wait(page, AUDITED.format(2))
    shown = reviewer.row(page)
    page.evaluate(
        "window.rows = []; const stage = document.getElementById('stage');"
        "new MutationObserver(() => rows.push(stage.dataset.row)).observe(stage, {attributes: true});"
    )
    held, answer = late[0]
    held.fulfill(response=answer)
    page.wait_for_timeout(500)
    assert set(page.evaluate("rows")) <= {str(shown)}
    page.keyboard.press("1")
    reviewer.wait(page, AUDITED.format(3))
    assert reviewer.errors == []


def test_a_key_counts_as_soon_as_the_next_image_of_an_audit_is_shown(reviewer, session, link):
    page = started_audit(reviewer, link)
    first = reviewer.row(page)
    late = []

    def hold_the_confirmation(route):
        if route.request.method == "POST":
            late.append((route, route.fetch()))  # the server has it, and the page does not know yet
        else:
            route.continue_()

    page.route("**/api/audit", hold_the_confirmation)
    page.keyboard.press("1")
    page.wait_for_timeout(2500)  # meanwhile the page asks for news
    assert reviewer.row(page) == first
    for route, answer in late:
        route.fulfill(response=answer)
    page.unroute("**/api/audit")
    reviewer.wait(page, f"document.getElementById('stage').dataset.row !== '{first}'")
    page.keyboard.press("1")
    reviewer.wait(page, AUDITED.format(2))
    assert reviewer.errors == []


def test_saving_and_exporting_write_the_files(reviewer, session, link, out):
    page = reviewer.open(link)
    reviewer.queue(page, "unsure")
    row = reviewer.row(page)
    reviewer.press(page, "1")
    page.click("#save")
    reviewer.wait(page, "document.getElementById('message').textContent.startsWith('Written')")
    with (out / "predictions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[row]["label"], rows[row]["provenance"]) == ("blue", "corrected")
    page.click("#export")
    page.select_option("dialog select", "label-studio")
    page.click("dialog button:text-is('Write')")
    reviewer.wait(page, "document.getElementById('message').textContent.startsWith('Written')")
    reviewer.wait(page, "!document.getElementById('save').disabled")
    assert (out / "label-studio.json").is_file()
    assert reviewer.errors == []


def test_leaving_the_page_writes_the_files(reviewer, session, link, out, wait_for):
    page = reviewer.open(link)
    reviewer.press(page, "1")
    reviewer.wait(page, "document.getElementById('save').classList.contains('due')")
    page.close(run_before_unload=True)
    wait_for(lambda: session.written >= 2)
    assert "provenance" in (out / "predictions.csv").read_text().splitlines()[0]


def test_the_answer_is_marked_provisional_until_it_is_trained(reviewer, session, link, wait_for):
    page = reviewer.open(link)
    reviewer.queue(page, "unsure")
    for key in "123":
        reviewer.press(page, key)
    wait_for(lambda: session.is_current)
    reviewer.wait(page, "document.getElementById('answer').textContent.includes('up to date')")
    assert reviewer.errors == []


@pytest.mark.parametrize(("width", "dark"), [(WIDE, False), (PHONE, False), (WIDE, True)])
def test_every_queue_is_tidy(reviewer, session, link, width, dark):
    session.decide("label", [20], "a class with quite a long name, as people sometimes have them")
    page = reviewer.open(link, width=width, height=844 if width == PHONE else 800, dark=dark)
    for queue in ("useful", "unsure", "suspicious", "outside", "class", "audit", "map", "changed"):
        reviewer.queue(page, queue)
        page.wait_for_timeout(150)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, queue
        assert page.evaluate(CUT) == [], queue
        boxes = page.evaluate(TEXT_BOXES)
        assert len(boxes) > 15
        assert all(left >= 0 and right <= width + 0.5 for left, _, right, _, _ in boxes), queue
        corners = np.array([box[:4] for box in boxes])
        for i, (left, top, right, bottom) in enumerate(corners):
            x = np.minimum(right, corners[i + 1 :, 2]) - np.maximum(left, corners[i + 1 :, 0])
            y = np.minimum(bottom, corners[i + 1 :, 3]) - np.maximum(top, corners[i + 1 :, 1])
            hit = np.flatnonzero((x > 2) & (y > 6))
            assert not len(hit), (queue, boxes[i], boxes[i + 1 + hit[0]])
    shot = Image.open(io.BytesIO(page.screenshot())).convert("L")
    assert (np.median(np.asarray(shot)) < 60) == dark
    assert reviewer.errors == []


def test_with_more_classes_than_keys_typing_finds_one(reviewer, session, link, wait_for):
    for number in range(35):
        session.decide("label", [number % 36], f"kind {number:02d}")
    page = reviewer.open(link)
    reviewer.queue(page, "class")
    reviewer.wait(page, "document.querySelector('.gallery button')")
    page.keyboard.press("k")
    reviewer.wait(page, "document.getElementById('dialog').open")
    page.keyboard.type("ind 17")
    page.keyboard.press("Enter")
    reviewer.wait(page, "!document.getElementById('dialog').open")
    wait_for(lambda: decisions(session)[-1].label == "kind 17")
    assert page.query_selector("#classes kbd") is None
    assert reviewer.errors == []


def test_twenty_classes_are_all_seen_with_their_keys(reviewer, session, link):
    for number in range(17):
        session.decide(
            "label", [number % 36], "a_name_of_some_length" if number == 5 else f"kind {number:02d}"
        )
    page = reviewer.open(link)
    reviewer.wait(page, "document.querySelectorAll('#classes kbd').length === 20")
    hidden = page.evaluate(
        """() => {
          const list = document.getElementById("classes");
          const cut = [...list.querySelectorAll("bdi")].filter((one) => one.scrollWidth > one.clientWidth + 1);
          return [list.scrollHeight - list.clientHeight, cut.length];
        }"""
    )
    assert hidden[0] <= 1
    assert hidden[1] == 0
    assert reviewer.errors == []


HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


def test_names_are_text_and_execute_nothing(reviewer, out, serve_session):
    full = Labelling.load(out)
    files = [f"{HOSTILE}/{file}" for file in full.files]
    names = {name: f"{name} {HOSTILE}" for name in set(full.labels)}
    hostile = replace(
        full, files=files, labels=[names[label] for label in full.labels],
        given=[names[label] if label else "" for label in full.given],
        runner_up=[names[label] for label in full.runner_up], classifier=None,
    )  # fmt: skip
    session = Session(out, hostile)
    session.decide("label", [20], f"javascript:alert(3) {HOSTILE}")
    with serve_session(session) as link:
        page = reviewer.open(link)
        for queue in ("unsure", "class", "audit", "map"):
            reviewer.queue(page, queue)
            page.wait_for_timeout(150)
        page.click("#edit")
        page.wait_for_timeout(100)
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        page.keyboard.type("<b>x</b>")
        page.wait_for_timeout(100)
        assert (
            page.evaluate(
                "document.querySelectorAll('dialog b, #stage script, [onerror], img[src=x]').length"
            )
            == 0
        )
        assert HOSTILE in page.inner_text("#classes")
    session.close()
    assert [error for error in reviewer.errors if "404" not in error] == []


def test_texts_are_read_labelled_and_zoomed(reviewer, out, serve_session):
    full = Labelling.load(out)
    texts = [f"Text number {i} <b>bold</b> " + "with words " * (i * 20) for i in range(len(full.files))]
    session = Session(out, replace(full, texts=texts, root=None))
    with serve_session(session) as link:
        page = reviewer.open(link)
        reviewer.queue(page, "unsure")
        row = reviewer.row(page)
        reviewer.wait(page, "document.querySelector('.shown img').naturalWidth > 300")
        reviewer.wait(page, f"document.querySelector('.shown img').alt.startsWith('Text number {row} <b>')")
        near = page.inner_text("#near")
        assert near.count("Text number") == 8
        assert "<b>bold</b>" in near
        assert page.inner_text("#facts").count("texts labelled by people") == 1
        reviewer.press(page, "1")
        assert decisions(session)[-1].files == (session.files[row],)
        reviewer.queue(page, "class")
        reviewer.wait(
            page, "[...document.querySelectorAll('.gallery img')].some((i) => i.naturalWidth === 224)"
        )
        assert page.evaluate(CUT) == []
    session.close()
    assert reviewer.errors == []


# Everything that the page says: its visible text, and what is shown on hover or read aloud.
WORDS = """[document.body.innerText, ...[...document.querySelectorAll("[title], [aria-label]")].flatMap(
  (e) => e.checkVisibility() ? [e.title, e.ariaLabel] : [])].join(" ").toLowerCase()"""


@pytest.mark.parametrize("things", ["texts", "samples"])
def test_nothing_is_called_an_image_that_is_none(reviewer, out, serve_session, things):
    full = replace(Labelling.load(out), root=None, thumbnails=None, settings={"seed": 0})
    files = [f"number {i}" for i in range(len(full.files))]
    session = Session(out, replace(full, files=files, texts=files if things == "texts" else None))
    said = []

    def listen():
        page.wait_for_timeout(120)
        said.append(page.evaluate(WORDS))

    with serve_session(session) as link:
        page = reviewer.open(link)
        for queue in QUEUES:
            reviewer.queue(page, queue)
            listen()
        reviewer.queue(page, "unsure")
        assert page.evaluate("document.querySelector('.shown img') !== null")
        reviewer.wait(page, "document.getElementById('near').innerText.includes('number ')")
        page.keyboard.press(" ")
        listen()
        for open_dialog in (lambda: page.keyboard.press("?"), lambda: page.click("#edit")):
            open_dialog()
            listen()
            page.click("#dialog .end button")
        page.click("#edit")
        page.click("#dialog .row button")
        listen()
        page.click("#dialog .end button")
        reviewer.queue(page, "audit")
        page.click("#audit-start")
        reviewer.wait(page, "document.querySelector('.caption .place')")
        listen()
        page.keyboard.press("s")
        listen()
        page.keyboard.press("1")
        reviewer.wait(page, "document.getElementById('audit-last')")
        listen()
    session.close()
    words = " ".join(said)
    for word in ("image", "picture", "photo"):
        assert word not in words, words[max(0, words.index(word) - 80) : words.index(word) + 60]
    assert f"1 {things[:-1]} is selected" in words
    assert f"1 audited {things[:-1]}" in words
    assert reviewer.errors == []


def test_a_map_that_comes_late_does_not_replace_the_queue_chosen_meanwhile(reviewer, link):
    page = reviewer.open(link)
    page.evaluate("""() => {
      const before = window.fetch, later = new Promise((resolve) => { window.release = resolve; });
      window.fetch = async (path, ...rest) => {
        if (path.startsWith("/api/map")) await later;
        return before(path, ...rest);
      };
    }""")
    page.click("#queues [data-queue='map']")
    reviewer.wait(page, "document.querySelector('#stage .empty')")
    page.click("#queues [data-queue='audit']")
    reviewer.wait(page, "document.getElementById('audit-start')")
    page.evaluate("window.release()")
    page.wait_for_timeout(400)
    assert page.evaluate("document.querySelector('#stage canvas')") is None
    assert page.is_visible("#audit-start")
    assert reviewer.errors == []
