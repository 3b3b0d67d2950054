"""The page as text: complete in itself, safe for any name, the same for the same content."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from grande_gnn.report import Estimate, Problem, ReportContent, Suspicion, render_report, write_report
from grande_gnn.report import page as page_module
from grande_gnn.report.render import _percent, _short, _whole

HOSTILE = [
    "</script><script>alert(1)</script>.jpg",
    "<!--<script>.jpg",
    '" onmouseover="alert(1)" x=\'.jpg',
    "{{ 7 * 7 }}{% raw %}.jpg",
    "été/空のファイル🌼.jpg",
    "line\nbreak\u2028\u2029\u202e.jpg",
    "not utf-8 \udcff.jpg",
    "a" * 300 + ".jpg",
    "&amp; &lt;b&gt;.jpg",
]


class Page(HTMLParser):
    """Elements, attributes and texts, as a browser's parser finds them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.text = ""
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = dict(attrs).get("id", "main") if tag == "script" else tag if tag == "style" else ""

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside and self.inside != "style":
            self.scripts[self.inside] = self.scripts.get(self.inside, "") + data
        elif not self.inside:
            self.text += data


def hostile_content() -> ReportContent:
    n = len(HOSTILE)
    return ReportContent(
        files=HOSTILE,
        labels=HOSTILE,
        confidence=np.full(n, 0.4),
        runner_up=HOSTILE[::-1],
        margin=np.full(n, 0.1),
        given_labels=[*HOSTILE[:4], *[""] * (n - 4)],
        neighbors=(np.arange(n)[:, None] + np.arange(4)) % n,
        features=np.random.default_rng(0).normal(size=(n, 3)),
        unreached=np.arange(n) == 5,
        out_of_distribution=np.arange(n) == 6,
        suspicions=[Suspicion(i, HOSTILE[i + 1], 0.9) for i in range(3)],
        accuracy_note=HOSTILE[0],
        class_accuracy={name: Estimate(0.5, 0.4, 0.6) for name in HOSTILE},
        settings=dict(zip(HOSTILE, HOSTILE, strict=True)),
        problems=[Problem(name, name) for name in HOSTILE],
        title=HOSTILE[0],
        image_root="../" + HOSTILE[2],
    )


def test_names_are_shown_and_never_become_markup(make_thumbnails):
    hostile = Page(render_report(hostile_content(), make_thumbnails()))
    assert [tag for tag, _ in hostile.elements].count("script") == 3  # data, one sheet, program
    assert not [attrs for _, attrs in hostile.elements if any(name.startswith("on") for name in attrs)]
    assert HOSTILE[0] in hostile.text
    assert HOSTILE[2] in hostile.text
    assert "49.jpg" not in hostile.text
    assert json.loads(hostile.scripts["data"])["files"] == HOSTILE


def test_the_page_asks_for_nothing_outside_itself(make_content, make_thumbnails):
    text = render_report(make_content(), make_thumbnails())
    page = Page(text)
    links = [value for _, attrs in page.elements for key in ("src", "href") if (value := attrs.get(key))]
    assert all(value.startswith(("#", "data:")) for value in links)
    assert not re.search(r"https?://|url\((?!\$)|@import|fetch\(|XMLHttpRequest", text)
    policy = next(a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    digest = base64.b64encode(hashlib.sha256(page.scripts["main"].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def test_the_main_numbers_are_in_the_text_itself(make_content):
    text = Page(render_report(make_content())).text.replace("\u00a0", " ")
    for number in (
        "87.3 %",
        "83.0 % to 90.6 %",
        "4 classes",
        "1 suspicious given label",
        "The file is empty.",
    ):
        assert number in text, number
    for section in ("Can the confidence be trusted?", "Least sure", "Classes", "Problems", "Settings"):
        assert section in text


def test_what_is_empty_is_said_in_a_line():
    text = Page(render_report(ReportContent(["a.jpg"], ["x"], [0.7], [""], [0.7]))).text
    for line in (
        "not known",
        "no label could be held out",
        "a label reaches every image",
        "every file could",
    ):
        assert line in text, line
    assert "Map of the images" not in text


def test_the_same_content_gives_the_same_page(make_content, make_thumbnails):
    pages = [render_report(make_content(), make_thumbnails()) for _ in range(2)]
    assert pages[0] == pages[1]


def test_the_map_has_every_image_and_its_method_is_named(make_content):
    page = Page(render_report(make_content(n=40)))
    data = json.loads(page.scripts["data"])
    assert len(data["xy"]) == 80
    assert min(data["xy"]) >= 0
    assert max(data["xy"]) <= 9999
    assert "t-SNE of the first 16 principal components" in page.text
    own = make_content(n=40, features=None, coordinates=np.eye(40)[:, :2], map_method="Drawn by hand.")
    assert "Drawn by hand." in Page(render_report(own)).text


def test_neighbours_leave_out_the_image_itself_and_gaps(make_content):
    lists = np.tile(np.arange(60)[:, None], (1, 9))
    lists[:, 1::2] = -1
    lists[0] = [0, -1, 5, 6, 7, 8, 9, 10, 11]
    data = json.loads(Page(render_report(make_content(neighbors=lists))).scripts["data"])
    assert data["near"][0] == [5, 6, 7, 8, 9, 10]
    assert data["near"][1] == []


def test_least_sure_come_first_and_given_labels_are_not_among_them(make_content):
    content = make_content()
    lists = page_module._lists(content)
    free = np.flatnonzero(~content.given & ~content.unreached)
    assert lists["unsure"] == free[np.argsort(content.confidence[free], kind="stable")][:60].tolist()


def test_of_too_many_images_a_sample_is_shown_with_all_that_is_listed(make_content, monkeypatch):
    monkeypatch.setattr(page_module, "MAX_IMAGES", 600)
    content = make_content(n=1000)
    asked = []
    text = render_report(content, lambda rows: asked.extend(rows) or [None] * len(rows))
    page = Page(text)
    data = json.loads(page.scripts["data"])
    listed = {i for rows in page_module._lists(content).values() for i in rows}
    assert len(data["files"]) == len(asked) == 600
    assert data["files"] == [content.files[i] for i in asked]
    assert listed <= set(asked)
    assert "600 of the 1,000 images are shown" in page.text
    shown = [int(a["data-i"]) for _, a in page.elements if "data-i" in a]
    assert set(shown) <= set(range(600))


def test_the_file_appears_whole_or_not_at_all(make_content, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("before")

    def broken(rows):
        raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError):
        write_report(make_content(), path, broken)
    assert path.read_text() == "before"
    assert write_report(make_content(), path) == path
    assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_numbers_are_written_for_people():
    assert _percent(0.8731) == "87.3\u00a0%"
    assert [_whole(x) for x in (0.0, 0.416, 0.994, 0.997, 1.0)] == [
        "0\u00a0%", "42\u00a0%", "99\u00a0%", ">\u00a099\u00a0%", "100\u00a0%",
    ]  # fmt: skip
    assert _short("x" * 48) == "x" * 48
    assert len(_short("x" * 49)) == 48


def test_calibration_error_is_the_weighted_gap(make_content):
    content = make_content()
    assert page_module._calibration_error(content) == pytest.approx(0.05)
    low, high = page_module.wilson_interval(1, 1)
    assert high == 1
    assert 0.2 < low < 0.21  # 1 / (1 + 1.96²)
