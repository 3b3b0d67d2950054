"""The full answer is that of a new training with the same labels, whatever was trained before."""

from dataclasses import replace

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling.result import Labelling
from grande_gnn.review.full_fit import full_fit


def test_it_depends_on_the_labels_alone(out, fresh):
    full = Labelling.load(out)
    labels = {file: label for file, label in zip(full.files, full.given, strict=True) if label}
    other = {**labels, full.files[30]: "violet"}
    del other[full.files[0]]
    there = full_fit(full, other)
    assert there.given[0] == ""
    assert there.labels[30] == "violet"
    back = full_fit(there, labels)
    expected = fresh(full, full.given)
    assert back.labels == expected.labels
    np.testing.assert_array_equal(back.confidence, expected.confidence)
    assert (back.root, back.settings["extractor"]) == (full.root, "pixels")


def test_the_settings_are_those_of_the_new_training(out):
    full = Labelling.load(out)
    labels = {file: label for file, label in zip(full.files, full.given, strict=True) if label}
    again = full_fit(full, labels | {full.files[30]: "violet"})
    assert again.settings["members"] == again.classifier.committee_.described()
    first = full_fit(replace(full, classifier=None), labels)
    assert first.settings["members"] == first.classifier.committee_.described()


def test_labels_are_used_exactly_as_they_are(out):
    """Else the labels that were trained on would never be those of the review, which would train again and again."""
    full = Labelling.load(out)
    labels = {file: f" {label}" for file, label in zip(full.files, full.given, strict=True) if label}
    spaced = full_fit(full, labels)
    assert spaced.classifier.classes_.tolist() == [" blue", " green", " red"]
    more = labels | {full.files[30]: " red", full.files[31]: "red"}
    again = full_fit(spaced, more)
    assert {file: label for file, label in zip(again.files, again.given, strict=True) if label} == more


def test_without_a_model_and_features_nothing_can_be_trained(out):
    full = replace(Labelling.load(out), classifier=None, neighbors=None)
    with pytest.raises(InvalidInputError, match="features of these images are unknown"):
        full_fit(full, {"000.png": "red", "001.png": "green"})
