"""The table of classes."""

from __future__ import annotations

import numpy as np

from grande_gnn.labelling.confidence import AccuracyEstimate


def rows_of(shown):
    """The sort values of each row's six cells."""
    values = shown.attributes("data-v")
    return [tuple(map(float, values[i : i + 6])) for i in range(0, len(values), 6)]


def test_images_are_counted_by_class_and_only_labels_not_given_count_as_predicted(section, make_labelling):
    shown = section("classes", make_labelling(n=40, n_classes=4, confidence=np.full(40, 0.625)))
    assert rows_of(shown) == [(i + 1, 0.8, 0.7, 0.625, 9, 1) for i in range(4)]
    assert "class 0 80.0 % 70–90 % 62.5 % 9 1" in shown.text


def test_what_is_not_known_is_a_dash_and_sorts_first(section, make_labelling):
    known = {"class 0": AccuracyEstimate(0.5, 0.25, 0.75, 4)}
    labels = ["class 1" if i else "class 0" for i in range(8)]
    labelling = make_labelling(
        n=8, n_classes=2, labels=labels, given=["class 0", *[""] * 7], class_accuracy=known, suspicions=[]
    )
    shown = section("classes", labelling)
    assert rows_of(shown)[0] == (1, 0.5, 0.25, -1, 0, 1)
    assert rows_of(shown)[1][:3] == (2, -1, -1)
    assert "class 0 50.0 % 25–75 % – 0 1" in shown.text


def test_the_mean_confidence_is_that_of_the_predicted_images(section, make_labelling):
    confidence = np.where(np.arange(40) < 4, 0.0, 0.5)  # the first four were labelled by the user
    assert {row[3] for row in rows_of(section("classes", make_labelling(n=40, confidence=confidence)))} == {
        0.5
    }


def test_classes_are_in_natural_order(section, make_labelling):
    text = section("classes", make_labelling(n=60, n_classes=12)).text
    assert text.index("class 2 ") < text.index("class 10 ")


def test_each_class_has_the_mean_of_its_own_images(section, make_labelling):
    confidence = np.arange(40) / 40
    rows = rows_of(section("classes", make_labelling(n=40, n_classes=4, confidence=confidence)))
    expected = [np.mean([i / 40 for i in range(4, 40) if i % 4 == c]) for c in range(4)]
    np.testing.assert_allclose([row[3] for row in rows], expected)
