"""The sizes of the sets of labels and what they promise."""

from __future__ import annotations

from grande_gnn.labelling.label_sets import LabelSets


def test_sizes_are_counted_over_images_without_a_given_label(section, make_labelling):
    sets = [["class 0"]] * 6 + [["class 0"]] * 27 + [["class 1", "class 2", "class 3"]] * 27
    labelling = make_labelling(label_sets=sets, sets_made=LabelSets(0.9, "split", 20))
    shown = section("sets", labelling)
    assert "1 27 50.0 % 3 27 50.0 %" in shown.text
    assert "2.0 labels on average" in shown.text
    assert "For a coverage of 90.0 %" in shown.text
    assert "at least 90 % probability" in shown.text
    assert "note" not in shown.attributes("class")


def test_empty_sets_are_explained(section, make_labelling):
    made = LabelSets(0.9, "split", 20)
    some = section("sets", make_labelling(label_sets=[["class 0"]] * 50 + [[]] * 10, sets_made=made))
    assert "An empty set means" in some.text
    assert "An empty set" not in section("sets", make_labelling(label_sets=[["a"]] * 60, sets_made=made)).text


def test_a_warning_is_shown(section, make_labelling):
    made = LabelSets(0.9, "cross", 20, "The labels are no random sample.")
    shown = section("sets", make_labelling(label_sets=[["class 0"]] * 60, sets_made=made))
    assert "The labels are no random sample." in shown.text


def test_without_sets_there_is_no_section(section, make_labelling):
    assert section("sets", make_labelling(label_sets=None, sets_made=None)).text == ""
