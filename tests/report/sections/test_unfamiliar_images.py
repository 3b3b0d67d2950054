"""Images of no labelled class."""

from __future__ import annotations

import numpy as np

from grande_gnn.report import SECTIONS

UNFAMILIAR = SECTIONS["unfamiliar"]


def test_flagged_images_come_most_unfamiliar_first(section, make_labelling):
    scores, flagged = np.linspace(0, 1, 60), np.isin(np.arange(60), [3, 40, 20])
    labelling = make_labelling(unfamiliar=scores, is_unfamiliar=flagged)
    shown = section("unfamiliar", labelling)
    assert [title for title in shown.attributes("title") if title in labelling.files] == [
        labelling.files[i] for i in (40, 20, 3)
    ]
    assert UNFAMILIAR.pictured(labelling) == [40, 20, 3]
    assert [highlight.count for highlight in UNFAMILIAR.highlights(labelling)] == [3]


def test_long_lists_are_cut_and_counted(section, make_labelling):
    labelling = make_labelling(n=200, unfamiliar=np.ones(200), is_unfamiliar=np.ones(200, bool))
    assert "The first 60 of 200; the others are in predictions.csv with the flag unfamiliar." in (
        section("unfamiliar", labelling).text
    )


def test_none_is_said_and_unknown_is_left_out(section, make_labelling, make_bare_labelling):
    none = make_labelling(unfamiliar=np.zeros(60), is_unfamiliar=np.zeros(60, bool))
    assert "None: every image resembles a labelled class." in section("unfamiliar", none).text
    bare = make_bare_labelling()
    assert section("unfamiliar", bare).text == ""
    assert UNFAMILIAR.highlights(bare) == []
