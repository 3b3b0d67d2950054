"""Choosing settings by cross-validation inside the labelled samples."""

import logging

import numpy as np
import pytest

from grande_gnn import GrandeClassifier
from grande_gnn.classifier import tuning
from grande_gnn.classifier.held_out import HeldOut, held_out_folds, hold_out
from grande_gnn.classifier.preparation import Choice, Preparation
from grande_gnn.classifier.tuning import FAVORITE, PAPER, ahead_of_the_first, choose, winner_of
from grande_gnn.degree import Centrality
from grande_gnn.engine import Settings
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import neighbors

QUICK = Settings(device="cpu", epochs=30)
OPEN = Choice("auto", "auto", "auto", "auto")


@pytest.fixture
def preparation(three_blobs):
    X, _, _ = three_blobs
    return Preparation(X, 3, QUICK, 8)


def test_a_class_with_one_label_gives_the_papers_settings(three_blobs, preparation, caplog):
    _, _, codes = three_blobs
    codes[codes == 2] = -1
    codes[2] = 2
    with caplog.at_level(logging.WARNING):
        selection = choose(preparation, codes, OPEN)
    assert selection.choice == PAPER
    assert selection.held_out is None
    assert "fewer than 2 labels" in caplog.text


def test_the_held_out_predictions_are_those_of_the_choice(three_blobs, preparation):
    _, _, codes = three_blobs
    selection = choose(preparation, codes, OPEN)
    problem = preparation.problem(selection.choice)
    (expected,) = hold_out(problem, codes, held_out_folds(codes))
    np.testing.assert_allclose(selection.held_out.logits, expected.logits, atol=1e-5)


def test_neighbors_are_searched_once_for_each_normalization_tried(three_blobs, monkeypatch):
    searched = []
    exact = neighbors.BACKENDS["exact"]
    monkeypatch.setitem(
        neighbors.BACKENDS, "exact", lambda X, k, device: searched.append(X[0, 0]) or exact(X, k, device)
    )
    X, _, codes = three_blobs
    auto = dict.fromkeys(("sigma", "graph", "n_neighbors", "normalize"), "auto")
    clf = GrandeClassifier("sgc", **auto, epochs=5, random_state=0).fit(X, codes)
    clf.neighbors_.distances(6)
    clf.predict(X + 0.1)
    assert len(searched) == len(set(searched)) == 2  # as they are, and center-l2


@pytest.mark.parametrize("degree", ["centrality", Centrality()])
def test_a_degree_without_sigma_is_cross_validated_as_it_is(three_blobs, monkeypatch, degree):
    X, _, codes = three_blobs
    degrees = []
    held = tuning.hold_out
    monkeypatch.setattr(
        tuning, "hold_out", lambda p, c, f, d, **more: degrees.extend(d) or held(p, c, f, d, **more)
    )
    choose(Preparation(X, 3, QUICK, 8, degree), codes, OPEN)
    assert set(degrees) == {Centrality()}


def held(hits):
    """Held-out predictions of class 0 that are right where ``hits`` is 1."""
    return HeldOut(np.arange(len(hits)), np.zeros(len(hits), dtype=np.int64), np.eye(2)[1 - np.array(hits)])


@pytest.mark.parametrize(
    ("scores", "expected"), [([1, 0.9, 0.8], [0]), ([0.8, 0.8], [0]), ([0.8, 0.7, 0.9], [0, 2])]
)
def test_only_a_rival_that_is_ahead_is_measured_on_all_folds(scores, expected):
    results = [held((np.arange(10) < 10 * score).astype(int)) for score in scores]
    assert ahead_of_the_first(results) == expected


def test_the_favorite_gives_way_only_to_the_clearly_better():
    weak, same, strong = held([1, 0] * 20), held([1, 0] * 19 + [1, 1]), held([1] * 40)
    other = Choice("knn", 10, "l2", 0.2)
    assert winner_of([(FAVORITE, weak), (other, same)])[0] == FAVORITE
    assert winner_of([(FAVORITE, weak), (other, strong)])[0] == other


def test_auto_in_the_classifier_says_what_it_chose(three_blobs):
    X, y, codes = three_blobs
    auto = dict.fromkeys(("sigma", "graph", "n_neighbors", "normalize"), "auto")
    clf = GrandeClassifier(**auto, hidden=16, epochs=60, lr=0.02, random_state=0).fit(X, codes)
    assert not clf.choice_.is_open
    assert clf.selection_.held_out.rows.tolist() == list(range(30))
    assert np.mean(clf.transduction_ == y) > 0.8
    assert (clf.predict(X) == clf.transduction_).all()


def test_auto_with_a_function_is_refused(three_blobs):
    X, _, codes = three_blobs
    with pytest.raises(InvalidInputError, match="need a degree by name"):
        GrandeClassifier(degree=lambda h, g: h.sum(1), sigma="auto").fit(X, codes)
