"""The table of settings."""

from __future__ import annotations


def test_settings_are_shown_in_their_order(section, make_labelling):
    settings = {"version": "0.1.0", "graph": "reciprocal", "sigma": 0.2, "degree": "<function>"}
    text = section("settings", make_labelling(settings=settings)).text
    assert text == "Settings version 0.1.0 graph reciprocal sigma 0.2 degree <function>"


def test_what_only_a_later_run_needs_is_left_out(section, make_labelling):
    settings = {"weights": "abc", "seed": 0, "temperature": 1.3, "offset": None, "slope": 1.2}
    assert section("settings", make_labelling(settings=settings)).text == "Settings seed 0"


def test_none_is_said(section, make_labelling):
    assert "Not recorded." in section("settings", make_labelling(settings={})).text


def test_the_members_of_a_committee_are_one_line(section, make_labelling):
    members = [
        {"graph": "knn", "n_neighbors": 20, "sigma": 0.2, "weight": 0.75, "temperature": 0.9},
        {"graph": None, "weight": 0.25},
    ]
    text = section("settings", make_labelling(settings={"members": members})).text
    assert text == "Settings members knn 20 (0.75), logistic regression (0.25)"


def test_with_a_given_graph_no_other_is_named(section, make_labelling):
    settings = {
        "graph": "reciprocal",
        "n_neighbors": 40,
        "members": [],
        "sigma": 0.2,
        "graph_file": "edges.csv",
    }
    assert (
        section("settings", make_labelling(settings=settings)).text
        == "Settings sigma 0.2 graph_file edges.csv"
    )
