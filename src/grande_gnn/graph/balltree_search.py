"""Exact neighbor search by scikit-learn's BallTree, as in the paper: the same lists, slower above about 30 features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grande_gnn.graph.exact_search import MARGIN

__all__ = ["balltree_lists"]


def balltree_lists(X: NDArray[np.float32], length: int) -> NDArray[np.int32]:
    """The canonical list of each row of X, ``length`` entries long."""
    from sklearn.neighbors import BallTree

    n = len(X)
    tree = BallTree(X, leaf_size=200)
    lists = np.empty((n, length), dtype=np.int32)
    pending, keep = np.arange(n), min(n, length + MARGIN)
    while len(pending):
        distance, found = tree.query(X[pending], k=keep)
        distance = distance.copy()
        distance[found == pending[:, None]] = -1.0
        order = np.lexsort((found, distance), axis=1)
        distance = np.take_along_axis(distance, order, axis=1)
        found = np.take_along_axis(found, order, axis=1)
        # A list is settled when its own entry is there and its last value is not tied with the cut.
        settled = (found[:, 0] == pending) & (distance[:, length - 1] < distance[:, -1])
        settled |= keep == n
        lists[pending[settled]] = found[settled, :length]
        pending, keep = pending[~settled], min(n, 2 * keep)
    return lists
