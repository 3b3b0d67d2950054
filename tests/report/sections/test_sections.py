"""The sections that every report has."""

from __future__ import annotations

import pytest

from grande_gnn.report import SECTIONS, Page


def test_the_built_in_sections_are_registered_in_the_order_of_the_page():
    assert list(SECTIONS) == [
        "overview", "map", "trust", "sets", "unsure", "suspicious", "unfamiliar", "outside", "copies", "classes",
        "problems", "settings",
    ]  # fmt: skip
    assert all(name == section.name for name, section in SECTIONS.items())


@pytest.mark.parametrize("name", list(SECTIONS))
def test_every_section_has_a_heading_and_names_only_rows_that_exist(name, section, make_labelling):
    labelling = make_labelling()
    shown = section(name, labelling)
    assert [tag for tag, _ in shown.elements].count("h2") >= 1
    assert set(SECTIONS[name].pictured(labelling)) <= set(range(60))
    assert all(highlight.count >= 0 for highlight in SECTIONS[name].highlights(labelling))


OPTIONAL = {"map", "sets", "unfamiliar", "copies"}
"""Sections that are left out where there is nothing to show."""


@pytest.mark.parametrize("name", [name for name in SECTIONS if name not in OPTIONAL])
def test_every_section_that_is_always_there_can_show_the_smallest_labelling(name, make_bare_labelling):
    labelling = make_bare_labelling()
    assert SECTIONS[name].render(labelling, Page(labelling, SECTIONS.values()))
