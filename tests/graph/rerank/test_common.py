"""Ranks made mutual, and ties that are ties on every machine."""

import numpy as np

from grande_gnn.graph.rerank import normalize_ranks
from grande_gnn.graph.rerank.common import settle, sort_lists


def test_rank_normalization(lists, dense):
    length = lists.shape[1]
    np.testing.assert_array_equal(normalize_ranks(lists), dense.normalize(lists, lambda pos: length - pos))
    weights = 0.8 ** np.arange(length)
    np.testing.assert_array_equal(
        normalize_ranks(lists, weights), dense.normalize(lists, lambda pos: weights[pos])
    )


def test_scores_equal_up_to_rounding_are_ties():
    third = np.array([0.1 + 0.2, 0.3, 0.2])
    assert third[0] != third[1]
    assert len(set(settle(third).tolist())) == 2
    lists = np.array([[0, 2, 1], [1, 0, 2], [2, 0, 1]], dtype=np.int32)
    scores = np.array([[1.0, 0.3, 0.1 + 0.2]] * 3)
    np.testing.assert_array_equal(sort_lists(lists, scores), lists)  # a tie keeps the order it had
