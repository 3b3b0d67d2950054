"""BFSTREE against a slow, dense reading of its published definition."""

import numpy as np
import pytest

from grande_gnn.graph.rerank import bfstree


def rbo_dense(x, y, p):
    return (1 - p) * sum(p ** (t - 1) * len(set(x[:t]) & set(y[:t])) / t for t in range(1, len(x) + 1))


def bfstree_dense(dense, lists, k):
    n, length = lists.shape
    lists = dense.normalize(lists, lambda pos: length - pos)
    M = np.full((n, n), np.inf)
    for i, row in enumerate(lists):
        for pos, j in enumerate(row):
            M[i, j] = min(M[i, j], length - pos)
            M[j, i] = min(M[j, i], length - pos)
    lists = dense.sort(lists, M)
    W = np.zeros((n, n))
    cor = {(i, j): rbo_dense(lists[i, :k], lists[j, :k], 0.7) for i in range(n) for j in lists[i, :k]}
    for q in range(n):
        first = [(i, cor[q, i]) for i in lists[q, :k]]
        second = [(j, cor[q, i] * cor[i, j]) for i in lists[q, 1:k] for j in lists[i, 1:k]]
        for left, right in ((first, first), (second, second), (first, second)):
            for a, x in left:
                for b, y in right:
                    W[a, b] += x * y
    W = W / (1 + W.sum(axis=0))
    D = np.zeros((n, n))
    for i in range(n):
        for j in lists[i]:
            D[i, j] = sum(W[i, m] * W[j, m] for m in lists[i])
    return dense.sort(lists, D / (1 + D.sum(axis=0)))


@pytest.mark.parametrize("k", [4, 8])
def test_equals_the_definition(lists, dense, k):
    np.testing.assert_array_equal(bfstree(lists, k), bfstree_dense(dense, lists, k))


def test_the_default_is_20_neighbors(lists):
    np.testing.assert_array_equal(bfstree(lists), bfstree(lists, min(20, lists.shape[1])))
    assert (bfstree(lists) != bfstree(lists, 10)).any()
