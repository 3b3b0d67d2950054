"""Calls of version 0.1 give the labelling of today, with a warning."""

import warnings

import numpy as np
import pytest

from grande_gnn import GrandeClassifier, labelling
from grande_gnn.labelling import LabelOptions, label_features
from grande_gnn.labelling.confidence import Calibration

SETTINGS = {"sigma": 0.2, "graph": "knn", "n_neighbors": 8, "normalize": "none"}


def test_label_features_takes_a_classifier_as_before(groups):
    X, _, given = groups()
    files = [f"{i}.jpg" for i in range(len(X))]
    clf = GrandeClassifier("sgc", device="cpu", random_state=0, **SETTINGS)
    with pytest.warns(DeprecationWarning, match="will not work in version 0.3: use label_features"):
        old = label_features(X, files, given, clf)
    assert old.classifier is clf
    again = GrandeClassifier("sgc", device="cpu", random_state=0, **SETTINGS)
    with pytest.warns(DeprecationWarning, match="will not work"):
        by_name = label_features(X, files=files, given=given, clf=again)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        options = LabelOptions(model="sgc", device="cpu", **SETTINGS)
        new = label_features(X, given, files=files, options=options)
    for other in (by_name, new):
        assert other.files == old.files
        assert other.labels == old.labels
        np.testing.assert_array_equal(other.confidence, old.confidence)


def test_the_other_functions_are_found_in_the_package(groups, tmp_path):
    X, _, given = groups()
    clf = GrandeClassifier("sgc", device="cpu", random_state=0, **SETTINGS).fit(X, given)
    found = {}
    for name in ("label_new_features", "write_predictions"):
        with pytest.warns(DeprecationWarning, match="has moved"):
            found[name] = getattr(labelling, name)
    result = found["label_new_features"](X[:2] + 1, ["a", "b"], clf, Calibration())
    found["write_predictions"](tmp_path / "predictions.csv", result)
    assert (tmp_path / "predictions.csv").read_text(encoding="utf-8").count("\n") == 3
