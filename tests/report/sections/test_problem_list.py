"""The list of problems."""

from __future__ import annotations

from grande_gnn.images.problems import Problem
from grande_gnn.report import SECTIONS

PROBLEMS = SECTIONS["problems"]


def test_each_problem_is_shown_with_its_reason(section, make_labelling):
    shown = section(
        "problems", make_labelling(problems=[Problem("a<b>.jpg", "It is empty."), Problem("c", "Why")])
    )
    assert "a<b>.jpg It is empty. c Why" in shown.text


def test_a_long_name_is_cut_but_whole_where_the_pointer_rests(section, make_labelling):
    name = "folder/" * 30 + "end.jpg"
    shown = section("problems", make_labelling(problems=[Problem(name, "It is empty.")]))
    assert name not in shown.text
    assert "end.jpg It is empty." in shown.text
    assert shown.attributes("title") == [name]


def test_of_very_many_the_first_500_are_shown(section, make_labelling):
    labelling = make_labelling(problems=[Problem(f"{i}.jpg", "bad") for i in range(1200)])
    shown = section("problems", labelling)
    assert len(shown.attributes("title")) == 500
    assert "The first 500 of 1,200; all are in problems.csv." in shown.text
    assert PROBLEMS.highlights(labelling)[0].count == 1200
    assert "scroll tall" in shown.attributes("class")


def test_one_is_singular(make_labelling):
    one, none = (PROBLEMS.highlights(make_labelling(problems=[Problem("a", "b")] * n))[0] for n in (1, 0))
    assert (one.text, none.text) == ("problem", "problems")


def test_none_is_said(section, make_labelling):
    assert "None: every file could be read." in section("problems", make_labelling(problems=[])).text
