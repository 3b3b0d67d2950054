"""The quick answer: it obeys new labels, spreads them to neighbors, and leaves everything else as it was."""

import numpy as np
import scipy.sparse as sp

from grande_gnn.labelling.result import Labelling
from grande_gnn.review.quick import ALPHA, STEPS, QuickAnswer, _normalized, answer_of


def given_of(full):
    return {row: label for row, label in enumerate(full.given) if label}


def test_without_new_labels_it_is_the_full_answer(out):
    full = Labelling.load(out)
    quick = QuickAnswer(full).answer(given_of(full))
    assert quick.labels == full.labels
    np.testing.assert_array_equal(quick.confidence, full.confidence)
    assert quick.is_provisional
    assert not answer_of(full).is_provisional


def test_new_labels_are_obeyed_and_reach_neighbors_first(out):
    full = Labelling.load(out)
    lists = full.neighbors.lists(40)
    row = int(np.flatnonzero([not label for label in full.given])[0])
    quick = QuickAnswer(full).answer({**given_of(full), row: "violet"})
    assert quick.labels[row] == "violet"
    changed = {i for i in range(36) if quick.labels[i] != full.labels[i]}
    assert row in changed
    kept = {i for i, label in enumerate(full.given) if label}
    assert not changed & kept
    assert changed <= set(lists[row].tolist()) | {row} | set(range(36))


def test_errors_spread_as_the_formula_says(out):
    full = Labelling.load(out)
    quick = QuickAnswer(full)
    S = quick._spread.toarray()
    np.testing.assert_allclose(S, S.T)
    assert np.abs(np.linalg.eigvalsh(S)).max() <= 1 + 1e-9
    rows, values = np.array([20]), np.array([[1.0, -0.5, -0.5]])
    certain = np.array([0, 1])
    expected = np.zeros((36, 3))
    expected[20] = values
    for _ in range(STEPS):
        expected = ALPHA * S @ expected
        expected[20] = values
        expected[certain] = 0
    np.testing.assert_allclose(quick._spread_errors(rows, values, certain), expected, atol=1e-12)


def test_the_graph_is_reciprocal():
    lists = np.array([[0, 1], [1, 0], [2, 1]], dtype=np.int32)
    A = _normalized(lists)
    assert sp.issparse(A)
    np.testing.assert_allclose(A.toarray(), [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]])
