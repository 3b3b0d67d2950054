"""The reliability diagram."""

from __future__ import annotations

import pytest

from grande_gnn.labelling.confidence import ReliabilityBin


def test_the_calibration_error_is_the_gap_weighted_by_images(section, make_labelling):
    bins = [ReliabilityBin(0.4, 0.5, 30, 0.45, 0.35), ReliabilityBin(0.9, 1.0, 10, 0.95, 0.75)]
    assert "are 12.5 points apart" in section("trust", make_labelling(bins=bins)).text


def test_empty_bins_are_left_out(section, make_labelling):
    bins = [ReliabilityBin(0.0, 0.5, 0, 0.0, 0.0), ReliabilityBin(0.5, 1.0, 7, 0.9, 0.8)]
    shown = section("trust", make_labelling(bins=bins))
    assert [tag for tag, _ in shown.elements].count("circle") == 1
    assert "50–100 % 7 90.0 % 80.0 %" in shown.text


def test_each_dot_lies_at_its_confidence_and_accuracy_with_the_interval_of_wilson(section, make_labelling):
    shown = section("trust", make_labelling(bins=[ReliabilityBin(0.5, 1.0, 1, 0.5, 1.0)]))
    dot = next(attrs for tag, attrs in shown.elements if tag == "circle")
    assert (float(dot["cx"]), float(dot["cy"]), float(dot["r"])) == (66 + 161, 10, 8)
    line = next(attrs for _, attrs in shown.elements if attrs.get("class") == "range")
    lower = (260 - float(line["y1"])) / 250
    assert lower == pytest.approx(1 / (1 + 1.96**2), abs=1e-3)
    assert float(line["y2"]) == 10


def test_larger_groups_have_larger_dots(section, make_labelling):
    bins = [ReliabilityBin(0.4, 0.5, 25, 0.45, 0.4), ReliabilityBin(0.9, 1.0, 100, 0.95, 0.9)]
    shown = section("trust", make_labelling(bins=bins))
    assert [float(attrs["r"]) for tag, attrs in shown.elements if tag == "circle"] == [5.5, 8]


@pytest.mark.parametrize("bins", [[], [ReliabilityBin(0.0, 1.0, 0, 0.0, 0.0)]])
def test_nothing_held_out_is_said(section, make_labelling, bins):
    assert "Not measured in this run." in section("trust", make_labelling(bins=bins)).text
