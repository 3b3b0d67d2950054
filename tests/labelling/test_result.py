"""Labels, confidences, runner-ups and flags agree with one another and with what was given."""

from types import SimpleNamespace

import numpy as np
import pytest

from grande_gnn import GrandeClassifier
from grande_gnn.classifier.new_samples import attach
from grande_gnn.labelling import result as labelling
from grande_gnn.labelling.confidence import Calibration
from grande_gnn.labelling.result import label_features, label_new_features

NAMES = np.array(["cat", "dog", "elk"])


def blobs(n=90, known=30, seed=0):
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 3
    X = (4 * np.eye(3)[classes] + rng.normal(size=(n, 3))).astype(np.float32)
    given = [str(NAMES[c]) if i < known else "" for i, c in enumerate(classes)]
    return X, classes, given


def classifier(**options):
    settings = {"n_neighbors": 10, "hidden": 8, "epochs": 60, "lr": 0.02, "device": "cpu", "random_state": 0}
    return GrandeClassifier(**(settings | options))


def labelled(X, given, **options):
    clf = classifier(**options)
    return label_features(X, [f"{i}.jpg" for i in range(len(X))], given, clf), clf


def test_the_runner_up_is_another_label_and_the_margin_the_difference_to_it():
    X, classes, given = blobs()
    given[0] = "dog"  # a lie
    result, _ = labelled(X, given)
    assert result.labels[:30] == given[:30]
    assert all(a != b for a, b in zip(result.labels, result.runner_up, strict=True))
    second = result.confidence - result.margin
    assert ((second >= 0) & (second <= 1)).all()
    assert (result.margin[30:] >= 0).all()
    assert np.mean(np.array(result.labels[30:]) == NAMES[classes[30:]]) > 0.9


def test_a_lie_is_doubted_and_suspicious():
    X, _, given = blobs()
    given[0] = "dog"
    result, _ = labelled(X, given)
    assert result.confidence[0] < 0.3
    assert result.margin[0] < 0
    assert result.runner_up[0] == "cat"
    assert (0, "cat") in [(s.row, s.label) for s in result.suspicions]
    assert "suspicious_label" in result.flags()[0]


def test_without_held_out_labels_a_given_label_has_its_own_probability():
    X, _, given = blobs()
    lone = [label if i < 3 else "" for i, label in enumerate(given)]
    result, clf = labelled(X, lone)
    assert "label one more image" in result.note
    assert result.accuracy is None
    codes = [list(clf.classes_).index(label) for label in lone[:3]]
    np.testing.assert_allclose(result.confidence[:3], clf.label_distributions_[np.arange(3), codes])


@pytest.mark.filterwarnings("ignore:only one class")
def test_one_class_is_said():
    X, _, _ = blobs()
    result, _ = labelled(X, ["cat", "cat"] + [""] * (len(X) - 2))
    assert "another class" in result.note
    assert set(result.labels) == {"cat"}
    assert set(result.runner_up) == {""}


def test_new_images_far_from_everything_are_flagged():
    X, classes, given = blobs()
    _, clf = labelled(X, given)
    near, _, _ = blobs(6, 0, seed=1)
    new = np.concatenate([near, np.full((1, 3), 300, dtype=np.float32)])
    result = label_new_features(new, [str(i) for i in range(7)], clf, Calibration())
    assert result.out_of_distribution.tolist() == [False] * 6 + [True]
    assert result.labels[:6] == NAMES[classes[:6]].tolist()
    assert not result.unreached.any()


def test_new_images_beside_an_unreached_group_are_unreached():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).astype(np.float32)
    X[40:] += 100  # an island without a label
    given = ["cat" if i % 2 else "dog" for i in range(20)] + [""] * 40
    _, clf = labelled(X, given, n_neighbors=5)
    assert not clf.reached_[40:].any()
    result = label_new_features(
        np.array([[0, 0], [100, 100]], dtype=np.float32), ["a", "b"], clf, Calibration()
    )
    assert result.unreached.tolist() == [False, True]


def test_new_images_join_the_graph_once(monkeypatch):
    X, _, given = blobs()
    _, clf = labelled(X, given)
    calls = []
    monkeypatch.setattr("grande_gnn.classifier.estimator.attach", lambda *a: calls.append(a) or attach(*a))
    result = label_new_features(X[:4] + 0.1, list("abcd"), clf, Calibration())
    assert len(calls) == 1
    assert len(result.labels) == 4


def test_a_fitted_image_asked_again_is_as_reached_as_it_was():
    X = np.concatenate([blobs()[0], 100 + blobs(9, 0, seed=1)[0]])
    _, clf = labelled(X, blobs()[2] + [""] * 9, n_neighbors=5)
    result = label_new_features(X, [str(i) for i in range(99)], clf, Calibration())
    np.testing.assert_array_equal(result.unreached, ~clf.reached_)
    assert result.unreached[90:].all()


def test_a_label_of_blanks_is_none():
    X, _, given = blobs()
    blank = [label or "  " for label in given]
    result, expected = labelled(X, blank)[0], labelled(X, given)[0]
    assert result.labels == expected.labels
    assert result.given == given


@pytest.mark.parametrize("n_labels", [12, 30])
def test_confidence_is_a_probability(n_labels):
    X, _, given = blobs(known=n_labels)
    result, _ = labelled(X, given)
    assert ((result.confidence >= 0) & (result.confidence <= 1)).all()
    assert result.accuracy.low <= result.accuracy.value <= result.accuracy.high


@pytest.mark.parametrize(("per_class", "expected"), [(4, 0.25), (3, 0.625)])
def test_halves_are_compared_with_all_labels_where_these_are_few(monkeypatch, per_class, expected):
    codes = np.concatenate([np.repeat([0, 1], per_class), np.full(4, -1)])
    unknown = codes < 0
    one, other, full = np.zeros((3, len(codes)), dtype=int)
    one[unknown], other[unknown], full[unknown] = [0, 0, 0, 0], [0, 1, 1, 1], [0, 0, 1, 0]
    monkeypatch.setattr(labelling, "_half_predictions", lambda *_: (one, other))
    clf = SimpleNamespace(label_distributions_=np.eye(2)[full])
    assert labelling._agreement_of_halves(clf, np.zeros((len(codes), 1)), codes) == pytest.approx(expected)
