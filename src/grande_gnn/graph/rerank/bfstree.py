"""BFSTREE: breadth-first trees of ranking references, two levels deep.

With U_ij the rank-biased overlap (p = 0.7) of the lists of i and of j among its first K, U₀ the same
without the diagonal, and V = U₀U₀ the second level of the trees:

    W = UᵀU + VᵀV + UᵀV,   each column divided by 1 + its sum
    D_ij = Σ_{m ∈ list(i)} W_im W_jm  for j ∈ list(i),   columns divided likewise

Pedronette, Valem & Torres, A BFS-tree of ranking references for unsupervised manifold learning, Pattern
Recognition 111, 2021.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from grande_gnn.graph.correlation import rank_correlation, rbo
from grande_gnn.graph.rerank.common import entries_at, list_matrix, normalize_ranks, product_at, sort_lists
from grande_gnn.internal.validation import check_integer

__all__ = ["bfstree"]


def bfstree(lists: ArrayLike, n_neighbors: int = 20, *, p: float = 0.7) -> NDArray[np.int32]:
    """Re-rank by trees of the first ``n_neighbors`` of each list (at most its length)."""
    k = check_integer(n_neighbors, name="n_neighbors", low=1)
    ranked = _worse_direction(normalize_ranks(lists))
    k = min(k, ranked.shape[1])
    overlap = rank_correlation(ranked[:, :k], k, measure=partial(rbo, p=p))
    W = _per_column(_trees(ranked[:, :k], overlap))
    listed = list_matrix(ranked, entries_at(ranked, W))
    D = list_matrix(ranked, product_at(ranked, listed, W.T.tocsr()))
    return sort_lists(ranked, _per_column(D).data.reshape(ranked.shape))


def _worse_direction(lists: NDArray[np.int32]) -> NDArray[np.int32]:
    """Sort each list by the smaller of L − pos_ij and L − pos_ji, an absent direction not counting."""
    length = lists.shape[1]
    weights = np.arange(length, 0, -1)
    back = entries_at(lists, list_matrix(lists, weights).T.tocsr())
    return sort_lists(lists, np.where(back > 0, np.minimum(weights, back), weights))


def _trees(tops: NDArray[np.int32], overlap: NDArray[np.float64]) -> sp.csr_matrix:
    U = list_matrix(tops, overlap)
    first = list_matrix(tops[:, 1:], overlap[:, 1:])
    V = first @ first
    return (U.T @ (U + V) + V.T @ V).tocsr()


def _per_column(matrix: sp.csr_matrix) -> sp.csr_matrix:
    total = 1 + np.bincount(matrix.indices, weights=matrix.data, minlength=matrix.shape[1])
    return sp.csr_matrix(
        (matrix.data / total[matrix.indices], matrix.indices, matrix.indptr), shape=matrix.shape
    )
