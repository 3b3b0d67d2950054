"""The least sure images."""

from __future__ import annotations

import numpy as np

from grande_gnn.report import SECTIONS

UNSURE = SECTIONS["unsure"]


def listed(shown, labelling):
    files = shown.attributes("title")
    return [labelling.files.index(file) for file in files]


def test_least_sure_come_first_and_neither_given_labels_nor_unreached_images_are_among_them(
    section, make_labelling
):
    labelling = make_labelling(n=100)
    free = np.flatnonzero([not given for given in labelling.given] & ~labelling.unreached)
    expected = free[np.argsort(labelling.confidence[free], kind="stable")][:60].tolist()
    assert listed(section("unsure", labelling), labelling) == expected
    assert UNSURE.pictured(labelling) == expected


def test_ties_are_broken_by_the_margin(make_labelling):
    margin = np.linspace(0.5, 0.1, 60)
    labelling = make_labelling(confidence=np.full(60, 0.6), margin=margin)
    assert UNSURE.pictured(labelling)[:3] == [58, 57, 56]  # 59 is unreached


def test_the_runner_up_is_shown_with_its_probability(section, make_labelling):
    labelling = make_labelling(confidence=np.full(60, 0.6), margin=np.full(60, 0.25))
    assert "class 2 60 % or class 3 35 %" in section("unsure", labelling).text


def test_without_a_runner_up_there_is_only_the_label(section, make_bare_labelling):
    assert " or " not in section("unsure", make_bare_labelling()).text


def test_only_labels_below_one_half_count_as_unsure(make_labelling):
    labels, confidence = make_labelling().labels, np.full(60, 0.5)
    confidence[[2, 20, 30, 40]] = 0.49  # image 2 was labelled by the user
    labels[40] = ""
    highlight = UNSURE.highlights(make_labelling(labels=labels, confidence=confidence))[0]
    assert (highlight.count, highlight.text) == (2, "less than 50\u00a0% sure")


def test_everything_labelled_is_said(section, make_labelling):
    shown = section("unsure", make_labelling(given=make_labelling().labels))
    assert "None: no image has a predicted label." in shown.text
