"""Given labels that look wrong."""

from __future__ import annotations

import pytest

from grande_gnn.labelling.confidence import ReliabilityBin
from grande_gnn.labelling.result import Suspicion
from grande_gnn.report import SECTIONS

SUSPICIOUS = SECTIONS["suspicious"]


def test_what_was_given_and_what_is_suggested_are_shown(section, make_labelling):
    doubts = [Suspicion(5, "class 0", 0.93), Suspicion(2, "class 3", 0.86)]
    labelling = make_labelling(suspicions=doubts)
    text = section("suspicious", labelling).text
    assert "Given class 1 Suggested class 0 93 %" in text
    assert text.index("93 %") < text.index("Given class 2 Suggested class 3 86 %")
    assert SUSPICIOUS.pictured(labelling) == [5, 2]


def test_a_long_list_is_cut_and_the_rest_can_be_found(section, make_labelling):
    labelling = make_labelling(n=1000, suspicions=[Suspicion(i, "class 0", 0.9) for i in range(70)])
    shown = section("suspicious", labelling)
    assert shown.text.count("Suggested") == 60
    assert (
        "The first 60 of 70; the others are in predictions.csv with the flag suspicious_label." in shown.text
    )
    assert SUSPICIOUS.highlights(labelling)[0].count == 70


def test_one_is_singular(make_labelling):
    doubt = Suspicion(1, "class 0", 0.9)
    one, two = (SUSPICIOUS.highlights(make_labelling(suspicions=[doubt] * n))[0] for n in (1, 2))
    assert (one.text, two.text) == ("suspicious given label", "suspicious given labels")


@pytest.mark.parametrize(
    ("bins", "line"),
    [
        ([ReliabilityBin(0.0, 1.0, 9, 0.8, 0.8)], "None: no given label is contradicted."),
        ([ReliabilityBin(0.0, 1.0, 0, 0.0, 0.0)], "Not checked: no label could be held out in this run."),
        ([], "Not checked: no label could be held out in this run."),
    ],
)
def test_none_found_differs_from_not_checked(section, make_labelling, bins, line):
    assert line in section("suspicious", make_labelling(suspicions=[], bins=bins)).text
