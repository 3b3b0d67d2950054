"""Short trainings of a labelling: only where they are quick, on the labels that are asked for."""

import numpy as np
import pytest

from grande_gnn.classifier.short_fit import short_fit
from grande_gnn.labelling import LabelOptions, label_features, short_training
from grande_gnn.labelling.short_training import train_shortly, trained_of


@pytest.fixture(scope="module")
def full():
    rng = np.random.default_rng(1)
    truth = np.arange(45) % 3
    X = (rng.normal(size=(3, 8))[truth] + rng.normal(scale=0.6, size=(45, 8))).astype(np.float32)
    given = ["abc"[c] if i < 9 else "" for i, c in enumerate(truth)]
    return label_features(X, given, options=LabelOptions(model="sgc", paper=True, device="cpu"))


def test_a_full_training_is_what_its_classifier_says(full):
    trained = trained_of(full)
    assert (trained.given, trained.classes) == (full.given, ["a", "b", "c"])
    np.testing.assert_array_equal(trained.probabilities, full.classifier.label_distributions_)


def test_a_short_training_takes_the_labels_by_file(full):
    labels = {full.files[row]: label for row, label in ((3, "b"), (40, "a"), (41, "d"))}
    trained = train_shortly(full, labels)
    assert {row: label for row, label in enumerate(trained.given) if label} == {3: "b", 40: "a", 41: "d"}
    expected = short_fit(full.classifier, trained.given)
    assert trained.classes == expected.classes == ["a", "b", "d"]
    np.testing.assert_array_equal(trained.probabilities, expected.probabilities)


def test_where_it_would_take_long_there_is_none(full, monkeypatch):
    monkeypatch.setattr(short_training, "MOST_WORK", 10.0)
    assert train_shortly(full, {full.files[0]: "a", full.files[1]: "b"}) is None
