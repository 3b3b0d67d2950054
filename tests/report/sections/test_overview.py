"""The tiles at the top."""

from __future__ import annotations

import numpy as np

from grande_gnn.report import SECTIONS, Highlight, Page, Section


def test_images_are_counted_by_where_their_label_comes_from(section, make_labelling):
    labels = [*make_labelling().labels[:58], "", ""]
    text = section("overview", make_labelling(labels=labels)).text
    assert "Images 60 6 labelled by you 52 labelled by GRaNDe 2 without a label 4 classes" in text


def test_images_without_a_label_are_mentioned_only_if_there_are_any(section, make_labelling):
    assert "without a label" not in section("overview", make_labelling()).text


def test_one_class_is_one_class(section, make_bare_labelling):
    assert "1 class" in section("overview", make_bare_labelling()).text
    assert "1 classes" not in section("overview", make_bare_labelling()).text


def test_the_accuracy_is_shown_with_its_interval_and_how_it_was_estimated(section, make_labelling):
    shown = section("overview", make_labelling())
    assert "87.3 % 95 % interval 83.0 % to 90.6 %" in shown.text
    assert "Estimated from held-out labelled images." in shown.text
    assert "left:83.0%;width:7.6%" in shown.attributes("style")


def test_an_accuracy_that_could_not_be_estimated_is_not_known(section, make_labelling):
    shown = section("overview", make_labelling(accuracy=None, note="Too few labels."))
    assert "not known Too few labels." in shown.text
    assert shown.attributes("style") == []


def test_every_highlight_links_to_its_section(make_labelling, parse):
    labelling = make_labelling(confidence=np.full(60, 0.4))
    mine = Section("mine", "Mine", lambda *_: "", highlights=lambda _: [Highlight(1234, "blurred")])
    overview = SECTIONS["overview"]
    shown = parse(overview.render(labelling, Page(labelling, [mine, *SECTIONS.values()])))
    assert "1,234 blurred 54 less than 50 % sure 1 suspicious given label" in shown.text
    assert "1 unfamiliar 2 out of distribution 1 not reached by a label" in shown.text
    assert "1 copy of another image 1 problem" in shown.text
    targets = [
        "#mine",
        "#unsure",
        "#suspicious",
        "#unfamiliar",
        "#outside",
        "#outside",
        "#copies",
        "#problems",
    ]
    assert shown.attributes("href") == targets


def test_it_is_the_head_of_the_page_and_needs_no_link():
    assert next(iter(SECTIONS)) == "overview"
    assert not SECTIONS["overview"].is_linked


def test_why_the_interval_is_wide_is_listed(section, make_labelling):
    text = section("overview", make_labelling(doubts=["There are only 9 labels: label more images."])).text
    assert "Why the interval is wide: There are only 9 labels: label more images." in text
    assert "Why the interval" not in section("overview", make_labelling()).text
