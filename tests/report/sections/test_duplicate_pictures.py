"""Pictures that are there more than once."""

from __future__ import annotations

from grande_gnn.report import SECTIONS

COPIES = SECTIONS["copies"]


def test_each_copy_is_listed_with_its_first(section, make_labelling):
    names = make_labelling().files
    copies = [names[5] if row == 9 else "" for row in range(60)]
    labelling = make_labelling(copy_of=copies)
    shown = section("copies", labelling)
    assert f"{names[9]} {names[5]}" in shown.text
    assert "the original: class 1" not in shown.text  # both have the same label
    assert COPIES.pictured(labelling) == [9]
    assert [(h.count, h.text) for h in COPIES.highlights(labelling)] == [(1, "copy of another image")]


def test_a_copy_with_another_label_shows_both(section, make_labelling):
    names = make_labelling().files
    shown = section("copies", make_labelling(copy_of=[names[5] if row == 10 else "" for row in range(60)]))
    assert "class 2" in shown.text
    assert "the original: class 1" in shown.text


def test_hostile_names_are_text(section, make_labelling):
    labelling = make_labelling(copy_of=["<script>alert(1)</script>"] + [""] * 59)
    shown = section("copies", labelling)
    assert "<script>alert(1)</script>" in shown.text
    assert "script" not in [tag for tag, _ in shown.elements]


def test_no_copies_leave_the_section_out(section, make_labelling, make_bare_labelling):
    assert section("copies", make_labelling(copy_of=[""] * 60)).text == ""
    assert section("copies", make_bare_labelling()).text == ""
    assert COPIES.highlights(make_bare_labelling()) == []


def test_long_lists_are_cut_and_counted(section, make_labelling):
    first = make_labelling(n=200).files[0]
    labelling = make_labelling(n=200, copy_of=[""] + [first] * 199)
    assert (
        "The first 60 of 199; the others are in predictions.csv with the flag copy."
        in section("copies", labelling).text
    )
