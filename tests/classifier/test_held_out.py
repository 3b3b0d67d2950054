"""Held-out predictions never see the label they are compared with."""

import numpy as np
import pytest

from grande_gnn.classifier.held_out import held_out_folds, hold_out
from grande_gnn.classifier.problem import LabelSet, LearningProblem
from grande_gnn.degree import Centrality, Grande
from grande_gnn.engine import Settings
from grande_gnn.graph import reciprocal_knn_graph


@pytest.fixture
def problem(three_blobs):
    X, _, _ = three_blobs
    return LearningProblem(
        X, reciprocal_knn_graph(X, 10), 3, Grande(0.2), Settings(device="cpu", epochs=30), 8
    )


def test_folds_cover_every_labelled_sample_once(three_blobs):
    _, _, codes = three_blobs
    folds = held_out_folds(codes)
    assert np.sort(np.concatenate(folds)).tolist() == np.flatnonzero(codes >= 0).tolist()
    assert len(folds) == 4
    assert [len(fold) for fold in held_out_folds(codes, 2)] == [15, 15]


def test_there_are_no_folds_if_a_class_has_one_label_or_there_is_one_class(three_blobs):
    _, _, codes = three_blobs
    single = codes.copy()
    single[single == 2] = -1
    single[2] = 2
    assert held_out_folds(single) == []
    assert held_out_folds(np.where(codes > 0, -1, codes)) == []


def test_held_out_predictions_never_see_the_label(three_blobs, problem):
    """Lies about the labels of one fold change the other folds' predictions, never its own."""
    _, _, codes = three_blobs
    folds = held_out_folds(codes)
    lies = codes.copy()
    lies[folds[0]] = (lies[folds[0]] + 1) % 3
    honest, lied = (hold_out(problem, c, folds)[0].logits for c in (codes, lies))
    rows = np.sort(np.concatenate(folds))
    mine = np.isin(rows, folds[0])
    assert np.allclose(honest[mine], lied[mine], atol=1e-5)
    assert not np.allclose(honest[~mine], lied[~mine], atol=1e-3)


def test_two_parts_joined_are_the_whole(three_blobs, problem):
    _, _, codes = three_blobs
    folds = held_out_folds(codes)
    parts = [
        hold_out(problem, codes, folds[part], first=part.start)[0] for part in (slice(2, 4), slice(0, 2))
    ]
    whole = parts[0].joined(parts[1])
    (at_once,) = hold_out(problem, codes, folds)
    np.testing.assert_allclose(whole.logits, at_once.logits, atol=1e-5)
    assert whole.rows.tolist() == sorted(np.concatenate(folds).tolist())
    assert (whole.labels == codes[whole.rows]).all()
    for part in parts:
        np.testing.assert_array_equal(whole.logits[np.isin(whole.rows, part.rows)], part.logits)


def test_several_degrees_are_trained_on_the_same_folds(three_blobs, problem):
    _, _, codes = three_blobs
    folds = held_out_folds(codes)
    degrees = [Centrality(), Grande(0.7)]
    for degree, result in zip(degrees, hold_out(problem, codes, folds, degrees), strict=True):
        known = codes.copy()
        known[folds[1]] = -1
        (outcome,) = problem.train([LabelSet(known, 1, degree=degree)], keep_models=True)
        np.testing.assert_allclose(
            result.logits[np.isin(result.rows, folds[1])], outcome.logits[np.sort(folds[1])], atol=1e-5
        )
