"""The registry: order, replacement, names."""

from __future__ import annotations

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.report import SECTIONS, Section, register_section
from grande_gnn.report.sections.section import LISTED, first_rows


@pytest.fixture
def sections():
    before = dict(SECTIONS)
    yield SECTIONS
    SECTIONS.clear()
    SECTIONS.update(before)


def made(name):
    return Section(name, name.title(), lambda labelling, page: "text")


def test_a_new_section_comes_last_or_before_another(sections):
    last, first = register_section(made("last")), register_section(made("first"), before="overview")
    middle = register_section(made("middle"), before="trust")
    assert list(sections.values())[-1] is last
    assert next(iter(sections.values())) is first
    assert list(sections)[2:5] == ["map", "middle", "trust"]
    assert sections["middle"] is middle


def test_a_section_of_the_same_name_replaces_the_earlier_one_in_its_place(sections):
    order = list(sections)
    mine = register_section(made("trust"))
    assert list(sections) == order
    assert sections["trust"] is mine
    register_section(made("trust"), before="overview")
    assert list(sections) == ["trust", *(name for name in order if name != "trust")]


@pytest.mark.parametrize("name", ["", "Upper", "two words", '"><script>', "1st"])
def test_names_that_are_no_targets_of_links_are_refused(name):
    with pytest.raises(InvalidInputError, match=r"name of a section must be.*; got"):
        register_section(made(name))


def test_an_unknown_place_is_refused():
    with pytest.raises(InvalidInputError, match=r"before must be one of overview, .*; got 'nowhere'"):
        register_section(made("mine"), before="nowhere")


def test_a_plain_section_pictures_and_highlights_nothing(make_labelling):
    assert not made("mine").pictured(make_labelling())
    assert not made("mine").highlights(make_labelling())


@pytest.mark.parametrize("n", [1, LISTED, LISTED + 1, 500])
def test_the_first_rows_are_those_of_a_whole_sort(n):
    rng = np.random.default_rng(n)
    score, other = rng.integers(0, 30, n) / 30, rng.integers(0, 5, n) / 5  # with many ties
    chosen = rng.random(n) < 0.8
    whole = sorted(np.flatnonzero(chosen), key=lambda row: (score[row], other[row], row))
    assert first_rows(chosen, score, other) == whole[:LISTED]


def test_nothing_chosen_lists_nothing():
    assert first_rows(np.zeros(3, dtype=bool), np.ones(3)) == []
