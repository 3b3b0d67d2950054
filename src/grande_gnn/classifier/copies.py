"""Near-duplicates: the same picture saved twice, which has almost but not exactly the same features.

Two samples are copies of each other if each is one of the other's five nearest neighbors, and if their distance is at
most a quarter of two typical distances: of the median distance from a sample to its nearest neighbor, and of the distance
from each of the two to its own fifth neighbor. The first condition makes copies exceptional in these data; the second
rules out that the two are just members of a dense group. Samples with equal features are always copies.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from grande_gnn.graph import Neighbors

__all__ = ["MUCH_NEARER", "find_copies"]

MUCH_NEARER = 0.25
"""Copies are at most this share of a typical distance apart. Re-encoded pictures are much closer, different pictures of
the same thing are not."""

AMONG = 5
"""The number of nearest neighbors among which copies are searched."""


_FOUND: WeakKeyDictionary[Neighbors, NDArray[np.int64]] = WeakKeyDictionary()
"""Earlier results, because several steps of a run need the copies among the same neighbors."""


def find_copies(neighbors: Neighbors) -> NDArray[np.int64]:
    """A group number for each sample: the first row of its group. A sample without copies is a group of its own.

    >>> find_copies(Neighbors([[0.0], [1.0], [1.01], [2.0], [3.0], [4.0], [5.0]])).tolist()
    [0, 1, 1, 3, 4, 5, 6]
    """
    if neighbors not in _FOUND:
        _FOUND[neighbors] = _groups(neighbors)
    return _FOUND[neighbors]


def _groups(neighbors: Neighbors) -> NDArray[np.int64]:
    n = len(neighbors)
    near = min(AMONG, n - 1)
    if near < 1:
        return np.arange(n)
    lists = neighbors.lists(near + 1)[:, 1:]
    distances = neighbors.first_distances(near + 1)[:, 1:]
    crowd = distances[:, -1] if near == AMONG else np.full(n, np.inf)
    limit = MUCH_NEARER * np.minimum(np.median(distances[:, 0]), crowd)
    one_way = _edges(distances <= limit[:, None], lists)
    mutual = one_way.multiply(one_way.T) + _edges(distances == 0, lists)  # equal rows, however many
    _, component = connected_components(mutual, directed=False)
    _, first, which = np.unique(component, return_index=True, return_inverse=True)
    return first[which]


def _edges(chosen: NDArray[np.bool_], lists: NDArray[np.int32]) -> csr_matrix:
    """The chosen entries of the lists as a matrix."""
    rows, places = np.nonzero(chosen)
    n = len(lists)
    return csr_matrix((np.ones(len(rows)), (rows, lists[rows, places])), shape=(n, n))
