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


def test_without_a_model_and_features_nothing_can_be_trained(out):
    full = replace(Labelling.load(out), classifier=None, neighbors=None)
    with pytest.raises(InvalidInputError, match="features of these images are unknown"):
        full_fit(full, {"000.png": "red", "001.png": "green"})
