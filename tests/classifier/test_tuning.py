"""Choosing settings by cross-validation inside the labelled samples."""

import logging

import numpy as np
import pytest

from grande_gnn import GrandeClassifier
from grande_gnn.classifier.tuning import (
    FAVOURITE,
    PAPER,
    Choice,
    HeldOut,
    _ahead_of_the_first,
    _winner,
    choose,
    held_out_folds,
    hold_out,
)
from grande_gnn.engine import Settings
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import reciprocal_knn_graph

QUICK = Settings(device="cpu", epochs=30)
OPEN = Choice("auto", "auto", "auto", "auto")


def blobs(n: int = 90, known: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = (np.eye(3, 6)[y] * 4 + rng.normal(size=(n, 6))).astype(np.float32)
    return X, y, np.where(np.arange(n) < known, y, -1)


def test_open_fields_are_filled_and_fixed_ones_kept():
    assert OPEN.fill(PAPER) == PAPER
    assert Choice("knn", "auto", "auto", 0.7).fill(FAVOURITE) == Choice("knn", 40, "center-l2", 0.7)
    assert OPEN.is_open
    assert not PAPER.is_open


def test_folds_cover_every_labelled_sample_once():
    _, _, codes = blobs()
    folds = held_out_folds(codes)
    assert np.sort(np.concatenate(folds)).tolist() == np.flatnonzero(codes >= 0).tolist()


def test_a_class_with_one_label_has_no_folds_and_gives_the_papers_settings(caplog):
    X, _, codes = blobs()
    codes[codes == 2] = -1
    codes[2] = 2
    assert held_out_folds(codes) == []
    with caplog.at_level(logging.WARNING):
        selection = choose(X, codes, OPEN, QUICK, 8, "grande")
    assert selection.choice == PAPER
    assert selection.held_out is None
    assert "fewer than 2 labels" in caplog.text


def test_held_out_predictions_never_see_the_label():
    """Lies about the labels of one fold change the other folds' predictions, never its own."""
    X, _, codes = blobs()
    graph, folds = reciprocal_knn_graph(X, 10), held_out_folds(codes)
    lies = codes.copy()
    lies[folds[0]] = (lies[folds[0]] + 1) % 3
    honest, lied = (hold_out(X, graph, c, folds, [0.2], QUICK, 8)[0].logits for c in (codes, lies))
    rows = np.sort(np.concatenate(folds))
    mine = np.isin(rows, folds[0])
    assert np.allclose(honest[mine], lied[mine], atol=1e-5)
    assert not np.allclose(honest[~mine], lied[~mine], atol=1e-3)


def test_two_parts_joined_are_the_whole():
    X, _, codes = blobs()
    graph, folds = reciprocal_knn_graph(X, 10), held_out_folds(codes)
    parts = [
        hold_out(X, graph, codes, folds[part], [0.2], QUICK, 8, first=part.start)[0]
        for part in (slice(2, 4), slice(0, 2))
    ]
    whole = parts[0].joined(parts[1])
    (at_once,) = hold_out(X, graph, codes, folds, [0.2], QUICK, 8)
    np.testing.assert_allclose(whole.logits, at_once.logits, atol=1e-5)
    assert whole.rows.tolist() == sorted(np.concatenate(folds).tolist())
    assert (whole.labels == codes[whole.rows]).all()
    for part in parts:
        np.testing.assert_array_equal(whole.logits[np.isin(whole.rows, part.rows)], part.logits)


@pytest.mark.parametrize(
    ("scores", "expected"), [([1, 0.9, 0.8], [0]), ([0.8, 0.8], [0]), ([0.8, 0.7, 0.9], [0, 2])]
)
def test_only_a_rival_that_is_ahead_is_measured_on_all_folds(scores, expected):
    def held(score):
        right = np.arange(10) < 10 * score
        return HeldOut(np.arange(10), np.zeros(10, dtype=np.int64), np.eye(2)[(~right).astype(int)])

    assert _ahead_of_the_first([held(score) for score in scores]) == expected


def test_the_favourite_gives_way_only_to_the_clearly_better():
    def held(hits):
        labels = np.zeros(len(hits), dtype=np.int64)
        return HeldOut(np.arange(len(hits)), labels, np.eye(2)[1 - np.array(hits)])

    weak, same, strong = held([1, 0] * 20), held([1, 0] * 19 + [1, 1]), held([1] * 40)
    other = Choice("knn", 10, "l2", 0.2)
    assert _winner([(FAVOURITE, weak), (other, same)])[0] == FAVOURITE
    assert _winner([(FAVOURITE, weak), (other, strong)])[0] == other


def test_auto_in_the_classifier_says_what_it_chose():
    X, y, codes = blobs()
    clf = GrandeClassifier(
        sigma="auto",
        graph="auto",
        n_neighbors="auto",
        normalize="auto",
        hidden=16,
        epochs=60,
        lr=0.02,
        random_state=0,
    ).fit(X, codes)
    assert not clf.choice_.is_open
    assert clf.selection_.held_out.rows.tolist() == list(range(30))
    assert np.mean(clf.transduction_ == y) > 0.8
    assert (clf.predict(X) == clf.transduction_).all()


def test_auto_with_a_function_is_refused():
    X, _, codes = blobs()
    with pytest.raises(InvalidInputError, match="need a built-in degree"):
        GrandeClassifier(degree=lambda h, g: h.sum(1), sigma="auto").fit(X, codes)
