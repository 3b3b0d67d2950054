"""Images out of distribution, and images that no label reaches."""

from __future__ import annotations

import numpy as np

from grande_gnn.report import SECTIONS

OUTSIDE = SECTIONS["outside"]


def test_images_far_from_all_others_come_least_sure_first(section, make_labelling):
    confidence = np.linspace(1, 0, 60)
    far = np.isin(np.arange(60), [3, 40, 20])
    labelling = make_labelling(confidence=confidence, out_of_distribution=far, unreached=np.zeros(60, bool))
    assert section("outside", labelling).attributes("title") == [labelling.files[i] for i in (40, 20, 3)]
    assert OUTSIDE.pictured(labelling) == [40, 20, 3]


def test_unreached_images_keep_their_order(section, make_labelling):
    unreached = np.isin(np.arange(60), [3, 40, 20])
    labelling = make_labelling(unreached=unreached, out_of_distribution=np.zeros(60, bool))
    shown = section("outside", labelling)
    assert shown.attributes("title") == [labelling.files[i] for i in (3, 20, 40)]
    assert "None: every image resembles others." in shown.text
    assert OUTSIDE.pictured(labelling) == [3, 20, 40]


def test_long_lists_are_cut_and_counted(section, make_labelling):
    every, half = np.ones(200, bool), np.arange(200) % 2 == 0
    labelling = make_labelling(n=200, unreached=half, out_of_distribution=every)
    text = section("outside", labelling).text
    assert "The first 60 of 200; the others are in predictions.csv with the flag out_of_distribution." in text
    assert "The first 60 of 100; the others are in predictions.csv with the flag unreached." in text
    assert [highlight.count for highlight in OUTSIDE.highlights(labelling)] == [200, 100]
    assert len(OUTSIDE.pictured(labelling)) == 120


def test_none_is_said(section, make_bare_labelling):
    text = section("outside", make_bare_labelling()).text
    assert "None: every sample resembles others." in text
    assert "None: a label reaches every sample." in text


def test_cards_are_compact(section, make_labelling):
    assert "cards tiles" in section("outside", make_labelling()).attributes("class")
