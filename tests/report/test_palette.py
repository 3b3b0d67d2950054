"""Class colors: distinct and readable on their page."""

from __future__ import annotations

import re

import pytest

from grande_gnn.report.palette import class_colors, contrast
from grande_gnn.report.templates import asset


@pytest.mark.parametrize("n_classes", [1, 2, 17, 50, 200])
def test_colors_are_distinct_and_readable_on_both_pages(n_classes):
    style = asset("report.css")
    boxes = re.findall(r"--box: (#[0-9a-f]{6})", style)
    for colors, box in zip(class_colors(n_classes), boxes, strict=False):
        assert len(set(colors)) == n_classes
        assert min(contrast(color, box) for color in colors) >= 3


def test_text_is_readable_on_both_pages():
    style = asset("report.css")
    for name in ("text", "quiet", "accent"):
        inks = re.findall(rf"--{name}: (#[0-9a-f]{{6}})", style)
        for ground in ("page", "box", "fill"):
            papers = re.findall(rf"--{ground}: (#[0-9a-f]{{6}})", style)
            assert len(inks) == len(papers) == 3
            assert all(contrast(i, p) >= 4.5 for i, p in zip(inks, papers, strict=True)), (name, ground)


def test_more_classes_than_colors_begin_again():
    light, dark = class_colors(1000)
    assert len(light) == len(dark) == 1000


def test_contrast_of_known_pairs():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#777777") == pytest.approx(1)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
