"""From ranked lists to graphs: plain and reciprocal k nearest neighbors.

    E_knn = {(i, j) | j ∈ N(i, k)  ∨  i ∈ N(j, k)}          E_rec = {(i, j) | j ∈ N(i, k)  ∧  i ∈ N(j, k)}

k counts the sample itself, as in the authors' code: k = 40 means 39 others.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from grande_gnn.graph.graph import Graph
from grande_gnn.graph.neighbors import ranked_lists
from grande_gnn.internal.validation import check_integer, check_lists

__all__ = ["knn_edges", "knn_graph", "reciprocal_edges", "reciprocal_knn_graph"]


def knn_edges(lists: NDArray[np.int32], n_neighbors: int = 40, *, include_self: bool = True) -> Graph:
    """Join i and j when either names the other among its first ``n_neighbors``."""
    return Graph.from_scipy(_pattern(lists, n_neighbors, include_self))


def reciprocal_edges(lists: NDArray[np.int32], n_neighbors: int = 40, *, include_self: bool = True) -> Graph:
    """Join i and j when each names the other among its first ``n_neighbors``."""
    named_by = _pattern(lists, n_neighbors, include_self).T.tocsr()
    # The transpose has sorted rows, and what both share is symmetric with every self-loop: already a graph's arrays.
    both = named_by.multiply(named_by.T.tocsr())
    return Graph(both.indptr.astype(np.int64), both.indices.astype(np.int32, copy=False))


def _pattern(lists: NDArray[np.int32], n_neighbors: int, include_self: bool) -> sp.csr_matrix:
    lists = check_lists(lists)
    k = check_integer(n_neighbors, name="n_neighbors", low=1) + (not include_self)
    n, k = len(lists), min(k, lists.shape[1])
    ones = np.ones(n * k, dtype=np.int8)
    return sp.csr_matrix((ones, lists[:, :k].ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


def knn_graph(
    features: ArrayLike, n_neighbors: int = 40, *, include_self: bool = True, device: str = "cpu"
) -> Graph:
    """The k-nearest-neighbor graph of the features, symmetrized by union."""
    length = check_integer(n_neighbors, name="n_neighbors", low=1) + (not include_self)
    lists = ranked_lists(features, length, device=device)
    return knn_edges(lists, n_neighbors, include_self=include_self)


def reciprocal_knn_graph(
    features: ArrayLike, n_neighbors: int = 40, *, include_self: bool = True, device: str = "cpu"
) -> Graph:
    """The reciprocal k-nearest-neighbor graph of the features: the paper's graph.

    >>> graph = reciprocal_knn_graph([[0.0], [1.0], [3.0]], 2)
    >>> graph.to_scipy(int).toarray().tolist()
    [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    """
    length = check_integer(n_neighbors, name="n_neighbors", low=1) + (not include_self)
    lists = ranked_lists(features, length, device=device)
    return reciprocal_edges(lists, n_neighbors, include_self=include_self)
