"""RDPAC against a slow, dense reading of its published definition."""

import numpy as np
import pytest

from grande_gnn.graph.rerank import rdpac


def rdpac_dense(dense, lists, k, rounds=15, p=0.6, pl=0.99):
    n, width = lists.shape
    half = width // 2
    lists = dense.normalize(lists, lambda pos: pl ** (pos + 1) if pos < half else 0.0)
    near, wide = np.zeros((n, n), bool), np.zeros((n, n), bool)
    W = np.zeros((n, n))
    for i, row in enumerate(lists):
        near[i, row[:half]] = True
        wide[i, row] = True
        for t in range(k):
            W[i, row[t]] = p ** (t + 1)
    P, W = W, W / W.sum(axis=0)
    for _ in range(rounds):
        P = P / P.sum(axis=0)
        P = np.where(near, P @ W.T, 0)
        P = 0.95 * P + 0.05 * np.eye(n)
    P = P / P.sum(axis=0)
    Q = np.where(wide, P @ P, 0)
    return dense.sort(lists, P @ Q)


@pytest.mark.parametrize("k", [4, 8])
def test_equals_the_definition(lists, dense, k):
    np.testing.assert_array_equal(rdpac(lists, k), rdpac_dense(dense, lists, k))


def test_the_default_is_15_neighbors(lists):
    np.testing.assert_array_equal(rdpac(lists), rdpac(lists, min(15, lists.shape[1] // 2)))
    if lists.shape[1] > 20:
        assert (rdpac(lists) != rdpac(lists, 10)).any()
