"""CPRR against a slow, dense reading of its published definition."""

import numpy as np
import pytest

from grande_gnn.graph.rerank import cprr


def cprr_dense(dense, lists, k, rounds):
    length = lists.shape[1]
    lists = dense.normalize(lists, lambda pos: length - pos)
    for _ in range(rounds):
        M = np.zeros((len(lists), len(lists)))
        for row in lists:
            for a in range(k):
                for b in range(k):
                    M[row[a], row[b]] += 2 * (k - a) * (k - b)
        for j in range(len(lists)):
            references = [(i, k - p) for i, row in enumerate(lists) for p in range(1, k) if row[p] == j]
            for i, a in references:
                for other, b in references:
                    M[i, other] += 2 * a * b
        lists = dense.sort(lists, M)
    return lists


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("k", [1, 6, 15])
def test_equals_the_definition(lists, dense, k, rounds):
    np.testing.assert_array_equal(cprr(lists, k, n_iterations=rounds), cprr_dense(dense, lists, k, rounds))


def test_the_defaults_are_20_neighbors_and_2_iterations(lists):
    k = min(20, lists.shape[1])
    np.testing.assert_array_equal(cprr(lists), cprr(lists, k, n_iterations=2))
    assert (cprr(lists) != cprr(lists, 10)).any()
    assert (cprr(lists) != cprr(lists, n_iterations=1)).any()
