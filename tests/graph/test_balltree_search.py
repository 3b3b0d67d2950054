"""The BallTree gives the canonical lists, ties and copies included."""

import numpy as np
import pytest

from grande_gnn.graph.balltree_search import balltree_lists


def canonical(X, length):
    distance = np.sqrt(((X[:, None].astype(np.float64) - X[None].astype(np.float64)) ** 2).sum(2))
    np.fill_diagonal(distance, -1)
    return np.lexsort((np.broadcast_to(np.arange(len(X)), distance.shape), distance), axis=1)[:, :length]


@pytest.mark.parametrize("length", [1, 5, 30])
@pytest.mark.parametrize(
    "X",
    [
        np.random.default_rng(0).normal(size=(80, 4)),
        np.stack(np.meshgrid(np.arange(9), np.arange(9)), -1).reshape(-1, 2),
        np.zeros((60, 3)),  # everybody is a copy: a list's own entry may come last
    ],
    ids=["normal", "grid", "copies"],
)
def test_the_lists_are_canonical(X, length):
    X = X.astype(np.float32)
    np.testing.assert_array_equal(balltree_lists(X, length), canonical(X, length))
