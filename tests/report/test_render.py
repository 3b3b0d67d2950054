"""The page as text: complete in itself, safe for any name, the same for the same labelling."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
from markupsafe import Markup

from grande_gnn.graph.neighbors import Neighbors
from grande_gnn.images.problems import Problem
from grande_gnn.labelling.confidence import AccuracyEstimate
from grande_gnn.labelling.result import Labelling, Suspicion
from grande_gnn.report import SECTIONS, Section, register_section, render_report, write_report

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


@pytest.fixture
def hostile(make_thumbnails) -> Labelling:
    n = len(HOSTILE)
    return Labelling(
        files=HOSTILE,
        labels=HOSTILE,
        confidence=np.full(n, 0.4),
        runner_up=HOSTILE[::-1],
        margin=np.full(n, 0.1),
        given=[*HOSTILE[:4], *[""] * (n - 4)],
        unreached=np.arange(n) == 5,
        out_of_distribution=np.arange(n) == 6,
        suspicions=[Suspicion(i, HOSTILE[i + 1], 0.9) for i in range(3)],
        note=HOSTILE[0],
        class_accuracy={name: AccuracyEstimate(0.5, 0.4, 0.6, 10) for name in HOSTILE},
        settings=dict(zip(HOSTILE, HOSTILE, strict=True)),
        problems=[Problem(name, name) for name in HOSTILE],
        root=Path(HOSTILE[1]),
        neighbors=Neighbors(np.random.default_rng(0).normal(size=(n, 3))),
        thumbnails=make_thumbnails(),
    )


def test_names_are_shown_and_never_become_markup(hostile, parse):
    page = parse(render_report(hostile, image_root="../" + HOSTILE[2]))
    assert [tag for tag, _ in page.elements].count("script") == 4  # data, the map's data, one sheet, program
    assert not [attrs for _, attrs in page.elements if any(name.startswith("on") for name in attrs)]
    for name in (HOSTILE[0], HOSTILE[2], "Labels of " + HOSTILE[1]):
        assert name in page.text
    assert "49.jpg" not in page.text
    assert page.data()["files"] == HOSTILE
    assert page.data("map-data")["root"] == "../" + HOSTILE[2]


def test_every_name_of_a_file_or_class_is_isolated_from_the_direction_of_its_text(hostile):
    text = render_report(hostile)
    assert text.count("<bdi>") == text.count("</bdi>") > 50
    assert len(re.findall("\u202e", text)) > 5
    for before in re.findall(r"(.{0,40})line\nbreak", re.sub(r'(title|aria-label)="[^"]*"', "", text)):
        assert before.endswith(("<bdi>", "<td>", '<th scope="row">')), before


def test_the_page_asks_for_nothing_outside_itself(make_labelling, make_thumbnails, parse):
    text = render_report(make_labelling(thumbnails=make_thumbnails()))
    page = parse(text)
    links = page.attributes("src") + page.attributes("href")
    assert all(value.startswith(("#", "data:")) for value in links)
    assert not re.search(r"https?://|url\((?!\$)|@import|fetch\(|XMLHttpRequest", text)
    policy = next(a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    digest = base64.b64encode(hashlib.sha256(page.scripts["main"].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def test_the_main_numbers_are_in_the_text_itself(make_labelling, parse):
    text = parse(render_report(make_labelling())).text
    for words in (
        "87.3 %",
        "83.0 % to 90.6 %",
        "4 classes",
        "1 suspicious given label",
        "The file is empty.",
    ):
        assert words in text, words
    for title in ("Can the confidence be trusted?", "Least sure", "Classes", "Problems", "Settings"):
        assert title in text


def test_what_is_empty_is_said_in_a_line(make_bare_labelling, parse):
    page = parse(render_report(make_bare_labelling()))
    for line in (
        "not known",
        "no label could be held out",
        "a label reaches every sample",
        "every file could",
    ):
        assert line in page.text, line
    assert "Map of the images" not in page.text
    assert "#map" not in page.attributes("href")


def test_the_same_labelling_gives_the_same_page(make_labelling, make_thumbnails):
    pages = [render_report(make_labelling(thumbnails=make_thumbnails())) for _ in range(2)]
    assert pages[0] == pages[1]


def test_ids_are_unique_and_every_link_has_a_target(make_labelling, make_thumbnails, parse):
    page = parse(render_report(make_labelling(thumbnails=make_thumbnails())))
    ids = page.attributes("id")
    assert len(set(ids)) == len(ids)
    inside = {value for value in page.attributes("href") if value.startswith("#")}
    assert inside == {f"#{section.name}" for section in SECTIONS.values() if section.is_linked}
    assert {value[1:] for value in inside} <= set(ids)


def test_every_id_that_the_script_looks_up_is_on_the_page(make_labelling, make_thumbnails, parse):
    page = parse(render_report(make_labelling(thumbnails=make_thumbnails())))
    wanted = set(re.findall(r'\$\("([a-z-]+)"\)', page.scripts["main"]))
    assert {"data", "map-data", "canvas", "theme"} <= wanted <= set(page.attributes("id"))


def test_thumbnails_are_asked_for_once_and_only_of_the_images_shown(make_labelling, parse, monkeypatch):
    monkeypatch.setattr("grande_gnn.report.page.MAX_IMAGES", 600)
    asked = []
    labelling = make_labelling(n=1000, thumbnails=lambda rows: asked.extend(rows) or [None] * len(rows))
    page = parse(render_report(labelling))
    assert len(asked) == 600
    assert page.data()["files"] == [labelling.files[row] for row in asked]
    assert "600 of the 1,000 images are shown" in page.text
    assert {int(number) for number in page.attributes("data-i")} <= set(range(600))


def test_a_registered_section_appears_with_its_link(make_labelling, parse, monkeypatch):
    monkeypatch.setattr("grande_gnn.report.sections.section.SECTIONS", SECTIONS)
    before = dict(SECTIONS)
    try:
        register_section(
            Section("folders", "Folders", lambda labelling, page: Markup("<h2>{}</h2>").format("<a> & b"))
        )
        register_section(Section("plain", "Plain", lambda labelling, page: "<b>text</b>"))
        register_section(Section("none", "None of it", lambda labelling, page: ""))
        page = parse(render_report(make_labelling()))
    finally:
        SECTIONS.clear()
        SECTIONS.update(before)
    assert {"folders", "plain"} <= set(page.attributes("id"))
    assert {"#folders", "#plain"} <= set(page.attributes("href"))
    assert "<a> & b" in page.text
    assert "<b>text</b>" in page.text  # shown as text, not as bold
    assert "None of it" not in page.text
    assert "none" not in page.attributes("id")


def test_the_file_appears_whole_or_not_at_all(make_labelling, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("before")

    def broken(rows):
        raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError):
        write_report(make_labelling(thumbnails=broken), path)
    assert path.read_text() == "before"
    assert write_report(make_labelling(), path) == path
    assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_texts_are_shown_where_pictures_would_be_and_never_become_html(make_labelling, parse):
    texts = [f"text {i} <img src=x onerror=alert(1)> " + "word " * 200 for i in range(60)]
    page = render_report(make_labelling(texts=texts))
    assert "<img src=x" not in page
    assert "Map of the texts" in page
    assert 'class="excerpt"' in page
    assert "Map of the images" in render_report(make_labelling())
    assert len(page) < len(render_report(make_labelling())) + 60 * 2000  # excerpts, not whole texts


@pytest.mark.parametrize("things", ["texts", "samples"])
def test_nothing_is_called_an_image_that_is_none(make_labelling, parse, things):
    other = {"texts": ["words"] * 60} if things == "texts" else {"settings": {}}
    doubts = ["There are only 6 labels: label more images."]
    made = make_labelling(
        files=[f"n{i}" for i in range(60)],
        root=None,
        doubts=doubts,
        problems=[],
        copy_of=["n1"] * 60,
        **other,
    )
    said = parse(render_report(made)).text.lower()
    assert f"label more {things}" in said
    assert f"copies of other {things}" in said
    for word in ("image", "picture", "photo"):
        assert word not in said, said[max(0, said.index(word) - 80) : said.index(word) + 40]
