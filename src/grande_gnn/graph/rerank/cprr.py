"""CPRR: Cartesian product of ranking references.

With U[i, r_i(p)] = K − p + 1 for the first K of each list, and U₀ the same without the diagonal:

    M = UᵀU + U₀U₀ᵀ

two samples gain when they rank high in the same lists, and when they list the same samples high.

Valem & Pedronette, Unsupervised similarity learning through Cartesian product of ranking references for
image retrieval tasks, SIBGRAPI 2016.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grande_gnn.graph.rerank.common import list_matrix, normalize_ranks, product_at, sort_lists
from grande_gnn.internal.validation import check_integer

__all__ = ["cprr"]


def cprr(lists: ArrayLike, n_neighbors: int = 20, *, n_iterations: int = 2) -> NDArray[np.int32]:
    """Re-rank by Cartesian products of the first ``n_neighbors`` of each list (at most its length)."""
    k = check_integer(n_neighbors, name="n_neighbors", low=1)
    ranked = normalize_ranks(lists)
    k = min(k, ranked.shape[1])
    for _ in range(check_integer(n_iterations, name="n_iterations")):
        weights = np.arange(k, 0, -1)
        U = list_matrix(ranked[:, :k], weights)
        others = list_matrix(ranked[:, 1:k], weights[1:])
        scores = product_at(ranked, U.T.tocsr(), U) + product_at(ranked, others, others.T.tocsr())
        ranked = sort_lists(ranked, scores)
    return ranked
